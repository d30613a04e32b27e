// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "sw/compression/compressor.h"

/// What a compressor answers, checked: a user's mistake is named with whose it is.
namespace weft::compression {

/// Throws OwnFailure for what it throws, and for a plan that lacks something.
[[nodiscard]] Plan plan_by(const Compressor& compressor, const Message& message, const CompressionConfig& config);
/// Its compress() throws OwnFailure for another number of bytes than the plan has.
[[nodiscard]] std::unique_ptr<Codec> codec_by(const Compressor& compressor, const Site& site);

}  // namespace weft::compression
