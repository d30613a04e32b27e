// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::collectives {

/// A run of bytes in a buffer.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Part `index` of `count` of `whole`, in units of `granule` bytes: the parts differ by one granule at most, cover the
/// whole and do not overlap. A remainder smaller than a granule belongs to the last part.
inline Extent split(Extent whole, std::uint64_t count, std::uint64_t index, std::uint64_t granule) {
  const std::uint64_t granules = whole.bytes / granule;
  const std::uint64_t from = granules * index / count * granule;
  const std::uint64_t to = index + 1 == count ? whole.bytes : granules * (index + 1) / count * granule;
  return {whole.offset + from, to - from};
}

/// Cuts an extent into chunks of `chunk` bytes, the last one shorter. An empty extent has none.
struct Chunks {
  Extent extent;
  std::uint64_t chunk;

  [[nodiscard]] std::uint64_t count() const { return (extent.bytes + chunk - 1) / chunk; }
  [[nodiscard]] Extent operator[](std::uint64_t i) const {
    return {extent.offset + i * chunk, std::min(chunk, extent.bytes - i * chunk)};
  }
};

}  // namespace weft::collectives
