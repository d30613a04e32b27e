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

// By hand, of 64 members on 8 nodes at 360 GB/s, in us: the starts of trees are 6.8 + 2 (7 x 0.6 + 3 x 5) = 45.2 in LL,
// 14 + 2 (7 x 1.25 + 3 x 8.5) = 82.5 in LL128 and 8.4 + 2 (7 x 4 + 3 x 14) = 148.4, those of rings 6.6 + 112 x 1 + 14
// x 2.7 = 156.4, 14 + 112 x 1.9 + 14 x 4 = 282.8 and 1.4 (8.4 + 112 x 3.4 + 14 x 14) = 819.3. LL carries 20.4 GB/s. 128
// KiB take 45.2 + 2 x 128 KiB / (0.5 x 20.4 GB/s) = 70.9 in LL and 83.9 in LL128, 256 KiB 109.5 and 85.3. 256 MiB take
// 1,811 through trees in LL128, 1,879 in rings, 1,949 through trees without and 2,287 in rings without, 512 MiB 3,540,
// 3,474, 3,390 and 3,755.
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

// Once round: 6.6 + 56 x 1 + 7 x 2.7 = 81.5 us at 20.4 GB/s, 14 + 56 x 1.9 + 7 x 4 = 148.4 at 92 % of 360, and
// 8.4 + 56 x 3.4 + 7 x 14 = 296.8.
TEST(NcclChoice, OfWhatGoesByRingsTakesTheFastestProtocol) {
  const double part = 63.0 / 64;
  const double lines = from(81.5, 148.4, part / 20.4e3, part / (0.92 * 360e3));
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

// NVLS takes 25 us and bytes at 85 % of 388 GB/s, a ring in LL 6.6 + 14 x 0.6 = 15 us and bytes at 4/7 of 141 GB/s.
TEST(NcclChoice, HasNvlsWithinANodeWhoseSwitchesReduce) {
  NcclGroup node{8, 1, 8, 388_GBps, 388_GBps, std::nullopt};
  node.nvls = true;
  const double nvls = from(15, 25, 14.0 / 8 / 141e3, 1 / (388e3 * 0.85));
  EXPECT_EQ(sum(node, 0.99 * nvls), kRingOfWords);
  EXPECT_EQ(sum(node, 1.01 * nvls), kNvls);
  EXPECT_EQ(sum(node, 1 << 30), kNvls);
  EXPECT_EQ(nccl_way(node, NcclCollective::kBlocks, 1 << 30), kRing);
  node.flags = Flags::kWords;
  EXPECT_EQ(sum(node, 1 << 30), kRingOfWords);
}

// Two nodes: 25 + 2 x 20.9 us and 16/30 of 8 x 57.7 GB/s. Eight: 25 + 6 x 20.9 us and 64/126 of 360 GB/s, which is what
// rings reach that start later. Up to 2.27: 25 + 6 x 14 us and 5/6 of half of 360 GB/s, which is less.
TEST(NcclChoice, HasNvlsTreesOnSeveralNodes) {
  NcclGroup two{16, 2, 8, 388_GBps, 400_GBps, std::nullopt};
  two.nvls = true;
  EXPECT_EQ(sum(two, 8), kTreeOfWords);
  EXPECT_EQ(sum(two, 64 * kMiB), kNvlsTree);
  EXPECT_EQ(sum(two, 1 << 30), kNvlsTree);
  NcclGroup eight = kEightNodes;
  eight.nvls = true;
  EXPECT_EQ(sum(eight, 256 * kKiB), kTreeOfLines);
  EXPECT_EQ(sum(eight, 512 * kMiB), kNvlsTree);
  EXPECT_EQ(sum(eight, 2048 * kMiB), kNvlsTree);
  eight.version = NcclVersion::k2_27;
  EXPECT_EQ(sum(eight, 512 * kMiB), kTree);
  EXPECT_EQ(sum(eight, 2048 * kMiB), kRing);
}

// With switches that reduce across nodes too: NVLS takes 25 + 18 us and 64/126 of the rate across on any number of
// nodes. Without those within, CollNet takes 2 (3.7 + 7 x 0.4) + 31 us and 85 % of a half of it; one member a node 14
// us.
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

NcclWay gather(const NcclGroup& group, double bytes) {
  return nccl_way(group, NcclCollective::kBlocks, static_cast<std::uint64_t>(bytes));
}

NcclGroup in(NcclVersion version, NcclGroup group) {
  group.version = version;
  return group;
}

// Its rate was 85 % at first: later releases leave it earlier for rings in LL128 (the numbers are those above).
TEST(NcclVersions, HavePatFrom2_23On) {
  NcclGroup group{64, 64, 4, Rate(), 25_GBps, std::nullopt};
  group.pat = true;
  EXPECT_EQ(gather(in(NcclVersion::k2_22, group), 8), kRingOfWords);
  const double part = 63.0 / 64;
  const double first = from(211.2, 549.5, 1 / (0.85 * 25e3), part / (0.92 * 25e3));
  const double later = from(211.2, 549.5, 1 / (0.75 * 25e3), part / (0.92 * 25e3));
  ASSERT_LT(later, first);
  EXPECT_EQ(gather(in(NcclVersion::k2_23, group), 0.99 * first), kPat);
  EXPECT_EQ(gather(in(NcclVersion::k2_23, group), 1.01 * first), kRingOfLines);
  EXPECT_EQ(gather(in(NcclVersion::k2_24, group), 0.99 * later), kPat);
  EXPECT_EQ(gather(in(NcclVersion::k2_24, group), 1.01 * later), kRingOfLines);
}

// 64 MiB of 64 members on 8 nodes take a ring 348 us in LL128; CollNet 44 us and bytes at 85 % of 360 GB/s, 263; NVLS
// 43 us and bytes at 90 %, 250, or by 2.28 at 7/8 x 7/8 x 85 % of 450, 272.
TEST(NcclVersions, HaveAllgathersByTheSwitchesAcrossNodesFrom2_20AndByNvlsFrom2_27On) {
  NcclGroup group = kEightNodes;
  group.nvls = true;
  EXPECT_EQ(gather(group, 64 * kMiB), kRingOfLines);
  group.collnet = true;
  EXPECT_EQ(gather(in(NcclVersion::k2_19, group), 64 * kMiB), kRingOfLines);
  EXPECT_EQ(gather(in(NcclVersion::k2_20, group), 64 * kMiB), kCollnet);
  EXPECT_EQ(gather(in(NcclVersion::k2_26, group), 64 * kMiB), kCollnet);
  EXPECT_EQ(gather(in(NcclVersion::k2_27, group), 64 * kMiB), kNvls);
  EXPECT_EQ(gather(in(NcclVersion::k2_28, group), 64 * kMiB), kNvls);
  group.flags = Flags::kLines;
  EXPECT_EQ(gather(group, 64 * kMiB), kRingOfLines);
}

// 8 MiB on 8 members of a node at 450 GB/s: a ring in LL128 27.3 + 17.7 us; NVLS 25 + 18.6 at the whole rate, + 21.3 at
// 7/8 of it, + 28.6 by 2.28.
TEST(NcclVersions, ExpectLessOfNvlsForAllgathersOfANode) {
  NcclGroup node{8, 1, 8, 450_GBps, 450_GBps, std::nullopt};
  EXPECT_EQ(gather(in(NcclVersion::k2_26, node), 8 * kMiB), kRingOfLines);
  node.nvls = true;
  EXPECT_EQ(gather(in(NcclVersion::k2_26, node), 8 * kMiB), kNvls);
  EXPECT_EQ(gather(in(NcclVersion::k2_27, node), 8 * kMiB), kRingOfLines);
  EXPECT_EQ(gather(in(NcclVersion::k2_27, node), 5e6), kNvls);
  EXPECT_EQ(gather(in(NcclVersion::k2_28, node), 5e6), kRingOfLines);
  NcclGroup large{36, 1, 8, 450_GBps, 450_GBps, std::nullopt};
  large.nvls = true;
  for (std::uint64_t bytes = 1; bytes < 1ULL << 32; bytes *= 2) {
    EXPECT_NE(gather(in(NcclVersion::k2_26, large), static_cast<double>(bytes)), kNvls);
  }
}

// 4 MB on 8 members of a node: a ring in LL 15 us and 7/4 of the bytes at 141 GB/s, or twice that once a release knows
// Blackwell, which LL128 with 40.6 us and 7/4 of them at 828 GB/s is between.
TEST(NcclVersions, KnowBlackwellFrom2_25On) {
  const NcclGroup node{8, 1, 8, 900_GBps, 900_GBps, std::nullopt};
  EXPECT_EQ(sum(in(NcclVersion::k2_24, node), 4e6), kRingOfLines);
  EXPECT_EQ(sum(in(NcclVersion::k2_25, node), 4e6), kRingOfWords);
  EXPECT_TRUE(is_blackwell(900_GBps));
  EXPECT_FALSE(is_blackwell(450_GBps));
  EXPECT_EQ(rules_of(NcclVersion::k2_27).most_ctas, 32);
  EXPECT_EQ(rules_of(NcclVersion::k2_28).most_ctas, 16);
}

/// calcCollChunking(), once computeColl(), of each release's enqueue.cc, and NCCL_MAX_NVLS_ARITY.
TEST(NcclRules, ChunksAndHeadsOfNvlsAreThoseOfTheRelease) {
  EXPECT_EQ(rules_of(NcclVersion::k2_20).most_nvls_heads, 8);
  EXPECT_EQ(rules_of(NcclVersion::k2_21).most_nvls_heads, 32);
  EXPECT_EQ(longest_nvls_chunk(NcclVersion::k2_20, 2, 128_KiB), 512_KiB);
  EXPECT_EQ(longest_nvls_chunk(NcclVersion::k2_20, 4, 128_KiB), 64_KiB);
  EXPECT_EQ(longest_nvls_chunk(NcclVersion::k2_21, 3, 128_KiB), 128_KiB);
  EXPECT_EQ(longest_nvls_chunk(NcclVersion::k2_26, 4, 128_KiB), 64_KiB);
  EXPECT_EQ(longest_nvls_chunk(NcclVersion::k2_26, 4, 32_KiB), 32_KiB);
}

}  // namespace
}  // namespace weft::collectives
