// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "platforms/machine/machine.h"

namespace weft::platforms {

/// What ranks sum where a compressor changes it: numbers of both signs with exponential magnitudes, as gradients' are
/// taken to have.
class CompressedNumbers {
 public:
  CompressedNumbers(std::uint64_t seed, std::uint64_t bytes) : seed_(seed), elements_(bytes / sizeof(float)) {}

  void fill(Machine& machine, std::uint64_t address) const;
  /// How far the sums at `address` are off (CompressedResult::error). Nothing where ranks have different ones.
  [[nodiscard]] std::optional<double> error(Machine& machine, std::uint64_t address) const;

 private:
  [[nodiscard]] std::vector<float> values(int rank) const;

  std::uint64_t seed_;
  std::uint64_t elements_;
};

}  // namespace weft::platforms
