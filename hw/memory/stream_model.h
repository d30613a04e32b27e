// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hw/core/quantity.h"
#include "hw/memory/dram/memory_system.h"

namespace weft::memory {

/// What banks sustain and how long they take, measured by short replays of the bank model for the configuration at
/// hand, for a memory that is modelled in closed form (Hbm).
///
/// Channels share nothing but the address map, so one is replayed, with those bursts of all that the map sends there.
/// Rates are those of four refresh intervals with the controller's queues kept filled, in shares of the peak
/// (dram::Device::peak_bytes_per_second):
/// - sequences: what is read and what is written lie in halves of their own and follow each other in pieces of 4 KiB,
///   as a kernel's do (MemoryMaster);
/// - requests of each of `kSizes` bytes at random multiples of their size, reads and writes in random order.
/// Each for the shares of writes 0, 1/4, 1/2, 3/4 and 1. Latency is the mean of random reads that meet nobody. With ECC
/// also random writes of part of a burst, each of which reads it first.
///
/// Left out: that a master's requests come later when one queue holds most of what it has under way.
struct StreamModel {
  static constexpr std::array<std::int64_t, 5> kSizes = {32, 64, 128, 512, 4096};
  static constexpr std::size_t kSequence = kSizes.size();
  static constexpr std::size_t kShares = 5;

  /// Shares of the peak, by size (the last one sequences) and share of writes.
  std::array<std::array<double, kShares>, kSizes.size() + 1> sustained{};
  Bytes burst = Bytes(32);
  /// Of random writes of part of a burst; 0: they cost as much as whole ones.
  double partial_writes = 0;
  Time read;   ///< in the controller and the DRAM, without the interconnect
  Time write;  ///< until the controller has queued it
};

/// Measures; a fraction of a second. Throws ConfigError.
StreamModel derive_stream_model(const dram::MemoryConfig& config);

/// The same, measured once for equal configurations within a process.
std::shared_ptr<const StreamModel> stream_model(const dram::MemoryConfig& config);

}  // namespace weft::memory
