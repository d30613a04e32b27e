// SPDX-License-Identifier: Apache-2.0
// What Muon, Shampoo and SOAP compute, on small matrices against Eigen, and that what they plan is as many products.
#include "sw/optimizers/arithmetic.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sw/optimizers/muon.h"
#include "sw/optimizers/roots.h"

namespace weft::optimizers {
namespace {

Eigen::MatrixXd to_eigen(const Matrix& matrix) {
  Eigen::MatrixXd result(matrix.rows, matrix.cols);
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    for (std::int64_t c = 0; c < matrix.cols; ++c) result(r, c) = matrix(r, c);
  }
  return result;
}

Matrix random_matrix(std::int64_t rows, std::int64_t cols, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Matrix matrix(rows, cols);
  for (double& value : matrix.values) value = normal(random);
  return matrix;
}

/// G G^T + 0.1.
Matrix positive(std::int64_t n, unsigned seed) {
  Multiplier multiply;
  const Matrix g = random_matrix(n, n, seed);
  Matrix factor = multiply(g, g.transposed());
  for (std::int64_t i = 0; i < n; ++i) factor(i, i) += 0.1;
  return factor;
}

/// U V^T of the singular value decomposition.
Eigen::MatrixXd polar(const Matrix& matrix) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(to_eigen(matrix), Eigen::ComputeThinU | Eigen::ComputeThinV);
  return svd.matrixU() * svd.matrixV().transpose();
}

Eigen::VectorXd singular_values(const Matrix& matrix) {
  return Eigen::JacobiSVD<Eigen::MatrixXd>(to_eigen(matrix)).singularValues();
}

TEST(NewtonSchulz, ConvergesToTheOrthogonalFactor) {
  for (const auto& [rows, cols] : {std::pair(12, 20), std::pair(20, 12), std::pair(8, 8)}) {
    const Matrix g = random_matrix(rows, cols, 7);
    Multiplier multiply;
    const Matrix x = newton_schulz(g, 40, multiply, kConvergentQuintic);
    EXPECT_LT((to_eigen(x) - polar(g)).cwiseAbs().maxCoeff(), 1e-12) << rows << " by " << cols;
  }
}

/// In five iterations, in bfloat16 as in 64 bits, they are near 1 but for those that were smallest.
TEST(NewtonSchulz, MuonsFiveIterationsBringSingularValuesNearOne) {
  const Matrix g = random_matrix(32, 64, 3);
  for (const bool rounds : {false, true}) {
    Multiplier multiply(rounds);
    const Eigen::VectorXd values = singular_values(newton_schulz(g, 5, multiply));
    EXPECT_GT(values.minCoeff(), 0.6) << rounds;
    EXPECT_LT(values.maxCoeff(), 1.3) << rounds;
    EXPECT_LT(singular_values(newton_schulz(g, 1, multiply)).minCoeff(), 0.5) << rounds;
  }
}

TEST(NewtonSchulz, IsTheSameInPartsOfColumns) {
  const Matrix g = random_matrix(8, 24, 5);
  Multiplier whole;
  Multiplier parts;
  const Matrix x = newton_schulz(g, 5, whole);
  EXPECT_LT((to_eigen(x) - to_eigen(newton_schulz_of_parts(g, 4, 5, parts))).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(NewtonSchulz, PlansTheProductsThatItMultiplies) {
  for (const auto& [rows, cols] : {std::pair(12, 20), std::pair(20, 12)}) {
    Multiplier multiply;
    static_cast<void>(newton_schulz(random_matrix(rows, cols, 1), 5, multiply));
    const std::vector<models::Gemm> planned = newton_schulz_products(rows, cols, 5);
    ASSERT_EQ(planned.size(), multiply.products().size());
    for (std::size_t i = 0; i < planned.size(); ++i) {
      EXPECT_EQ(planned[i].m, multiply.products()[i].m);
      EXPECT_EQ(planned[i].n, multiply.products()[i].n);
      EXPECT_EQ(planned[i].k, multiply.products()[i].k);
    }
  }
}

TEST(CoupledNewton, GivesTheInverseFourthRoot) {
  const Matrix factor = positive(12, 9);
  Multiplier multiply;
  const Eigen::MatrixXd root = to_eigen(inverse_fourth_root(factor, 40, multiply));
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(to_eigen(factor));
  const Eigen::MatrixXd expected = eigen.eigenvectors() * eigen.eigenvalues().array().pow(-0.25).matrix().asDiagonal() *
                                   eigen.eigenvectors().transpose();
  EXPECT_LT((root - expected).cwiseAbs().maxCoeff(), 1e-8);
}

/// The default's 20 iterations bring the error below 1 %, 8 do not.
TEST(CoupledNewton, NeedsAboutTwentyIterations) {
  const Matrix factor = positive(12, 9);
  Multiplier multiply;
  const Eigen::MatrixXd exact = to_eigen(inverse_fourth_root(factor, 60, multiply));
  const auto error = [&](int iterations) {
    return (to_eigen(inverse_fourth_root(factor, iterations, multiply)) - exact).norm() / exact.norm();
  };
  EXPECT_LT(error(20), 0.01);
  EXPECT_GT(error(8), 0.01);
}

TEST(CoupledNewton, PlansTheProductsThatItMultiplies) {
  Multiplier multiply;
  static_cast<void>(inverse_fourth_root(positive(6, 2), 3, multiply));
  std::vector<models::Kernel> kernels;
  add_inverse_root(kernels, 6, 1, 3);
  std::int64_t planned = 0;
  for (const models::Kernel& kernel : kernels) planned += flops(kernel);
  std::int64_t done = 0;
  for (const models::Gemm& product : multiply.products()) done += flops(product);
  EXPECT_EQ(planned, done);
}

/// What SOAP repeats: the factor times the basis, made orthogonal.
TEST(Bases, BecomeThoseOfEigenvectors) {
  const Matrix factor = positive(6, 4);
  Multiplier multiply;
  Matrix basis = Matrix::identity(6);
  for (int i = 0; i < 400; ++i) basis = orthogonal_factor(multiply(factor, basis));
  const Eigen::MatrixXd q = to_eigen(basis);
  EXPECT_LT((q.transpose() * q - Eigen::MatrixXd::Identity(6, 6)).cwiseAbs().maxCoeff(), 1e-12);
  const Eigen::MatrixXd turned = q.transpose() * to_eigen(factor) * q;
  const Eigen::MatrixXd rest = turned - Eigen::MatrixXd(turned.diagonal().asDiagonal());
  EXPECT_LT(rest.cwiseAbs().maxCoeff(), 1e-6 * turned.norm());
}

/// A QR decomposition and its factor by LAPACK's count: 4/3 n^3 each, here with products over whole panels.
TEST(Bases, AreAboutAsManyOperationsAsLapacks) {
  constexpr double kN = 2048;
  std::vector<models::Kernel> kernels;
  add_orthogonal_factor(kernels, static_cast<std::int64_t>(kN), 1);
  double operations = 0;
  for (const models::Kernel& kernel : kernels) operations += static_cast<double>(flops(kernel));
  EXPECT_GT(operations, 8.0 / 3 * kN * kN * kN * 0.9);
  EXPECT_LT(operations, 8.0 / 3 * kN * kN * kN * 1.1);
}

}  // namespace
}  // namespace weft::optimizers
