// SPDX-License-Identifier: Apache-2.0
#include "sw/compression/selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace weft::compression {

std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count) {
  std::vector<std::uint32_t> positions(values.size());
  std::iota(positions.begin(), positions.end(), 0U);
  if (count >= values.size()) return positions;
  // The bits of a float without its sign ascend as its magnitude does.
  const auto magnitude = [&](std::uint32_t i) { return std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFU; };
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return magnitude(a) != magnitude(b) ? magnitude(a) > magnitude(b) : a < b;
  };
  const auto end = positions.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(positions.begin(), end, positions.end(), before);
  positions.resize(count);
  std::sort(positions.begin(), positions.end());
  return positions;
}

std::vector<std::uint32_t> above(std::span<const float> values, double threshold, std::size_t limit) {
  std::vector<std::uint32_t> positions;
  for (std::size_t i = 0; i < values.size() && positions.size() < limit; ++i) {
    if (std::abs(static_cast<double>(values[i])) > threshold) positions.push_back(static_cast<std::uint32_t>(i));
  }
  return positions;
}

std::vector<Pair> take(std::span<const std::uint32_t> positions, std::span<float> values) {
  std::vector<Pair> pairs;
  pairs.reserve(positions.size());
  for (const std::uint32_t i : positions) {
    pairs.push_back({i, values[i]});
    values[i] = 0;
  }
  return pairs;
}

void add(std::span<const Pair> pairs, std::span<float> values) {
  for (const Pair& pair : pairs) {
    if (pair.index >= values.size()) {
      throw std::out_of_range("expected an index below " + std::to_string(values.size()) + ", got " +
                              std::to_string(pair.index));
    }
    values[pair.index] += pair.value;
  }
}

}  // namespace weft::compression
