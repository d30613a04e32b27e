// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/compression/dct.h"
#include "sw/compression/kernel.h"
#include "sw/kfac/layer_kernels.h"

/// Kernels of compressed activations and of averaged weights, all passes over memory in float32. Costs are counted from
/// what each pass must read and write; none was measured.
namespace weft::kfac {

/// Those of a compressor of messages.
[[nodiscard]] std::vector<LayerKernel> layer_kernels(const compression::Kernels& kernels);

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
