// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "hw/memory/known_streams.h"

namespace weft::platforms {

/// What this build's memory model measures of the catalogue's memories. write_streams.cpp writes the source.
std::span<const memory::KnownStreams> catalogue_streams();

}  // namespace weft::platforms
