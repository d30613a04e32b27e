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
               accelerator::Inverse, accelerator::Optimiser, compression::OneBlock>
      shape;
};
[[nodiscard]] accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& config, const LayerKernel& kernel);

/// Of operands: of the network's products, bf16 meaning that activations and their gradients are, too; and of the
/// products that make factors and precondition, which are kept in float32.
struct Types {
  accelerator::DataType network = accelerator::DataType::kFp32;
  accelerator::DataType factors = accelerator::DataType::kFp32;
};

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
/// Damping, then the inverse, of a factor of this side.
[[nodiscard]] std::vector<LayerKernel> inverse_kernels(std::int64_t side);
/// What ranks do instead that are sent the inverse (_update_inverse_A and _G of kfac/kfac_preconditioner_inv_mpd.py and
/// _inv_opt.py, github.com/shyhuai/kfac_pytorch).
[[nodiscard]] std::vector<LayerKernel> clear_kernels(std::int64_t side);
/// G^-1 x gradient x A^-1. Nothing for a norm.
[[nodiscard]] std::vector<LayerKernel> precondition_kernels(const models::Layer& layer, const Types& types = {});
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
