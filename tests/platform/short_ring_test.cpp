// SPDX-License-Identifier: Apache-2.0
// Rings of words with flags, which short buffers take where the library chooses as NCCL does.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/machine/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::Algorithm;

MachineConfig machine_of(int ranks, int per_node) {
  MachineConfig config;
  config.accelerators = ranks;
  config.per_node = per_node;
  config.accelerator.array.shared_cores = true;
  config.accelerator.array.relay = 10_us;
  config.collectives.algorithm = Algorithm::kNccl;
  return config;
}

struct ShortCase {
  std::string name;
  int ranks;
  int per_node;
  int channels;
  int slots;
};
std::ostream& operator<<(std::ostream& out, const ShortCase& c) {
  return out << c.name;
}

const ShortCase kShortCases[] = {{"OneRank", 1, 1, 4, 16},   {"TwoRanks", 2, 1, 4, 16}, {"FiveNodes", 5, 1, 1, 2},
                                 {"OneNode", 8, 8, 8, 16},   {"TwoSlots", 4, 4, 1, 2},  {"ThreeSlots", 8, 4, 2, 3},
                                 {"ManySlots", 6, 3, 2, 200}};

class ShortRings : public testing::TestWithParam<std::tuple<CollectiveOp, ShortCase, Time>> {};

std::int64_t received_by_all(Machine& machine) {
  std::int64_t sum = 0;
  for (int r = 0; r < machine.size(); ++r) {
    sum += machine.nic(r).counters().bytes_received;
    if (const nic::Nic* port = machine.scale_up_port(r)) sum += port->counters().bytes_received;
  }
  return sum;
}

// Twice the bytes of a ring are the sign that it is one of words with flags.
TEST_P(ShortRings, PutEveryByteInPlaceAndMoveItsFlags) {
  const auto& [op, c, stall] = GetParam();
  MachineConfig config = machine_of(c.ranks, c.per_node);
  config.collectives.channels = c.channels;
  config.collectives.slots = c.slots;
  config.stall = stall;
  config.data = true;
  Machine machine(config);
  const std::vector<std::uint64_t> sizes = {77'777, 0, 1, 400'000, 3};
  std::int64_t sum = static_cast<std::int64_t>(sizes.front());  // run once more before
  for (const CollectiveResult& result : run_collective(machine, op, sizes, ElementType::kFp32)) {
    EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
    sum += static_cast<std::int64_t>(result.bytes);
  }
  EXPECT_EQ(received_by_all(machine), 2 * (c.ranks - 1) * sum);
}

std::string short_name(const testing::TestParamInfo<ShortRings::ParamType>& test) {
  const auto& [op, c, stall] = test.param;
  return c.name + "Op" + std::to_string(static_cast<int>(op)) + (stall > Time() ? "Stalled" : "");
}

INSTANTIATE_TEST_SUITE_P(All, ShortRings,
                         testing::Combine(testing::Values(CollectiveOp::kAllgather, CollectiveOp::kReduceScatter,
                                                          CollectiveOp::kBroadcast),
                                          testing::ValuesIn(kShortCases), testing::Values(Time(), 3_us)),
                         short_name);

std::vector<CollectiveResult> run(const MachineConfig& config, CollectiveOp op,
                                  const std::vector<std::uint64_t>& sizes) {
  test::fresh_kernel();
  Machine machine(config);
  return run_collective(machine, op, sizes, ElementType::kFp32);
}

// Within a node neither memory nor the start of a copy is waited for, and nothing between nodes is relayed.
TEST(ShortRing, WaitsForNoMemoryAndNoHost) {
  for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kBroadcast}) {
    MachineConfig config = machine_of(8, 8);
    const auto spent = [&](Time latency, Time overhead) {
      config.accelerator.hbm.latency = latency;
      config.accelerator.array.copy_overhead = overhead;
      return run(config, op, {1024})[0].time;
    };
    EXPECT_EQ(spent(500_ns, 1_us), spent(Time(), Time()));
    config = machine_of(4, 1);
    const Time relayed = run(config, op, {1024})[0].time;
    config.accelerator.array.relay = Time();
    EXPECT_EQ(run(config, op, {1024})[0].time, relayed);
  }
}

// What is long goes as without the choice, also behind what was short, but for what a ring's first collective posts.
TEST(ShortRing, LeavesLongBuffersToRings) {
  MachineConfig config = machine_of(8, 8);
  const std::vector<std::uint64_t> sizes = {1024, 64 << 20, 1024, 64 << 20};
  const auto nccl = run(config, CollectiveOp::kAllgather, sizes);
  config.collectives.algorithm = Algorithm::kRing;
  const auto ring = run(config, CollectiveOp::kAllgather, sizes);
  for (const std::size_t i : {0, 2}) EXPECT_LT(nccl[i].time, ring[i].time / 2);
  for (const std::size_t i : {1, 3}) {
    const double ratio = static_cast<double>(nccl[i].time.count()) / static_cast<double>(ring[i].time.count());
    EXPECT_NEAR(ratio, 1, 0.001);
  }
}

}  // namespace
}  // namespace weft::platforms
