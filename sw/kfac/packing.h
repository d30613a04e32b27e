// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/fields.h"
#include "sw/kfac/cost.h"
#include "sw/kfac/layer_kernels.h"

/// How a symmetric matrix, a factor or an inverse, travels, and the kernels that prepare it.
namespace weft::kfac {

/// kIndices: the upper triangle as a list, by the passes of SPD-KFAC's code (kfac/comm.py of
/// github.com/shyhuai/kfac_pytorch) on PyTorch 1.4. It makes a list of positions each time (torch.triu_indices,
/// tril_indices), two 64-bit numbers for each element, which it finds by a square root in double precision; and each
/// indexed expression is a pass.
/// kFused: the same list by one kernel, and by one kernel back into both halves. Bytes are counted, none was measured.
/// kSquares: the whole square, which nothing has to prepare. github.com/gpauloski/kfac-pytorch does so unless its
/// `symmetry_aware` is set, and so does DP-KFAC's code (github.com/lzhangbv/kfac_pytorch).
enum class Packing : std::uint8_t { kIndices, kFused, kSquares };
inline EnumNames<Packing> enum_names(Packing /*tag*/) {
  return {{"indices", Packing::kIndices}, {"fused", Packing::kFused}, {"squares", Packing::kSquares}};
}

/// Elements that travel of a matrix of this side.
[[nodiscard]] std::int64_t sent_elements(Packing packing, std::int64_t side);
/// Seconds by the side of a matrix, from those by the elements that travel of it.
[[nodiscard]] Cost cost_by_side(Packing packing, Cost by_elements);

/// Into what is sent, and back into the whole matrix.
[[nodiscard]] std::vector<LayerKernel> pack_kernels(Packing packing, std::int64_t side);
[[nodiscard]] std::vector<LayerKernel> unpack_kernels(Packing packing, std::int64_t side);
/// The same of a factor: where the schedule merges several, by way of the buffer that is sent (into which a fused
/// kernel writes itself); and divided by the ranks. Of elements that are sent in 16 bits, the pass into that buffer is
/// one that casts them, whether factors are merged or not, and the one out of it casts them back.
[[nodiscard]] std::vector<LayerKernel> pack_factor_kernels(Packing packing, std::int64_t side, bool merged,
                                                           std::int64_t element = 4);
[[nodiscard]] std::vector<LayerKernel> unpack_factor_kernels(Packing packing, std::int64_t side, bool merged,
                                                             std::int64_t element = 4);

}  // namespace weft::kfac
