// SPDX-License-Identifier: Apache-2.0
// How results print sizes.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

TEST(ShortBytes, AreInTheShortestUnitThatIsExact) {
  constexpr double kMebi = 1 << 20;
  for (const auto& [bytes, text] : {std::pair(0.0, "0 B"),
                                    {1.0, "1 B"},
                                    {1000.0, "1 KB"},
                                    {1024.0, "1 KiB"},
                                    {1500.0, "1500 B"},
                                    {262144.0, "256 KiB"},
                                    {2e6, "2 MB"},
                                    {2 * kMebi, "2 MiB"},
                                    {1.5 * kMebi, "1.5 MiB"},
                                    {12.5e6, "12.5 MB"},
                                    {4008 * kMebi, "4008 MiB"},
                                    {1100 * 1024.0, "1100 KiB"},
                                    {13541 * kMebi, "13541 MiB"},
                                    {80 * 1024 * kMebi, "80 GiB"},
                                    {3e12, "3 TB"}}) {
    EXPECT_EQ(short_bytes(bytes), text);
  }
}

TEST(ShortBytes, OthersAreBytesOrRounded) {
  EXPECT_EQ(short_bytes(221'136), "221136 B");
  EXPECT_EQ(short_bytes(1'048'575), "1048575 B");
  EXPECT_EQ(short_bytes(1'048'577), "1.0 MiB");
  EXPECT_EQ(short_bytes(123'456'789), "117.7 MiB");
  EXPECT_EQ(short_bytes(554'376 * 1024.0), "541.4 MiB") << "shorter than in KiB";
  EXPECT_EQ(short_bytes(0.3), "0 B") << "a mean";
}

}  // namespace
}  // namespace weft::platforms
