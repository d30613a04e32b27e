// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/chakra/node.h"

/// The kernels of a compute node, as an attribute of Weft's own beside `duration_nanos`: a duration says how long a
/// node takes alone, kernels say what it suffers from beside collectives.
namespace weft::chakra {

/// What a kernel asks of an accelerator.
struct KernelDemand {
  std::int64_t launch_ps = 0;   ///< before and after the work, overlapped with nothing
  std::int64_t compute_ps = 0;  ///< of the whole core array, were memory infinitely fast
  std::int64_t read = 0;        ///< bytes from its memory
  std::int64_t written = 0;     ///< bytes to its memory
  std::int64_t cached = 0;      ///< bytes that it asks of the last-level cache
  std::int64_t blocks = 0;      ///< of a persistent kernel, one to an SM
  std::int64_t tiles = 0;       ///< of a kernel with a block for each, wave by wave; of neither: many short blocks
  std::int64_t energy_nj = 0;   ///< of its operations, nanojoules
  std::int64_t capped_ps = 0;   ///< of `compute_ps`, what caps of power and clock add, for the critical path

  bool operator==(const KernelDemand&) const = default;
};

constexpr const char* kKernels = "kernels";
constexpr const char* kKernelsCapped = "kernels_capped";

/// One after the other; none where the node does not say. Throws AttributeError.
[[nodiscard]] std::vector<KernelDemand> kernels_of(const Node& node);
/// The node has none yet. What caps add is an attribute beside the others, and only where they add something.
void set_kernels(Node& node, const std::vector<KernelDemand>& kernels);

}  // namespace weft::chakra
