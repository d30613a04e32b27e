// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/end_statistics.h"

#include <gtest/gtest.h>

namespace weft::analytical {
namespace {

using namespace weft::literals;

TEST(EndStatistics, TimesAreUnionsByActivity) {
  EndStatistics statistics(2);
  statistics.begin(10_ns, 1, Activity::kCompute);
  statistics.begin(20_ns, 1, Activity::kCommunication);
  statistics.begin(30_ns, 1, Activity::kCommunication);  // a receive beside a collective
  statistics.end(40_ns, 1, Activity::kCompute);
  statistics.end(50_ns, 1, Activity::kCommunication);
  statistics.end(60_ns, 1, Activity::kCommunication);
  statistics.begin(60_ns, 1, Activity::kRemoteMemory);
  statistics.end(65_ns, 1, Activity::kRemoteMemory);
  statistics.begin(70_ns, 1, Activity::kCpu);
  statistics.end(72_ns, 1, Activity::kCpu);
  const EndReport report = statistics.report(1, 72_ns, false);
  EXPECT_EQ(report.of(Activity::kCompute), 30_ns);
  EXPECT_EQ(report.of(Activity::kCommunication), 40_ns);
  EXPECT_EQ(report.overlapped, 20_ns);
  EXPECT_EQ(report.of(Activity::kRemoteMemory), 5_ns);
  EXPECT_EQ(report.of(Activity::kCpu), 2_ns);
  EXPECT_EQ(report.idle, 15_ns);  // before 10 ns and from 65 to 70
  EXPECT_EQ(report.exposed_communication(), 42_ns);
  EXPECT_FALSE(report.roofline.has_value());
  EXPECT_EQ(statistics.report(0, 72_ns, false).idle, 72_ns);
}

TEST(EndStatistics, OverlapIsTheSumLessTheWholeWhereAnEndIsNeverIdle) {
  EndStatistics statistics(1);
  statistics.begin(0_ns, 0, Activity::kCommunication);
  statistics.begin(3_ns, 0, Activity::kCompute);
  statistics.end(8_ns, 0, Activity::kCommunication);
  statistics.end(11_ns, 0, Activity::kCompute);
  const EndReport report = statistics.report(0, 11_ns, false);
  EXPECT_EQ(report.overlapped, report.of(Activity::kCompute) + report.of(Activity::kCommunication) - report.finished);
  EXPECT_EQ(report.idle, 0_ns);
}

TEST(EndStatistics, RooflineMeansAreOverTheTimeOfComputeNodes) {
  EndStatistics statistics(1);
  // 10 operations a byte at a peak of 1000 operations and a memory of 200 bytes a second, and then one that memory
  // holds up: 2 operations a byte, 400 a second.
  statistics.add_compute(0, 100_ns, EndStatistics::Roofline{1000, 100, 1000, 1000, 200});
  statistics.add_compute(0, 300_ns, EndStatistics::Roofline{800, 400, 400, 1000, 200});
  statistics.add_compute(0, 599_ns, std::nullopt);  // of the CPU
  const std::optional<RooflineMeans> means = statistics.report(0, 1_us, true).roofline;
  ASSERT_TRUE(means.has_value());
  constexpr double kWhole = 100 + 300 + 599 + 1;  // ns
  EXPECT_DOUBLE_EQ(means->compute_bound, 100 / kWhole);
  EXPECT_DOUBLE_EQ(means->compute_utilisation, (100 + 0.4 * 300) / kWhole);
  EXPECT_DOUBLE_EQ(means->memory_utilisation, (0.5 * 100 + 300) / kWhole);
  EXPECT_DOUBLE_EQ(means->operation_intensity, (10.0 * 100 + 2 * 300) / kWhole);
}

TEST(EndStatistics, NodesWithoutOperationsOrBytesHaveMeans) {
  EndStatistics statistics(1);
  statistics.add_compute(0, 49_ns, EndStatistics::Roofline{0, 100, 0, 1000, 200});     // a copy
  statistics.add_compute(0, 50_ns, EndStatistics::Roofline{100, 0, 1000, 1000, 200});  // of registers
  const std::optional<RooflineMeans> means = statistics.report(0, 99_ns, true).roofline;
  ASSERT_TRUE(means.has_value());
  EXPECT_DOUBLE_EQ(means->compute_bound, 0.5);
  EXPECT_DOUBLE_EQ(means->compute_utilisation, 0.5);
  EXPECT_DOUBLE_EQ(means->memory_utilisation, 0.49);
  EXPECT_DOUBLE_EQ(means->operation_intensity, 0);
}

}  // namespace
}  // namespace weft::analytical
