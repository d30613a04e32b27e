// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hw/memory/stream_model.h"

namespace weft::memory {

/// All that a StreamModel of one configuration measures. A process that is given it does not measure it anew, which
/// takes a tenth of a second of every run: the catalogue's memories are measured when the program is built
/// (platforms/streams).
struct KnownStreams {
  static constexpr std::size_t kSizes = StreamModel::kSizes.size() + 1;

  std::string_view configuration;  ///< its configuration_text
  std::int64_t read_ps;
  double partial_writes;
  std::array<std::array<double, StreamModel::kShares>, kSizes> sustained;
  std::array<std::array<double, 2>, kSizes> byte_energy;  ///< read and written
};

/// Every value of a configuration: equal for those of which the same is measured.
std::string configuration_text(const dram::MemoryConfig& config);

/// The configuration's text is left empty.
KnownStreams measure_streams(const dram::MemoryConfig& config);

/// Models that are made from now on take it from there, and nothing from what was provided before. It is not copied.
void provide_streams(std::span<const KnownStreams> known);

}  // namespace weft::memory
