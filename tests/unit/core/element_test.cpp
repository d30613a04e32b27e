// SPDX-License-Identifier: Apache-2.0
// fp16, which the compiler's arithmetic does not give us.
#include "hw/core/element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace weft {
namespace {

TEST(Fp16, EveryNumberSurvivesTheWayThere) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_fp16(half);
    if ((bits & 0x7c00U) == 0x7c00U && (bits & 0x3ffU) != 0) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(from_fp16(to_fp16(value))));
      continue;
    }
    ASSERT_EQ(to_fp16(value), half) << value;
  }
  EXPECT_EQ(from_fp16(0x3c00), 1.0F);
  EXPECT_EQ(from_fp16(0xc000), -2.0F);
  EXPECT_EQ(from_fp16(0x7bff), 65504.0F);
  EXPECT_EQ(from_fp16(0x0001), 0x1p-24F);
  EXPECT_EQ(from_fp16(0x7c00), std::numeric_limits<float>::infinity());
}

TEST(Fp16, RoundsToTheNearestAndTiesToEven) {
  std::mt19937 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const float value = std::ldexp(static_cast<float>(random() % (1U << 24)), static_cast<int>(random() % 42) - 49);
    const std::uint16_t half = to_fp16(value);
    const double error = std::abs(static_cast<double>(from_fp16(half)) - value);
    if (half == 0x7c00) {
      EXPECT_GE(value, 65520.0F);
      continue;
    }
    for (const int step : {-1, 1}) {
      const auto other = static_cast<std::uint16_t>(half + step);
      if (other >= 0x7c00) continue;
      const double its_error = std::abs(static_cast<double>(from_fp16(other)) - value);
      ASSERT_LE(error, its_error) << value;
      if (error == its_error) {
        ASSERT_EQ(half & 1, 0) << value;
      }
    }
  }
}

TEST(Fp16, AdditionRoundsOnce) {
  const std::uint16_t a[] = {0x3c00, 0x3c01, 0x7bff, 0x0001};
  const std::uint16_t b[] = {0x1000, 0x1000, 0x7bff, 0x0001};  // 2^-11 is half of the last place of 1
  std::uint16_t sum[4];
  add(ElementType::kFp16, reinterpret_cast<const std::byte*>(a), reinterpret_cast<const std::byte*>(b),
      reinterpret_cast<std::byte*>(sum), sizeof sum);
  EXPECT_EQ(sum[0], 0x3c00);
  EXPECT_EQ(sum[1], 0x3c02);
  EXPECT_EQ(sum[2], 0x7c00);
  EXPECT_EQ(sum[3], 0x0002);
}

TEST(Add, GivesOneNanWhateverTheOperands) {
  // Both a NaN of their own; one of them; infinities of both signs. In 33 elements, a block and one after it.
  constexpr std::size_t kCount = 33;
  const auto sums = [](ElementType type, auto a, auto b) {
    std::vector<decltype(a)> x(kCount, a);
    const std::vector<decltype(a)> y(kCount, b);
    add(type, reinterpret_cast<const std::byte*>(x.data()), reinterpret_cast<const std::byte*>(y.data()),
        reinterpret_cast<std::byte*>(x.data()), kCount * sizeof a);
    EXPECT_EQ(x, std::vector<decltype(a)>(kCount, x[0]));
    return x[0];
  };
  using Half = std::uint16_t;
  for (const auto& [a, b] :
       {std::pair(0xffc00001U, 0x7f800002U), {0x3f800000U, 0xff800001U}, {0x7f800000U, 0xff800000U}}) {
    EXPECT_EQ(sums(ElementType::kFp32, a, b), 0x7fc00000U);
    EXPECT_EQ(sums(ElementType::kFp32, b, a), 0x7fc00000U);
  }
  for (const auto& [a, b] : {std::pair<Half, Half>(0xffc1, 0x7f82), {0x3f80, 0xff81}, {0x7f80, 0xff80}}) {
    EXPECT_EQ(sums(ElementType::kBf16, a, b), 0x7fc0);
    EXPECT_EQ(sums(ElementType::kBf16, b, a), 0x7fc0);
  }
  for (const auto& [a, b] : {std::pair<Half, Half>(0xfe01, 0x7c02), {0x3c00, 0xfc01}, {0x7c00, 0xfc00}}) {
    EXPECT_EQ(sums(ElementType::kFp16, a, b), 0x7e00);
    EXPECT_EQ(sums(ElementType::kFp16, b, a), 0x7e00);
  }
}

}  // namespace
}  // namespace weft
