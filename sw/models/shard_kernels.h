// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/models/kernels.h"

namespace weft::models {

/// What a rank keeps of a unit's parameters, in 32 bits, and sends to an Allgather in fewer.
struct Shard {
  std::int64_t elements = 0;
  std::int64_t element_bytes = 2;   ///< as gathered
  std::int64_t float8 = 0;          ///< of the elements, gathered in a byte
  std::int64_t float8_tensors = 0;  ///< which these belong to
};

/// Between the shard and its Allgather. FSDP2 casts into a list of tensors, then copies these to their place in the
/// collective's buffer (foreach_all_gather in PyTorch's _fsdp_collectives.py); in float8 it asks torchao, which scales,
/// clamps and casts each tensor by itself, as hooks are not compiled (fsdp_pre_all_gather in fsdp_utils.py). FSDP1's
/// `flat` parameter is cast into what is gathered (_use_low_precision_shard in _flat_param.py).
[[nodiscard]] std::vector<Kernel> kernels_before_gather(const Shard& shard, bool flat);

/// Between the sums of gradients, so many elements of `element_bytes`, and the optimizer, which takes 32 bits. FSDP1's
/// `flat` gradient is divided once more (_reduce_grad in _runtime_utils.py); FSDP2's collectives give the mean.
[[nodiscard]] std::vector<Kernel> kernels_after_sums(std::int64_t elements, std::int64_t element_bytes, bool flat);

}  // namespace weft::models
