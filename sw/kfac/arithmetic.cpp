// SPDX-License-Identifier: Apache-2.0
#include "sw/kfac/arithmetic.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <stdexcept>

namespace weft::kfac {

using models::Layer;

namespace {

template <typename Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename Real>
using View = Eigen::Map<Matrix<Real>>;
template <typename Real>
using ConstView = Eigen::Map<const Matrix<Real>>;

void expect(const char* what, std::size_t actual, std::int64_t expected) {
  if (actual == static_cast<std::size_t>(expected)) return;
  throw std::invalid_argument(fmt::format("expected {} of {} elements, got {}", what, expected, actual));
}

void expect_factors(const Layer& layer) {
  if (models::has_factors(layer)) return;
  throw std::invalid_argument(fmt::format("{}: expected a convolution or a linear layer", layer.name));
}

/// Calls `visit(row, column, at)` for each element of the matrix of patches that is not padding: `at` in the input.
template <typename Visit>
void each_patch(const Layer& layer, std::int64_t batch, Visit visit) {
  const std::int64_t out_width = layer.out_width();
  const std::int64_t positions = layer.positions();
  for (std::int64_t row = 0; row < batch * positions; ++row) {
    const std::int64_t sample = row / positions;
    const std::int64_t top = row % positions / out_width * layer.stride - layer.pad_height;
    const std::int64_t left = row % positions % out_width * layer.stride - layer.pad_width;
    std::int64_t column = 0;
    for (std::int64_t channel = 0; channel < layer.channels_in; ++channel) {
      for (std::int64_t y = top; y < top + layer.kernel_height; ++y) {
        for (std::int64_t x = left; x < left + layer.kernel_width; ++x, ++column) {
          if (y < 0 || y >= layer.height || x < 0 || x >= layer.width) continue;
          visit(row, column, ((sample * layer.channels_in + channel) * layer.height + y) * layer.width + x);
        }
      }
    }
  }
}

template <typename Real>
Matrix<Real> patches(const Layer& layer, std::int64_t batch, std::span<const Real> input) {
  Matrix<Real> matrix = Matrix<Real>::Zero(batch * layer.positions(), models::factor_a(layer));
  each_patch(layer, batch, [&](std::int64_t row, std::int64_t column, std::int64_t at) {
    matrix(row, column) = input[static_cast<std::size_t>(at)];
  });
  if (layer.bias) matrix.col(matrix.cols() - 1).setOnes();
  return matrix;
}

/// A row for each position of each sample, a column for each channel.
template <typename Real>
Matrix<Real> by_position(const Layer& layer, std::int64_t batch, std::span<const Real> output) {
  const std::int64_t positions = layer.positions();
  Matrix<Real> matrix(batch * positions, layer.channels_out);
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    matrix.middleRows(sample * positions, positions) =
        ConstView<Real>(&output[static_cast<std::size_t>(sample * positions * layer.channels_out)], layer.channels_out,
                        positions)
            .transpose();
  }
  return matrix;
}

/// The mean of the rows' squares, each times `scale`.
template <typename Real>
void average_square(const Matrix<Real>& rows, Real scale, Real decay, std::span<Real> average) {
  View<Real> square(average.data(), rows.cols(), rows.cols());
  const Matrix<Real> fresh = rows.transpose() * rows * (scale / static_cast<Real>(rows.rows()));
  square = decay * square + (1 - decay) * fresh;
}

/// Positions over which a weight's gradient is a sum of products of which the factors hold the mean.
template <typename Real>
Real summed_positions(const Layer& layer) {
  return layer.kind == models::LayerKind::kConv ? static_cast<Real>(layer.positions()) : Real(1);
}

}  // namespace

std::int64_t input_elements(const Layer& layer, std::int64_t batch) {
  return batch * layer.channels_in * layer.height * layer.width;
}

std::int64_t output_elements(const Layer& layer, std::int64_t batch) {
  return batch * layer.channels_out * layer.positions();
}

template <typename Real>
void forward(const Layer& layer, std::int64_t batch, std::span<const Real> weights, std::span<const Real> input,
             bool rectify, std::span<Real> output) {
  expect_factors(layer);
  expect("weights", weights.size(), models::parameters(layer));
  expect("an input", input.size(), input_elements(layer, batch));
  expect("an output", output.size(), output_elements(layer, batch));
  const ConstView<Real> matrix(weights.data(), layer.channels_out, models::factor_a(layer));
  Matrix<Real> result = patches(layer, batch, input) * matrix.transpose();
  if (rectify) result = result.cwiseMax(Real(0));
  const std::int64_t positions = layer.positions();
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    View<Real>(&output[static_cast<std::size_t>(sample * positions * layer.channels_out)], layer.channels_out,
               positions) = result.middleRows(sample * positions, positions).transpose();
  }
}

template <typename Real>
void backward(const Layer& layer, std::int64_t batch, std::span<const Real> weights, std::span<const Real> input,
              bool rectified, std::span<const Real> output_gradient, std::span<Real> weight_gradient,
              std::span<Real> input_gradient) {
  expect_factors(layer);
  expect("weights", weights.size(), models::parameters(layer));
  expect("an input", input.size(), input_elements(layer, batch));
  expect("a gradient of outputs", output_gradient.size(), output_elements(layer, batch));
  expect("a gradient of weights", weight_gradient.size(), models::parameters(layer));
  const Matrix<Real> gradient = by_position(layer, batch, output_gradient);
  View<Real>(weight_gradient.data(), layer.channels_out, models::factor_a(layer)) =
      gradient.transpose() * patches(layer, batch, input);
  if (input_gradient.empty()) return;
  expect("a gradient of inputs", input_gradient.size(), input_elements(layer, batch));
  const ConstView<Real> matrix(weights.data(), layer.channels_out, models::factor_a(layer));
  const Matrix<Real> of_patches = gradient * matrix;
  std::fill(input_gradient.begin(), input_gradient.end(), Real(0));
  each_patch(layer, batch, [&](std::int64_t row, std::int64_t column, std::int64_t at) {
    const auto i = static_cast<std::size_t>(at);
    if (!rectified || input[i] > 0) input_gradient[i] += of_patches(row, column);
  });
}

template <typename Real>
void average_factor_a(const Layer& layer, std::int64_t batch, std::span<const Real> input, Real decay,
                      std::span<Real> average) {
  expect_factors(layer);
  expect("an input", input.size(), input_elements(layer, batch));
  expect("a factor", average.size(), models::factor_a(layer) * models::factor_a(layer));
  average_square(patches(layer, batch, input), 1 / summed_positions<Real>(layer), decay, average);
}

template <typename Real>
void average_factor_g(const Layer& layer, std::int64_t batch, std::span<const Real> output_gradient, Real decay,
                      std::span<Real> average) {
  expect_factors(layer);
  expect("a gradient of outputs", output_gradient.size(), output_elements(layer, batch));
  expect("a factor", average.size(), models::factor_g(layer) * models::factor_g(layer));
  const Matrix<Real> own = static_cast<Real>(batch) * by_position(layer, batch, output_gradient);
  const Real positions = summed_positions<Real>(layer);
  average_square(own, positions * positions, decay, average);
}

template <typename Real>
Damping factored_damping(std::int64_t side_a, std::span<const Real> a, std::int64_t side_g, std::span<const Real> g,
                         Real damping) {
  const auto mean_of_diagonal = [](std::int64_t side, std::span<const Real> factor) {
    expect("a factor", factor.size(), side * side);
    double sum = 0;
    for (std::int64_t i = 0; i < side; ++i) sum += static_cast<double>(factor[static_cast<std::size_t>(i * side + i)]);
    return sum / static_cast<double>(side);
  };
  const double of_a = mean_of_diagonal(side_a, a);
  const double of_g = mean_of_diagonal(side_g, g);
  const double pi = of_a > 0 && of_g > 0 ? std::sqrt(of_a / of_g) : 1;
  const double root = std::sqrt(static_cast<double>(damping));
  return {root * pi, root / pi};
}

template <typename Real>
void invert(std::int64_t side, std::span<const Real> factor, Real damping, std::span<Real> inverse) {
  expect("a factor", factor.size(), side * side);
  expect("an inverse", inverse.size(), side * side);
  Matrix<Real> damped = ConstView<Real>(factor.data(), side, side);
  damped.diagonal().array() += damping;
  if (!damped.allFinite()) throw std::domain_error("expected finite elements");
  const Eigen::LLT<Matrix<Real>> cholesky(damped);
  View<Real> result(inverse.data(), side, side);
  if (cholesky.info() == Eigen::Success) result = cholesky.solve(Matrix<Real>::Identity(side, side));
  if (cholesky.info() != Eigen::Success || !result.allFinite()) {
    throw std::domain_error(
        fmt::format("expected a positive definite matrix; damped by {:g}, it is not", static_cast<double>(damping)));
  }
  for (std::int64_t column = 0; column < side; ++column) {
    for (std::int64_t row = 0; row < column; ++row) result(column, row) = result(row, column);
  }
}

template <typename Real>
void decompose(std::int64_t side, std::span<const Real> factor, std::span<Real> vectors_and_values) {
  expect("a factor", factor.size(), side * side);
  expect("eigenvectors and eigenvalues", vectors_and_values.size(), side * side + side);
  const Matrix<Real> matrix = ConstView<Real>(factor.data(), side, side);
  if (!matrix.allFinite()) throw std::domain_error("expected finite elements");
  const Eigen::SelfAdjointEigenSolver<Matrix<Real>> solver(matrix);
  if (solver.info() != Eigen::Success) throw std::domain_error("expected a matrix whose eigenvalues can be found");
  // By rows as all that is stored: the transpose has a vector in each.
  View<Real>(vectors_and_values.data(), side, side) = solver.eigenvectors().transpose();
  for (std::int64_t i = 0; i < side; ++i) {
    vectors_and_values[static_cast<std::size_t>(side * side + i)] = std::max(Real(0), solver.eigenvalues()(i));
  }
}

template <typename Real>
void precondition_by_eigen(const Layer& layer, std::span<const Real> of_a, std::span<const Real> of_g, Real damping,
                           std::span<Real> gradient) {
  expect_factors(layer);
  const std::int64_t a = models::factor_a(layer);
  const std::int64_t g = models::factor_g(layer);
  expect("eigenvectors and eigenvalues", of_a.size(), a * a + a);
  expect("eigenvectors and eigenvalues", of_g.size(), g * g + g);
  expect("a gradient", gradient.size(), a * g);
  const ConstView<Real> vectors_a(of_a.data(), a, a);
  const ConstView<Real> vectors_g(of_g.data(), g, g);
  View<Real> matrix(gradient.data(), g, a);
  const Matrix<Real> half = vectors_g * matrix;
  Matrix<Real> turned = half * vectors_a.transpose();
  for (std::int64_t row = 0; row < g; ++row) {
    for (std::int64_t col = 0; col < a; ++col) {
      turned(row, col) /=
          of_g[static_cast<std::size_t>(g * g + row)] * of_a[static_cast<std::size_t>(a * a + col)] + damping;
    }
  }
  const Matrix<Real> back = vectors_g.transpose() * turned;
  matrix = back * vectors_a;
}

template <typename Real>
void precondition(const Layer& layer, std::span<const Real> inverse_a, std::span<const Real> inverse_g,
                  std::span<Real> gradient) {
  expect_factors(layer);
  const std::int64_t a = models::factor_a(layer);
  const std::int64_t g = models::factor_g(layer);
  expect("an inverse", inverse_a.size(), a * a);
  expect("an inverse", inverse_g.size(), g * g);
  expect("a gradient", gradient.size(), a * g);
  View<Real> matrix(gradient.data(), g, a);
  const Matrix<Real> half = ConstView<Real>(inverse_g.data(), g, g) * matrix;
  matrix = half * ConstView<Real>(inverse_a.data(), a, a);
}

template <typename Real>
void update(std::span<const Real> gradient, Real share, Real rate, std::span<Real> momentum, std::span<Real> weights) {
  expect("momentum", momentum.size(), static_cast<std::int64_t>(gradient.size()));
  expect("weights", weights.size(), static_cast<std::int64_t>(gradient.size()));
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    momentum[i] = share * momentum[i] + gradient[i];
    weights[i] -= rate * momentum[i];
  }
}

template <typename Real>
double divergence(std::span<const Real> gradient, std::span<const Real> preconditioned, Real rate) {
  expect("a preconditioned gradient", preconditioned.size(), static_cast<std::int64_t>(gradient.size()));
  Real sum = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) sum += preconditioned[i] * gradient[i] * (rate * rate);
  return static_cast<double>(sum);
}

double clip_scale(double divergence, double clip) {
  const double scale = std::sqrt(clip / std::abs(divergence));
  return scale < 1 ? scale : 1;
}

template <typename Real>
void merge(std::span<const Real> sum, int ranks, std::span<const Real> own, std::span<Real> weights) {
  expect("a sum", sum.size(), static_cast<std::int64_t>(weights.size()));
  expect("own weights", own.size(), static_cast<std::int64_t>(weights.size()));
  const Real share = Real(1) / static_cast<Real>(ranks);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = sum[i] * share + (weights[i] - own[i]);
}

template <typename Real>
void pack_triangle(std::int64_t side, std::span<const Real> square, std::span<Real> triangle) {
  expect("a square", square.size(), side * side);
  expect("a triangle", triangle.size(), models::triangle(side));
  std::size_t next = 0;
  for (std::int64_t column = 0; column < side; ++column) {
    for (std::int64_t row = 0; row <= column; ++row) {
      triangle[next++] = square[static_cast<std::size_t>(row * side + column)];
    }
  }
}

template <typename Real>
void unpack_triangle(std::int64_t side, std::span<const Real> triangle, Real scale, std::span<Real> square) {
  expect("a square", square.size(), side * side);
  expect("a triangle", triangle.size(), models::triangle(side));
  std::size_t next = 0;
  for (std::int64_t column = 0; column < side; ++column) {
    for (std::int64_t row = 0; row <= column; ++row) {
      const Real value = scale * triangle[next++];
      square[static_cast<std::size_t>(row * side + column)] = value;
      square[static_cast<std::size_t>(column * side + row)] = value;
    }
  }
}

#define WEFT_INSTANTIATE(Real)                                                                                       \
  template void forward(const Layer&, std::int64_t, std::span<const Real>, std::span<const Real>, bool,              \
                        std::span<Real>);                                                                            \
  template void backward(const Layer&, std::int64_t, std::span<const Real>, std::span<const Real>, bool,             \
                         std::span<const Real>, std::span<Real>, std::span<Real>);                                   \
  template void average_factor_a(const Layer&, std::int64_t, std::span<const Real>, Real, std::span<Real>);          \
  template void average_factor_g(const Layer&, std::int64_t, std::span<const Real>, Real, std::span<Real>);          \
  template Damping factored_damping(std::int64_t, std::span<const Real>, std::int64_t, std::span<const Real>, Real); \
  template void invert(std::int64_t, std::span<const Real>, Real, std::span<Real>);                                  \
  template void decompose(std::int64_t, std::span<const Real>, std::span<Real>);                                     \
  template void precondition_by_eigen(const Layer&, std::span<const Real>, std::span<const Real>, Real,              \
                                      std::span<Real>);                                                              \
  template void precondition(const Layer&, std::span<const Real>, std::span<const Real>, std::span<Real>);           \
  template void update(std::span<const Real>, Real, Real, std::span<Real>, std::span<Real>);                         \
  template double divergence(std::span<const Real>, std::span<const Real>, Real);                                    \
  template void merge(std::span<const Real>, int, std::span<const Real>, std::span<Real>);                           \
  template void pack_triangle(std::int64_t, std::span<const Real>, std::span<Real>);                                 \
  template void unpack_triangle(std::int64_t, std::span<const Real>, Real, std::span<Real>);
WEFT_INSTANTIATE(float)
WEFT_INSTANTIATE(double)
#undef WEFT_INSTANTIATE

}  // namespace weft::kfac
