// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/convolution.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "hw/accelerator/kernels/arithmetic.h"
#include "hw/accelerator/kernels/product.h"

namespace weft::accelerator {
namespace {

/// Channels of a group below which vector units may be faster: a quarter of the narrowest tile.
constexpr std::int64_t kNarrowGroup = 16;

std::int64_t out_size(std::int64_t size, std::int64_t pad, std::int64_t kernel, std::int64_t stride) {
  return size + 2 * pad < kernel ? 0 : (size + 2 * pad - kernel) / stride + 1;
}

void check(const Convolution& shape) {
  require_not_negative("convolution", {shape.batch, shape.channels_in, shape.channels_out, shape.height, shape.width,
                                       shape.pad_height, shape.pad_width});
  if (shape.kernel_height < 1 || shape.kernel_width < 1) {
    throw std::invalid_argument("convolution: the kernel must be at least 1 x 1");
  }
  if (shape.stride < 1) throw std::invalid_argument("convolution: the stride must be at least 1");
  if (shape.groups < 1 || shape.channels_in % shape.groups != 0 || shape.channels_out % shape.groups != 0) {
    throw std::invalid_argument("convolution: groups must divide the channels in and out, got " +
                                std::to_string(shape.groups) + " groups of " + std::to_string(shape.channels_in) +
                                " in and " + std::to_string(shape.channels_out) + " out");
  }
  if (out_height(shape) == 0 || out_width(shape) == 0) {
    const auto sides = [](std::int64_t height, std::int64_t width) {
      return std::to_string(height) + " x " + std::to_string(width);
    };
    throw std::invalid_argument("convolution: the kernel is larger than the padded image, got " +
                                sides(shape.kernel_height, shape.kernel_width) + " for " +
                                sides(shape.height + 2 * shape.pad_height, shape.width + 2 * shape.pad_width));
  }
}

/// Bytes of one group's tensors.
struct Tensors {
  double in;
  double out;
  double weights;
};

Tensors tensors_of(const Convolution& shape) {
  const double element = size_of(shape.type);
  const auto batch = static_cast<double>(shape.batch);
  const std::int64_t in_of_group = shape.channels_in / shape.groups;
  const std::int64_t out_of_group = shape.channels_out / shape.groups;
  const auto in = static_cast<double>(in_of_group);
  const auto out = static_cast<double>(out_of_group);
  const std::int64_t rows = out_height(shape);
  const std::int64_t columns = out_width(shape);
  // A stride wider than the kernel passes over pixels.
  const double touched = static_cast<double>(std::min(shape.height, rows * shape.kernel_height)) *
                         static_cast<double>(std::min(shape.width, columns * shape.kernel_width));
  return {batch * in * touched * element, batch * out * static_cast<double>(rows * columns) * element,
          in * out * static_cast<double>(shape.kernel_height * shape.kernel_width) * element};
}

Product implicit_product(const Convolution& shape, double flops) {
  const Tensors tensors = tensors_of(shape);
  Product product{.shape = product_of(shape), .flops = flops};
  switch (shape.pass) {
    case ConvolutionPass::kForward:
      product.a = tensors.in;
      product.b = tensors.weights;
      break;
    case ConvolutionPass::kDataGradient:
      product.a = tensors.out;
      product.b = tensors.weights;
      break;
    case ConvolutionPass::kWeightGradient:
      product.a = tensors.out;
      product.b = tensors.in;
      break;
  }
  return product;
}

}  // namespace

EnumNames<ConvolutionPass> enum_names(ConvolutionPass) {
  return {{"forward", ConvolutionPass::kForward},
          {"data-gradient", ConvolutionPass::kDataGradient},
          {"weight-gradient", ConvolutionPass::kWeightGradient}};
}

std::int64_t out_height(const Convolution& shape) {
  return out_size(shape.height, shape.pad_height, shape.kernel_height, shape.stride);
}
std::int64_t out_width(const Convolution& shape) {
  return out_size(shape.width, shape.pad_width, shape.kernel_width, shape.stride);
}

Gemm product_of(const Convolution& shape) {
  check(shape);
  const std::int64_t in = shape.channels_in / shape.groups;
  const std::int64_t out = shape.channels_out / shape.groups;
  const std::int64_t area = shape.kernel_height * shape.kernel_width;
  const std::int64_t pixels = shape.batch * out_height(shape) * out_width(shape);
  switch (shape.pass) {
    case ConvolutionPass::kForward:
      return {shape.groups, pixels, out, in * area, shape.type};
    case ConvolutionPass::kDataGradient:
      return {shape.groups, shape.batch * shape.height * shape.width, in,
              ceil_div(out * area, shape.stride * shape.stride), shape.type};
    case ConvolutionPass::kWeightGradient:
      return {shape.groups, out, in * area, pixels, shape.type};
  }
  return {};
}

KernelWork kernel_work(const ComputeConfig& config, const Convolution& shape, GemmPlan* plan) {
  const Gemm gemm = product_of(shape);
  if (shape.batch == 0 || shape.channels_in == 0 || shape.channels_out == 0) return {};
  const std::int64_t patch = shape.channels_in / shape.groups * shape.kernel_height * shape.kernel_width;
  const double flops = 2 * static_cast<double>(shape.batch * out_height(shape) * out_width(shape)) *
                       static_cast<double>(shape.channels_out) * static_cast<double>(patch);
  GemmPlan tiled;
  const Product product = implicit_product(shape, flops);
  KernelWork best = product_work(config, product, &tiled);
  const bool narrow = shape.groups > 1 && std::min(shape.channels_in, shape.channels_out) / shape.groups < kNarrowGroup;
  if (narrow) {
    const double results = static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * size_of(shape.type);
    const auto groups = static_cast<double>(shape.groups);
    const KernelWork direct = streaming_work(config, groups * (product.a + product.b), groups * results, flops);
    if (estimate(direct, config.planned_memory) < estimate(best, config.planned_memory)) {
      best = direct;
      tiled = {};
    }
  }
  if (plan != nullptr) *plan = tiled;
  return best;
}

}  // namespace weft::accelerator
