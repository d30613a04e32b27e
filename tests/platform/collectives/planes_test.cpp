// SPDX-License-Identifier: Apache-2.0
// Collectives in scale-up domains with a sick plane: slower by the share of the links that are down.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;

constexpr std::uint64_t kLong = 64 << 20;
constexpr double kOneOf18 = 18.0 / 17;

/// Six accelerators with a link to each of 18 switches.
MachineConfig domain(const std::string& algorithm) {
  MachineConfig config;
  config.accelerators = 6;
  config.per_node = 6;
  config.fabric.topology = fabric::Shape::kSwitch;
  config.scale_up.fabric.planes.assign(18, 1);
  config.scale_up.fabric.segment = 64_KiB;
  config.scale_up.port.posted = false;  // as with faults
  config.collectives.algorithm = algorithm;
  return config;
}

fabric::Fault down(const std::string& link, Time from = Time()) {
  fabric::Fault fault;
  fault.link = link;
  fault.from = from;
  fault.down = true;
  return fault;
}

/// In picoseconds.
double time_of(const MachineConfig& config, CollectiveOp op, std::uint64_t bytes = kLong) {
  test::fresh_kernel();
  Machine machine(config);
  const std::vector<CollectiveResult> results = run_collective(machine, op, {bytes}, ElementType::kFp32);
  EXPECT_EQ(results.front().wrong, config.data ? 0 : -1);
  return static_cast<double>(results.front().time.count());
}

double time_with(MachineConfig config, const std::vector<fabric::Fault>& faults, CollectiveOp op) {
  config.scale_up.fabric.faults = faults;
  return time_of(config, op);
}

TEST(SickPlane, SlowsARingByItsShareWhetherItIsOneAcceleratorsOrAllOfThem) {
  const MachineConfig config = domain("ring");
  const double before = time_of(config, CollectiveOp::kAllgather);
  EXPECT_NEAR(time_with(config, {down("end1-plane3")}, CollectiveOp::kAllgather) / before, kOneOf18, 0.006);
  EXPECT_NEAR(time_with(config, {down("plane3")}, CollectiveOp::kAllgather) / before, kOneOf18, 0.006);
  EXPECT_NEAR(time_with(config, {down("plane3"), down("plane4")}, CollectiveOp::kAllgather) / before, 18.0 / 16, 0.012);
}

TEST(SickPlane, SlowsAnAllToAllByItsShare) {
  const MachineConfig config = domain("dimensions");
  const double before = time_of(config, CollectiveOp::kAllToAll);
  // One that is slower than the others also holds up what stands behind its packets.
  const double one = time_with(config, {down("end1-plane3")}, CollectiveOp::kAllToAll) / before;
  EXPECT_GT(one, kOneOf18 - 0.005);
  EXPECT_LT(one, kOneOf18 + 0.02);
  EXPECT_NEAR(time_with(config, {down("plane3")}, CollectiveOp::kAllToAll) / before, kOneOf18, 0.01);
}

TEST(SickPlane, IsLostToSumsInSwitches) {
  MachineConfig config = domain("in-network");
  config.scale_up.fabric.switch_config.reduction.trees = 16;
  config.scale_up.fabric.switch_config.reduction.chunks = 1 << 16;
  config.scale_up.fabric.switch_config.reduction.fp32 = 512;
  const double before = time_of(config, CollectiveOp::kAllReduce);
  const double sick = time_with(config, {down("end1-plane3")}, CollectiveOp::kAllReduce);
  EXPECT_NEAR(sick / before, kOneOf18, 0.01);
  EXPECT_NEAR(time_with(config, {down("plane3")}, CollectiveOp::kAllReduce), sick, 0.001 * sick);
}

/// Half of it with all links, 50 us until routes avoid what is down, and half of it with 17 of 18.
TEST(SickPlane, InARunCostsTheReroutingAndThenItsShare) {
  MachineConfig config = domain("ring");
  const double before = time_of(config, CollectiveOp::kAllgather);
  config.scale_up.fabric.reroute_after = 50_us;
  const Time half(static_cast<std::int64_t>(1.5 * before));  // one before it warms up
  const double taken = time_with(config, {down("end1-plane3", half)}, CollectiveOp::kAllgather);
  EXPECT_NEAR(taken, before * (1 + kOneOf18) / 2 + 50e6, 0.02 * before);
}

/// Real bytes come right where packets wait, and where they are spread over fewer planes.
TEST(SickPlane, BringsTheRightBytes) {
  for (const auto& [algorithm, op] :
       {std::pair("dimensions", CollectiveOp::kAllToAll), std::pair("ring", CollectiveOp::kAllReduce),
        std::pair("in-network", CollectiveOp::kAllReduce)}) {
    MachineConfig config = domain(algorithm);
    config.data = true;
    config.scale_up.fabric.switch_config.reduction.trees = 16;
    config.scale_up.fabric.faults = {down("end1-plane3"), down("plane7", 5_us)};
    config.scale_up.fabric.reroute_after = 2_us;
    time_of(config, op, 768 << 10);
  }
}

TEST(SickPlane, OfOneNodeIsThatNodesAlone) {
  MachineConfig config = domain("ring");
  config.accelerators = 12;
  config.scale_up.fabric.faults = {down("plane3")};
  config.scale_up.fabric.faults[0].node = 1;
  test::fresh_kernel();
  Machine machine(config);
  run_collective(machine, CollectiveOp::kAllgather, {1 << 20}, ElementType::kFp32);
  for (int rank = 0; rank < 12; ++rank) {
    const double had = machine.scale_up_port(rank)->transmitter().rate_had();
    EXPECT_NEAR(had, rank < 6 ? 1 : 17.0 / 18, 1e-3) << rank;
  }
}

}  // namespace
}  // namespace weft::platforms
