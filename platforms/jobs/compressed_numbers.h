// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/element.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/blocks.h"
#include "sw/dimensions/plan.h"

namespace weft::platforms {

/// What ranks exchange where a compressor changes it: numbers of both signs with exponential magnitudes, as gradients'
/// are taken to have.
class CompressedNumbers {
 public:
  CompressedNumbers(dimensions::Operation operation, ElementType type, std::uint64_t seed, std::uint64_t bytes,
                    int ranks)
      : operation_(operation), type_(type), seed_(seed), elements_(bytes / size_of(type)), ranks_(ranks) {}

  void fill(Machine& machine, std::uint64_t address) const;
  /// How far what is at `address` is off (CompressedResult::error): of rank 0 where all have the same, else of all.
  [[nodiscard]] double error(Machine& machine, std::uint64_t address) const;
  /// Of an AllReduce and an Allgather, elements of other ranks that are not those of rank 0, to the bit: whatever was
  /// lost, all have lost the same.
  [[nodiscard]] std::int64_t different(Machine& machine, std::uint64_t address) const;

 private:
  [[nodiscard]] std::vector<float> values(int rank) const;
  [[nodiscard]] bool is_same_everywhere() const {
    return operation_ == dimensions::Operation::kAllReduce || operation_ == dimensions::Operation::kAllgather;
  }
  /// In elements.
  [[nodiscard]] collectives::Extent block(int index) const {
    return collectives::split({0, elements_}, static_cast<std::uint64_t>(ranks_), static_cast<std::uint64_t>(index), 1);
  }
  [[nodiscard]] std::vector<double> expected(const std::vector<std::vector<float>>& all, int rank) const;
  [[nodiscard]] std::vector<float> there(Machine& machine, int rank, std::uint64_t address, std::size_t count) const;

  dimensions::Operation operation_;
  ElementType type_;
  std::uint64_t seed_;
  std::uint64_t elements_;
  int ranks_;
};

}  // namespace weft::platforms
