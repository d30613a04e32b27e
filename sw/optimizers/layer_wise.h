// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/optimizers/optimizer.h"

/// Whole tensors that are updated by one rank each, as Megatron-LM's layer-wise distributed optimizer has it.
namespace weft::optimizers {

/// What the rank of a holding owns: tensors by their number of elements, the smallest first, go to the ranks there and
/// back, 0, 1, 2, 2, 1, 0, 0, ... (megatron/core/optimizer/layer_wise_optimizer.py, _shard_params_ping_pong).
[[nodiscard]] std::vector<Tensors> owned(const Holding& holding, const std::vector<Tensors>& tensors);

[[nodiscard]] std::int64_t elements_of(const std::vector<Tensors>& tensors);
/// Of those, blocks' matrices.
[[nodiscard]] std::int64_t hidden_elements_of(const std::vector<Tensors>& tensors);

/// Each rank of a holding gives what it has updated, elements of `bytes`, to all others, or to those that have copies
/// of its shard: out of its parameters into one buffer, and into theirs. None where it is alone.
void add_gather(std::vector<Task>& tasks, const Problem& problem, std::size_t holding, std::int64_t own_elements,
                std::int64_t all_elements, std::int64_t bytes, bool is_of_copies = false);

}  // namespace weft::optimizers
