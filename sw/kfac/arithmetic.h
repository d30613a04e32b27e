// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "sw/models/network.h"

/// What the kernels of second-order training compute, for small networks whose contents are real. Instantiated for
/// float and double.
///
/// Memory: an image is channels by rows by columns, a batch one sample behind the other. Weights have a row for each
/// output, in it channels by kernel rows by kernel columns, then the bias. Squares are symmetric. Spans have the sizes
/// that the layer gives, or std::invalid_argument is thrown, as it is for a norm.
namespace weft::kfac {

/// Elements of what comes in and goes out, of a batch.
[[nodiscard]] std::int64_t input_elements(const models::Layer& layer, std::int64_t batch);
[[nodiscard]] std::int64_t output_elements(const models::Layer& layer, std::int64_t batch);

/// `rectify`: negative outputs become 0.
template <typename Real>
void forward(const models::Layer& layer, std::int64_t batch, std::span<const Real> weights, std::span<const Real> input,
             bool rectify, std::span<Real> output);

/// From the gradient of the outputs, before they were rectified, that of the weights and that of the inputs, which is 0
/// where `rectified` inputs are. `input_gradient` may be empty.
template <typename Real>
void backward(const models::Layer& layer, std::int64_t batch, std::span<const Real> weights,
              std::span<const Real> input, bool rectified, std::span<const Real> output_gradient,
              std::span<Real> weight_gradient, std::span<Real> input_gradient);

/// average <- decay x average + (1 - decay) x mean of a aᵀ over batch and positions, a being a patch with a 1 for the
/// bias; and the same of g gᵀ, g being a sample's own gradient, `batch` times its share of the mean's. Of a convolution
/// with S positions the first mean is divided by S and the second multiplied by S², as SPD-KFAC's authors have it
/// (shyhuai/kfac_pytorch, kfac/utils.py): together S times the product of the means, as in KFC (Grosse and Martens,
/// ICML 2016, section 3), which divides neither but sums the first over positions.
template <typename Real>
void average_factor_a(const models::Layer& layer, std::int64_t batch, std::span<const Real> input, Real decay,
                      std::span<Real> average);
template <typename Real>
void average_factor_g(const models::Layer& layer, std::int64_t batch, std::span<const Real> output_gradient, Real decay,
                      std::span<Real> average);

/// What is added to the diagonals of a layer's two factors before they are inverted.
struct Damping {
  double a = 0;
  double g = 0;
};
/// sqrt(damping) x pi and sqrt(damping) / pi, where pi^2 is the mean of A's diagonal by that of G's: factored Tikhonov
/// damping (Martens and Grosse, ICML 2015, section 6.3), as DP-KFAC's code has it (kfac/kfac_preconditioner_inv_dp.py
/// of github.com/lzhangbv/kfac_pytorch). pi is 1 where one of the means is not above 0.
template <typename Real>
[[nodiscard]] Damping factored_damping(std::int64_t side_a, std::span<const Real> a, std::int64_t side_g,
                                       std::span<const Real> g, Real damping);

/// (factor + damping x 1)^-1, by Cholesky factors; exactly symmetric. Throws std::domain_error if that is not positive
/// definite or has an element that is not finite.
template <typename Real>
void invert(std::int64_t side, std::span<const Real> factor, Real damping, std::span<Real> inverse);

/// Eigenvectors of a factor, one column behind the other, and behind them its eigenvalues, the least first; those below
/// 0, of which rounding alone makes some, are 0. Throws std::domain_error where an element is not finite.
template <typename Real>
void decompose(std::int64_t side, std::span<const Real> factor, std::span<Real> vectors_and_values);
/// gradient <- (G x A + damping)^-1 gradient, x being the Kronecker product, from what decompose() gives of both.
template <typename Real>
void precondition_by_eigen(const models::Layer& layer, std::span<const Real> of_a, std::span<const Real> of_g,
                           Real damping, std::span<Real> gradient);

/// gradient <- inverse_g x gradient x inverse_a
template <typename Real>
void precondition(const models::Layer& layer, std::span<const Real> inverse_a, std::span<const Real> inverse_g,
                  std::span<Real> gradient);

/// What a layer adds to the KL divergence that a step would have: the sum of gradient x preconditioned x rate^2 (Ba,
/// Grosse and Martens, ICLR 2017; here as the published implementation of SPD-KFAC has it).
template <typename Real>
[[nodiscard]] double divergence(std::span<const Real> gradient, std::span<const Real> preconditioned, Real rate);
/// By what preconditioned gradients are multiplied, so that the step's is `clip` at most.
[[nodiscard]] double clip_scale(double divergence, double clip);

/// momentum <- share x momentum + gradient; weights <- weights - rate x momentum
template <typename Real>
void update(std::span<const Real> gradient, Real share, Real rate, std::span<Real> momentum, std::span<Real> weights);

/// weights <- sum / ranks + (weights - own): a mean of what all ranks had, and what this one has learnt since it had
/// `own`.
template <typename Real>
void merge(std::span<const Real> sum, int ranks, std::span<const Real> own, std::span<Real> weights);

/// Upper triangle to a list, column after column, and back to both halves.
template <typename Real>
void pack_triangle(std::int64_t side, std::span<const Real> square, std::span<Real> triangle);
template <typename Real>
void unpack_triangle(std::int64_t side, std::span<const Real> triangle, Real scale, std::span<Real> square);

}  // namespace weft::kfac
