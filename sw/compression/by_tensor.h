// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "sw/compression/compressor.h"

namespace weft::compression {

/// A message whose tensors are compressed each by itself, and sent together: kernels of one after those of the other.
/// Of tensors whose messages vary, the length of each comes before all of them.
[[nodiscard]] Plan plan_by_tensor(const Compressor& compressor, const Message& message,
                                  const CompressionConfig& config);
[[nodiscard]] std::unique_ptr<Codec> codec_by_tensor(const Compressor& compressor, const Site& site);

}  // namespace weft::compression
