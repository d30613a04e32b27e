// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "platforms/machine/machine.h"

namespace weft::platforms {

/// What ranks sum where a compressor changes it: numbers of both signs with exponential magnitudes, as gradients' are
/// taken to have.
class CompressedNumbers {
 public:
  CompressedNumbers(std::uint64_t seed, std::uint64_t bytes) : seed_(seed), elements_(bytes / sizeof(float)) {}

  void fill(Machine& machine, std::uint64_t address) const;
  /// How far rank 0's sums at `address` are off (CompressedResult::error).
  [[nodiscard]] double error(Machine& machine, std::uint64_t address) const;
  /// Sums of other ranks that are not those of rank 0, to the bit: whatever was lost, all have lost the same.
  [[nodiscard]] std::int64_t different(Machine& machine, std::uint64_t address) const;

 private:
  [[nodiscard]] std::vector<float> values(int rank) const;

  std::uint64_t seed_;
  std::uint64_t elements_;
};

}  // namespace weft::platforms
