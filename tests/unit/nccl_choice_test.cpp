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
std::uint64_t first(const AllReduceGroup& group, AllReduceWay way) {
  for (std::uint64_t bytes = 1; bytes < 1ULL << 40; bytes *= 2) {
    if (nccl_choice(group, bytes) == way) return bytes;
  }
  return 0;
}

// By hand, of 64 members on 8 nodes at 360 GB/s. Words with flags: 6.8 + 2 (7 x 0.6 + 3 x 5) = 45.2 us and 2 / (0.92 / 3.8
// x 360) of the bytes; trees: 8.4 + 2 (7 x 4 + 3 x 14) = 148.4 us and 2 / (0.92 x 360); rings: 8.4 + 112 x 3.4 + 14 x 14 =
// 585.2 us and (126 / 64) / 360.
TEST(NcclChoice, OfSixtyFourMembersFollowsTheCostModel) {
  const AllReduceGroup group{64, 8, 450_GBps, 360_GBps};
  const double tree_from = (148.4 - 45.2) / ((2 * 3.8 - 2) / (0.92 * 360e3));
  const double ring_from = (585.2 - 148.4) / (2 / (0.92 * 360e3) - 126.0 / 64 / 360e3);
  const auto at = [&group](double bytes) { return nccl_choice(group, static_cast<std::uint64_t>(bytes)); };
  EXPECT_EQ(at(8), AllReduceWay::kLowLatencyTree);
  EXPECT_EQ(at(0.99 * tree_from), AllReduceWay::kLowLatencyTree);
  EXPECT_EQ(at(1.01 * tree_from), AllReduceWay::kTree);
  EXPECT_EQ(at(0.99 * ring_from), AllReduceWay::kTree);
  EXPECT_EQ(at(1.01 * ring_from), AllReduceWay::kRing);
}

// More nodes make rings longer and trees only deeper; slower links make bytes count more.
TEST(NcclChoice, GoesToRingsLaterOnMoreNodesAndEarlierOnSlowerLinks) {
  const AllReduceGroup group{64, 8, 450_GBps, 360_GBps};
  const std::uint64_t ring = first(group, AllReduceWay::kRing);
  EXPECT_GT(first({512, 64, 450_GBps, 360_GBps}, AllReduceWay::kRing), ring);
  EXPECT_LT(first({64, 8, 450_GBps, 100_GBps}, AllReduceWay::kRing), ring);
  EXPECT_GT(ring, 64 * kMiB);
}

// OCI's A100: 200 GB/s out of a node, 260 within. Trees are faster at any size.
TEST(NcclChoice, HasTreesAcrossTwoNodesThatSendLessThanTheirAccelerators) {
  EXPECT_EQ(first({16, 2, 260_GBps, 200_GBps}, AllReduceWay::kRing), 0U);
  EXPECT_GT(first({16, 2, 260_GBps, 400_GBps}, AllReduceWay::kRing), 0U);
  EXPECT_GT(first({2, 2, Rate(), 25_GBps}, AllReduceWay::kRing), 0U);
}

TEST(NcclChoice, HasTreesWithinANodeForShortMessagesAlone) {
  const AllReduceGroup node{8, 1, 370_GBps, 388_GBps};
  EXPECT_EQ(nccl_choice(node, 8), AllReduceWay::kLowLatencyTree);
  EXPECT_EQ(nccl_choice(node, 64 * kKiB), AllReduceWay::kLowLatencyTree);
  EXPECT_EQ(nccl_choice(node, 64 * kMiB), AllReduceWay::kRing);
}

}  // namespace
}  // namespace weft::collectives
