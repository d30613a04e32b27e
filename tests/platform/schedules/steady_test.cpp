// SPDX-License-Identifier: Apache-2.0
// Blocks that are left out because they repeat.
#include <gtest/gtest.h>

#include <cstdlib>

#include "platforms/machine/machine.h"
#include "platforms/results/format.h"
#include "sw/schedules/fsdp.h"
#include "sw/schedules/kfac/kfac_steady.h"
#include "sw/schedules/steady.h"
#include "tests/support/kernel.h"

namespace weft {
namespace {

using platforms::Machine;
using platforms::MachineConfig;
using platforms::to_seconds;
using schedules::find_rows;
using schedules::Fsdp;
using schedules::FsdpConfig;
using schedules::FsdpPlan;
using schedules::FsdpResult;
using schedules::FsdpRow;
using schedules::SparseOrder;
using schedules::SteadyConfig;
using schedules::SteadyRow;
using test::fresh_kernel;

TEST(SteadyRow, ComparesTheLastTwoStretchesOfAllRanks) {
  SteadyRow row(2);
  const auto end = [&row](std::size_t rank, std::int64_t at, std::int64_t waited) {
    return row.end(rank, {Time(at), Time(at - waited), {Time(waited)}});
  };
  EXPECT_FALSE(end(0, 100, 0));
  EXPECT_TRUE(end(1, 110, 5));
  EXPECT_FALSE(row.has_periods(1));
  EXPECT_FALSE(end(1, 1110, 10));
  EXPECT_FALSE(end(1, 2110, 15));
  EXPECT_TRUE(end(0, 1102, 8));
  EXPECT_TRUE(end(0, 2100, 16));
  ASSERT_TRUE(row.has_periods(1));
  EXPECT_EQ(row.ended(), 3U);
  const SteadyRow::Periods periods = row.periods(1);
  // By the last rank 1,000 each; by the mean from 105 by way of 1,106 to 2,105.
  EXPECT_EQ(periods.shortest, Time(1000));
  EXPECT_EQ(periods.longest, Time(1000));
  EXPECT_DOUBLE_EQ(periods.differ, 0) << "the first rank waited for 8 both times, the other for 5";
  EXPECT_EQ(periods.drift, Time(1));
  EXPECT_EQ(row.end_of(2), Time(2110));
  EXPECT_EQ(row.waited(0, 2), std::vector<Time>{Time(26)});
  EXPECT_EQ(row.busy(0, 2), Time(4000 - 26));
}

TEST(SteadyRow, ComparesWhatIsExposedAsWell) {
  SteadyRow row(1);
  for (const std::int64_t waited : {0, 10, 70})
    row.end(0, {Time(waited == 0 ? 0 : waited == 10 ? 1000 : 2000), Time(), {Time(waited)}});
  EXPECT_DOUBLE_EQ(row.periods(1).differ, 50.0 / 1000);
}

FsdpConfig blocks(std::int64_t layers) {
  FsdpConfig config;
  config.model = "nano";
  config.sequences = 2;
  config.sequence = 256;
  config.layers = layers;
  return config;
}

TEST(SparseOrder, CountsWhatIsDone) {
  SparseOrder order;
  EXPECT_EQ(order.reached_before(5), 5U);
  EXPECT_EQ(order.reached_before(5, 2), 3U);
  EXPECT_EQ(order.reached_before(1, 3), 0U);
  order.leave_out(7, 20);
  order.leave_out(22, 30);
  EXPECT_FALSE(order.is_left_out(6));
  EXPECT_TRUE(order.is_left_out(7));
  EXPECT_TRUE(order.is_left_out(19));
  EXPECT_FALSE(order.is_left_out(20));
  // The counter stands at 7 from when 6 is done until 20 is.
  EXPECT_EQ(order.reached_before(20), 7U);
  EXPECT_EQ(order.reached_before(21), 21U);
  EXPECT_EQ(order.reached_before(21, 1), 7U);
  EXPECT_EQ(order.reached_before(21, 2), 6U);
  EXPECT_EQ(order.reached_before(30, 2), 7U);
  EXPECT_EQ(order.reached_before(31, 3), 7U);
  order.leave_out(30, 35);
  EXPECT_TRUE(order.is_left_out(34));
  EXPECT_EQ(order.reached_before(35), 22U);
}

/// Blocks that are gathered and freed are alike but for the last one, whose parameters stay for its backward pass.
TEST(FsdpRows, AreOfEqualBlocks) {
  const accelerator::ComputeConfig compute;
  FsdpConfig config = blocks(24);
  const auto rows_of = [&] { return find_rows(FsdpPlan(config, compute, 4), {1, 1}); };
  std::vector<FsdpRow> rows = rows_of();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].begin, 1);
  EXPECT_EQ(rows[0].end, 24) << "stage 24 is the last block";
  EXPECT_TRUE(rows[0].forward);
  EXPECT_EQ(rows[1].begin, 27) << "stage 26 is its backward pass";
  EXPECT_EQ(rows[1].end, 49) << "nothing is gathered beside the last one";
  EXPECT_FALSE(rows[1].forward);
  config.reshard_after_forward = false;
  rows = rows_of();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].end, 24) << "all stay; nothing is gathered beside the last one";
  EXPECT_EQ(rows[1].begin, 26);
  config.layers = 5;
  EXPECT_TRUE(rows_of().empty()) << "too few";
}

/// Intervals are of the length by which the most is left out.
TEST(KfacIntervals, AreThoseThatSaveMost) {
  const auto rows_of = [](int steps, int factors, int inverses) {
    return schedules::find_intervals(steps, [=](int step) {
      schedules::KfacUpdates updates;
      updates.factors = step % factors == 0;
      updates.inverses = step % inverses == 0;
      return updates;
    });
  };
  const auto single = rows_of(12, 1, 1);
  ASSERT_EQ(single.size(), 1U);
  EXPECT_EQ(single[0].length, 1);
  EXPECT_EQ(single[0].pieces, 12);
  const auto inverses = rows_of(40, 2, 4);
  ASSERT_EQ(inverses.size(), 1U);
  EXPECT_EQ(inverses[0].length, 4);
  EXPECT_EQ(inverses[0].pieces, 10);
  EXPECT_DOUBLE_EQ(schedules::simulated_share(inverses, 40), 0.4);
  const auto plain = rows_of(40, 20, 20);
  ASSERT_EQ(plain.size(), 2U) << "nineteen steps between two updates";
  EXPECT_EQ(plain[1].begin, 21);
  EXPECT_EQ(plain[1].pieces, 19);
  EXPECT_TRUE(rows_of(16, 2, 4).empty()) << "four intervals are too few";
}

struct Ended {
  FsdpResult result;
  Time end;
  int marks = 0;
};

Ended run(const FsdpConfig& workload, double tolerance, bool verify = false) {
  fresh_kernel();
  MachineConfig config;
  config.accelerators = 8;
  config.per_node = 4;
  Machine machine(config);
  Fsdp fsdp(machine.ranks(), workload, config.collectives, config.accelerator.array.compute);
  Ended run;
  if (tolerance > 0) {
    fsdp.set_steady({tolerance, verify}, {[&run](std::size_t) { ++run.marks; }, [](std::size_t, std::size_t, int) {}});
  }
  fsdp.start();
  machine.run();
  run.result = fsdp.result();
  run.end = machine.end();
  return run;
}

double apart(Time a, Time b) {
  return std::abs(to_seconds(a) - to_seconds(b)) / to_seconds(b);
}

TEST(Steady, IsTheWholeStepWithinItsBound) {
  for (const int variant : {0, 1, 2, 3, 4}) {
    SCOPED_TRACE(variant);
    FsdpConfig config = blocks(40);
    config.reshard_after_forward = variant != 1;
    config.separate_streams = variant == 2;
    config.shards = variant == 3 ? 4 : 0;
    config.steps = variant == 4 ? 2 : 1;
    const Ended whole = run(config, 0);
    const Ended verified = run(config, 0.01, true);
    EXPECT_EQ(verified.result.steps, whole.result.steps) << "all is simulated";
    const Ended steady = run(config, 0.01);
    ASSERT_FALSE(steady.result.left_out.empty());
    EXPECT_GT(steady.marks, 0);
    EXPECT_LT(to_seconds(steady.end), 0.8 * to_seconds(whole.end));
    ASSERT_EQ(steady.result.steps.size(), whole.result.steps.size());
    Time bound;
    Time off;
    for (const auto& each : steady.result.left_out) bound += each.bound;
    for (const auto& each : verified.result.left_out) off += each.off;
    EXPECT_EQ(verified.result.left_out.size(), steady.result.left_out.size());
    const Time step = whole.result.steps.back();
    EXPECT_LT(apart(steady.result.steps.back(), step), 0.01);
    EXPECT_LT(std::abs(to_seconds(off)), std::max(to_seconds(bound), 0.001 * to_seconds(step)));
    EXPECT_NEAR(to_seconds(steady.result.compute), to_seconds(whole.result.compute), 0.01 * to_seconds(step));
    EXPECT_NEAR(to_seconds(steady.result.exposed_allgather), to_seconds(whole.result.exposed_allgather),
                0.01 * to_seconds(step));
    EXPECT_NEAR(to_seconds(steady.result.exposed_reduce_scatter), to_seconds(whole.result.exposed_reduce_scatter),
                0.01 * to_seconds(step));
  }
}

TEST(Steady, LeavesNothingOutOfAFewBlocks) {
  const Ended whole = run(blocks(6), 0);
  const Ended steady = run(blocks(6), 0.01);
  EXPECT_TRUE(steady.result.left_out.empty());
  EXPECT_EQ(steady.result.steps, whole.result.steps);
}

}  // namespace
}  // namespace weft
