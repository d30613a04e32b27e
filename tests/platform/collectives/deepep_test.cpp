// SPDX-License-Identifier: Apache-2.0
// Dispatch and combine of `deepep`: every byte in place, sums exact, tokens across the network once for each node.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/deepep/deepep.h"
#include "sw/collectives/reference.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::Communicator;
using collectives::DeepEpConfig;
using collectives::NodeWindows;
using collectives::Reference;
using collectives::TokenReference;
using collectives::Tokens;
using dimensions::Operation;

MachineConfig deepep_machine(int nodes, int per_node) {
  MachineConfig config;
  config.accelerators = nodes * per_node;
  config.per_node = per_node;
  config.collectives.algorithm = "deepep";
  return config;
}

/// Some of the members of a node get much, some nothing.
Tokens skewed_tokens(int nodes, int per_node, std::uint64_t unit) {
  Tokens tokens;
  for (int n = 0; n < nodes; ++n) {
    std::uint64_t sum = 0;
    std::uint64_t most = 0;
    for (int l = 0; l < per_node; ++l) {
      const std::uint64_t bytes = unit * static_cast<std::uint64_t>((n + 1) * l * l + (n == 2 ? 0 : n));
      tokens.members.push_back(bytes);
      sum += bytes;
      most = std::max(most, bytes);
    }
    tokens.nodes.push_back((most + (sum - most) / 2) / unit * unit);
  }
  return tokens;
}

struct TokenTurn {
  TokenReference contents;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};

firmware::Task tokens_in_turn(Communicator& group, int member, std::vector<TokenTurn> turns) {
  for (const TokenTurn& turn : turns) {
    Tokens tokens = turn.contents.tokens;
    if (turn.contents.combines) {
      co_await group.combine(member, turn.input, turn.output, std::move(tokens), turn.contents.type);
    } else {
      co_await group.dispatch(member, turn.input, turn.output, std::move(tokens));
    }
  }
}

TEST(DeepEp, WindowsCoverTheTokensOfANode) {
  const Tokens tokens = skewed_tokens(3, 4, 12);
  ASSERT_TRUE(tokens.is_possible());
  for (std::size_t node = 0; node < 3; ++node) {
    const NodeWindows windows(tokens, node);
    std::vector<int> covered(tokens.nodes[node], 0);
    for (std::size_t local = 0; local < 4; ++local) {
      std::uint64_t bytes = 0;
      for (const NodeWindows::Part& part : windows.parts(local, windows.whole())) {
        for (std::uint64_t i = 0; i < part.bytes; ++i) ++covered[part.at + i];
        bytes += part.bytes;
      }
      EXPECT_EQ(bytes, tokens.members[node * 4 + local]);
    }
    for (const int times : covered) EXPECT_GE(times, 1);
  }
  EXPECT_FALSE((Tokens{{4, 4}, {3}}.is_possible()));
  EXPECT_FALSE((Tokens{{4, 4}, {9}}.is_possible()));
  EXPECT_FALSE((Tokens{{4, 4, 4}, {4, 4}}.is_possible()));
}

/// What crosses the network is what nodes other than the sender's get, counted once for each.
TEST(DeepEp, PutsEveryByteInPlaceAndCrossesOnceForEachNode) {
  for (const auto& [nodes, per_node] : std::vector<std::pair<int, int>>{{1, 4}, {5, 1}, {3, 4}, {2, 3}}) {
    for (const Time stall : {Time(), 3_us}) {
      MachineConfig config = deepep_machine(nodes, per_node);
      config.stall = stall;
      config.data = true;
      config.collectives.of<DeepEpConfig>().chunk = Bytes(4096);
      config.collectives.of<DeepEpConfig>().slots = 2;
      test::fresh_kernel();
      Machine machine(config);
      Communicator group(machine.ranks(), config.collectives, "group");
      ASSERT_TRUE(group.can_dispatch());
      const int ranks = machine.size();
      std::vector<TokenTurn> turns;
      std::int64_t crosses = 0;
      std::uint64_t seed = 0;
      for (const std::uint64_t unit : {4ULL, 1004ULL, 40ULL, 5000ULL}) {
        const Tokens tokens = skewed_tokens(nodes, per_node, unit);
        const std::uint64_t all = std::accumulate(tokens.nodes.begin(), tokens.nodes.end(), std::uint64_t{0});
        for (const bool combines : {false, true}) {
          TokenTurn turn{{tokens, combines, combines ? ElementType::kBf16 : ElementType::kFp32, ++seed}};
          const std::uint64_t room = std::max<std::uint64_t>(tokens.room(), 4);
          turn.input = firmware::allocate_together(machine.ranks(), "input", room);
          turn.output = firmware::allocate_together(machine.ranks(), "output", room);
          for (int r = 0; r < ranks; ++r) turn.contents.fill(machine.memory(r).store(), turn.input, r);
          turns.push_back(turn);
          for (int r = 0; r < ranks; ++r) {
            crosses += static_cast<std::int64_t>(all - tokens.nodes[static_cast<std::size_t>(r / per_node)]);
          }
        }
      }
      for (int r = 0; r < ranks; ++r) {
        machine.rank(r).processor->spawn("turns", 0, tokens_in_turn(group, r, turns));
      }
      machine.run();
      std::int64_t received = 0;
      for (int r = 0; r < ranks; ++r) {
        received += machine.nic(r).counters().bytes_received;
        for (std::size_t i = 0; i < turns.size(); ++i) {
          EXPECT_EQ(turns[i].contents.wrong(machine.memory(r).store(), turns[i].output, r), 0)
              << nodes << 'x' << per_node << " turn " << i << " rank " << r;
        }
      }
      EXPECT_EQ(received, crosses) << nodes << 'x' << per_node;
    }
  }
}

/// An AllToAll is the dispatch of tokens that all differ.
TEST(DeepEp, HasAllToAllsAndLeavesTheRestToNccl) {
  for (const auto& [nodes, per_node] : std::vector<std::pair<int, int>>{{1, 4}, {3, 4}, {4, 1}}) {
    MachineConfig config = deepep_machine(nodes, per_node);
    config.data = true;
    test::fresh_kernel();
    Machine machine(config);
    for (const CollectiveOp op : {CollectiveOp::kAllToAll, CollectiveOp::kAllReduce}) {
      const CollectiveResult result =
          run_collective(machine, op, {1 << 20}, ElementType::kFp32, nullptr, false).front();
      EXPECT_EQ(result.wrong, 0) << nodes << 'x' << per_node;
      if (op == CollectiveOp::kAllToAll) {
        EXPECT_EQ(result.algorithms.front(), "deepep");
      } else {
        EXPECT_NE(result.algorithms.front(), "deepep");
      }
    }
  }
}

/// Long buffers fill the NICs: what crosses, over their rate, and a little for the way in and out.
TEST(DeepEp, FillsTheNarrowestLink) {
  constexpr std::uint64_t kBytes = 64 << 20;
  MachineConfig config = deepep_machine(4, 4);
  config.fabric.segment = 64_KiB;
  config.scale_up.fabric.segment = 64_KiB;
  test::fresh_kernel();
  Machine machine(config);
  const CollectiveResult result =
      run_collective(machine, CollectiveOp::kAllToAll, {kBytes}, ElementType::kFp32, nullptr, false).front();
  const Bytes leaves(static_cast<std::int64_t>(kBytes) / 4 * 3);
  const Time least = transfer_time(leaves, std::min(config.fabric.link.rate, config.nic.dma_rate));
  EXPECT_GE(result.time, least);
  EXPECT_LE(result.time, least + least / 8);
}

}  // namespace
}  // namespace weft::platforms
