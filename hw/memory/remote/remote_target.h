// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <tlm>
#include <vector>

#include "hw/core/fields.h"
#include "hw/memory/backing_store.h"

namespace weft::memory {

/// Memory beyond the accelerators' own, as a machine is built around it: a base-protocol socket for each accelerator,
/// and address spaces that one or several of them share.
class RemoteTarget {
 public:
  using Socket = tlm::tlm_target_socket<64>;

  RemoteTarget() = default;
  RemoteTarget(const RemoteTarget&) = delete;
  RemoteTarget& operator=(const RemoteTarget&) = delete;
  virtual ~RemoteTarget() = default;

  virtual Socket& socket(std::size_t accelerator) = 0;
  /// How many address spaces there are, and which one is an accelerator's.
  [[nodiscard]] virtual std::size_t spaces() const = 0;
  [[nodiscard]] virtual std::size_t space_of(std::size_t accelerator) const = 0;
  /// Of one space.
  [[nodiscard]] virtual Bytes capacity() const = 0;
  /// The field of the platform that the capacity comes from.
  [[nodiscard]] virtual std::string capacity_path() const = 0;
  /// Debug access to what a space holds.
  virtual BackingStore& store(std::size_t space) = 0;
  /// Whether switches run collectives, for which half of the space is kept.
  [[nodiscard]] virtual bool runs_collectives() const { return false; }
  /// A group for collectives, as a control plane makes it: in no time, before it is used. Throws ConfigError where
  /// there are none.
  virtual std::uint32_t create_group(const std::vector<std::uint32_t>& /*accelerators*/) {
    throw ConfigError("remote_memory.hierarchical.in_switch", "expected true, for a collective in the switches");
  }
  /// What is unfinished when nothing can happen any more, one line each.
  [[nodiscard]] virtual std::vector<std::string> left_over() const = 0;
};

}  // namespace weft::memory
