// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/accelerator/compute_config.h"
#include "sw/schedules/fsdp_plan.h"
#include "sw/schedules/sampling/neighbourhood.h"

namespace weft::schedules {

/// GraphSAGE (Hamilton et al., 2017) on sampled neighbourhoods, as SALIENT and PyG train it: features in 16 bits become
/// float32; a layer adds the mean over neighbours times one matrix and the node itself times another; ReLU and dropout
/// between layers, log-softmax at the end; Adam. Passes are PyTorch's, none of them fused.
///
/// Means are products with a sparse matrix: they read a row for each edge. The first layer has no gradient of its
/// inputs. Backward, others multiply by the transposed matrix, which torch_sparse makes by sorting the edges by their
/// ends: eight passes over pairs of 16 bytes, as a radix sort of 64-bit keys takes. Left out: the loss itself and other
/// passes over a value for each training node, memory that L2 saves.
struct SageKernels {
  std::vector<PlannedKernel> passes;     ///< forward and backward
  std::vector<PlannedKernel> optimizer;  ///< after gradients are summed over ranks
};
[[nodiscard]] SageKernels sage_kernels(const accelerator::ComputeConfig& compute, const SamplingConfig& config,
                                       const std::vector<Hop>& hops);

/// A layer's part of the neighbourhood: the first layer computes on the last hop.
struct SageLayer {
  Hop hop;
  std::int64_t in = 0;
  std::int64_t out = 0;
};
[[nodiscard]] std::vector<SageLayer> sage_layers(const SamplingConfig& config, const std::vector<Hop>& hops);
[[nodiscard]] std::int64_t sage_parameters(const SamplingConfig& config);

}  // namespace weft::schedules
