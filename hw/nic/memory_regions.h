// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/packet.h"
#include "hw/core/quantity.h"

namespace weft::nic {

/// Memory that peers may reach, each region by its key (InfiniBand Architecture volume 1, 10.6): what a remote write or
/// read names must lie within the region of the key that it bears, at the time when it comes.
///
/// Keys are given out in turn from 1, so that interfaces which register alike have the same ones, and each is used
/// again only after all others. Key 0 is for firmware that owns the machine: it opens all memory and is not checked.
class MemoryRegions {
 public:
  static constexpr std::uint32_t kKeys = 1U << (64 - Packet::kAddressBits);

  /// The key of a new region. Throws std::length_error when all keys are in use.
  std::uint32_t add(std::uint64_t base, std::uint64_t bytes);
  /// From `at` on the key opens nothing.
  void remove(std::uint32_t key, Time at);
  [[nodiscard]] bool covers(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, Time now) const;
  void prefetch(std::uint32_t key) const { __builtin_prefetch(regions_.data() + key); }

 private:
  struct Region {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    Time until;
  };
  std::vector<Region> regions_ = std::vector<Region>(1);  // by key
  std::uint32_t next_ = 1;
  std::uint32_t live_ = 0;
};

}  // namespace weft::nic
