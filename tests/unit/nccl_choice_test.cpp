// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl_choice.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weft::collectives {
namespace {

using namespace weft::literals;

constexpr std::uint64_t kKiB = 1 << 10;
constexpr std::uint64_t kMiB = 1 << 20;

/// The shortest of 1, 2, 4, ... bytes that goes this way.
std::uint64_t first(const NcclGroup& group, NcclWay way) {
  for (std::uint64_t bytes = 1; bytes < 1ULL << 40; bytes *= 2) {
    if (nccl_all_reduce(group, bytes) == way) return bytes;
  }
  return 0;
}

// By hand, of 64 members on 8 nodes at 360 GB/s, in us and of the bytes over 360 GB/s. Trees with flags: 6.8 + 2 (7 x
// 0.6 + 3 x 5) = 45.2 and 2 x 3.8 / 0.92; rings with flags: 6.6 + 2 (56 x 0.6 + 7 x 2.7) = 111.6 and 2 x 126 / 64;
// trees: 8.4 + 2 (7 x 4 + 3 x 14) = 148.4 and 2 / 0.92; rings: 8.4 + 2 (56 x 3.4 + 7 x 14) = 585.2 and 126 / 64.
TEST(NcclChoice, OfSixtyFourMembersFollowsTheCostModel) {
  const NcclGroup group{64, 8, 450_GBps, 360_GBps};
  const double rate = 360e3;
  const double ring_with_flags_from = (111.6 - 45.2) / (2 * 3.8 / 0.92 - 2 * 126.0 / 64) * rate;
  const double tree_from = (148.4 - 111.6) / (2 * 126.0 / 64 - 2 / 0.92) * rate;
  const double ring_from = (585.2 - 148.4) / (2 / 0.92 - 126.0 / 64) * rate;
  const auto at = [&group](double bytes) { return nccl_all_reduce(group, static_cast<std::uint64_t>(bytes)); };
  EXPECT_EQ(at(8), NcclWay::kTreeWithFlags);
  EXPECT_EQ(at(0.99 * ring_with_flags_from), NcclWay::kTreeWithFlags);
  EXPECT_EQ(at(1.01 * ring_with_flags_from), NcclWay::kRingWithFlags);
  EXPECT_EQ(at(0.99 * tree_from), NcclWay::kRingWithFlags);
  EXPECT_EQ(at(1.01 * tree_from), NcclWay::kTree);
  EXPECT_EQ(at(0.99 * ring_from), NcclWay::kTree);
  EXPECT_EQ(at(1.01 * ring_from), NcclWay::kRing);
}

// Once round: 6.6 + 56 x 0.6 + 7 x 2.7 = 59.1 us and 2 x 63 / 64, or 8.4 + 56 x 3.4 + 7 x 14 = 296.8 and 63 / 64.
TEST(NcclChoice, OfWhatGoesByRingsIsWithFlagsWhileThatIsFaster) {
  const NcclGroup group{64, 8, 450_GBps, 360_GBps};
  const double from = (296.8 - 59.1) / (63.0 / 64) * 360e3;
  EXPECT_EQ(nccl_ring(group, 8), NcclWay::kRingWithFlags);
  EXPECT_EQ(nccl_ring(group, static_cast<std::uint64_t>(0.99 * from)), NcclWay::kRingWithFlags);
  EXPECT_EQ(nccl_ring(group, static_cast<std::uint64_t>(1.01 * from)), NcclWay::kRing);
}

// More nodes make rings longer and trees only deeper; slower links make bytes count more.
TEST(NcclChoice, GoesToRingsLaterOnMoreNodesAndEarlierOnSlowerLinks) {
  const NcclGroup group{64, 8, 450_GBps, 360_GBps};
  const std::uint64_t ring = first(group, NcclWay::kRing);
  EXPECT_GT(first({512, 64, 450_GBps, 360_GBps}, NcclWay::kRing), ring);
  EXPECT_LT(first({64, 8, 450_GBps, 100_GBps}, NcclWay::kRing), ring);
  EXPECT_GT(ring, 64 * kMiB);
}

// OCI's A100: 200 GB/s out of a node, 260 within. Trees are faster at any size.
TEST(NcclChoice, HasTreesAcrossTwoNodesThatSendLessThanTheirAccelerators) {
  EXPECT_EQ(first({16, 2, 260_GBps, 200_GBps}, NcclWay::kRing), 0U);
  EXPECT_GT(first({16, 2, 260_GBps, 400_GBps}, NcclWay::kRing), 0U);
  EXPECT_GT(first({2, 2, Rate(), 25_GBps}, NcclWay::kRing), 0U);
}

// A chain up and down has as many hops as a ring of both phases.
TEST(NcclChoice, HasRingsWithinANode) {
  const NcclGroup node{8, 1, 370_GBps, 388_GBps};
  EXPECT_EQ(nccl_all_reduce(node, 8), NcclWay::kRingWithFlags);
  EXPECT_EQ(nccl_all_reduce(node, 64 * kKiB), NcclWay::kRingWithFlags);
  EXPECT_EQ(nccl_all_reduce(node, 64 * kMiB), NcclWay::kRing);
}

}  // namespace
}  // namespace weft::collectives
