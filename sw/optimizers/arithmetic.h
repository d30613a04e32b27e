// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sw/models/kernels.h"

/// What the optimizers for matrices compute, on small ones: in runs kernels compute nothing. It shows that the products
/// that they plan are those that the methods need.
namespace weft::optimizers {

/// By rows.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;

  Matrix(std::int64_t of_rows, std::int64_t of_cols)
      : rows(of_rows), cols(of_cols), values(static_cast<std::size_t>(of_rows * of_cols)) {}
  [[nodiscard]] static Matrix identity(std::int64_t n);
  [[nodiscard]] double& operator()(std::int64_t row, std::int64_t col) {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
  [[nodiscard]] double operator()(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
  [[nodiscard]] Matrix transposed() const;
};

/// Multiplies, and lists what it has multiplied.
class Multiplier {
 public:
  /// `rounds`: each result to bfloat16, as operands of 16 bits would be.
  explicit Multiplier(bool rounds = false) : rounds_(rounds) {}

  [[nodiscard]] Matrix operator()(const Matrix& a, const Matrix& b);
  [[nodiscard]] const std::vector<models::Gemm>& products() const { return products_; }
  [[nodiscard]] Matrix rounded(Matrix matrix) const;

 private:
  bool rounds_;
  std::vector<models::Gemm> products_;
};

/// Of an iteration, the factors of X, of A X and of A A X.
using Quintic = std::array<double, 3>;
/// Muon's, with which singular values come close to 1 soon and stay there about.
inline constexpr Quintic kMuonQuintic{3.4445, -4.7750, 2.0315};
/// With which they converge to 1.
inline constexpr Quintic kConvergentQuintic{15.0 / 8, -10.0 / 8, 3.0 / 8};

/// The matrix with its singular values brought to 1: U V^T of U S V^T.
[[nodiscard]] Matrix newton_schulz(Matrix matrix, int iterations, Multiplier& multiply,
                                   const Quintic& factors = kMuonQuintic);
/// The same where each of `ranks` has so many of the columns, the sums of A added up over them; rows are fewer.
[[nodiscard]] Matrix newton_schulz_of_parts(const Matrix& matrix, std::int64_t ranks, int iterations,
                                            Multiplier& multiply, const Quintic& factors = kMuonQuintic);

/// The inverse fourth root of a symmetric positive definite matrix.
[[nodiscard]] Matrix inverse_fourth_root(const Matrix& matrix, int iterations, Multiplier& multiply);

/// The orthogonal factor of a QR decomposition by Householder reflections.
[[nodiscard]] Matrix orthogonal_factor(Matrix matrix);

}  // namespace weft::optimizers
