// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"
#include "hw/accelerator/kernels/gemm.h"

namespace weft::accelerator {

enum class ConvolutionPass : std::uint8_t { kForward, kDataGradient, kWeightGradient };
EnumNames<ConvolutionPass> enum_names(ConvolutionPass);

/// A two-dimensional convolution of a batch of images, or one of its two gradients, as an implicit product: the matrix
/// of patches is formed while tiles are loaded and never stored.
///
///     pass             m                     n                      k
///     forward          batch x out area      channels out / groups  channels in / groups x kernel area
///     data gradient    batch x in area       channels in / groups   channels out / groups x kernel area / stride^2
///     weight gradient  channels out / groups channels in / groups x kernel area    batch x out area
///
/// with the groups as a batch of products. All three have the same operations. HBM sees each tensor once, or as often
/// as the product's blocks sweep over it when neither operand stays in L2. The data gradient of a strided convolution
/// is the products of its stride^2 phases, taken as one. With few channels in a group a product is mostly padding;
/// then a direct kernel on the vector units is taken if it is faster, as a library's search does.
///
/// Left out: Winograd and FFT (a library may be up to 2.25 times as fast on 3 x 3 kernels of stride 1 in float32),
/// dilation, changes of layout, biases and activations that are fused.
///
/// Compared with forward and backward of ResNets in float32 on RTX 2080 Ti, with batch normalisation and activations,
/// as SPD-KFAC's authors publish it (tests/unit/platform/kernel_published_test.cpp), no parameter chosen for it: 22 %
/// short for ResNet-50 on 32 images and 35 % for ResNet-152 on 8. The published times have a framework's host beside
/// the kernels, and additions, pooling and copies that are left out there. No convolution alone is checked.
struct Convolution {
  std::int64_t batch = 1;
  std::int64_t channels_in = 0;
  std::int64_t channels_out = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t stride = 1;
  std::int64_t pad_height = 0;
  std::int64_t pad_width = 0;
  std::int64_t groups = 1;
  ConvolutionPass pass = ConvolutionPass::kForward;
  DataType type = DataType::kBf16;
};

/// Height and width of the result; 0 where the kernel does not fit.
[[nodiscard]] std::int64_t out_height(const Convolution& shape);
[[nodiscard]] std::int64_t out_width(const Convolution& shape);

/// The product that it stands for. Throws std::invalid_argument, as below.
[[nodiscard]] Gemm product_of(const Convolution& shape);

/// A batch or channels of 0 give no work and no launch. Throws std::invalid_argument on a negative dimension, a stride
/// or kernel below 1, a kernel larger than the padded image, and groups that do not divide both channels. `plan` is
/// that of the product; its tiles are 0 where the vector units do it.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Convolution& shape, GemmPlan* plan = nullptr);

}  // namespace weft::accelerator
