// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/compression/dct.h"
#include "sw/compression/sidco.h"
#include "sw/kfac/layer_kernels.h"

/// Kernels of sparse gradients, of compressed activations and of averaged weights, all passes over memory in float32.
/// Costs are counted from what each pass must read and write; none was measured.
namespace weft::kfac {

/// Adds what was left behind to the gradients, selects the largest and packs them: by a radix select that looks at 8 of
/// 32 bits in each pass, then a pass that counts and one that packs, as PyTorch's topk of several blocks does
/// (aten/src/ATen/native/cuda/TensorTopK.cu).
[[nodiscard]] std::vector<LayerKernel> selection_kernels(std::int64_t elements, std::int64_t pairs);
/// The same with SIDCo's threshold: a pass of statistics over all elements; for each later stage one that copies what
/// exceeds the threshold, a kFirstRatio of what was there, and one of statistics over the copy; then the pass that
/// packs. Libraries' separate passes for magnitudes, means and variances are taken as fused.
[[nodiscard]] std::vector<LayerKernel> estimation_kernels(std::int64_t elements, std::int64_t pairs,
                                                          compression::Distribution distribution, int stages);
/// Clears the gradients and adds pairs, of all ranks, each at its place.
[[nodiscard]] std::vector<LayerKernel> scatter_kernels(std::int64_t elements, std::int64_t pairs);

/// What comes into a layer, as the DCT has it: the columns are its innermost dimension of more than one element.
[[nodiscard]] compression::DctShape input_shape(const models::Layer& layer, std::int64_t batch, int coefficients);
/// Compresses it in one pass: of each block the products with the basis from both sides, on the vector units (32
/// operations an element), the largest magnitude, scaling and rounding (4), and the signs.
[[nodiscard]] std::vector<LayerKernel> keep_kernels(const compression::DctShape& shape);
/// The way back in one pass.
[[nodiscard]] std::vector<LayerKernel> restore_kernels(const compression::DctShape& shape);

/// Weights into the buffer that is summed, and aside.
[[nodiscard]] std::vector<LayerKernel> snapshot_kernels(std::int64_t elements);
/// weights <- mean + (weights - what they were)
[[nodiscard]] std::vector<LayerKernel> merge_kernels(std::int64_t elements);

}  // namespace weft::kfac
