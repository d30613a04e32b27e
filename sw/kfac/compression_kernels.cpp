// SPDX-License-Identifier: Apache-2.0
#include "sw/kfac/compression_kernels.h"

namespace weft::kfac {
namespace {

constexpr std::int64_t kElement = 4;
/// Of a DCT, for each element: two products with a matrix of kSide rows, a multiplication and an addition each.
constexpr double kTransformFlops = 2 * 2 * compression::DctShape::kSide;

LayerKernel pass(std::string_view name, std::int64_t elements, std::int64_t read, std::int64_t written, double flops) {
  return {name, accelerator::Elementwise{elements, Bytes(read), Bytes(written), flops}};
}

}  // namespace

std::vector<LayerKernel> layer_kernels(const compression::Kernels& kernels) {
  std::vector<LayerKernel> list;
  for (const compression::Kernel& kernel : kernels) {
    std::visit([&](const auto& shape) { list.push_back({kernel.name, shape}); }, kernel.shape);
  }
  return list;
}

compression::DctShape input_shape(const models::Layer& layer, std::int64_t batch, int coefficients) {
  const std::int64_t columns = layer.width > 1 ? layer.width : layer.height > 1 ? layer.height : layer.channels_in;
  return {batch * layer.channels_in * layer.height * layer.width / columns, columns, coefficients};
}

std::vector<LayerKernel> keep_kernels(const compression::DctShape& shape) {
  return {pass("activations.compress", compression::DctShape::kBlock * shape.blocks(), kElement * shape.elements(),
               shape.bytes(), kTransformFlops + 4)};
}

std::vector<LayerKernel> restore_kernels(const compression::DctShape& shape) {
  return {pass("activations.restore", compression::DctShape::kBlock * shape.blocks(), shape.bytes(),
               kElement * shape.elements(), kTransformFlops + 2)};
}

std::vector<LayerKernel> snapshot_kernels(std::int64_t elements) {
  return {pass("average.snapshot", elements, kElement * elements, 2 * kElement * elements, 0)};
}

std::vector<LayerKernel> merge_kernels(std::int64_t elements) {
  return {pass("average.merge", elements, 3 * kElement * elements, kElement * elements, 3)};
}

}  // namespace weft::kfac
