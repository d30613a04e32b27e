// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "hw/core/random.h"
#include "sw/compression/compressor.h"

namespace weft::compression {

/// Draws that all ranks share, such as which coordinates are sent.
[[nodiscard]] inline Random shared_random(const Site& site) {
  return {site.seed, "compression"};
}
/// Draws of one rank's own, such as what it rounds up.
[[nodiscard]] inline Random own_random(const Site& site) {
  return {site.seed, "compression of rank " + std::to_string(site.rank)};
}

}  // namespace weft::compression
