// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <variant>
#include <vector>

#include "hw/accelerator/kernel.h"
#include "sw/compression/kernel.h"
#include "sw/kfac/fusion.h"
#include "sw/models/network.h"

/// The kernels of second-order training, layer by layer, as shapes of an accelerator, and what is sent.
///
/// All in float32 unless told otherwise, as measured. Left out: the loss, and biases, whose passes are small beside a
/// product's.
namespace weft::kfac {

struct LayerKernel {
  /// Of static storage, such as "forward" or "factor_a.patches".
  std::string_view name;
  std::variant<accelerator::Convolution, accelerator::Gemm, accelerator::Norm, accelerator::Elementwise,
               accelerator::Inverse, accelerator::SymmetricEigen, accelerator::Optimiser, compression::OneBlock>
      shape;
};
[[nodiscard]] accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& config, const LayerKernel& kernel);

/// Of operands: of the network's products, bf16 meaning that activations and their gradients are, too; and of the
/// products that make factors and precondition. With factors in bf16 what is multiplied is made so, and the product
/// comes in it; gradients are preconditioned in tf32. Running averages and inverses are kept in float32.
struct Types {
  accelerator::DataType network = accelerator::DataType::kFp32;
  accelerator::DataType factors = accelerator::DataType::kFp32;

  [[nodiscard]] accelerator::DataType preconditioning() const {
    return factors == accelerator::DataType::kBf16 ? accelerator::DataType::kTf32 : factors;
  }
};

/// What is made of a factor so that gradients can be preconditioned: (factor + damping)^-1 by Cholesky factors; or its
/// eigenvectors and eigenvalues, by which both factors' product is damped (George et al., NeurIPS 2018, arXiv
/// 1806.03884, without their rescaling; Pauloski et al., SC 2020).
enum class Inversion : std::uint8_t { kCholesky, kEigen };
inline EnumNames<Inversion> enum_names(Inversion /*tag*/) {
  return {{"cholesky", Inversion::kCholesky}, {"eigen", Inversion::kEigen}};
}
/// Elements of it, for a factor of this side: a square, and with kEigen the eigenvalues behind it.
[[nodiscard]] constexpr std::int64_t inverse_elements(Inversion how, std::int64_t side) {
  return side * side + (how == Inversion::kEigen ? side : 0);
}

/// Of `batch` samples, in order. A norm has its activation with it, and the addition before that; each layer what moves
/// data before it. In bf16 the weights are cast first.
[[nodiscard]] std::vector<LayerKernel> forward_kernels(const models::Layer& layer, std::int64_t batch,
                                                       const Types& types = {});
/// The gradient of the weights, then that of the inputs, which the first layer of a network has no use for, on their
/// way to the layers before. In bf16 the gradient of the weights is cast back.
[[nodiscard]] std::vector<LayerKernel> backward_kernels(const models::Layer& layer, std::int64_t batch, bool first,
                                                        const Types& types = {});

/// The factor of the inputs: copying the patches out of the image (of a convolution, or to add a column of ones for a
/// bias), the means over positions and batch, the product of that matrix with its own transpose, and the running
/// average. Passes are those of the published implementation (kfac/utils.py of github.com/alecwangcq/KFAC-Pytorch, from
/// which SPD-KFAC's is derived), none of them fused. From bf16 the first pass makes float32, or one more if nothing is
/// copied. Nothing for a norm.
[[nodiscard]] std::vector<LayerKernel> factor_a_kernels(const models::Layer& layer, std::int64_t batch,
                                                        const Types& types = {});
/// The factor of the gradients: channels moved to the end (of a convolution), scaling, product, running average.
[[nodiscard]] std::vector<LayerKernel> factor_g_kernels(const models::Layer& layer, std::int64_t batch,
                                                        const Types& types = {});
/// Damping, then the inverse, of a factor of this side; or its eigenvectors, and eigenvalues of 0 or more.
[[nodiscard]] std::vector<LayerKernel> inverse_kernels(std::int64_t side, Inversion how = Inversion::kCholesky);
/// What ranks do instead that are sent the inverse (_update_inverse_A and _G of kfac/kfac_preconditioner_inv_mpd.py and
/// _inv_opt.py, github.com/shyhuai/kfac_pytorch).
[[nodiscard]] std::vector<LayerKernel> clear_kernels(std::int64_t side);
/// G^-1 x gradient x A^-1; with eigenvectors Q and eigenvalues d, V = QG^T x gradient x QA, each element by the product
/// of its eigenvalues and the damping, and QG x V x QA^T (preconditioned_grad of kfac/layers/eigen.py,
/// github.com/gpauloski/kfac-pytorch, with `prediv_eigenvalues` off). Nothing for a norm.
[[nodiscard]] std::vector<LayerKernel> precondition_kernels(const models::Layer& layer, const Types& types = {},
                                                            Inversion how = Inversion::kCholesky);
/// What a layer adds to the KL divergence of a step, tensor by tensor, to where the host reads it; and the gradient in
/// the place of the one that was preconditioned, scaled. Passes are those of the published implementation
/// (_update_scale_grad of kfac/kfac_preconditioner_inv_opt.py, github.com/shyhuai/kfac_pytorch).
[[nodiscard]] std::vector<LayerKernel> divergence_kernels(const models::Layer& layer);
[[nodiscard]] std::vector<LayerKernel> clip_kernels(const models::Layer& layer);
/// Stochastic gradient descent with momentum and weight decay: for each tensor, weights or biases, the four passes of
/// PyTorch 1.4's torch.optim.SGD, and the one that clears the gradient for the next step.
[[nodiscard]] std::vector<LayerKernel> update_kernels(const models::Layer& layer);

/// Sides of all factors: A, G of the first layer that has them, A, G of the second, ...
[[nodiscard]] std::vector<std::int64_t> factor_sides(const models::Network& network);

/// Seconds of a kernel; a schedule gives what it measured.
using KernelTime = std::function<double(const LayerKernel&)>;

/// How factors and gradients become ready, for fusion.h: factors A during the forward pass, each before its layer is
/// computed; factors G during the backward pass, last layer first, each after the layer's gradients; and gradients of
/// all layers with parameters during a backward pass, with the factors' computing in it or (plain SGD) without.
[[nodiscard]] std::vector<Ready> ready_factors_a(const models::Network& network, const KernelTime& time);
[[nodiscard]] std::vector<Ready> ready_factors_g(const models::Network& network, const KernelTime& time);
[[nodiscard]] std::vector<Ready> ready_gradients(const models::Network& network, const KernelTime& time,
                                                 bool with_factors);

}  // namespace weft::kfac
