// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/embedding.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "hw/accelerator/kernels/arithmetic.h"

namespace weft::accelerator {
namespace {

constexpr double kSector = 64;  // bytes that HBM moves at a time
constexpr double kIndex = 8;    // bytes of an index

double in_sectors(double bytes) {
  return std::ceil(bytes / kSector) * kSector;
}

}  // namespace

KernelWork kernel_work(const ComputeConfig& config, const Embedding& shape) {
  require_not_negative("embedding", {shape.tokens, shape.rows, shape.columns});
  if (shape.tokens == 0 || shape.columns == 0) return {};
  if (shape.rows == 0) throw std::invalid_argument("embedding: the table has no rows");
  const auto tokens = static_cast<double>(shape.tokens);
  const auto columns = static_cast<double>(shape.columns);
  const double used = std::min(tokens, static_cast<double>(shape.rows));
  const double activations = tokens * columns * size_of(shape.type);
  const double indices = tokens * kIndex;
  if (!shape.backward) {
    const double row = in_sectors(columns * size_of(shape.type));
    return streaming_work(config, used * row + indices, activations, 0, 1, (tokens - used) * row);
  }
  const double sums = used * in_sectors(columns * 4);
  const double zeros = shape.dense ? static_cast<double>(shape.rows) * columns * 4 : 0.0;
  return streaming_work(config, activations + indices + sums, sums + zeros, tokens * columns, shape.dense ? 2 : 1);
}

}  // namespace weft::accelerator
