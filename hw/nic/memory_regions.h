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
/// Keys are given out in turn from 1, and each is used again only after all others. What is multicast bears one key for
/// all who receive it: members of a group reserve keys that all of their interfaces have free. Key 0 is for firmware
/// that owns the machine: it opens all memory and is not checked.
class MemoryRegions {
 public:
  static constexpr std::uint32_t kKeys = 1U << (64 - Packet::kAddressBits);

  /// The key of a new region. Throws std::length_error when all keys are in use.
  std::uint32_t add(std::uint64_t base, std::uint64_t bytes);
  /// The first of `count` keys in a row that add() gives out at none of the interfaces from now on: open() does. Throws
  /// std::length_error when there are not so many.
  static std::uint32_t reserve(const std::vector<MemoryRegions*>& interfaces, std::uint32_t count);
  /// The region of a reserved key, in place of what it had.
  void open(std::uint32_t key, std::uint64_t base, std::uint64_t bytes);
  /// From `at` on the key opens nothing.
  void remove(std::uint32_t key, Time at);
  [[nodiscard]] bool covers(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, Time now) const;
  void prefetch(std::uint32_t key) const { __builtin_prefetch(regions_.data() + key); }

 private:
  struct Region {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    Time until;
    bool reserved = false;
  };
  std::vector<Region> regions_ = std::vector<Region>(1);  // by key
  std::uint32_t next_ = 1;
  std::uint32_t live_ = 0;  ///< keys in use or reserved
};

}  // namespace weft::nic
