// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

/// Lossy compression of activations that are kept for the backward pass, as JPEG compresses images: JPEG-ACT (Evans,
/// Liu and Aamodt, ISCA 2020), which cuts a tensor of N x C x H x W into blocks of 8 x 8 of the matrix (N C H) x W,
/// transforms each by the two-dimensional DCT-II and quantises it to 8 bits, and keeps of a rectified tensor the signs.
/// Plain arithmetic, with the same result on every rank for the same input.
///
/// What differs from the paper: each block has a scale of its own, the largest magnitude of its coefficients / 127,
/// where the paper scales channels and divides by an optimised table; and the first `coefficients` in the zigzag's
/// order are stored, where the paper stores those that are not 0 (zero value compression). So the size follows from the
/// shape alone, and memory can be laid out before a value is known.
///
/// Error: the transform is orthonormal, so that by Parseval's theorem the squared l2 norm of a block's error is the sum
/// of those of its coefficients: at most coefficients x (scale / 2)^2 by rounding, and the squares of what is dropped;
/// besides roundoff. Signs only lessen it: what was 0 comes back as 0, and the rest above 0.
namespace weft::compression {

/// A rectified tensor as a matrix, the last row and column repeated until blocks cover it.
struct DctShape {
  static constexpr std::int64_t kSide = 8;
  static constexpr std::int64_t kBlock = kSide * kSide;

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int coefficients = kBlock;  ///< of each block, the lowest frequencies: 1 to kBlock

  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
  [[nodiscard]] std::int64_t blocks() const { return ((rows + kSide - 1) / kSide) * ((columns + kSide - 1) / kSide); }
  /// A float32 scale for each block, its coefficients, and a bit for each element.
  [[nodiscard]] std::int64_t bytes() const { return blocks() * (4 + coefficients) + (elements() + 7) / 8; }
};

/// How many coefficients a share of them is, at least 1.
[[nodiscard]] int dct_coefficients(double ratio);

/// A block's elements, row after row, to coefficients, and back.
using DctBlock = std::array<float, DctShape::kBlock>;
void transform(DctBlock& block);
void transform_back(DctBlock& block);
/// Place in a block of the coefficient that is stored as the i-th: along antidiagonals, as JPEG's (ITU-T T.81, figure
/// 5).
[[nodiscard]] std::size_t zigzag(std::size_t i);

/// Throw std::invalid_argument on lengths that do not fit the shape. A block with an element that is not finite, or
/// whose coefficients are not, comes back as not a number; what is not above 0 comes back as 0.
void compress(const DctShape& shape, std::span<const float> values, std::span<std::byte> compressed);
void restore(const DctShape& shape, std::span<const std::byte> compressed, std::span<float> values);

}  // namespace weft::compression
