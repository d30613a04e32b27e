// SPDX-License-Identifier: Apache-2.0
// Rings whose chunks have flags, as NCCL's protocols LL and LL128 have them.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/reference.h"
#include "sw/collectives/ring/flagged_ring.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::Protocol;

MachineConfig machine_of(int ranks, int per_node) {
  MachineConfig config;
  config.accelerators = ranks;
  config.per_node = per_node;
  config.accelerator.array.shared_cores = true;
  config.accelerator.array.relay = 10_us;
  config.collectives.algorithm = "nccl";
  return config;
}

struct FlaggedCase {
  std::string name;
  int ranks;
  int per_node;
  int channels;
  int slots;
};
std::ostream& operator<<(std::ostream& out, const FlaggedCase& c) {
  return out << c.name;
}

const FlaggedCase kFlaggedCases[] = {{"OneRank", 1, 1, 4, 16},   {"TwoRanks", 2, 1, 4, 16}, {"FiveNodes", 5, 1, 1, 2},
                                     {"OneNode", 8, 8, 8, 16},   {"TwoSlots", 4, 4, 1, 2},  {"ThreeSlots", 8, 4, 2, 3},
                                     {"ManySlots", 6, 3, 2, 200}};

class FlaggedRings : public testing::TestWithParam<std::tuple<CollectiveOp, Protocol, FlaggedCase, Time>> {};

std::int64_t received_by_all(Machine& machine) {
  std::int64_t sum = 0;
  for (int r = 0; r < machine.size(); ++r) {
    sum += machine.nic(r).counters().bytes_received;
    if (const nic::AnyNic* port = machine.scale_up_port(r)) sum += port->counters().bytes_received;
  }
  return sum;
}

// The bytes of the flags show that it is the protocol that was asked for.
TEST_P(FlaggedRings, PutEveryByteInPlaceAndMoveItsFlags) {
  const auto& [op, protocol, c, stall] = GetParam();
  MachineConfig config = machine_of(c.ranks, c.per_node);
  config.collectives.algorithm = "ring";
  config.collectives.protocol = protocol;
  config.collectives.channels = c.channels;
  config.collectives.slots = c.slots;
  config.accelerator.array.line_latency = 1_us;
  config.stall = stall;
  config.data = true;
  Machine machine(config);
  const std::vector<std::uint64_t> sizes = {77'777, 0, 1, 400'000, 3};
  std::int64_t sum = static_cast<std::int64_t>(sizes.front());  // run once more before
  for (const CollectiveResult& result : run_collective(machine, op, sizes, ElementType::kFp32)) {
    EXPECT_EQ(result.wrong, 0) << result.bytes << " bytes";
    sum += static_cast<std::int64_t>(result.bytes);
  }
  const std::int64_t data = (c.ranks - 1) * sum * (op == CollectiveOp::kAllReduce ? 2 : 1);
  if (protocol == Protocol::kLl) {
    EXPECT_EQ(received_by_all(machine), 2 * data);
  } else {
    // A chunk's last line may not be full.
    EXPECT_GE(received_by_all(machine), data * 128 / 120);
    EXPECT_LE(received_by_all(machine), data * 128 / 100 + 128 * 64 * c.ranks);
  }
}

std::string flagged_name(const testing::TestParamInfo<FlaggedRings::ParamType>& test) {
  const auto& [op, protocol, c, stall] = test.param;
  return c.name + (protocol == Protocol::kLl ? "Words" : "Lines") + "Op" + std::to_string(static_cast<int>(op)) +
         (stall > Time() ? "Stalled" : "");
}

INSTANTIATE_TEST_SUITE_P(All, FlaggedRings,
                         testing::Combine(testing::Values(CollectiveOp::kAllgather, CollectiveOp::kReduceScatter,
                                                          CollectiveOp::kAllReduce, CollectiveOp::kBroadcast),
                                          testing::Values(Protocol::kLl, Protocol::kLl128),
                                          testing::ValuesIn(kFlaggedCases), testing::Values(Time(), 3_us)),
                         flagged_name);

std::vector<CollectiveResult> run(const MachineConfig& config, CollectiveOp op,
                                  const std::vector<std::uint64_t>& sizes) {
  test::fresh_kernel();
  Machine machine(config);
  return run_collective(machine, op, sizes, ElementType::kFp32);
}

// Within a node neither memory nor the start of a copy is waited for. Between nodes a thread of the host takes part,
// which is waited for at each hop.
TEST(FlaggedRing, WaitsForNoMemoryAndNoHost) {
  for (const CollectiveOp op : {CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kBroadcast}) {
    MachineConfig config = machine_of(8, 8);
    const auto spent = [&](Time latency, Time overhead) {
      config.accelerator.hbm.latency = latency;
      config.accelerator.array.copy_overhead = overhead;
      return run(config, op, {1024})[0].time;
    };
    EXPECT_EQ(spent(500_ns, 1_us), spent(Time(), Time()));
    config = machine_of(4, 1);
    for (const Protocol protocol : {Protocol::kLl, Protocol::kLl128}) {
      config.collectives.protocol = protocol;
      const auto relayed = [&](Time words, Time lines) {
        config.accelerator.array.word_relay = words;
        config.accelerator.array.line_relay = lines;
        return run(config, op, {1024})[0].time;
      };
      const bool words = protocol == Protocol::kLl;
      EXPECT_EQ(relayed(3_us, 5_us) - relayed(Time(), Time()), 3 * (words ? 3_us : 5_us));
    }
  }
}

/// Broadcasts of member 0, one behind the other, in buffers of their own.
firmware::Task turns(collectives::FlaggedRingMember& member, const std::vector<std::uint64_t>& buffers,
                     std::uint64_t bytes) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    co_await member.broadcast(buffers[i], {0, bytes}, 0,
                              i % 2 == 0 ? collectives::Flags::kLines : collectives::Flags::kWords);
  }
}

// Chunks take slots in the order in which they come: what is faster to go must not overtake what is slower.
TEST(FlaggedRing, TakesProtocolsInTurn) {
  MachineConfig config = machine_of(4, 4);
  config.accelerator.array.line_latency = 20_us;
  config.data = true;
  Machine machine(config);
  const auto members = collectives::FlaggedRingMember::join(machine.ranks(), 16, 1, 0, "ring");
  constexpr std::uint64_t kBytes = 20'000;
  std::vector<std::uint64_t> buffers;
  std::vector<collectives::Reference> contents;
  for (std::uint64_t i = 0; i < 4; ++i) {
    for (int r = 0; r < machine.size(); ++r) {
      const std::uint64_t at = machine.rank(r).memory.allocate("buffer", kBytes);
      if (r == 0) buffers.push_back(at);
      EXPECT_EQ(at, buffers.back());
    }
    contents.push_back({dimensions::Operation::kAllgather, machine.size(), kBytes, ElementType::kFp32, i});
    for (int r = 0; r < machine.size(); ++r) {
      contents.back().fill_broadcast(machine.memory(r).store(), buffers.back(), r, 0);
    }
  }
  for (int r = 0; r < machine.size(); ++r) {
    machine.rank(r).processor->spawn("turns", 0, turns(*members[static_cast<std::size_t>(r)], buffers, kBytes));
  }
  sc_core::sc_start();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (int r = 0; r < machine.size(); ++r) {
      EXPECT_EQ(contents[i].wrong_copy(machine.memory(r).store(), buffers[i], {0, kBytes}, 0), 0) << i << ", " << r;
    }
  }
}

// What is long goes as without the choice, also behind what was short, but for what a ring's first collective posts.
// One after itself, one after a short one, and again. What is left is when the last acknowledgements of the one before
// are taken, which give slots back.
TEST(FlaggedRing, TakesAsLongWhateverRanBefore) {
  for (const auto& [ranks, per_node] : {std::pair{8, 1}, std::pair{16, 8}}) {
    test::fresh_kernel();
    MachineConfig config = machine_of(ranks, per_node);
    config.collectives.algorithm = "ring";
    config.collectives.protocol = Protocol::kLl128;
    config.collectives.channels = 2;
    config.accelerator.array.line_latency = 5_us;
    config.fabric.link.propagation = 10_us;
    Machine machine(config);
    const auto bytes = static_cast<std::uint64_t>(ranks) * (64 << 10);
    const std::vector<CollectiveResult> results =
        run_collective(machine, CollectiveOp::kAllgather, {bytes, 1024, bytes, bytes}, ElementType::kFp32);
    for (const std::size_t later : {2, 3}) {
      EXPECT_NEAR(static_cast<double>(results[later].time.count()) / static_cast<double>(results[0].time.count()), 1,
                  0.04)
          << ranks << " ranks: " << to_text(results[0].time) << ", then " << to_text(results[later].time);
    }
  }
}

TEST(FlaggedRing, LeavesLongBuffersToRings) {
  MachineConfig config = machine_of(8, 8);
  const std::vector<std::uint64_t> sizes = {1024, 64 << 20, 1024, 64 << 20};
  const auto nccl = run(config, CollectiveOp::kAllgather, sizes);
  config.collectives.algorithm = "ring";
  const auto ring = run(config, CollectiveOp::kAllgather, sizes);
  for (const std::size_t i : {0, 2}) EXPECT_LT(nccl[i].time, ring[i].time / 2);
  for (const std::size_t i : {1, 3}) {
    const double ratio = static_cast<double>(nccl[i].time.count()) / static_cast<double>(ring[i].time.count());
    EXPECT_NEAR(ratio, 1, 0.001);
  }
}

}  // namespace
}  // namespace weft::platforms
