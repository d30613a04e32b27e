// SPDX-License-Identifier: Apache-2.0
// The arithmetic of second-order training: gradients against finite differences, preconditioning against the inverse of
// the whole Kronecker product, factors against their definition, what cannot be inverted.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "hw/core/random.h"
#include "sw/kfac/arithmetic.h"

namespace weft::kfac {
namespace {

using Doubles = std::vector<double>;
using models::Layer;
using models::LayerKind;

Doubles drawn(const char* what, std::int64_t elements) {
  Random random(7, what);
  Doubles values(static_cast<std::size_t>(elements));
  for (double& value : values) value = 2 * random.share() - 1;
  return values;
}

std::span<const double> constant(const Doubles& values) {
  return values;
}

/// Half the squared length of what a layer gives.
double loss_of(const Layer& layer, std::int64_t batch, const Doubles& weights, const Doubles& input) {
  Doubles output(static_cast<std::size_t>(output_elements(layer, batch)));
  forward(layer, batch, constant(weights), constant(input), false, std::span(output));
  double sum = 0;
  for (const double value : output) sum += value * value / 2;
  return sum;
}

const Layer kArithmeticLayers[] = {{"conv", LayerKind::kConv, 2, 3, 3, 2, 2, 1, 0, 5, 4, true},
                                   {"plain", LayerKind::kConv, 3, 2, 1, 1, 1, 0, 0, 3, 3, false},
                                   {"linear", LayerKind::kLinear, 6, 4, 1, 1, 1, 0, 0, 1, 1, true}};

TEST(KfacArithmetic, GradientsAreThoseOfFiniteDifferences) {
  constexpr std::int64_t kBatch = 3;
  constexpr double kStep = 1e-6;
  for (const Layer& layer : kArithmeticLayers) {
    Doubles weights = drawn("weights", models::parameters(layer));
    Doubles input = drawn("input", input_elements(layer, kBatch));
    Doubles output(static_cast<std::size_t>(output_elements(layer, kBatch)));
    forward(layer, kBatch, constant(weights), constant(input), false, std::span(output));
    Doubles of_weights(weights.size());
    Doubles of_input(input.size());
    backward(layer, kBatch, constant(weights), constant(input), false, constant(output), std::span(of_weights),
             std::span(of_input));
    const auto check = [&](Doubles& values, const Doubles& gradient) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double kept = values[i];
        values[i] = kept + kStep;
        const double above = loss_of(layer, kBatch, weights, input);
        values[i] = kept - kStep;
        const double below = loss_of(layer, kBatch, weights, input);
        values[i] = kept;
        ASSERT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-6) << layer.name << " " << i;
      }
    };
    check(weights, of_weights);
    check(input, of_input);
  }
}

TEST(KfacArithmetic, RectifiedInputsThatAreNotPositiveHaveNoGradient) {
  const Layer layer{"linear", LayerKind::kLinear, 3, 2, 1, 1, 1, 0, 0, 1, 1, false};
  const Doubles weights = {1, 2, 3, 4, 5, 6};
  const Doubles input = {1, 0, 2};
  const Doubles output_gradient = {1, 1};
  Doubles of_weights(6);
  Doubles of_input(3);
  backward(layer, 1, constant(weights), constant(input), true, constant(output_gradient), std::span(of_weights),
           std::span(of_input));
  EXPECT_EQ(of_input, (Doubles{5, 0, 9}));
  EXPECT_EQ(of_weights, (Doubles{1, 0, 2, 1, 0, 2}));
  Doubles output(2);
  const Doubles negative = {-1, 0, -2};
  forward(layer, 1, constant(weights), constant(negative), true, std::span(output));
  EXPECT_EQ(output, (Doubles{0, 0}));
}

TEST(KfacArithmetic, FactorsAreMeansOfOuterProducts) {
  // One position: a = (x, 1), g a sample's own gradient.
  const Layer layer{"linear", LayerKind::kLinear, 2, 1, 1, 1, 1, 0, 0, 1, 1, true};
  const Doubles input = {1, 2, 3, 5};
  Doubles a(9, 0);
  for (std::size_t i = 0; i < 3; ++i) a[4 * i] = 1;
  average_factor_a(layer, 2, constant(input), 0.5, std::span(a));
  EXPECT_EQ(a, (Doubles{0.5 + 2.5, 4.25, 1, 4.25, 0.5 + 7.25, 1.75, 1, 1.75, 1}));
  const Doubles gradient = {0.5, -1};  // shares of the mean over two samples
  Doubles g = {1};
  average_factor_g(layer, 2, constant(gradient), 0.75, std::span(g));
  EXPECT_DOUBLE_EQ(g[0], 0.75 + 0.25 * (1 + 4) / 2);
}

// Written out from the published code's definition: a 1 x 2 kernel over a row of 3 pixels has S = 2 positions.
TEST(KfacArithmetic, FactorsOfConvolutionsAreScaledByTheirPositions) {
  const Layer layer{"conv", LayerKind::kConv, 1, 2, 1, 2, 1, 0, 0, 1, 3, false};
  const Doubles input = {1, 2, 4, 3, 0, 5};  // two samples: patches (1,2) (2,4) and (3,0) (0,5)
  Doubles a(4);
  average_factor_a(layer, 2, constant(input), 0.0, std::span(a));
  // Each patch divided by S; their squares summed and divided by the batch.
  const double scale = 1.0 / (2 * 2) / 2;
  const Doubles expected_a = {scale * (1 + 4 + 9), scale * (2 + 8), scale * (2 + 8), scale * (4 + 16 + 25)};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(a[i], expected_a[i]) << i;

  const Doubles gradient = {1, 2, -1, 0, 3, 1, 2, 2};  // by sample, channel and position
  Doubles g(4);
  average_factor_g(layer, 2, constant(gradient), 0.0, std::span(g));
  // Each times batch and S; their squares summed and divided by batch times S.
  const double of_g = 4.0 * 4.0 / (2 * 2);
  const Doubles expected_g = {of_g * (1 + 4 + 9 + 1), of_g * (-1 + 0 + 6 + 2), of_g * (-1 + 0 + 6 + 2),
                              of_g * (1 + 0 + 4 + 4)};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(g[i], expected_g[i]) << i;
}

TEST(KfacArithmetic, PreconditioningIsTheInverseOfTheKroneckerProduct) {
  const Layer layer{"linear", LayerKind::kLinear, 4, 3, 1, 1, 1, 0, 0, 1, 1, true};
  constexpr std::int64_t kBatch = 6;
  constexpr double kDamping = 0.01;
  const Doubles input = drawn("a", input_elements(layer, kBatch));
  const Doubles output_gradient = drawn("g", output_elements(layer, kBatch));
  Doubles a(25);
  Doubles g(9);
  average_factor_a(layer, kBatch, constant(input), 0.0, std::span(a));
  average_factor_g(layer, kBatch, constant(output_gradient), 0.0, std::span(g));
  Doubles inverse_a(25);
  Doubles inverse_g(9);
  invert(5, constant(a), kDamping, std::span(inverse_a));
  invert(3, constant(g), kDamping, std::span(inverse_g));
  const Doubles gradient = drawn("gradient", 15);
  Doubles step = gradient;
  precondition(layer, constant(inverse_a), constant(inverse_g), std::span(step));

  // The gradient's element (output i, input j) is number 5 i + j.
  Eigen::MatrixXd whole(15, 15);
  for (int r = 0; r < 15; ++r) {
    for (int c = 0; c < 15; ++c) {
      const auto at = [&](const Doubles& m, std::int64_t side, std::int64_t i, std::int64_t j) {
        return m[static_cast<std::size_t>(i * side + j)] + (i == j ? kDamping : 0);
      };
      whole(r, c) = at(g, 3, r / 5, c / 5) * at(a, 5, r % 5, c % 5);
    }
  }
  const Eigen::VectorXd expected = whole.fullPivLu().solve(Eigen::Map<const Eigen::VectorXd>(gradient.data(), 15));
  for (int i = 0; i < 15; ++i) {
    EXPECT_NEAR(step[static_cast<std::size_t>(i)], expected(i), 1e-9 * expected.norm());
  }
}

TEST(KfacArithmetic, TrianglesGoThereAndBack) {
  const Doubles square = {1, 2, 3, 2, 4, 5, 3, 5, 6};
  Doubles triangle(6);
  pack_triangle(3, constant(square), std::span(triangle));
  EXPECT_EQ(triangle, (Doubles{1, 2, 4, 3, 5, 6}));
  Doubles again(9);
  unpack_triangle(3, constant(triangle), 0.5, std::span(again));
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(again[i], square[i] / 2);
}

// Written out from DP-KFAC's code: pi = sqrt((tr A / dim A) / (tr G / dim G)).
TEST(KfacArithmetic, FactoredDampingIsSharedByTheMeansOfTheDiagonals) {
  const Doubles a = {3, 1, 1, 5};                     // mean 4
  const Doubles g = {0.5, 0, 0, 0, 1, 0, 0, 0, 1.5};  // mean 1
  const Damping damping = factored_damping(2, constant(a), 3, constant(g), 0.09);
  EXPECT_DOUBLE_EQ(damping.a, 0.3 * 2);
  EXPECT_DOUBLE_EQ(damping.g, 0.3 / 2);
  const Doubles zero(4);
  EXPECT_DOUBLE_EQ(factored_damping(2, constant(zero), 3, constant(g), 0.09).a, 0.3);
  EXPECT_DOUBLE_EQ(factored_damping(2, constant(zero), 3, constant(g), 0.09).g, 0.3);
}

TEST(KfacArithmetic, DampingMakesASingularFactorInvertible) {
  const Doubles singular = {1, 0, 0, 0};
  Doubles inverse(4);
  EXPECT_THROW(invert(2, constant(singular), 0.0, std::span(inverse)), std::domain_error);
  invert(2, constant(singular), 0.5, std::span(inverse));
  EXPECT_DOUBLE_EQ(inverse[0], 1 / 1.5);
  EXPECT_DOUBLE_EQ(inverse[3], 2);
  EXPECT_EQ(inverse[1] + inverse[2], 0);
  const Doubles indefinite = {1, 2, 2, 1};
  EXPECT_THROW(invert(2, constant(indefinite), 0.5, std::span(inverse)), std::domain_error);
}

TEST(KfacArithmetic, ElementsThatAreNotFiniteAreNamed) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Doubles factor = {1, bad, bad, 1};
    Doubles inverse(4);
    try {
      invert(2, constant(factor), 0.1, std::span(inverse));
      FAIL() << "was accepted";
    } catch (const std::domain_error& error) {
      EXPECT_STREQ(error.what(), "expected finite elements");
    }
  }
}

TEST(KfacArithmetic, WrongSizesAndNormsAreRefused) {
  const Layer norm{"n", LayerKind::kNorm, 3, 3, 1, 1, 1, 0, 0, 1, 1, true};
  const Doubles three(3);
  Doubles output(3);
  EXPECT_THROW(forward(norm, 1, constant(three), constant(three), false, std::span(output)), std::invalid_argument);
  EXPECT_THROW(forward(kArithmeticLayers[2], 1, constant(three), constant(three), false, std::span(output)),
               std::invalid_argument);
}

}  // namespace
}  // namespace weft::kfac
