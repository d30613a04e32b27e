// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/normalisation.h"

#include <algorithm>

#include "hw/accelerator/kernels/arithmetic.h"

namespace weft::accelerator {
namespace {

constexpr double kLongestRow = 64 << 10;  // bytes that an SM keeps between statistics and result

/// Sums, squared differences, scaling; the gradient needs two sums and three terms.
double flops_per_element(const Norm& shape) {
  const double forward = shape.kind == NormKind::kRms ? 4 : 8;
  return shape.backward ? forward + 4 : forward;
}

}  // namespace

EnumNames<NormKind> enum_names(NormKind) {
  return {{"layer", NormKind::kLayer}, {"rms", NormKind::kRms}, {"batch", NormKind::kBatch}};
}

int passes(const Norm& shape) {
  if (shape.kind == NormKind::kBatch) return 2;
  return static_cast<double>(shape.columns) * size_of(shape.type) > kLongestRow ? 2 : 1;
}

KernelWork kernel_work(const ComputeConfig& config, const Norm& shape) {
  require_not_negative("norm", {shape.rows, shape.columns});
  if (shape.rows == 0 || shape.columns == 0) return {};
  const auto rows = static_cast<double>(shape.rows);
  const auto columns = static_cast<double>(shape.columns);
  const double matrix = rows * columns * size_of(shape.type);
  const double cache = static_cast<double>(config.l2_size.count()) / 2;

  const double once = shape.backward ? 2 * matrix : matrix;
  double again = 0;
  if (passes(shape) == 2) {
    // A long row is read again by the SM that has just read it; a channel, only after the whole matrix.
    const double between =
        shape.kind == NormKind::kBatch ? once : once / rows * std::min(rows, static_cast<double>(config.sms));
    again = shape.kind == NormKind::kBatch ? std::max(0.0, once - cache) : (between > cache ? once : 0.0);
  }
  // Mean and deviation, or the deviation alone; weights and biases, or weights alone.
  const double each = (shape.kind == NormKind::kRms ? 1 : 2) * 4.0;
  const double statistics = (shape.kind == NormKind::kBatch ? columns : rows) * each;
  const double weights = columns * each;
  const double read = once + again + weights + (shape.backward ? statistics : 0.0);
  const double written = matrix + (shape.backward ? weights : statistics);
  return streaming_work(config, read, written, rows * columns * flops_per_element(shape),
                        shape.kind == NormKind::kBatch ? 2 : 1, passes(shape) == 2 ? once - again : 0.0);
}

}  // namespace weft::accelerator
