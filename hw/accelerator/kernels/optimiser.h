// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

enum class OptimiserKind : std::uint8_t { kSgd, kMomentum, kAdam };
/// "adamw" is Adam too: decay that is decoupled from the gradient reads and writes the same.
EnumNames<OptimiserKind> enum_names(OptimiserKind);

/// One step of an optimiser over a flat range of parameters, in one fused kernel.
///
/// Bound by memory: it reads parameters, gradients and state, and writes parameters and state. State (one value a
/// parameter for momentum, two for Adam) is float32. With parameters narrower than that, `master` keeps float32 copies,
/// which are what is read; the narrow ones are only written. Left out: an unfused optimiser's launches for each tensor,
/// norms and clipping (passes of their own), 8-bit state.
struct Optimiser {
  OptimiserKind kind = OptimiserKind::kAdam;
  std::int64_t parameters = 0;
  DataType type = DataType::kFp32;      ///< of the parameters
  DataType gradient = DataType::kFp32;  ///< of the gradients
  bool master = true;                   ///< has no effect on float32 parameters
};

/// What a parameter reads and writes.
[[nodiscard]] Bytes read_per_parameter(const Optimiser& shape);
[[nodiscard]] Bytes written_per_parameter(const Optimiser& shape);

/// No parameters give no work and no launch. Throws std::invalid_argument on a negative number of them.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Optimiser& shape);

}  // namespace weft::accelerator
