// SPDX-License-Identifier: Apache-2.0
// Pieces of memory divided among engines: all bytes once, as many runs as there are where these are short.
#include "sw/collectives/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace weft::collectives {
namespace {

constexpr std::uint64_t kFar = 1 << 20;  // between the two lists

struct Divided {
  std::vector<std::uint64_t> bytes;             ///< by call
  std::map<std::uint32_t, int> of_engine;       ///< calls, by engine
  std::map<std::uint64_t, std::uint64_t> runs;  ///< by address: bytes
};

/// `engines` take turns by the index; both lists have the same pieces, `kFar` apart.
Divided divided(const std::vector<std::uint64_t>& lengths, std::uint64_t parts, std::uint32_t engines,
                std::uint64_t granule) {
  Pieces first;
  Pieces second;
  std::uint64_t at = 0;
  for (const std::uint64_t bytes : lengths) {
    append(first, {at, bytes});
    append(second, {at + kFar, bytes});
    at += bytes + granule;  // a gap, so that they stay apart
  }
  Divided result;
  divide(
      parts, granule,
      [&](std::uint32_t index, std::uint64_t bytes, std::uint64_t a, std::uint64_t b) {
        EXPECT_EQ(b, a + kFar);
        EXPECT_EQ(a % granule, 0U);
        result.bytes.push_back(bytes);
        ++result.of_engine[index % engines];
        result.runs[a] = bytes;
      },
      first, second);
  // Each byte once, and none of a gap.
  std::uint64_t from = 0;
  auto run = result.runs.begin();
  for (const std::uint64_t bytes : lengths) {
    for (std::uint64_t done = 0; done < bytes; done += run->second, ++run) EXPECT_EQ(run->first, from + done);
    from += bytes + granule;
  }
  EXPECT_TRUE(run == result.runs.end());
  return result;
}

TEST(Pieces, OneIsCutIntoEqualParts) {
  EXPECT_EQ(divided({4096}, 4, 8, 4).bytes, (std::vector<std::uint64_t>{1024, 1024, 1024, 1024}));
}

TEST(Pieces, FewerThanPartsAreCutWhereThePartsEnd) {
  EXPECT_EQ(divided({3072, 1024}, 2, 8, 4).bytes, (std::vector<std::uint64_t>{2048, 1024, 1024}));
}

TEST(Pieces, MoreThanPartsAreDealtOutWhole) {
  const Divided many = divided(std::vector<std::uint64_t>(16, 64), 1, 8, 4);
  EXPECT_EQ(many.bytes, std::vector<std::uint64_t>(16, 64));
  EXPECT_EQ(many.of_engine.size(), 8U);
  for (const auto& [engine, calls] : many.of_engine) EXPECT_EQ(calls, 2) << engine;
}

TEST(Pieces, OneThatIsLongerThanAPartIsCutAmongMany) {
  const Divided uneven = divided({4, 4, 4096, 4, 4}, 4, 4, 4);
  EXPECT_LE(*std::max_element(uneven.bytes.begin(), uneven.bytes.end()), 4112U / 4);
  EXPECT_EQ(uneven.of_engine.size(), 4U);
}

TEST(Pieces, NothingIsNoPart) {
  EXPECT_TRUE(divided({}, 4, 4, 4).bytes.empty());
  EXPECT_TRUE(divided({0, 0}, 1, 4, 4).bytes.empty());
}

}  // namespace
}  // namespace weft::collectives
