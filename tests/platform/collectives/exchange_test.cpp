// SPDX-License-Identifier: Apache-2.0
// AllToAlls of `nccl`, by sends and receives: every byte in place, none moved twice, at the rate of the narrowest link.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/reference.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::Communicator;
using collectives::Reference;
using dimensions::Operation;

MachineConfig machine_of(int nodes, int per_node) {
  MachineConfig config;
  config.accelerators = nodes * per_node;
  config.per_node = per_node;
  config.collectives.algorithm = "nccl";
  return config;
}

struct ExchangeTurn {
  std::uint64_t bytes;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};

firmware::Task exchange_in_turn(Communicator& group, int member, std::vector<ExchangeTurn> turns) {
  for (const ExchangeTurn& turn : turns) co_await group.all_to_all(member, turn.input, turn.output, turn.bytes);
}

TEST(Exchange, PutsEveryByteInPlaceAndMovesNoneTwice) {
  for (const auto& [nodes, per_node] : std::vector<std::pair<int, int>>{{1, 1}, {1, 4}, {5, 1}, {3, 4}, {17, 1}}) {
    for (const Time stall : {Time(), 3_us}) {
      MachineConfig config = machine_of(nodes, per_node);
      config.stall = stall;
      config.data = true;
      test::fresh_kernel();
      Machine machine(config);
      Communicator group(machine.ranks(), config.collectives, "group");
      const int ranks = machine.size();
      std::vector<ExchangeTurn> turns;
      std::vector<Reference> contents;
      std::int64_t sent = 0;
      for (const std::uint64_t block : {4ULL, 0ULL, 70'000ULL, 300'004ULL}) {
        const std::uint64_t bytes = block * static_cast<std::uint64_t>(ranks);
        const std::uint64_t room = std::max<std::uint64_t>(bytes, 1);
        turns.push_back({bytes, firmware::allocate_together(machine.ranks(), "input", room),
                         firmware::allocate_together(machine.ranks(), "output", room)});
        contents.push_back({Operation::kAllToAll, ranks, bytes, ElementType::kFp32, turns.size()});
        for (int r = 0; r < ranks; ++r) contents.back().fill(machine.memory(r).store(), turns.back().input, r);
        sent += static_cast<std::int64_t>(block) * ranks * (ranks - per_node);
      }
      for (int r = 0; r < ranks; ++r) {
        machine.rank(r).processor->spawn("turns", 0, exchange_in_turn(group, r, turns));
      }
      machine.run();
      std::int64_t received = 0;
      for (int r = 0; r < ranks; ++r) {
        received += machine.nic(r).counters().bytes_received;
        for (std::size_t i = 0; i < turns.size(); ++i) {
          EXPECT_EQ(contents[i].wrong(machine.memory(r).store(), turns[i].output, r), 0) << nodes << 'x' << per_node;
        }
      }
      EXPECT_EQ(received, sent) << nodes << 'x' << per_node;
    }
  }
}

/// What a member has for each other: some parts are empty, some take several channels.
std::uint64_t uneven_part(int from, int to) {
  constexpr std::uint64_t kSizes[] = {0, 4, 300'004, 70'000, 1 << 20};
  return kSizes[static_cast<std::size_t>((from * 7 + to * 3) % 5)];
}
constexpr std::uint64_t kPlace = 1 << 20;

std::byte byte_of(int from, int to, std::uint64_t at) {
  return static_cast<std::byte>(at * 13 + at / 251 + static_cast<std::uint64_t>(from * 31 + to * 17 + 1));
}

firmware::Task exchange_uneven(Communicator& group, int member, int ranks, std::uint64_t input, std::uint64_t output) {
  collectives::Parts parts;
  for (int other = 0; other < ranks; ++other) {
    parts.to.push_back(uneven_part(member, other));
    parts.from.push_back(uneven_part(other, member));
  }
  // Twice: a member that is through begins again beside others that are not.
  co_await group.exchange(member, input, output, kPlace, parts);
  co_await group.exchange(member, input, output, kPlace, parts);
}

TEST(Exchange, PutsPartsThatDifferInPlace) {
  for (const auto& [nodes, per_node] : std::vector<std::pair<int, int>>{{1, 4}, {5, 1}, {2, 12}, {1, 18}}) {
    MachineConfig config = machine_of(nodes, per_node);
    config.data = true;
    config.accelerator.array.copy_engines = 2;  // so that channels have several batches
    test::fresh_kernel();
    Machine machine(config);
    Communicator group(machine.ranks(), config.collectives, "group");
    const int ranks = machine.size();
    const std::uint64_t room = kPlace * static_cast<std::uint64_t>(ranks);
    const std::uint64_t input = firmware::allocate_together(machine.ranks(), "input", room);
    const std::uint64_t output = firmware::allocate_together(machine.ranks(), "output", room);
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        std::vector<std::byte> part(uneven_part(from, to));
        for (std::uint64_t at = 0; at < part.size(); ++at) part[at] = byte_of(from, to, at);
        machine.memory(from).store().write(input + kPlace * static_cast<std::uint64_t>(to), part.data(), part.size());
      }
      machine.rank(from).processor->spawn("uneven", 0, exchange_uneven(group, from, ranks, input, output));
    }
    machine.run();
    for (int to = 0; to < ranks; ++to) {
      for (int from = 0; from < ranks; ++from) {
        std::vector<std::byte> expected(uneven_part(from, to));
        for (std::uint64_t at = 0; at < expected.size(); ++at) expected[at] = byte_of(from, to, at);
        std::vector<std::byte> part(expected.size());
        machine.memory(to).store().read(output + kPlace * static_cast<std::uint64_t>(from), part.data(), part.size());
        EXPECT_EQ(part, expected) << nodes << 'x' << per_node << ", from " << from << " to " << to;
      }
    }
  }
}

CollectiveResult timed(const MachineConfig& config, std::uint64_t bytes) {
  test::fresh_kernel();
  Machine machine(config);
  return run_collective(machine, CollectiveOp::kAllToAll, {bytes}, ElementType::kFp32, nullptr, false).front();
}

TEST(Exchange, FillsTheNarrowestLink) {
  constexpr std::uint64_t kBytes = 64 << 20;
  // Nodes of more than eight send to all NICs of others at a time.
  for (const auto& [nodes, per_node] : std::vector<std::pair<int, int>>{{8, 1}, {4, 4}, {2, 16}}) {
    MachineConfig config = machine_of(nodes, per_node);
    config.fabric.segment = 64_KiB;
    const CollectiveResult result = timed(config, kBytes);
    EXPECT_EQ(result.algorithms.front(), "send-receive");
    // What leaves the node goes through each member's own NIC.
    const Bytes leaves(static_cast<std::int64_t>(kBytes) / config.accelerators * (config.accelerators - per_node));
    const Time least = transfer_time(leaves, std::min(config.fabric.link.rate, config.nic.dma_rate));
    EXPECT_GE(result.time, least);
    EXPECT_LE(result.time, least + least / 8) << nodes << 'x' << per_node;
  }
}

// Within a node too, be there one peer or several: the block that a member keeps is copied by all channels.
TEST(Exchange, FillsTheLinkOfANode) {
  constexpr std::uint64_t kBytes = 512 << 20;
  for (const int ranks : {2, 4, 8}) {
    MachineConfig config = machine_of(1, ranks);
    config.scale_up.fabric.segment = 64_KiB;
    const Bytes leaves(static_cast<std::int64_t>(kBytes) / ranks * (ranks - 1));
    const Time least =
        transfer_time(leaves, std::min(config.scale_up.fabric.payload_rate(), config.scale_up.port.dma_rate));
    const Time time = timed(config, kBytes).time;
    EXPECT_GE(time, least);
    EXPECT_LE(time, least + least / 8) << ranks;
    // One core alone copies its block at its own rate.
    config.accelerator.array.copy_engines = 1;
    EXPECT_GE(timed(config, kBytes).time, transfer_time(Bytes(kBytes) / ranks, config.accelerator.array.copy_rate));
  }
}

}  // namespace
}  // namespace weft::platforms
