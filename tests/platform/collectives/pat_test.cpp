// SPDX-License-Identifier: Apache-2.0
// Allgathers and ReduceScatters by PAT: every byte in place, none too many on the wire, a logarithm of messages, and
// when `nccl` takes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/nccl/nccl_collectives.h"
#include "sw/collectives/pat/pat_group.h"
#include "sw/collectives/reference.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::PatGroup;
using collectives::Reference;
using dimensions::Operation;

MachineConfig nodes_of(int ranks) {
  MachineConfig config;
  config.accelerators = ranks;
  config.per_node = 1;
  config.collectives.algorithm = "nccl";
  return config;
}

struct PatCase {
  std::string name;
  int ranks;
  int channels;
  std::uint64_t chunk;
  int slots;
  int queue_pairs;
};
std::ostream& operator<<(std::ostream& out, const PatCase& c) {
  return out << c.name;
}

const PatCase kPatCases[] = {
    {"TwoRanks", 2, 4, 512 << 10, 16, 1},     {"ThreeRanks", 3, 1, 4096, 2, 1},
    {"FiveRanks", 5, 2, 32 << 10, 3, 1},      {"SevenRanks", 7, 3, 1001, 8, 2},
    {"ThirteenRanks", 13, 4, 16 << 10, 8, 1}, {"SixteenRanks", 16, 2, 64 << 10, 200, 1},
    {"TwoSlots", 16, 1, 256, 2, 3},
};

/// One after the other, in buffers of their own.
struct Turn {
  std::uint64_t bytes;
  ElementType type;
  std::uint64_t buffer = 0;
  std::uint64_t output = 0;  ///< of a ReduceScatter: elsewhere, if it is not 0
};

firmware::Task take_turns(PatGroup& group, Operation operation, int member, int members, std::vector<Turn> turns) {
  for (const Turn& turn : turns) {
    if (operation == Operation::kAllgather) {
      co_await group.allgather(member, turn.buffer, turn.bytes, size_of(turn.type));
      continue;
    }
    const std::uint64_t own = collectives::even_blocks({0, turn.bytes}, members, size_of(turn.type))(member).offset;
    co_await group.reduce_scatter(member, turn.buffer, turn.output != 0 ? turn.output : turn.buffer + own, turn.bytes,
                                  turn.type);
  }
}

std::uint64_t allocate(Machine& machine, std::uint64_t bytes) {
  return firmware::allocate_together(machine.ranks(), "buffer", std::max<std::uint64_t>(bytes, 1));
}

class Pat : public testing::TestWithParam<std::tuple<Operation, PatCase, Time>> {};

TEST_P(Pat, PutsEveryByteInPlaceAndMovesNoneTwice) {
  const auto& [operation, c, stall] = GetParam();
  MachineConfig config = nodes_of(c.ranks);
  config.accelerator.array.relay = 10_us;
  config.stall = stall;
  config.data = true;
  test::fresh_kernel();
  Machine machine(config);
  PatGroup group(machine.ranks(), c.channels, {c.chunk, c.slots, c.queue_pairs}, "PAT");
  const bool sums = operation == Operation::kReduceScatter;
  std::vector<Turn> turns = {{77'777, ElementType::kFp32},    {0, ElementType::kFp32},       {1, ElementType::kBf16},
                             {4, ElementType::kInt32},        {300'000, ElementType::kBf16}, {30, ElementType::kFp16},
                             {1'048'588, ElementType::kInt32}};
  std::vector<Reference> contents;
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Turn& turn = turns[i];
    if (sums) turn.bytes = turn.bytes / size_of(turn.type) * size_of(turn.type);
    moved += static_cast<std::int64_t>(turn.bytes);
    turn.buffer = allocate(machine, turn.bytes);
    if (sums && i % 2 == 0) turn.output = allocate(machine, turn.bytes);
    contents.push_back({operation, c.ranks, turn.bytes, turn.type, i});
    for (int r = 0; r < c.ranks; ++r) contents[i].fill(machine.memory(r).store(), turn.buffer, r);
  }
  for (int r = 0; r < c.ranks; ++r) {
    machine.rank(r).processor->spawn("turns", 0, take_turns(group, operation, r, c.ranks, turns));
  }
  machine.run();
  std::int64_t received = 0;
  for (int r = 0; r < c.ranks; ++r) {
    received += machine.nic(r).counters().bytes_received;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const Turn& turn = turns[i];
      const std::uint64_t own = contents[i].block(r).offset;
      const std::uint64_t at = !sums ? turn.buffer : turn.output != 0 ? turn.output : turn.buffer + own;
      EXPECT_EQ(contents[i].wrong(machine.memory(r).store(), at, r), 0) << turn.bytes << " bytes";
    }
  }
  EXPECT_EQ(received, (c.ranks - 1) * moved);
}

std::string pat_name(const testing::TestParamInfo<Pat::ParamType>& test) {
  const auto& [operation, c, stall] = test.param;
  return c.name + (operation == Operation::kAllgather ? "Allgather" : "ReduceScatter") +
         (stall > Time() ? "Stalled" : "");
}

INSTANTIATE_TEST_SUITE_P(All, Pat,
                         testing::Combine(testing::Values(Operation::kAllgather, Operation::kReduceScatter),
                                          testing::ValuesIn(kPatCases), testing::Values(Time(), 3_us)),
                         pat_name);

struct PatRun {
  std::int64_t wrong = 0;
  std::int64_t messages = 0;  ///< of the first rank
  std::int64_t bytes = 0;
  std::string_view algorithm;
  Time time;
};

PatRun run(const MachineConfig& config, CollectiveOp op, std::uint64_t bytes, ElementType type = ElementType::kFp32) {
  test::fresh_kernel();
  Machine machine(config);
  const CollectiveResult result = run_collective(machine, op, {bytes}, type, nullptr, false).front();
  const nic::NicCounters& counters = machine.nic(0).counters();
  return {result.wrong, counters.messages_sent, counters.bytes_sent, result.algorithms.front(), result.time};
}

constexpr CollectiveOp kBoth[] = {CollectiveOp::kAllgather, CollectiveOp::kReduceScatter};

// Beside each message a slot comes back.
TEST(PatChoice, GoesByPatInALogarithmOfMessagesWhereBuffersAreShort) {
  for (const int ranks : {13, 16, 64}) {
    for (const CollectiveOp op : kBoth) {
      MachineConfig config = nodes_of(ranks);
      config.data = true;
      const PatRun outcome = run(config, op, 13'312);
      EXPECT_EQ(outcome.algorithm, "pat");
      EXPECT_EQ(outcome.wrong, 0);
      EXPECT_EQ(outcome.messages, 2 * std::bit_width(static_cast<unsigned>(ranks - 1)));
      EXPECT_EQ(outcome.bytes, 13'312 / ranks * (ranks - 1));
    }
  }
}

TEST(PatChoice, AloneAMemberHasWhatItHad) {
  for (const CollectiveOp op : kBoth) {
    MachineConfig config = nodes_of(1);
    config.data = true;
    const PatRun outcome = run(config, op, 4000);
    EXPECT_EQ(outcome.wrong, 0);
    EXPECT_EQ(outcome.algorithm, "ring");
  }
}

TEST(PatChoice, GoesByPatWithAllTypes) {
  MachineConfig config = nodes_of(13);
  config.data = true;
  for (const ElementType type : {ElementType::kFp32, ElementType::kInt32, ElementType::kBf16, ElementType::kFp16}) {
    for (const CollectiveOp op : kBoth) {
      const PatRun outcome = run(config, op, 13 << 10, type);
      EXPECT_EQ(outcome.algorithm, "pat");
      EXPECT_EQ(outcome.wrong, 0);
      EXPECT_EQ(outcome.bytes, 12 << 10);
    }
  }
}

TEST(PatChoice, GoesByPatAmongNodesOfOneMemberUnlessItIsOff) {
  for (const CollectiveOp op : kBoth) {
    MachineConfig config = nodes_of(16);
    config.fabric.segment = 64_KiB;
    EXPECT_EQ(run(config, op, 64 << 10).algorithm, "pat");
    EXPECT_EQ(run(config, op, 64 << 20).algorithm, "ring");
    config.collectives.protocol = collectives::Protocol::kLl128;
    EXPECT_EQ(run(config, op, 64 << 10).algorithm, "ring");
    config.collectives.protocol = collectives::Protocol::kSimple;
    EXPECT_EQ(run(config, op, 64 << 10).algorithm, "pat");
    config.collectives.of<collectives::NcclConfig>().pat = false;
    EXPECT_EQ(run(config, op, 64 << 10).algorithm, "ring");
    config.collectives.of<collectives::NcclConfig>().pat = true;
    config.per_node = 2;
    EXPECT_EQ(run(config, op, 64 << 10).algorithm, "ring");
    config.per_node = 1;
    config.collectives.algorithm = "ring";
    EXPECT_EQ(run(config, op, 64 << 10).algorithm, "ring");
  }
  EXPECT_NE(run(nodes_of(16), CollectiveOp::kAllReduce, 64 << 10).algorithm, "pat");
}

TEST(PatChoice, IsFasterByPatThanByRingsOfItsProtocol) {
  for (const CollectiveOp op : kBoth) {
    MachineConfig config = nodes_of(64);
    config.accelerator.array.shared_cores = true;
    config.accelerator.array.relay = 10_us;
    config.collectives.protocol = collectives::Protocol::kSimple;
    const Time pat = run(config, op, 64 << 10).time;
    config.collectives.of<collectives::NcclConfig>().pat = false;
    EXPECT_LT(2 * pat, run(config, op, 64 << 10).time);
  }
}

}  // namespace
}  // namespace weft::platforms
