// SPDX-License-Identifier: Apache-2.0
// The adders of hw/rtl/reduction_lane.sv against weft::add, bit for bit: ten million pairs of elements.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "Vlane_2x64.h"
#include "tests/rtl/element_pairs.h"
#include "tests/rtl/ports.h"

namespace weft::test {
namespace {

constexpr std::size_t kBeatBytes = 64;
constexpr std::size_t kBeatWords = kBeatBytes / 4;
constexpr int kAdderLatency = 3;

constexpr std::uint64_t pairs_of(ElementType type) {
  return type == ElementType::kInt32 ? 1'000'000 : 3'000'000;
}

struct Beats {
  std::array<std::uint32_t, kBeatWords> a;
  std::array<std::uint32_t, kBeatWords> b;
  std::array<std::uint32_t, kBeatWords> sum;
};

/// What the sums were, so that no class of them is missing.
struct Classes {
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
  std::uint64_t subnormal = 0;
  std::uint64_t zero = 0;
  std::uint64_t negative_zero = 0;

  void count(const Format& format, std::uint32_t bits) {
    nan += format.is_nan(bits);
    infinite += format.is_infinite(bits);
    subnormal += format.is_subnormal(bits);
    zero += format.is_zero(bits);
    negative_zero += bits == format.bits(true, 0, 0);
  }
};

class LaneArithmetic : public testing::TestWithParam<ElementType> {};

TEST_P(LaneArithmetic, IsThatOfTheModel) {
  const ElementType type = GetParam();
  const Format format = format_of(type);
  const std::uint64_t size = size_of(type);
  ElementPairs pairs(type, 1);
  Vlane_2x64 lane;
  lane.kind = static_cast<std::uint8_t>(type);
  lane.children = 3;
  lane.out_ready = 1;
  lane.reset = 1;
  clock(lane);
  lane.reset = 0;
  lane.in_valid = 3;
  lane.in_adds = 3;

  Classes classes;
  std::array<Beats, kAdderLatency> inside{};
  const std::uint64_t beats = (pairs_of(type) * size + kBeatBytes - 1) / kBeatBytes;
  for (std::uint64_t beat = 0; beat < beats + kAdderLatency; ++beat) {
    Beats& now = inside[beat % kAdderLatency];
    if (beat >= kAdderLatency) {
      ASSERT_EQ(lane.out_valid, 1);
      for (std::size_t w = 0; w < kBeatWords; ++w) {
        ASSERT_EQ(word_of(lane.out_data, w), now.sum[w]) << std::hex << now.a[w] << " + " << now.b[w] << " in word "
                                                         << w << " of beat " << std::dec << beat - kAdderLatency;
      }
    }
    for (std::size_t w = 0; w < kBeatWords; ++w) {
      const ElementPairs::Pair low = pairs.next();
      const ElementPairs::Pair high = size == 2 ? pairs.next() : ElementPairs::Pair{};
      now.a[w] = low.a | high.a << 16;
      now.b[w] = low.b | high.b << 16;
      set_word(lane.in_data, w, now.a[w]);
      set_word(lane.in_data, kBeatWords + w, now.b[w]);
    }
    add(type, reinterpret_cast<const std::byte*>(now.a.data()), reinterpret_cast<const std::byte*>(now.b.data()),
        reinterpret_cast<std::byte*>(now.sum.data()), kBeatBytes);
    for (const std::uint32_t sum : now.sum) {
      classes.count(format, size == 2 ? sum & 0xffffU : sum);
      if (size == 2) classes.count(format, sum >> 16);
    }
    lane.eval();
    ASSERT_EQ(lane.in_ready, 3);
    clock(lane);
  }
  if (type == ElementType::kInt32) return;
  constexpr std::uint64_t kEnough = 100;
  EXPECT_GT(classes.nan, kEnough);
  EXPECT_GT(classes.infinite, kEnough);
  EXPECT_GT(classes.subnormal, kEnough);
  EXPECT_GT(classes.zero - classes.negative_zero, kEnough);
  EXPECT_GT(classes.negative_zero, kEnough);
}

INSTANTIATE_TEST_SUITE_P(Types, LaneArithmetic,
                         testing::Values(ElementType::kFp32, ElementType::kBf16, ElementType::kInt32,
                                         ElementType::kFp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

}  // namespace
}  // namespace weft::test
