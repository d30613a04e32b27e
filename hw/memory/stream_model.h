// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

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
/// The commands of the same replays say what a byte read or written costs in energy.
///
/// Left out: that a master's requests come later when one queue holds most of what it has under way.
class StreamModel {
 public:
  static constexpr std::array<std::int64_t, 5> kSizes = {32, 64, 128, 512, 4096};
  static constexpr std::size_t kSequence = kSizes.size();
  static constexpr std::size_t kShares = 5;
  struct Measured {
    double share = 0;   ///< of the peak
    double energy = 0;  ///< joules of commands a byte
  };

  /// Measures the latency. Throws ConfigError.
  explicit StreamModel(const dram::MemoryConfig& config);

  /// The share of the peak, by size (kSequence: sequences) and quarters of writes. Each is measured when it is first
  /// asked for, for about 10 ms: a run needs few of them.
  [[nodiscard]] double sustained(std::size_t size, std::size_t share) const;
  /// Joules of commands for a byte asked for, in activates, bursts and pins, check bits among them, where all is read
  /// or all written. Measured as `sustained` is.
  [[nodiscard]] double byte_energy(std::size_t size, bool write) const;
  /// The share of the peak of random writes of part of a burst, measured at each call; 0: they cost as much as whole
  /// ones.
  [[nodiscard]] double partial_writes() const;
  [[nodiscard]] Bytes burst() const { return config_.device.geometry.burst; }
  /// In the controller and the DRAM, without the interconnect.
  [[nodiscard]] Time read() const { return read_; }
  /// Until the controller has queued it.
  [[nodiscard]] Time write() const { return config_.controller.latency; }

 private:
  [[nodiscard]] const Measured& measured(std::size_t size, std::size_t share) const;

  dram::MemoryConfig config_;
  Time read_;
  mutable std::array<std::array<std::optional<Measured>, kShares>, kSizes.size() + 1> measured_;
};

/// One for all equal configurations within a process.
std::shared_ptr<const StreamModel> stream_model(const dram::MemoryConfig& config);

}  // namespace weft::memory
