// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>

#include "tests/support/chakra.h"

namespace weft::chakra {
namespace {

using test::chakra_node;
using test::ChakraTest;

class ChakraWindow : public ChakraTest {
 protected:
  /// Executes one node after the other, and gives their order.
  static std::vector<std::uint64_t> run(TraceWindow& window) {
    std::vector<std::uint64_t> order;
    while (const Node* node = window.next()) {
      order.push_back(node->id);
      window.complete(node->id);
    }
    EXPECT_TRUE(window.done());
    return order;
  }

  std::string refused_run(const std::vector<Node>& nodes) {
    const auto path = write(nodes);
    return refused([&] {
      TraceWindow window(path);
      run(window);
    });
  }
};

TEST_F(ChakraWindow, HandsOutReadyNodesByIdAndWaitsForTheOthers) {
  // 9 and 3 are ready; 1 waits for both, by data and by control, and 4 for one that comes later in the file.
  Node one = chakra_node(1, {9});
  one.control_dependencies = {3};
  TraceWindow window(write({chakra_node(9), one, chakra_node(4, {6}), chakra_node(3), chakra_node(6)}));
  EXPECT_EQ(window.metadata().version, "0.0.4");
  EXPECT_EQ(window.next()->id, 3U);
  EXPECT_EQ(window.next()->id, 6U);
  window.complete(6);
  EXPECT_EQ(window.next()->id, 4U);
  EXPECT_EQ(window.next()->id, 9U);
  EXPECT_EQ(window.next(), nullptr);
  EXPECT_FALSE(window.done());
  EXPECT_EQ(window.out(), 3U);
  window.complete(9);
  EXPECT_EQ(window.next(), nullptr);
  window.complete(3);
  ASSERT_NE(window.next(), nullptr);
  window.complete(1);
  EXPECT_EQ(window.next(), nullptr);
  EXPECT_FALSE(window.done());
  window.complete(4);
  EXPECT_TRUE(window.done());
  EXPECT_EQ(window.completed(), 5U);
}

/// Ten pieces of two nodes, each behind the one before it; the last node waits for nodes of several pieces.
TEST_F(ChakraWindow, LeavesOutWhatRepeats) {
  std::vector<Node> nodes = {chakra_node(0)};
  for (std::uint64_t id = 1; id < 20; ++id) {
    nodes.push_back(id % 2 == 1 && id > 2 ? chakra_node(id, {id - 1, id - 3}) : chakra_node(id, {id - 1}));
  }
  nodes.push_back(chakra_node(20, {3, 9, 11, 19}));
  TraceWindow window(write(nodes), 1);
  ASSERT_EQ(window.next()->id, 0U);
  EXPECT_THROW(window.leave_out({0, 4, 2, 3}), std::logic_error) << "it has been read";
  EXPECT_THROW(window.leave_out({8, 10, 2, 3}), std::logic_error) << "nodes behind it depend on some before it";
  window.leave_out({8, 14, 2, 3});
  std::vector<std::uint64_t> order;
  for (std::uint64_t out = 0; order.size() < 8; out = order.back()) {
    window.complete(out);
    const Node* next = window.next();
    ASSERT_NE(next, nullptr);
    order.push_back(next->id);
    EXPECT_EQ(window.next(), nullptr) << "each waits for the one before it, across the gap too";
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 14}));
  window.complete(14);
  EXPECT_EQ(run(window), (std::vector<std::uint64_t>{15, 16, 17, 18, 19, 20}));
}

TEST_F(ChakraWindow, CompletesOnlyWhatIsOut) {
  TraceWindow window(write({chakra_node(1), chakra_node(2)}));
  EXPECT_THROW(window.complete(1), std::logic_error);
  ASSERT_EQ(window.next()->id, 1U);
  EXPECT_THROW(window.complete(2), std::logic_error);
  EXPECT_THROW(window.complete(7), std::logic_error);
  window.complete(1);
  EXPECT_THROW(window.complete(1), std::logic_error);
}

TEST_F(ChakraWindow, ANodeMayNameADependencyTwice) {
  Node twice = chakra_node(1, {0, 0});
  twice.control_dependencies = {0};
  TraceWindow window(write({chakra_node(0), twice}));
  EXPECT_EQ(run(window), (std::vector<std::uint64_t>{0, 1}));
}

TEST_F(ChakraWindow, HoldsOnlyLiveNodes) {
  std::vector<Node> chain;
  constexpr std::uint64_t kNodes = 20'000;
  for (std::uint64_t i = 0; i < kNodes; ++i) {
    chain.push_back(i == 0 ? chakra_node(0) : chakra_node(i, {i - 1}));
  }
  const auto path = write(chain);
  for (const std::size_t ahead : {std::size_t{1}, std::size_t{100}, TraceWindow::kReadAhead}) {
    TraceWindow window(path, ahead);
    const std::vector<std::uint64_t> order = run(window);
    EXPECT_EQ(order.size(), kNodes);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(window.most_live(), ahead);
  }
  // While a node of the chain is out nothing more is read than the window wants.
  TraceWindow window(path, 10);
  ASSERT_NE(window.next(), nullptr);
  EXPECT_EQ(window.next(), nullptr);
  EXPECT_EQ(window.read(), 10U);
}

TEST_F(ChakraWindow, ReadsOnWhereNothingIsReady) {
  // The only node that is ready is the last of the file.
  std::vector<Node> nodes;
  for (std::uint64_t i = 0; i < 1000; ++i) nodes.push_back(chakra_node(i, {i + 1}));
  nodes.push_back(chakra_node(1000));
  TraceWindow window(write(nodes), 16);
  const std::vector<std::uint64_t> order = run(window);
  EXPECT_EQ(order.size(), 1001U);
  EXPECT_EQ(order.front(), 1000U);
  EXPECT_EQ(order.back(), 0U);
}

TEST_F(ChakraWindow, ReadsFurtherWhenAsked) {
  std::vector<Node> nodes = {chakra_node(0)};
  for (std::uint64_t i = 1; i < 100; ++i) nodes.push_back(chakra_node(i, {0}));
  nodes.push_back(chakra_node(100));
  TraceWindow window(write(nodes), 4);
  ASSERT_EQ(window.next()->id, 0U);
  EXPECT_EQ(window.next(), nullptr);
  EXPECT_TRUE(window.read_further());
  EXPECT_EQ(window.next()->id, 100U);
  EXPECT_FALSE(window.read_further());
  window.complete(0);
  window.complete(100);
  EXPECT_EQ(run(window).size(), 99U);
}

TEST_F(ChakraWindow, NamesWhatIsWrongWithAGraph) {
  EXPECT_EQ(refused_run({chakra_node(1), chakra_node(2), chakra_node(1)}).substr(0, 13), "w.0.et: byte ");
  EXPECT_NE(refused_run({chakra_node(1), chakra_node(2), chakra_node(1)})
                .find("node 1 'n1': the id was there before, as node 1 'n1': expected unique ids"),
            std::string::npos);
  EXPECT_NE(refused_run({chakra_node(1, {1})}).find("node 1 'n1' depends on itself"), std::string::npos);
  EXPECT_EQ(refused_run({chakra_node(0), chakra_node(5, {0, 9}), chakra_node(6, {8})}),
            "w.0.et: node 6 'n6' depends on node 8, which is not in the file");
  EXPECT_EQ(refused_run({chakra_node(0), chakra_node(1, {3}), chakra_node(2, {1, 0}), chakra_node(3, {2}),
                         chakra_node(4, {3})}),
            "w.0.et: node 1 'n1' waits for node 3 'n3' waits for node 2 'n2' waits for node 1 'n1': these can never be "
            "ready");
  // An id that has completed long before.
  const auto path = write({chakra_node(1), chakra_node(2), chakra_node(1)});
  EXPECT_NE(refused([&] {
              TraceWindow window(path, 1);
              run(window);
            }).find("node 1 'n1': the id was there before: expected unique ids"),
            std::string::npos);
}

TEST_F(ChakraWindow, ALongCycleIsCutShort) {
  std::vector<Node> ring;
  for (std::uint64_t i = 0; i < 100; ++i) ring.push_back(chakra_node(i, {(i + 1) % 100}));
  const std::string text = refused_run(ring);
  EXPECT_NE(text.find("node 7 'n7' waits for ... (100 nodes) waits for node 0 'n0': these can never be ready"),
            std::string::npos)
      << text;
}

/// Random graphs, random orders of completion, windows of every size: each node once, and never before what it needs.
TEST_F(ChakraWindow, KeepsTheOrderOfRandomGraphs) {
  std::mt19937 random(7);
  const auto draw = [&](std::uint64_t below) { return random() % below; };
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t count = 1 + draw(300);
    std::vector<Node> nodes;
    for (std::uint64_t i = 0; i < count; ++i) {
      Node node = chakra_node(i * 3);
      for (std::uint64_t edges = i == 0 ? 0 : draw(4); edges > 0; --edges) {
        (draw(2) == 0 ? node.data_dependencies : node.control_dependencies).push_back(draw(i) * 3);
      }
      nodes.push_back(node);
    }
    // Somewhat out of order in the file.
    for (std::uint64_t i = 0; i + 1 < count; i += 1 + draw(5)) std::swap(nodes[i], nodes[i + 1]);
    TraceWindow window(write(nodes), 1 + draw(40));
    std::set<std::uint64_t> done;
    std::vector<std::uint64_t> out;
    while (true) {
      const Node* node = draw(3) == 0 && !out.empty() ? nullptr : window.next();
      if (node != nullptr) {
        for (const auto* dependencies : {&node->data_dependencies, &node->control_dependencies}) {
          for (const std::uint64_t id : *dependencies) EXPECT_TRUE(done.contains(id)) << node->id << " before " << id;
        }
        out.push_back(node->id);
        continue;
      }
      if (out.empty()) break;
      const std::size_t at = draw(out.size());
      window.complete(out[at]);
      EXPECT_TRUE(done.insert(out[at]).second);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
    }
    EXPECT_TRUE(window.done());
    EXPECT_EQ(done.size(), count);
  }
}

TEST(ChakraIdSet, MergesIntervals) {
  IdSet set;
  EXPECT_TRUE(set.insert(5));
  EXPECT_FALSE(set.insert(5));
  EXPECT_TRUE(set.insert(7));
  EXPECT_EQ(set.intervals(), 2U);
  EXPECT_FALSE(set.contains(6));
  EXPECT_TRUE(set.insert(6));
  EXPECT_EQ(set.intervals(), 1U);
  EXPECT_TRUE(set.insert(4));
  EXPECT_TRUE(set.insert(UINT64_MAX));
  EXPECT_TRUE(set.insert(0));
  EXPECT_EQ(set.intervals(), 3U);
  for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{7}, UINT64_MAX}) {
    EXPECT_TRUE(set.contains(id)) << id;
    EXPECT_FALSE(set.insert(id)) << id;
  }
  EXPECT_FALSE(set.contains(8));
  EXPECT_FALSE(set.contains(1));
}

TEST(ChakraIdSet, AgreesWithASet) {
  std::mt19937 random(3);
  IdSet set;
  std::set<std::uint64_t> reference;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t id = random() % 2000;
    EXPECT_EQ(set.insert(id), reference.insert(id).second);
    const std::uint64_t asked = random() % 2000;
    EXPECT_EQ(set.contains(asked), reference.contains(asked));
  }
}

}  // namespace
}  // namespace weft::chakra
