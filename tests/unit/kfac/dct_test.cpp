// SPDX-License-Identifier: Apache-2.0
// Activations compressed by the DCT of blocks: the transform against its definition, the error against Parseval's
// bound, what a rectified tensor keeps exactly, and what the passes cost.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "hw/core/random.h"
#include "sw/compression/dct.h"
#include "sw/kfac/compression_kernels.h"

namespace weft::compression {
namespace {

constexpr std::size_t kSide = DctShape::kSide;
constexpr std::size_t kBlock = DctShape::kBlock;
constexpr double kRoundoff = 0x1p-24;

/// Of the sum of `terms` products with rounded factors, by the l2 norm of what is transformed: a product with the
/// basis, whose Frobenius norm is sqrt(8), is off by at most (8 + 1) u sqrt(8) of it (Higham 2002, 3.5), a transform
/// has two.
constexpr double kTransformRoundoff = 2 * 9 * 2.8285 * kRoundoff;

double frequency(std::size_t k, std::size_t n) {
  return std::sqrt((k == 0 ? 1.0 : 2.0) / kSide) *
         std::cos(std::numbers::pi * static_cast<double>((2 * n + 1) * k) / (2.0 * kSide));
}

/// As the definition has it: four nested loops in double precision.
std::vector<double> defined(const std::vector<double>& block) {
  std::vector<double> coefficients(kBlock);
  for (std::size_t u = 0; u < kSide; ++u) {
    for (std::size_t v = 0; v < kSide; ++v) {
      for (std::size_t at = 0; at < kBlock; ++at) {
        coefficients[u * kSide + v] += block[at] * frequency(u, at / kSide) * frequency(v, at % kSide);
      }
    }
  }
  return coefficients;
}

/// Rectified values, some smooth along the rows as an image is, the rest noise.
std::vector<float> rectified(const DctShape& shape, double smooth) {
  Random random(7, "activations");
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto row = static_cast<double>(i / static_cast<std::size_t>(shape.columns));
    const auto column = static_cast<double>(i % static_cast<std::size_t>(shape.columns));
    const double value =
        smooth * std::cos(0.1 * row) * std::cos(0.15 * column + 0.5) + (1 - smooth) * (2 * random.share() - 1);
    values[i] = static_cast<float>(std::max(0.0, value));
  }
  return values;
}

std::vector<std::byte> compressed(const DctShape& shape, const std::vector<float>& values) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape.bytes()));
  compress(shape, values, bytes);
  return bytes;
}

std::vector<float> there_and_back(const DctShape& shape, const std::vector<float>& values) {
  std::vector<float> back(values.size(), -1);
  restore(shape, compressed(shape, values), back);
  return back;
}

double norm(const std::vector<float>& values) {
  double square = 0;
  for (const float value : values) square += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(square);
}

std::vector<float> difference(std::vector<float> a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

TEST(Dct, TransformIsThatOfItsDefinitionAndItsInverse) {
  const std::vector<float> values = rectified({8, 8}, 0.5);
  DctBlock block{};
  std::copy(values.begin(), values.end(), block.begin());
  transform(block);
  const std::vector<double> expected = defined({values.begin(), values.end()});
  const double bound = kTransformRoundoff * norm(values);
  for (std::size_t i = 0; i < kBlock; ++i) EXPECT_NEAR(block[i], expected[i], bound) << i;
  transform_back(block);
  for (std::size_t i = 0; i < kBlock; ++i) EXPECT_NEAR(block[i], values[i], 2 * bound) << i;
  // All equal: one coefficient, 8 times as large.
  block.fill(0.25F);
  transform(block);
  EXPECT_NEAR(block[0], 2, 2 * kTransformRoundoff);
  for (std::size_t i = 1; i < kBlock; ++i) EXPECT_NEAR(block[i], 0, 2 * kTransformRoundoff) << i;
}

TEST(Dct, ZigzagIsThatOfJpeg) {
  // ITU-T T.81, figure 5, by rows: the number of each coefficient.
  constexpr std::size_t kNumbers[] = {0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42,
                                      3,  8,  12, 17, 25, 30, 41, 43, 9,  11, 18, 24, 31, 40, 44, 53,
                                      10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38, 46, 51, 55, 60,
                                      21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63};
  for (std::size_t place = 0; place < kBlock; ++place) EXPECT_EQ(zigzag(kNumbers[place]), place);
}

// Parseval: of each block K (s / 2)^2 from rounding to steps of s = largest / 127, and the squares of what is dropped;
// and roundoff, of a transform there and one back, and of 2 operations on each coefficient.
TEST(Dct, ErrorIsWithinParsevalsBound) {
  for (const double smooth : {0.0, 0.5, 1.0}) {
    for (const int kept : {1, 5, 16, 32, 63, 64}) {
      for (const auto& [rows, columns] : {std::pair(8, 8), std::pair(24, 14), std::pair(3, 7), std::pair(9, 16)}) {
        const DctShape shape{rows, columns, kept};
        const std::vector<float> values = rectified(shape, smooth);
        double square = 0;
        double whole = 0;
        for (std::int64_t top = 0; top < rows; top += 8) {
          for (std::int64_t left = 0; left < columns; left += 8) {
            std::vector<double> block;
            for (std::int64_t at = 0; at < DctShape::kBlock; ++at) {
              const std::int64_t row = std::min<std::int64_t>(top + at / 8, rows - 1);
              const std::int64_t column = std::min<std::int64_t>(left + at % 8, columns - 1);
              block.push_back(values[static_cast<std::size_t>(row * columns + column)]);
              whole += block.back() * block.back();
            }
            const std::vector<double> coefficients = defined(block);
            double largest = 0;
            for (const double c : coefficients) largest = std::max(largest, std::abs(c));
            square += kept * std::pow(largest / 127 / 2, 2);
            for (auto i = static_cast<std::size_t>(kept); i < kBlock; ++i)
              square += std::pow(coefficients[zigzag(i)], 2);
          }
        }
        const double bound = std::sqrt(square) + (2 * kTransformRoundoff + 4 * kRoundoff) * std::sqrt(whole);
        const double error = norm(difference(there_and_back(shape, values), values));
        EXPECT_LE(error, bound) << smooth << " " << kept << " " << rows << " x " << columns;
        // The bound says something: noise of which one coefficient is left is lost, but for its signs.
        if (smooth == 0 && kept == 1) {
          EXPECT_GT(error, 0.1 * bound);
        }
      }
    }
  }
}

TEST(Dct, KeepsSmoothActivationsBetterThanNoiseAndMoreCoefficientsBetterThanFewer) {
  const auto relative_error = [](int kept, double smooth) {
    const DctShape shape{64, 56, kept};
    const std::vector<float> values = rectified(shape, smooth);
    return norm(difference(there_and_back(shape, values), values)) / norm(values);
  };
  EXPECT_LT(relative_error(16, 1), 0.02);
  EXPECT_GT(relative_error(16, 0), 10 * relative_error(16, 1));
  EXPECT_LT(relative_error(32, 0.5), relative_error(16, 0.5));
  EXPECT_LT(relative_error(64, 0.5), relative_error(32, 0.5));
}

TEST(Dct, SignsAreExact) {
  const DctShape shape{16, 24, 1};
  std::vector<float> values = rectified(shape, 0);
  values[5] = std::numeric_limits<float>::denorm_min();
  const std::vector<float> back = there_and_back(shape, values);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(back[i] > 0, values[i] > 0) << i;
  // What is not rectified loses what is below 0, and only that.
  const std::vector<float> mixed = {-1, -1, 1, 1};
  const std::vector<float> halved = there_and_back({2, 2, 64}, mixed);
  EXPECT_EQ(halved[0], 0);
  EXPECT_NEAR(halved[3], 1, 0.1);
}

TEST(Dct, ZerosAndTheSmallestNumbersComeBack) {
  const DctShape shape{8, 8, 64};
  EXPECT_EQ(there_and_back(shape, std::vector<float>(kBlock)), std::vector<float>(kBlock));
  for (const float tiny : {std::numeric_limits<float>::denorm_min(), 60 * std::numeric_limits<float>::denorm_min(),
                           std::numeric_limits<float>::min()}) {
    for (const float value : there_and_back(shape, std::vector<float>(kBlock, tiny))) {
      EXPECT_GT(value, 0);
      EXPECT_LE(value, 2 * tiny);
    }
  }
}

TEST(Dct, WhatIsNotFiniteSpoilsItsBlockAlone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kInfinity, std::nanf(""), std::numeric_limits<float>::max()}) {
    const DctShape shape{8, 16, 32};
    std::vector<float> values(128, 1);
    values[8] = bad;  // of the second block
    // One of the largest number alone has finite coefficients; of a whole row there is one beyond it.
    if (std::isfinite(bad)) std::fill(values.begin() + 8, values.begin() + 16, bad);
    const std::vector<float> back = there_and_back(shape, values);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(std::isnan(back[i]), i % 16 >= 8) << bad << " " << i;
  }
}

TEST(Dct, SizesFollowFromTheShape) {
  EXPECT_EQ((DctShape{16, 24, 32}).blocks(), 6);
  EXPECT_EQ((DctShape{16, 24, 32}).bytes(), 6 * (4 + 32) + 16 * 24 / 8);
  EXPECT_EQ((DctShape{9, 7, 1}).blocks(), 2);
  EXPECT_EQ((DctShape{9, 7, 1}).bytes(), 2 * 5 + 8);
  EXPECT_EQ(dct_coefficients(0.5), 32);
  EXPECT_EQ(dct_coefficients(1), 64);
  EXPECT_EQ(dct_coefficients(0.001), 1);
}

TEST(Dct, LengthsThatDoNotFitAreRefused) {
  const auto message = [](const DctShape& shape, std::size_t elements, std::size_t bytes) {
    std::vector<std::byte> to(bytes);
    try {
      compress(shape, std::vector<float>(elements), to);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("was accepted");
  };
  EXPECT_EQ(message({8, 8, 32}, 63, 44), "expected 64 elements, got 63");
  EXPECT_EQ(message({8, 8, 32}, 64, 43), "expected 44 bytes, got 43");
  EXPECT_EQ(message({8, 8, 65}, 64, 77), "expected 1 to 64 coefficients of a block, got 65");
  EXPECT_EQ(message({8, 8, 0}, 64, 12), "expected 1 to 64 coefficients of a block, got 0");
  EXPECT_EQ(message({8, 8, 32}, 64, 44), "was accepted");
}

// ---- Kernels

TEST(DctKernels, InputsAreCutAlongTheirInnermostDimension) {
  const models::Layer conv{"c", models::LayerKind::kConv, 64, 128, 3, 3, 1, 1, 1, 28, 14, false};
  DctShape shape = kfac::input_shape(conv, 4, 16);
  EXPECT_EQ(shape.rows, 4 * 64 * 28);
  EXPECT_EQ(shape.columns, 14);
  EXPECT_EQ(shape.coefficients, 16);
  const models::Layer tokens{"t", models::LayerKind::kLinear, 96, 32, 1, 1, 1, 0, 0, 512, 1, true};
  shape = kfac::input_shape(tokens, 2, 16);
  EXPECT_EQ(shape.rows, 2 * 96);
  EXPECT_EQ(shape.columns, 512);
  const models::Layer linear{"l", models::LayerKind::kLinear, 2048, 1000, 1, 1, 1, 0, 0, 1, 1, true};
  shape = kfac::input_shape(linear, 32, 16);
  EXPECT_EQ(shape.rows, 32);
  EXPECT_EQ(shape.columns, 2048);
}

TEST(DctKernels, ReadAndWriteWhatTheFormatHas) {
  const DctShape shape{100, 60, 32};
  const auto only = [](const std::vector<kfac::LayerKernel>& kernels) {
    EXPECT_EQ(kernels.size(), 1U);
    return std::get<accelerator::Elementwise>(kernels.front().shape);
  };
  const accelerator::Elementwise there = only(kfac::keep_kernels(shape));
  const accelerator::Elementwise back = only(kfac::restore_kernels(shape));
  EXPECT_EQ(there.read, Bytes(4 * 6000));
  EXPECT_EQ(there.written, Bytes(13 * 8 * 36 + 750));
  EXPECT_EQ(back.read, there.written);
  EXPECT_EQ(back.written, there.read);
  // Each of a block's 64 elements takes part in 8 products on either side.
  EXPECT_EQ(there.elements, 13 * 8 * 64);
  EXPECT_GE(there.flops_per_element, 32);
  EXPECT_GE(back.flops_per_element, 32);
}

}  // namespace
}  // namespace weft::compression
