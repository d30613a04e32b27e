// SPDX-License-Identifier: Apache-2.0
// The arithmetic of hw/rtl/reduction_lane.sv in Icarus Verilog, against weft::add. Icarus is slow, so this takes a
// hundred thousand pairs of elements; WEFT_ICARUS_PAIRS=10000000 takes as many as the test with Verilator.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/rtl/element_pairs.h"
#include "tests/rtl/lane_stimulus.h"
#include "tests/rtl/simulators.h"

namespace weft::test {
namespace {

class LaneIcarus : public RtlTest {};

TEST_F(LaneIcarus, AddsAsTheModelDoes) {
  if (test::skips_without("iverilog")) return;
  const char* wanted = std::getenv("WEFT_ICARUS_PAIRS");
  const std::uint64_t pairs = wanted == nullptr ? 100'000 : std::strtoull(wanted, nullptr, 10);
  ASSERT_GT(pairs, 0U) << "WEFT_ICARUS_PAIRS is no number";
  constexpr std::size_t kLineWords = 1;
  std::uint32_t beats = 0;
  {
    LaneStimulus stimulus(folder_ / "stimulus", folder_ / "expected");
    for (const ElementType type : {ElementType::kFp32, ElementType::kBf16, ElementType::kInt32, ElementType::kFp16}) {
      // Shares as in the test with Verilator.
      const std::uint64_t share = type == ElementType::kInt32 ? pairs / 10 : pairs * 3 / 10;
      ElementPairs source(type, 2);
      const std::uint64_t per_word = 4 / size_of(type);
      for (std::uint64_t done = 0; done < share; done += kLineWords * per_word) {
        LaneLine line;
        line.kind = type;
        line.children = line.adds = 3;
        line.id = beats++;
        line.data.assign(2, std::vector<std::uint32_t>(kLineWords));
        for (std::size_t w = 0; w < kLineWords; ++w) {
          for (std::uint64_t part = 0; part < per_word; ++part) {
            const ElementPairs::Pair pair = source.next();
            line.data[0][w] |= pair.a << (16 * part);
            line.data[1][w] |= pair.b << (16 * part);
          }
        }
        stimulus.write(line);
      }
    }
  }
  icarus("tb", bench("lane_tb.sv"), "-Ptb.CHILDREN=2 -Ptb.BYTES=4");
  const Outcome outcome = shell("vvp -N tb +stimulus=stimulus +expect=expected");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("done: " + std::to_string(beats) + " beats\n"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace weft::test
