// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

/// What a schedule knows of its cluster: times that it measured, as functions of a size. Plain arithmetic.
namespace weft::kfac {

/// A measurement: a number of elements, or the side of a matrix, and what it took.
struct Sample {
  double size = 0;
  double seconds = 0;
};

/// Seconds of a size.
using Cost = std::function<double(double)>;

/// alpha + beta x size: a collective of `size` elements.
struct LinearCost {
  double alpha = 0;  ///< s
  double beta = 0;   ///< s for each element

  double operator()(double size) const { return alpha + beta * size; }
};

/// The least-squares line, neither parameter below 0: with a negative startup, fusion would lose what it is to save.
/// Absolute errors count, as where it is fitted by a library's linear regression, so that the longest messages decide.
/// Throws std::invalid_argument unless there are two different sizes, and on a sample that is negative or not finite.
[[nodiscard]] LinearCost fit_linear(std::span<const Sample> samples);

/// Times of matrices: of sides that were measured the mean of the measurements, between two sides the straight line,
/// below the smallest its time (latency), and above the largest in proportion to the cube of the side.
class MatrixCost {
 public:
  /// Throws std::invalid_argument without a sample, on a side that is not above 0, and on a sample that is negative or
  /// not finite.
  explicit MatrixCost(std::span<const Sample> samples);

  double operator()(double side) const;

 private:
  std::vector<Sample> samples_;  ///< sides ascend
};

}  // namespace weft::kfac
