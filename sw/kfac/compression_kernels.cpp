// SPDX-License-Identifier: Apache-2.0
#include "sw/kfac/compression_kernels.h"

#include <cmath>

namespace weft::kfac {
namespace {

constexpr std::int64_t kElement = 4;
constexpr std::int64_t kPair = 8;
constexpr int kRadixPasses = 4;
/// Of a DCT, for each element: two products with a matrix of kSide rows, a multiplication and an addition each.
constexpr double kTransformFlops = 2 * 2 * compression::DctShape::kSide;

LayerKernel pass(std::string_view name, std::int64_t elements, std::int64_t read, std::int64_t written, double flops) {
  return {name, accelerator::Elementwise{elements, Bytes(read), Bytes(written), flops}};
}

LayerKernel accumulate(std::int64_t elements) {
  return pass("compress.accumulate", elements, 2 * kElement * elements, kElement * elements, 1);
}

/// What is sent, and what stays.
LayerKernel pack(std::int64_t elements, std::int64_t pairs) {
  return pass("compress.pack", elements, kElement * elements, kElement * elements + kPair * pairs, 1);
}

}  // namespace

std::vector<LayerKernel> selection_kernels(std::int64_t elements, std::int64_t pairs) {
  std::vector<LayerKernel> kernels = {accumulate(elements)};
  for (int i = 0; i < kRadixPasses; ++i) {
    kernels.push_back(pass("compress.select", elements, kElement * elements, 0, 2));
  }
  kernels.push_back(pass("compress.count", elements, kElement * elements, 0, 1));
  kernels.push_back(pack(elements, pairs));
  return kernels;
}

std::vector<LayerKernel> estimation_kernels(std::int64_t elements, std::int64_t pairs,
                                            compression::Distribution distribution, int stages) {
  // A sum; a sum and one of squares; a sum and one of logarithms, taken as 8 operations.
  const double flops = distribution == compression::Distribution::kExponential ? 2
                       : distribution == compression::Distribution::kPareto    ? 4
                                                                               : 10;
  std::vector<LayerKernel> kernels = {accumulate(elements),
                                      pass("compress.fit", elements, kElement * elements, 0, flops)};
  std::int64_t left = elements;
  for (int stage = 1; stage < stages; ++stage) {
    const auto next =
        static_cast<std::int64_t>(std::ceil(compression::ThresholdEstimator::kFirstRatio * static_cast<double>(left)));
    kernels.push_back(pass("compress.exceed", left, kElement * left, kElement * next, 1));
    kernels.push_back(pass("compress.fit", next, kElement * next, 0, 4));
    left = next;
  }
  kernels.push_back(pack(elements, pairs));
  return kernels;
}

std::vector<LayerKernel> scatter_kernels(std::int64_t elements, std::int64_t pairs) {
  return {pass("decompress.clear", elements, 0, kElement * elements, 0),
          pass("decompress.add", pairs, (kPair + kElement) * pairs, kElement * pairs, 1)};
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
