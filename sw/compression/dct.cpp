// SPDX-License-Identifier: Apache-2.0
#include "sw/compression/dct.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string>

namespace weft::compression {
namespace {

constexpr std::size_t kSide = DctShape::kSide;
constexpr std::size_t kBlock = DctShape::kBlock;
constexpr float kLargest = 127;

using Basis = std::array<std::array<float, kSide>, kSide>;  ///< by frequency and place

Basis make_basis() {
  Basis basis{};
  for (std::size_t k = 0; k < kSide; ++k) {
    const double scale = std::sqrt((k == 0 ? 1.0 : 2.0) / kSide);
    for (std::size_t n = 0; n < kSide; ++n) {
      const double angle = std::numbers::pi * static_cast<double>((2 * n + 1) * k) / (2 * kSide);
      basis[k][n] = static_cast<float>(scale * std::cos(angle));
    }
  }
  return basis;
}

std::array<std::size_t, kBlock> make_zigzag() {
  std::array<std::size_t, kBlock> places{};
  std::size_t next = 0;
  for (std::size_t diagonal = 0; diagonal < 2 * kSide - 1; ++diagonal) {
    const std::size_t first = diagonal < kSide ? 0 : diagonal - kSide + 1;
    const std::size_t last = std::min(diagonal, kSide - 1);
    for (std::size_t step = first; step <= last; ++step) {
      const std::size_t row = diagonal % 2 == 0 ? last - (step - first) : step;
      places[next++] = row * kSide + (diagonal - row);
    }
  }
  return places;
}

/// D x block x D^T with the basis as D, or the other way round.
void multiply(DctBlock& block, bool forward) {
  static const Basis basis = make_basis();
  const auto d = [forward](std::size_t i, std::size_t j) { return forward ? basis[i][j] : basis[j][i]; };
  DctBlock half{};
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t n = 0; n < kSide; ++n) {
      for (std::size_t j = 0; j < kSide; ++j) half[i * kSide + j] += d(i, n) * block[n * kSide + j];
    }
  }
  block.fill(0);
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t n = 0; n < kSide; ++n) {
      for (std::size_t j = 0; j < kSide; ++j) block[i * kSide + j] += half[i * kSide + n] * d(j, n);
    }
  }
}

void expect(const char* what, std::size_t actual, std::int64_t expected) {
  if (actual == static_cast<std::size_t>(expected)) return;
  throw std::invalid_argument("expected " + std::to_string(expected) + " " + what + ", got " + std::to_string(actual));
}

/// Where the parts of a compressed tensor lie, and which element is where in a block.
class Parts {
 public:
  Parts(const DctShape& shape, std::size_t values, std::size_t bytes)
      : rows_(static_cast<std::size_t>(shape.rows)),
        columns_(static_cast<std::size_t>(shape.columns)),
        across_((columns_ + kSide - 1) / kSide),
        blocks_(static_cast<std::size_t>(shape.blocks())),
        coefficients_(static_cast<std::size_t>(shape.coefficients)) {
    if (shape.coefficients < 1 || shape.coefficients > DctShape::kBlock) {
      throw std::invalid_argument("expected 1 to 64 coefficients of a block, got " +
                                  std::to_string(shape.coefficients));
    }
    expect("elements", values, shape.elements());
    expect("bytes", bytes, shape.bytes());
  }

  struct Place {
    std::size_t element;
    bool repeated;  ///< beyond the last row or column
  };
  [[nodiscard]] Place place(std::size_t block, std::size_t at) const {
    const std::size_t row = block / across_ * kSide + at / kSide;
    const std::size_t column = block % across_ * kSide + at % kSide;
    return {std::min(row, rows_ - 1) * columns_ + std::min(column, columns_ - 1), row >= rows_ || column >= columns_};
  }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] static std::size_t scale(std::size_t block) { return sizeof(float) * block; }
  [[nodiscard]] std::size_t coefficient(std::size_t block, std::size_t i) const {
    return sizeof(float) * blocks_ + coefficients_ * block + i;
  }
  [[nodiscard]] std::size_t sign(std::size_t element) const { return coefficient(blocks_, 0) + element / 8; }
  [[nodiscard]] static std::byte sign_bit(std::size_t element) { return std::byte{1} << (element % 8); }
  [[nodiscard]] std::size_t coefficients() const { return coefficients_; }

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::size_t across_;
  std::size_t blocks_;
  std::size_t coefficients_;
};

/// Not a number if a coefficient is not finite.
float scale_of(const DctBlock& block) {
  float largest = 0;
  for (const float coefficient : block) {
    if (!std::isfinite(coefficient)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::abs(coefficient));
  }
  return largest / kLargest;
}

/// A scale below the smallest normal number is rounded, so that what it divides can exceed the range.
std::int8_t level(float coefficient, float scale) {
  if (!(scale > 0)) return 0;
  return static_cast<std::int8_t>(std::clamp(std::nearbyint(coefficient / scale), -kLargest, kLargest));
}

}  // namespace

int dct_coefficients(double ratio) {
  return std::clamp(static_cast<int>(std::lround(ratio * kBlock)), 1, static_cast<int>(kBlock));
}

void transform(DctBlock& block) {
  multiply(block, true);
}

void transform_back(DctBlock& block) {
  multiply(block, false);
}

std::size_t zigzag(std::size_t i) {
  static const std::array<std::size_t, kBlock> places = make_zigzag();
  return places.at(i);
}

void compress(const DctShape& shape, std::span<const float> values, std::span<std::byte> compressed) {
  const Parts parts(shape, values.size(), compressed.size());
  std::fill(compressed.begin(), compressed.end(), std::byte{0});
  for (std::size_t number = 0; number < parts.blocks(); ++number) {
    DctBlock block{};
    for (std::size_t at = 0; at < kBlock; ++at) block[at] = values[parts.place(number, at).element];
    transform(block);
    const float scale = scale_of(block);
    std::memcpy(&compressed[Parts::scale(number)], &scale, sizeof scale);
    for (std::size_t i = 0; i < parts.coefficients(); ++i) {
      compressed[parts.coefficient(number, i)] = static_cast<std::byte>(level(block[zigzag(i)], scale));
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) compressed[parts.sign(i)] |= Parts::sign_bit(i);
  }
}

void restore(const DctShape& shape, std::span<const std::byte> compressed, std::span<float> values) {
  const Parts parts(shape, values.size(), compressed.size());
  for (std::size_t number = 0; number < parts.blocks(); ++number) {
    float scale = 0;
    std::memcpy(&scale, &compressed[Parts::scale(number)], sizeof scale);
    DctBlock block{};
    for (std::size_t i = 0; i < parts.coefficients(); ++i) {
      const auto stored = static_cast<std::int8_t>(compressed[parts.coefficient(number, i)]);
      block[zigzag(i)] = scale * static_cast<float>(stored);
    }
    transform_back(block);
    for (std::size_t at = 0; at < kBlock; ++at) {
      const auto [element, repeated] = parts.place(number, at);
      if (repeated) continue;
      const bool above = (compressed[parts.sign(element)] & Parts::sign_bit(element)) != std::byte{0};
      float& value = values[element];
      value = above ? std::max(block[at], std::numeric_limits<float>::denorm_min()) : 0;
      if (std::isnan(scale)) value = scale;
    }
  }
}

}  // namespace weft::compression
