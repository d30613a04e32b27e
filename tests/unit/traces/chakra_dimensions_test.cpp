// SPDX-License-Identifier: Apache-2.0
// Collectives of some dimensions (involved_dim): which ranks they join, with and without a network.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/chakra_check.h"
#include "traces/chakra/check.h"
#include "traces/chakra/check/dimensions.h"
#include "traces/chakra/repair.h"

namespace weft::chakra {
namespace {

using test::ChakraCheck;
using test::collective_node;
using Sizes = std::vector<std::uint32_t>;

class Dimensions : public ChakraCheck {
 protected:
  using Ranks = std::vector<std::vector<Node>>;

  static Node sum(std::uint64_t id, std::vector<bool> involved, std::vector<std::uint64_t> after = {},
                  std::int64_t bytes = 8, CollectiveType type = CollectiveType::kAllReduce) {
    Node node = with(collective_node(id, type, bytes), Attribute::booleans("involved_dim", std::move(involved)));
    node.data_dependencies = std::move(after);
    return node;
  }
  static Node sum_of_all(std::uint64_t id, std::vector<std::uint64_t> after = {}) {
    Node node = collective_node(id, CollectiveType::kAllReduce, 8);
    node.data_dependencies = std::move(after);
    return node;
  }
  CheckReport checked(const Ranks& ranks, const Sizes& sizes = {}) {
    found_in_ranks(ranks);
    return again("w", sizes);
  }
  [[nodiscard]] CheckReport again(const std::string& prefix, const Sizes& sizes) const {
    CheckOptions options;
    options.dimensions = sizes;
    options.order = true;
    return check(find_trace(file(prefix)), options);
  }
  Texts found(const Ranks& ranks, const Sizes& sizes = {}) { return texts(checked(ranks, sizes)); }
  static std::vector<Problem> remarks(const CheckReport& report) {
    std::vector<Problem> kinds;
    for (const FindingKind& kind : report.remarks) kinds.push_back(kind.first.kind);
    return kinds;
  }
  /// What a repair leaves of the nodes' types, rank by rank, and what a check with the network finds then.
  std::string repaired(const Ranks& ranks, const Sizes& sizes = {}) {
    found_in_ranks(ranks);
    CheckOptions options;
    options.dimensions = sizes;
    repair(find_trace(file("w")), file("r"), options);
    std::string types;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      for (const Node& node : read(file("r." + std::to_string(rank) + ".et"))) {
        types += node.type == NodeType::kCollective ? "c" : "-";
      }
    }
    return types;
  }
};

const Sizes kSquare = {2, 2};

TEST_F(Dimensions, OfARankAreThoseWhoShareAllOtherPlaces) {
  InvolvedLists lists({2, 3, 2}, 12);
  const auto outer = lists.add({true, false, true});
  const auto short_list = lists.add({false, true});
  const auto longer = lists.add({false, true, false, true});
  lists.settle();
  EXPECT_EQ(lists.set_of(InvolvedLists::kNone), InvolvedLists::kAll);
  EXPECT_EQ(lists.set_of(short_list), lists.set_of(longer));
  const GroupMembers& group = lists.group_of(lists.set_of(outer), 9);
  EXPECT_EQ(group.ranks, (std::vector<std::uint32_t>{2, 3, 8, 9}));
  EXPECT_EQ(&lists.group_of(lists.set_of(outer), 2), &group);
  EXPECT_EQ(lists.group_of(lists.set_of(short_list), 7).ranks, (std::vector<std::uint32_t>{7, 9, 11}));
  EXPECT_EQ(lists.text(lists.set_of(outer)), "dimensions 0, 2");
  EXPECT_EQ(lists.text(lists.set_of(short_list)), "dimension 1");
}

TEST_F(Dimensions, ThatDifferAreFound) {
  EXPECT_EQ(found({{sum(1, {true, false})}, {sum(1, {true, false})}, {sum(1, {true, false})}, {sum(5, {false, true})}},
                  kSquare),
            (Texts{"w.3.et: node 5 'n5': involves dimension 1; expected dimension 0, as in rank 2, node 1, ALL_REDUCE "
                   "of 8 bytes of ranks 2, 3 (dimension 0)",
                   "w.1.et: node 1 'n1': involves dimension 0; expected dimension 1, as in rank 3, node 5, ALL_REDUCE "
                   "of 8 bytes of ranks 1, 3 (dimension 1)"}));
  EXPECT_EQ(found({{sum(1, {})}, {sum_of_all(1)}}, {2}),
            Texts{"w.0.et: node 1 'n1': involves no dimension; expected all dimensions, as in rank 1, node 1, "
                  "ALL_REDUCE of 8 bytes of all ranks"});
  EXPECT_EQ(found({{sum(1, {true, false})}, {}, {}, {}}, kSquare),
            Texts{"w.1.et: the rank issues 0 collectives of ranks 0, 1 (dimension 0); expected 1, as rank 0 does"});
}

TEST_F(Dimensions, ThatAreTheSameOnTheNetworkAreTaken) {
  const Ranks same = {{sum(1, {true})}, {sum(1, {true, false})}, {sum(1, {true})}, {sum(1, {true, false, true})}};
  EXPECT_EQ(found(same, kSquare), Texts());
  EXPECT_EQ(found({{sum_of_all(1)}, {sum(1, {true, true})}, {sum(1, {true, true, false})}, {sum_of_all(1)}}, kSquare),
            Texts());
  // A prime number of ranks has one dimension.
  EXPECT_EQ(found({{sum(1, {true})}, {sum(1, {true, false})}, {sum_of_all(1)}}), Texts());
  EXPECT_TRUE(again("w", {}).remarks.empty());
  EXPECT_EQ(found({{sum(1, {false})}, {sum_of_all(1)}, {sum_of_all(1)}}).size(), 1U);
}

TEST_F(Dimensions, SizesAndRootsAreThoseOfTheirRanks) {
  const std::vector<bool> first = {true, false};
  EXPECT_EQ(found({{sum(1, first)}, {sum(1, first, {}, 16)}, {sum(1, first)}, {sum(1, first)}}, kSquare),
            Texts{"w.1.et: node 1 'n1': collective 1 of ranks 0, 1 (dimension 0) is ALL_REDUCE of 16 bytes; expected "
                  "ALL_REDUCE of 8 bytes, as in rank 0, node 1"});
  EXPECT_EQ(found({{sum(1, first)}, {sum(1, first)}, {sum(1, first, {}, 16)}, {sum(1, first, {}, 16)}}, kSquare),
            Texts());
  const auto from_first = with(sum(1, first, {}, 8, CollectiveType::kBroadcast), Attribute::integer("comm_root", 0));
  const Ranks broadcast(4, {from_first});
  EXPECT_EQ(found(broadcast, kSquare),
            (Texts{"w.2.et: node 1 'n1': its root is 0; expected a rank of ranks 2, 3 (dimension 0), by its number in "
                   "the machine",
                   "w.3.et: node 1 'n1': its root is 0; expected a rank of ranks 2, 3 (dimension 0), by its number in "
                   "the machine"}));
  CheckOptions shared;
  shared.shared = true;
  shared.ranks = 4;
  shared.dimensions = kSquare;
  EXPECT_EQ(check(find_trace(file("w.0.et")), shared).kinds.at(0).first.kind, Problem::kRoot);
}

TEST_F(Dimensions, MakeCirclesAndOrders) {
  const auto ranks = [](bool depends) {
    const std::vector<std::uint64_t> after = depends ? std::vector<std::uint64_t>{1} : std::vector<std::uint64_t>();
    const std::vector<Node> first = {sum(1, {true, false}), sum(2, {false, true}, after)};
    const std::vector<Node> last = {sum(1, {false, true}), sum(2, {true, false}, after)};
    return Ranks{first, last, last, first};
  };
  const CheckReport circle = checked(ranks(true), kSquare);
  ASSERT_EQ(circle.kinds.size(), 1U);
  EXPECT_EQ(circle.kinds[0].first.kind, Problem::kCircle);
  EXPECT_NE(circle.kinds[0].first.problem.find("rank 0: node 2 'n2', ALL_REDUCE of 8 bytes of ranks 0, 2 (dimension "
                                               "1), comes after node 1 'n1', ALL_REDUCE of 8 bytes of ranks 0, 1"),
            std::string::npos)
      << circle.kinds[0].first.problem;
  const CheckReport free = checked(ranks(false), kSquare);
  EXPECT_EQ(free.found, 0U);
  EXPECT_EQ(remarks(free), std::vector<Problem>{Problem::kTurns});
  ASSERT_NE(free.order, nullptr);
  EXPECT_EQ(free.order->members.size(), 4U + 4U) << "each rank, and four groups of two";
  EXPECT_EQ(free.order->size(), 4U);
}

/// No circle: a machine runs it. ASTRA-sim's arithmetic counts the collectives of all ends together.
TEST_F(Dimensions, HaveOneNumberInAstraSim) {
  const std::vector<Node> first = {sum(1, {true, false}), sum(2, {false, true}, {1})};
  const std::vector<Node> last = {sum(1, {false, true}), sum(2, {true, false}, {1})};
  const CheckReport report = checked({first, first, last, last}, kSquare);
  EXPECT_EQ(report.found, 0U);
  ASSERT_EQ(remarks(report), std::vector<Problem>{Problem::kNumbers});
  EXPECT_NE(report.remarks[0].first.problem.find("(dimension 1) is collective "), std::string::npos)
      << report.remarks[0].first.problem;
  EXPECT_TRUE(checked({first, first, first, first}, kSquare).remarks.empty());
}

TEST_F(Dimensions, OfAnUnknownNetworkAreRemarked) {
  const CheckReport report =
      checked({{sum(1, {true, false})}, {sum(1, {true, false})}, {sum(1, {true})}, {sum(5, {false, true})}});
  EXPECT_EQ(report.found, 0U);
  ASSERT_EQ(remarks(report), (std::vector<Problem>{Problem::kOtherDimensions, Problem::kUnknownDimensions}));
  EXPECT_EQ(report.remarks[0].count, 1U);
  EXPECT_EQ(report.remarks[0].first.problem_text(),
            "node 5 'n5': involves dimension 1; expected dimension 0, as in rank 0, node 1");
  EXPECT_EQ(report.remarks[1].count, 4U);
  // On a network of one dimension these are the same, and on no network those are.
  EXPECT_EQ(found({{sum(1, {true, true})}, {sum(1, {true, true})}, {sum(1, {true})}, {sum(1, {true})}}), Texts());
  EXPECT_EQ(
      found({{sum_of_all(1)}, {sum_of_all(1)}, {sum(1, {false, true})}, {sum_of_all(1)}}),
      Texts{"w.2.et: node 1 'n1': involves dimension 1; expected all dimensions, as in rank 0, node 1, ALL_REDUCE "
            "of 8 bytes of all ranks"});
}

TEST_F(Dimensions, AreMendedByTheNetwork) {
  const Ranks differ = {{sum(1, {true, false})}, {sum(1, {true, false})}, {sum(1, {true})}, {sum(5, {false, true})}};
  EXPECT_EQ(repaired(differ, kSquare), "cc--");
  EXPECT_EQ(again("r", kSquare).found, 0U);
  EXPECT_EQ(repaired(differ), "cccc") << "nothing says which are wrong";
  const std::vector<bool> first = {true, false};
  EXPECT_EQ(repaired({{sum(1, first)}, {sum(1, first, {}, 16)}, {sum(1, first)}, {sum(1, first)}}, kSquare), "cccc");
  EXPECT_EQ(again("r", kSquare).found, 0U);
  // What is left out is so on all ranks.
  const Ranks mixed = {{sum_of_all(1)}, {sum(1, {true, false})}, {sum_of_all(1)}, {sum(1, {false, false})}};
  EXPECT_EQ(repaired(mixed), "----");
  EXPECT_EQ(again("r", kSquare).found, 0U);
  EXPECT_EQ(repaired(mixed, kSquare), "---c");
  EXPECT_EQ(again("r", kSquare).found, 0U);
}

}  // namespace
}  // namespace weft::chakra
