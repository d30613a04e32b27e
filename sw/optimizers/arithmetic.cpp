// SPDX-License-Identifier: Apache-2.0
#include "sw/optimizers/arithmetic.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace weft::optimizers {
namespace {

double to_bf16(double value) {
  constexpr std::uint32_t kHalf = 0x7fff;
  constexpr int kCut = 16;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t even = bits >> kCut & 1U;
  return std::bit_cast<float>((bits + kHalf + even) >> kCut << kCut);
}

double length(const Matrix& matrix) {
  double sum = 0;
  for (const double value : matrix.values) sum += value * value;
  return std::sqrt(sum);
}

/// a X + b Y.
Matrix combined(double a, const Matrix& x, double b, const Matrix& y) {
  Matrix result(x.rows, x.cols);
  for (std::size_t i = 0; i < x.values.size(); ++i) result.values[i] = a * x.values[i] + b * y.values[i];
  return result;
}

Matrix scaled(Matrix matrix, double factor) {
  for (double& value : matrix.values) value *= factor;
  return matrix;
}

Matrix columns(const Matrix& matrix, std::int64_t from, std::int64_t to) {
  Matrix part(matrix.rows, to - from);
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    for (std::int64_t c = from; c < to; ++c) part(r, c - from) = matrix(r, c);
  }
  return part;
}

}  // namespace

Matrix Matrix::identity(std::int64_t n) {
  Matrix result(n, n);
  for (std::int64_t i = 0; i < n; ++i) result(i, i) = 1;
  return result;
}

Matrix Matrix::transposed() const {
  Matrix result(cols, rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) result(c, r) = (*this)(r, c);
  }
  return result;
}

Matrix Multiplier::rounded(Matrix matrix) const {
  if (!rounds_) return matrix;
  for (double& value : matrix.values) value = to_bf16(value);
  return matrix;
}

Matrix Multiplier::operator()(const Matrix& a, const Matrix& b) {
  products_.push_back({1, a.rows, b.cols, a.cols});
  Matrix result(a.rows, b.cols);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t k = 0; k < a.cols; ++k) {
      for (std::int64_t c = 0; c < b.cols; ++c) result(r, c) += a(r, k) * b(k, c);
    }
  }
  return rounded(std::move(result));
}

Matrix newton_schulz(Matrix matrix, int iterations, Multiplier& multiply, const Quintic& factors) {
  const bool is_tall = matrix.rows > matrix.cols;
  if (is_tall) matrix = matrix.transposed();
  Matrix x = multiply.rounded(scaled(matrix, 1 / length(matrix)));
  for (int i = 0; i < iterations; ++i) {
    const Matrix a = multiply(x, x.transposed());
    const Matrix b = multiply.rounded(combined(factors[1], a, factors[2], multiply(a, a)));
    x = multiply.rounded(combined(factors[0], x, 1, multiply(b, x)));
  }
  return is_tall ? x.transposed() : x;
}

Matrix newton_schulz_of_parts(const Matrix& matrix, std::int64_t ranks, int iterations, Multiplier& multiply,
                              const Quintic& factors) {
  std::vector<Matrix> parts;
  const Matrix start = multiply.rounded(scaled(matrix, 1 / length(matrix)));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    parts.push_back(columns(start, rank * matrix.cols / ranks, (rank + 1) * matrix.cols / ranks));
  }
  for (int i = 0; i < iterations; ++i) {
    Matrix a(matrix.rows, matrix.rows);
    for (const Matrix& part : parts) a = combined(1, a, 1, multiply(part, part.transposed()));
    const Matrix b = multiply.rounded(combined(factors[1], a, factors[2], multiply(a, a)));
    for (Matrix& part : parts) part = multiply.rounded(combined(factors[0], part, 1, multiply(b, part)));
  }
  Matrix result(matrix.rows, matrix.cols);
  std::int64_t from = 0;
  for (const Matrix& part : parts) {
    for (std::int64_t r = 0; r < part.rows; ++r) {
      for (std::int64_t c = 0; c < part.cols; ++c) result(r, from + c) = part(r, c);
    }
    from += part.cols;
  }
  return result;
}

Matrix inverse_fourth_root(const Matrix& matrix, int iterations, Multiplier& multiply) {
  constexpr double kRoot = 4;
  // Of M, eigenvalues are between 0 and 1 then, where the iteration converges.
  const double scale = 1 / length(matrix);
  Matrix m = scaled(matrix, scale);
  const Matrix one = Matrix::identity(matrix.rows);
  Matrix x = scaled(one, std::pow(scale, 1 / kRoot));
  for (int i = 0; i < iterations; ++i) {
    const Matrix t = combined((kRoot + 1) / kRoot, one, -1 / kRoot, m);
    const Matrix square = multiply(t, t);
    m = multiply(multiply(square, square), m);
    x = multiply(x, t);
  }
  return x;
}

Matrix orthogonal_factor(Matrix matrix) {
  const std::int64_t n = matrix.rows;
  Matrix q = Matrix::identity(n);
  for (std::int64_t k = 0; k + 1 < n; ++k) {
    std::vector<double> v(static_cast<std::size_t>(n), 0);
    double sum = 0;
    for (std::int64_t r = k; r < n; ++r) {
      v[static_cast<std::size_t>(r)] = matrix(r, k);
      sum += matrix(r, k) * matrix(r, k);
    }
    const auto at = static_cast<std::size_t>(k);
    v[at] += std::copysign(std::sqrt(sum), v[at]);
    double square = 0;
    for (const double each : v) square += each * each;
    if (square == 0) continue;
    // H = 1 - 2 v v^T / v^T v, from the left on the matrix and from the right on the factor.
    for (std::int64_t c = 0; c < n; ++c) {
      double left = 0;
      double right = 0;
      for (std::int64_t r = k; r < n; ++r) {
        left += v[static_cast<std::size_t>(r)] * matrix(r, c);
        right += v[static_cast<std::size_t>(r)] * q(c, r);
      }
      for (std::int64_t r = k; r < n; ++r) {
        matrix(r, c) -= 2 * left / square * v[static_cast<std::size_t>(r)];
        q(c, r) -= 2 * right / square * v[static_cast<std::size_t>(r)];
      }
    }
  }
  // The columns' signs as with a positive diagonal of R.
  for (std::int64_t c = 0; c < n; ++c) {
    if (matrix(c, c) >= 0) continue;
    for (std::int64_t r = 0; r < n; ++r) q(r, c) = -q(r, c);
  }
  return q;
}

}  // namespace weft::optimizers
