// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hw/accelerator/kernel_work.h"

namespace weft::accelerator {

/// Rows of a table by index (forward), or the sum of gradients into the rows that were used (backward, scatter-add).
///
/// Bound by memory: HBM moves whole sectors of 64 bytes, so that short rows cost more than their length. A row that
/// several tokens ask for comes from HBM once; without knowing the indices, every token is taken to ask for another
/// row, until all rows are in use. Backward adds in float32: each row in use is read and written once, and with
/// `dense` the whole gradient table is set to 0 first, as frameworks do that do not keep sparse gradients. Left out:
/// conflicts of atomic additions to one row, indices that are sorted first. Compared with an H100 in docs/accuracy.
struct Embedding {
  std::int64_t tokens = 0;
  std::int64_t rows = 0;  ///< of the table
  std::int64_t columns = 0;
  bool backward = false;
  bool dense = true;
  DataType type = DataType::kBf16;
};

/// No tokens or columns give no work and no launch. Throws std::invalid_argument on a negative dimension and on tokens
/// for a table of no rows.
[[nodiscard]] KernelWork kernel_work(const ComputeConfig& config, const Embedding& shape);

}  // namespace weft::accelerator
