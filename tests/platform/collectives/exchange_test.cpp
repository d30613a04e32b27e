// SPDX-License-Identifier: Apache-2.0
// AllToAlls of `nccl`, by sends and receives: every byte in place, none moved twice, at the rate of the narrowest link.
#include <gtest/gtest.h>

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

TEST(Exchange, FillsTheNarrowestLink) {
  constexpr std::uint64_t kBytes = 64 << 20;
  for (const auto& [nodes, per_node] : std::vector<std::pair<int, int>>{{8, 1}, {4, 4}}) {
    MachineConfig config = machine_of(nodes, per_node);
    config.fabric.segment = 64_KiB;
    test::fresh_kernel();
    Machine machine(config);
    const CollectiveResult result =
        run_collective(machine, CollectiveOp::kAllToAll, {kBytes}, ElementType::kFp32, nullptr, false).front();
    EXPECT_EQ(result.algorithms.front(), "send-receive");
    // What leaves the node goes through each member's own NIC.
    const Bytes leaves(static_cast<std::int64_t>(kBytes) / config.accelerators * (config.accelerators - per_node));
    const Time least = transfer_time(leaves, std::min(config.fabric.link.rate, config.nic.dma_rate));
    EXPECT_GE(result.time, least);
    EXPECT_LE(result.time, least + least / 8) << nodes << 'x' << per_node;
  }
}

}  // namespace
}  // namespace weft::platforms
