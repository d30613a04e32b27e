// SPDX-License-Identifier: Apache-2.0
#include "sw/kfac/layer_kernels.h"

#include <iterator>

namespace weft::kfac {
namespace {

using models::Layer;
using models::LayerKind;

using accelerator::DataType;

constexpr std::int64_t kElementBytes = 4;
constexpr std::int64_t kIndexBytes = 8;

/// Elements of its biases, if it has any, and of its weights.
std::vector<std::int64_t> tensors_of(const Layer& layer) {
  std::vector<std::int64_t> tensors;
  if (layer.kind == LayerKind::kNorm || layer.bias) tensors.push_back(layer.channels_out);
  tensors.push_back(layer.kind == LayerKind::kNorm ? layer.channels_out : layer.channels_out * layer.kernel_inputs());
  return tensors;
}

/// Of an activation.
std::int64_t element_of(const Types& types) {
  return types.network == DataType::kBf16 ? 2 : kElementBytes;
}

accelerator::Elementwise pass(std::int64_t elements, int reads, int writes, std::int64_t element = kElementBytes) {
  return {elements, Bytes(reads * elements * element), Bytes(writes * elements * element)};
}

accelerator::Elementwise copy(std::int64_t read, std::int64_t written, std::int64_t element_read = kElementBytes,
                              std::int64_t element_written = kElementBytes) {
  return {written, Bytes(read * element_read), Bytes(written * element_written), 0};
}

accelerator::Gemm product(std::int64_t m, std::int64_t n, std::int64_t k, DataType type) {
  return {.m = m, .n = n, .k = k, .type = type};
}

accelerator::Convolution convolution(const Layer& layer, std::int64_t batch, accelerator::ConvolutionPass direction,
                                     DataType type) {
  return {.batch = batch,
          .channels_in = layer.channels_in,
          .channels_out = layer.channels_out,
          .height = layer.height,
          .width = layer.width,
          .kernel_height = layer.kernel_height,
          .kernel_width = layer.kernel_width,
          .stride = layer.stride,
          .pad_height = layer.pad_height,
          .pad_width = layer.pad_width,
          .pass = direction,
          .type = type};
}

accelerator::Norm norm(const Layer& layer, std::int64_t batch, bool backward, DataType type) {
  return {accelerator::NormKind::kBatch, batch * layer.positions(), layer.channels_out, backward, type};
}

/// Of PyTorch 1.4: max_pool2d keeps the index of each maximum, 64 bits.
void append_forward(std::vector<LayerKernel>& kernels, const models::Move& move, std::int64_t batch,
                    std::int64_t element) {
  const std::int64_t in = batch * move.elements_in;
  const std::int64_t out = batch * move.elements_out;
  switch (move.kind) {
    case models::MoveKind::kMaxPool:
      kernels.push_back(
          {"pool", accelerator::Elementwise{out, Bytes(element * in), Bytes((element + kIndexBytes) * out)}});
      break;
    case models::MoveKind::kAveragePool:
      kernels.push_back({"pool", copy(in, out, element, element)});
      break;
    case models::MoveKind::kConcat:
      kernels.push_back({"concat", copy(in, out, element, element)});
      break;
    case models::MoveKind::kBranches:
      break;
  }
}

/// The gradient of a maximum goes to its index, in what has been cleared. Gradients of what was concatenated are parts
/// of one tensor and not copied; those of branches are added up, one by one.
void append_backward(std::vector<LayerKernel>& kernels, const models::Move& move, std::int64_t batch,
                     std::int64_t element) {
  const std::int64_t in = batch * move.elements_in;
  const std::int64_t out = batch * move.elements_out;
  switch (move.kind) {
    case models::MoveKind::kMaxPool:
      kernels.push_back({"pool.zero", pass(in, 0, 1, element)});
      kernels.push_back(
          {"pool.gradient", accelerator::Elementwise{in, Bytes((element + kIndexBytes) * out), Bytes(element * in)}});
      break;
    case models::MoveKind::kAveragePool:
      kernels.push_back({"pool.gradient", copy(out, in, element, element)});
      break;
    case models::MoveKind::kConcat:
      break;
    case models::MoveKind::kBranches:
      for (std::int64_t sum = in; sum < out; sum += in) {
        kernels.push_back({"branches.gradient", pass(in, 2, 1, element)});
      }
      break;
  }
}

/// Of what is multiplied to make a factor.
std::int64_t factor_element_of(const Types& types) {
  return types.factors == DataType::kBf16 ? 2 : kElementBytes;
}

/// Scaled by `scalings` factors, one pass each, as libraries do it; then the running average c <- 0.95 c + 0.05 new as
/// c *= 0.95 / 0.05; c += new; c *= 0.05.
void append_square(std::vector<LayerKernel>& kernels, std::string_view scale_name, int scalings,
                   std::string_view product_name, std::string_view average_name, std::int64_t side, std::int64_t rows,
                   DataType type) {
  const std::int64_t element = type == DataType::kBf16 ? 2 : kElementBytes;
  for (int i = 0; i < scalings; ++i) kernels.push_back({scale_name, pass(rows * side, 1, 1, element)});
  kernels.push_back({product_name, product(side, side, rows, type)});
  for (const int reads : {1, 2, 1}) kernels.push_back({average_name, pass(side * side, reads, 1)});
}

double time_of(const std::vector<LayerKernel>& kernels, const KernelTime& time) {
  double sum = 0;
  for (const LayerKernel& kernel : kernels) sum += time(kernel);
  return sum;
}

}  // namespace

accelerator::KernelWork kernel_work(const accelerator::ComputeConfig& config, const LayerKernel& kernel) {
  using accelerator::kernel_work;
  return std::visit([&](const auto& shape) { return kernel_work(config, shape); }, kernel.shape);
}

std::vector<LayerKernel> forward_kernels(const Layer& layer, std::int64_t batch, const Types& types) {
  const std::int64_t rows = batch * layer.positions();
  const std::int64_t element = element_of(types);
  std::vector<LayerKernel> kernels;
  for (const models::Move& move : layer.before) append_forward(kernels, move, batch, element);
  if (element != kElementBytes && layer.kind != LayerKind::kNorm) {
    const std::int64_t weights = models::parameters(layer);
    kernels.push_back({"weights.cast", copy(weights, weights, kElementBytes, element)});
  }
  switch (layer.kind) {
    case LayerKind::kConv:
      kernels.push_back({"forward", convolution(layer, batch, accelerator::ConvolutionPass::kForward, types.network)});
      break;
    case LayerKind::kLinear:
      kernels.push_back({"forward", product(rows, layer.channels_out, layer.channels_in, types.network)});
      break;
    case LayerKind::kNorm:
      kernels.push_back({"norm", norm(layer, batch, false, types.network)});
      if (layer.residual) kernels.push_back({"addition", pass(rows * layer.channels_out, 2, 1, element)});
      kernels.push_back({"activation", pass(rows * layer.channels_out, 1, 1, element)});
      break;
  }
  return kernels;
}

std::vector<LayerKernel> backward_kernels(const Layer& layer, std::int64_t batch, bool first, const Types& types) {
  const std::int64_t rows = batch * layer.positions();
  const std::int64_t element = element_of(types);
  std::vector<LayerKernel> kernels;
  switch (layer.kind) {
    case LayerKind::kConv:
      kernels.push_back(
          {"weight_gradient", convolution(layer, batch, accelerator::ConvolutionPass::kWeightGradient, types.network)});
      if (first) break;
      kernels.push_back(
          {"data_gradient", convolution(layer, batch, accelerator::ConvolutionPass::kDataGradient, types.network)});
      break;
    case LayerKind::kLinear:
      kernels.push_back({"weight_gradient", product(layer.channels_out, layer.channels_in, rows, types.network)});
      if (!first)
        kernels.push_back({"data_gradient", product(rows, layer.channels_in, layer.channels_out, types.network)});
      break;
    case LayerKind::kNorm:
      kernels.push_back({"activation.gradient", pass(rows * layer.channels_out, 2, 1, element)});
      kernels.push_back({"norm.gradient", norm(layer, batch, true, types.network)});
      // That of what skipped the layers, and theirs.
      if (layer.residual) kernels.push_back({"addition.gradient", pass(rows * layer.channels_out, 2, 1, element)});
      break;
  }
  if (element != kElementBytes && layer.kind != LayerKind::kNorm) {
    const std::int64_t weights = models::parameters(layer);
    kernels.push_back({"weight_gradient.cast", copy(weights, weights, element, kElementBytes)});
  }
  if (first) return kernels;
  for (auto move = layer.before.rbegin(); move != layer.before.rend(); ++move) {
    append_backward(kernels, *move, batch, element);
  }
  return kernels;
}

std::vector<LayerKernel> factor_a_kernels(const Layer& layer, std::int64_t batch, const Types& types) {
  if (!models::has_factors(layer)) return {};
  const std::int64_t rows = batch * layer.positions();
  const std::int64_t side = models::factor_a(layer);
  std::vector<LayerKernel> kernels;
  const bool conv = layer.kind == LayerKind::kConv;
  if (conv || layer.bias) {
    const std::int64_t image = batch * layer.channels_in * layer.height * layer.width;
    kernels.push_back({"factor_a.patches", copy(image, rows * side, element_of(types), factor_element_of(types))});
  } else if (element_of(types) != factor_element_of(types)) {
    kernels.push_back({"factor_a.cast", copy(rows * side, rows * side, element_of(types), factor_element_of(types))});
  }
  append_square(kernels, "factor_a.scale", conv ? 2 : 1, "factor_a.product", "factor_a.average", side, rows,
                types.factors);
  return kernels;
}

std::vector<LayerKernel> factor_g_kernels(const Layer& layer, std::int64_t batch, const Types& types) {
  if (!models::has_factors(layer)) return {};
  const std::int64_t rows = batch * layer.positions();
  const std::int64_t side = models::factor_g(layer);
  std::vector<LayerKernel> kernels;
  const bool conv = layer.kind == LayerKind::kConv;
  if (conv || element_of(types) != factor_element_of(types)) {
    kernels.push_back({conv ? "factor_g.transpose" : "factor_g.cast",
                       copy(rows * side, rows * side, element_of(types), factor_element_of(types))});
  }
  append_square(kernels, "factor_g.scale", conv ? 3 : 1, "factor_g.product", "factor_g.average", side, rows,
                types.factors);
  return kernels;
}

std::vector<LayerKernel> inverse_kernels(std::int64_t side, Inversion how) {
  if (how == Inversion::kEigen) {
    return {{"eigen", accelerator::SymmetricEigen{.n = side, .type = DataType::kFp32}},
            {"eigen.clamp", pass(side, 1, 1)}};
  }
  return {{"damping", pass(side, 1, 1)}, {"inverse", accelerator::Inverse{.n = side, .type = DataType::kFp32}}};
}

std::vector<LayerKernel> clear_kernels(std::int64_t side) {
  return {{"inverse.zero", pass(side * side, 0, 1)}};
}

std::vector<LayerKernel> precondition_kernels(const Layer& layer, const Types& types, Inversion how) {
  if (!models::has_factors(layer)) return {};
  const std::int64_t a = models::factor_a(layer);
  const std::int64_t g = models::factor_g(layer);
  const LayerKernel by_g{"precondition.g", product(g, a, g, types.preconditioning())};
  const LayerKernel by_a{"precondition.a", product(g, a, a, types.preconditioning())};
  if (how == Inversion::kCholesky) return {by_g, by_a};
  return {by_g,
          by_a,
          {"precondition.outer", pass(g * a, 0, 1)},
          {"precondition.damping", pass(g * a, 1, 1)},
          {"precondition.quotient", pass(g * a, 2, 1)},
          by_g,
          by_a};
}

std::vector<LayerKernel> divergence_kernels(const Layer& layer) {
  if (!models::has_factors(layer)) return {};
  std::vector<LayerKernel> kernels;
  for (const std::int64_t elements : tensors_of(layer)) {
    kernels.push_back({"divergence.product", pass(elements, 2, 1)});
    kernels.push_back({"divergence.rate", pass(elements, 1, 1)});
    kernels.push_back({"divergence.sum", pass(elements, 1, 0)});
    kernels.push_back({"divergence.read", pass(1, 1, 1)});
  }
  return kernels;
}

std::vector<LayerKernel> clip_kernels(const Layer& layer) {
  if (!models::has_factors(layer)) return {};
  std::vector<LayerKernel> kernels;
  for (const std::int64_t elements : tensors_of(layer)) {
    kernels.push_back({"clip.copy", pass(elements, 1, 1)});
    kernels.push_back({"clip.scale", pass(elements, 1, 1)});
  }
  return kernels;
}

std::vector<LayerKernel> update_kernels(const Layer& layer) {
  std::vector<LayerKernel> kernels;
  for (const std::int64_t elements : tensors_of(layer)) {
    kernels.push_back({"update.zero", pass(elements, 0, 1)});
    kernels.push_back({"update.decay", pass(elements, 2, 1)});
    kernels.push_back({"update.momentum", pass(elements, 1, 1)});
    kernels.push_back({"update.gradient", pass(elements, 2, 1)});
    kernels.push_back({"update.weights", pass(elements, 2, 1)});
  }
  return kernels;
}

std::vector<std::int64_t> factor_sides(const models::Network& network) {
  std::vector<std::int64_t> sides;
  for (const Layer& layer : network.layers) {
    if (!models::has_factors(layer)) continue;
    sides.push_back(models::factor_a(layer));
    sides.push_back(models::factor_g(layer));
  }
  return sides;
}

std::vector<Ready> ready_factors_a(const models::Network& network, const KernelTime& time) {
  std::vector<Ready> ready;
  double since = 0;
  for (const Layer& layer : network.layers) {
    if (models::has_factors(layer)) {
      since += time_of(factor_a_kernels(layer, network.batch), time);
      ready.push_back({since, models::triangle(models::factor_a(layer))});
      since = 0;
    }
    since += time_of(forward_kernels(layer, network.batch), time);
  }
  return ready;
}

std::vector<Ready> ready_factors_g(const models::Network& network, const KernelTime& time) {
  std::vector<Ready> ready;
  double since = 0;
  for (auto layer = network.layers.rbegin(); layer != network.layers.rend(); ++layer) {
    const bool first = std::next(layer) == network.layers.rend();
    since += time_of(backward_kernels(*layer, network.batch, first), time);
    if (!models::has_factors(*layer)) continue;
    since += time_of(factor_g_kernels(*layer, network.batch), time);
    ready.push_back({since, models::triangle(models::factor_g(*layer))});
    since = 0;
  }
  return ready;
}

std::vector<Ready> ready_gradients(const models::Network& network, const KernelTime& time, bool with_factors) {
  std::vector<Ready> ready;
  double since = 0;
  for (auto layer = network.layers.rbegin(); layer != network.layers.rend(); ++layer) {
    const bool first = std::next(layer) == network.layers.rend();
    since += time_of(backward_kernels(*layer, network.batch, first), time);
    ready.push_back({since, models::parameters(*layer)});
    since = with_factors ? time_of(factor_g_kernels(*layer, network.batch), time) : 0;
  }
  return ready;
}

}  // namespace weft::kfac
