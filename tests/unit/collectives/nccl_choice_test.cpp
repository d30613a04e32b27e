// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/nccl_choice.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace weft::collectives {
namespace {

using namespace weft::literals;

constexpr std::uint64_t kKiB = 1 << 10;
constexpr std::uint64_t kMiB = 1 << 20;

constexpr NcclWay kTreeOfWords{NcclAlgorithm::kTree, Flags::kWords};
constexpr NcclWay kTreeOfLines{NcclAlgorithm::kTree, Flags::kLines};
constexpr NcclWay kTree{NcclAlgorithm::kTree, Flags::kNone};
constexpr NcclWay kRingOfWords{NcclAlgorithm::kRing, Flags::kWords};
constexpr NcclWay kRingOfLines{NcclAlgorithm::kRing, Flags::kLines};
constexpr NcclWay kRing{NcclAlgorithm::kRing, Flags::kNone};
constexpr NcclWay kNvls{NcclAlgorithm::kNvls, Flags::kNone};
constexpr NcclWay kNvlsTree{NcclAlgorithm::kNvlsTree, Flags::kNone};
constexpr NcclWay kCollnet{NcclAlgorithm::kCollnet, Flags::kNone};
constexpr NcclWay kPat{NcclAlgorithm::kPat, Flags::kNone};

const NcclGroup kEightNodes{64, 8, 8, 450_GBps, 360_GBps, std::nullopt};

NcclWay sum(const NcclGroup& group, double bytes) {
  return nccl_way(group, NcclCollective::kAllReduce, static_cast<std::uint64_t>(bytes));
}

/// The shortest of 1, 2, 4, ... bytes whose AllReduce goes this way.
std::uint64_t first(const NcclGroup& group, const NcclWay& way) {
  for (std::uint64_t bytes = 1; bytes < 1ULL << 40; bytes *= 2) {
    if (nccl_way(group, NcclCollective::kAllReduce, bytes) == way) return bytes;
  }
  return 0;
}

// By hand, of 64 members on 8 nodes at 360 GB/s, in us: the starts of trees are 6.8 + 2 (7 x 1.8 x 0.6 + 3 x 5) = 51.9
// in LL, 14 + 2 (7 x 1.25 + 3 x 8.5) = 82.5 in LL128 and 8.4 + 2 (7 x 4 + 3 x 14) = 148.4, those of rings 6.6 + 112
// x 1.8 x 0.6 + 14 x 2.7 = 165.4, 14 + 112 x 1.9 + 14 x 4 = 282.8 and 1.4 (8.4 + 112 x 3.4 + 14 x 14) = 819.3. LL
// carries 20.4 GB/s. 128 KiB take 51.9 + 2 x 128 KiB / (0.5 x 20.4 GB/s) = 77.6 in LL and 83.9 in LL128, 256 KiB 116.2
// and 85.3. 256 MiB take 1,811 through trees in LL128, 1,879 in rings, 1,949 through trees without and 2,287 in rings
// without, 512 MiB 3,540, 3,474, 3,390 and 3,755.
TEST(NcclChoice, OfSixtyFourMembersFollowsTheCostModel) {
  EXPECT_EQ(sum(kEightNodes, 8), kTreeOfWords);
  EXPECT_EQ(sum(kEightNodes, 128 * kKiB), kTreeOfWords);
  EXPECT_EQ(sum(kEightNodes, 256 * kKiB), kTreeOfLines);
  EXPECT_EQ(sum(kEightNodes, 256 * kMiB), kTreeOfLines);
  EXPECT_EQ(sum(kEightNodes, 512 * kMiB), kTree);
}

/// From so many bytes on the second way is faster: both starts in us, and us for each byte.
double from(double start, double later_start, double each, double later_each) {
  return (later_start - start) / (each - later_each);
}

// Once round: 6.6 + 56 x 1.8 x 0.6 + 7 x 2.7 = 85.98 us at 20.4 GB/s, 14 + 56 x 1.9 + 7 x 4 = 148.4 at 92 % of 360, and
// 8.4 + 56 x 3.4 + 7 x 14 = 296.8.
TEST(NcclChoice, OfWhatGoesByRingsTakesTheFastestProtocol) {
  const double part = 63.0 / 64;
  const double lines = from(85.98, 148.4, part / 20.4e3, part / (0.92 * 360e3));
  const double simple = from(148.4, 296.8, part / (0.92 * 360e3), part / 360e3);
  const auto at = [](double bytes) {
    return nccl_way(kEightNodes, NcclCollective::kBlocks, static_cast<std::uint64_t>(bytes));
  };
  EXPECT_EQ(at(8), kRingOfWords);
  EXPECT_EQ(at(0.99 * lines), kRingOfWords);
  EXPECT_EQ(at(1.01 * lines), kRingOfLines);
  EXPECT_EQ(at(0.99 * simple), kRingOfLines);
  EXPECT_EQ(at(1.01 * simple), kRing);
}

// Each of 64 hops counts as one of the network: 6.6 + 64 x 2.7, 14 + 64 x 4 and 8.4 + 64 x 14; but one where all
// channels enter nodes alike.
TEST(NcclChoice, OfABroadcastCountsHopsOfTheNetwork) {
  const auto at = [](const NcclGroup& group, double bytes) {
    return nccl_way(group, NcclCollective::kBroadcast, static_cast<std::uint64_t>(bytes));
  };
  const double lines = from(179.4, 270, 1 / 20.4e3, 1 / (0.92 * 360e3));
  const double simple = from(270, 904.4, 1 / (0.92 * 360e3), 1 / 360e3);
  EXPECT_EQ(at(kEightNodes, 0.99 * lines), kRingOfWords);
  EXPECT_EQ(at(kEightNodes, 1.01 * lines), kRingOfLines);
  EXPECT_EQ(at(kEightNodes, 0.99 * simple), kRingOfLines);
  EXPECT_EQ(at(kEightNodes, 1.01 * simple), kRing);
  const NcclGroup node{8, 1, 8, 388_GBps, 388_GBps, std::nullopt};
  const double within = from(14 + 1.9, 8.4 + 3.4, 1 / (0.92 * 388e3), 1 / 388e3);
  EXPECT_LT(within, 0);  // it is slower from the first byte on
  EXPECT_EQ(at(node, 64 * kMiB), kRing);
}

TEST(NcclChoice, TakesTheProtocolThatIsAskedFor) {
  NcclGroup group = kEightNodes;
  group.flags = Flags::kNone;
  EXPECT_EQ(sum(group, 8), kTree);
  EXPECT_EQ(first(group, kRing), 2048 * kMiB);
  group.flags = Flags::kWords;
  EXPECT_EQ(sum(group, 1 << 30), kRingOfWords);
  group.flags = Flags::kLines;
  EXPECT_EQ(sum(group, 8), kTreeOfLines);
}

// More nodes make rings longer and trees only deeper; slower links make bytes count more.
TEST(NcclChoice, GoesToRingsLaterOnMoreNodesAndEarlierOnSlowerLinks) {
  const std::uint64_t ring = first(kEightNodes, kRing);
  EXPECT_GT(first({512, 64, 8, 450_GBps, 360_GBps, std::nullopt}, kRing), ring);
  EXPECT_LT(first({64, 8, 8, 450_GBps, 100_GBps, std::nullopt}, kRing), ring);
  EXPECT_GT(ring, 64 * kMiB);
}

// OCI's A100: 200 GB/s out of a node, 260 within. Trees are faster at any size.
TEST(NcclChoice, HasTreesAcrossTwoNodesThatSendLessThanTheirAccelerators) {
  EXPECT_EQ(first({16, 2, 8, 260_GBps, 200_GBps, std::nullopt}, kRing), 0U);
  EXPECT_GT(first({16, 2, 8, 260_GBps, 400_GBps, std::nullopt}, kRing), 0U);
  EXPECT_GT(first({2, 2, 4, Rate(), 25_GBps, std::nullopt}, kRing), 0U);
}

// A chain up and down has as many hops as a ring of both phases.
TEST(NcclChoice, HasRingsWithinANode) {
  const NcclGroup node{8, 1, 8, 388_GBps, 388_GBps, std::nullopt};
  EXPECT_EQ(sum(node, 8), kRingOfWords);
  EXPECT_EQ(sum(node, 64 * kKiB), kRingOfWords);
  EXPECT_EQ(sum(node, 16 * kMiB), kRingOfLines);
  EXPECT_EQ(sum(node, 256 * kMiB), kRing);
}

// NVLS takes 25 us and bytes at 5/6 of 388 GB/s, a ring in LL 6.6 + 14 x 0.6 = 15 us and bytes at 4/7 of 141 GB/s.
TEST(NcclChoice, HasNvlsWithinANodeWhoseSwitchesReduce) {
  NcclGroup node{8, 1, 8, 388_GBps, 388_GBps, std::nullopt};
  node.nvls = true;
  const double nvls = from(15, 25, 14.0 / 8 / 141e3, 1 / (388e3 * 5 / 6));
  EXPECT_EQ(sum(node, 0.99 * nvls), kRingOfWords);
  EXPECT_EQ(sum(node, 1.01 * nvls), kNvls);
  EXPECT_EQ(sum(node, 1 << 30), kNvls);
  EXPECT_EQ(nccl_way(node, NcclCollective::kBlocks, 1 << 30), kRing);
  node.flags = Flags::kWords;
  EXPECT_EQ(sum(node, 1 << 30), kRingOfWords);
}

// Two nodes: 25 + 2 x 20.9 us and 5/6 of 388 GB/s. Eight: 25 + 6 x 20.9 us and 5/6 of half of 360 GB/s, which is less
// than rings reach.
TEST(NcclChoice, HasNvlsTreesOnSeveralNodes) {
  NcclGroup two{16, 2, 8, 388_GBps, 400_GBps, std::nullopt};
  two.nvls = true;
  EXPECT_EQ(sum(two, 8), kTreeOfWords);
  EXPECT_EQ(sum(two, 64 * kMiB), kNvlsTree);
  EXPECT_EQ(sum(two, 1 << 30), kNvlsTree);
  NcclGroup eight = kEightNodes;
  eight.nvls = true;
  EXPECT_EQ(sum(eight, 256 * kKiB), kTreeOfLines);
  EXPECT_EQ(sum(eight, 2048 * kMiB), kRing);
}

// With switches that reduce across nodes too: NVLS takes 25 + 18 us and 5/6 of the lower rate on any number of nodes.
// Without those within, CollNet takes 2 (3.7 + 7 x 0.4) + 31 us and 85 % of a half of it; one member a node 30 us.
TEST(NcclChoice, HasSwitchesAcrossNodesWhereTheyAreEnabled) {
  NcclGroup group = kEightNodes;
  group.collnet = true;
  group.nvls = true;
  EXPECT_EQ(sum(group, 8 * kMiB), kNvls);
  EXPECT_EQ(sum(group, 2048 * kMiB), kNvls);
  group.nvls = false;
  EXPECT_EQ(sum(group, 64 * kKiB), kCollnet);
  EXPECT_EQ(sum(group, 2048 * kMiB), kRing);
  NcclGroup alone{8, 8, 4, Rate(), 50_GBps, std::nullopt};
  alone.collnet = true;
  EXPECT_EQ(sum(alone, 64 * kKiB), kCollnet);
  EXPECT_EQ(nccl_way(alone, NcclCollective::kBroadcast, 64 * kKiB).algorithm, NcclAlgorithm::kRing);
}

// PAT takes 8 + 6 x 14 / 3.5 + 64 x 2.8 = 211.2 us and bytes at 75 % of 25 GB/s. Round a ring each hop's latency is a
// tree's: 6.6 + 63 x 5 = 321.6 us in LL at half of the rate, 14 + 63 x 8.5 = 549.5 in LL128 at 92 %.
TEST(NcclChoice, HasPatWhereEachNodeHasOneMember) {
  NcclGroup group{64, 64, 4, Rate(), 25_GBps, std::nullopt};
  const auto at = [&group](double bytes) {
    return nccl_way(group, NcclCollective::kBlocks, static_cast<std::uint64_t>(bytes));
  };
  EXPECT_EQ(at(8), kRingOfWords);
  group.pat = true;
  const double part = 63.0 / 64;
  const double lines = from(211.2, 549.5, 1 / (0.75 * 25e3), part / (0.92 * 25e3));
  EXPECT_EQ(at(8), kPat);
  EXPECT_EQ(at(0.99 * lines), kPat);
  EXPECT_EQ(at(1.01 * lines), kRingOfLines);
  EXPECT_EQ(at(1 << 30), kRing);
  EXPECT_EQ(nccl_way(group, NcclCollective::kAllReduce, 8), kTreeOfWords);
  EXPECT_EQ(nccl_way(group, NcclCollective::kBroadcast, 8), kRingOfWords);
  group.flags = Flags::kNone;
  EXPECT_EQ(at(1.01 * lines), kPat);
  group.flags = Flags::kWords;
  EXPECT_EQ(at(8), kRingOfWords);
}

// Of two, a ring in LL has one hop, 6.6 + 5 us, where PAT has 8 + 4 + 5.6; in Simple 8.4 + 14.
TEST(NcclChoice, HasNoPatForTwoButInItsProtocol) {
  NcclGroup two{2, 2, 4, Rate(), 25_GBps, std::nullopt};
  two.pat = true;
  EXPECT_EQ(nccl_way(two, NcclCollective::kBlocks, 8), kRingOfWords);
  two.flags = Flags::kNone;
  EXPECT_EQ(nccl_way(two, NcclCollective::kBlocks, 8), kPat);
}

}  // namespace
}  // namespace weft::collectives
