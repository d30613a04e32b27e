// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/optimiser.h"

#include "hw/accelerator/kernels/arithmetic.h"

namespace weft::accelerator {
namespace {

std::int64_t state_values(OptimiserKind kind) {
  switch (kind) {
    case OptimiserKind::kSgd:
      return 0;
    case OptimiserKind::kMomentum:
      return 1;
    case OptimiserKind::kAdam:
      return 2;
  }
  return 0;
}

/// Additions, products, and for Adam a root and a division; decay of weights included.
double flops_per_parameter(OptimiserKind kind) {
  switch (kind) {
    case OptimiserKind::kSgd:
      return 4;
    case OptimiserKind::kMomentum:
      return 6;
    case OptimiserKind::kAdam:
      return 16;
  }
  return 0;
}

bool has_master(const Optimiser& shape) {
  return shape.master && element_size(shape.type) < Bytes(4);
}

}  // namespace

EnumNames<OptimiserKind> enum_names(OptimiserKind) {
  return {{"sgd", OptimiserKind::kSgd},
          {"momentum", OptimiserKind::kMomentum},
          {"adam", OptimiserKind::kAdam},
          {"adamw", OptimiserKind::kAdam}};
}

Bytes read_per_parameter(const Optimiser& shape) {
  const Bytes parameter = has_master(shape) ? Bytes(4) : element_size(shape.type);
  return parameter + element_size(shape.gradient) + Bytes(4) * state_values(shape.kind);
}

Bytes written_per_parameter(const Optimiser& shape) {
  const Bytes parameter = element_size(shape.type) + (has_master(shape) ? Bytes(4) : Bytes(0));
  return parameter + Bytes(4) * state_values(shape.kind);
}

KernelWork kernel_work(const ComputeConfig& config, const Optimiser& shape) {
  require_not_negative("optimiser", {shape.parameters});
  if (shape.parameters == 0) return {};
  const auto parameters = static_cast<double>(shape.parameters);
  return streaming_work(config, parameters * static_cast<double>(read_per_parameter(shape).count()),
                        parameters * static_cast<double>(written_per_parameter(shape).count()),
                        parameters * flops_per_parameter(shape.kind));
}

}  // namespace weft::accelerator
