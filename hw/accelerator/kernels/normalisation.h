// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

enum class NormKind : std::uint8_t { kLayer, kRms, kBatch };
EnumNames<NormKind> enum_names(NormKind);

/// Normalisation of a matrix. Layer and RMS norm take statistics over each row (a token), batch norm over each column
/// (a channel, with a row for each pixel of each image).
///
/// Bound by memory. A row fits the registers and shared memory of an SM up to 64 KiB (layer, RMS): it is read once. A
/// longer row, and a batch norm in training, need a first pass for the statistics and a second one; the second finds in
/// L2 what half of that holds. Backward reads the input and the gradient in the same way and writes a gradient.
/// Statistics and weights are float32. Left out: passes fused with neighbours, channels too few to occupy every SM.
///
/// Compared with the norms of PyTorch on an H100 in docs/accuracy, and with convolutions in ResNet (see
/// convolution.h).
struct Norm {
  NormKind kind = NormKind::kLayer;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool backward = false;
  DataType type = DataType::kBf16;
};

/// 1 or 2: how often the matrix passes through the SMs.
[[nodiscard]] int passes(const Norm& shape);

/// A matrix of nothing gives no work and no launch. Throws std::invalid_argument on a negative dimension.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Norm& shape);

}  // namespace weft::accelerator
