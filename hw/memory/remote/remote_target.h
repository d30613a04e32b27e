// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <systemc>
#include <tlm>
#include <utility>
#include <vector>

#include "hw/core/element.h"
#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "hw/memory/backing_store.h"

namespace weft::memory {

/// Makes a request that of a member of a group which all the others make too: a load gathers, a store reduces.
struct InSwitch final : public tlm::tlm_extension<InSwitch> {
  std::uint32_t group = 0;
  ElementType type = ElementType::kFp32;  ///< that a store adds

  [[nodiscard]] tlm::tlm_extension_base* clone() const override { return new InSwitch(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const InSwitch&>(other); }
};

/// Memory beyond the accelerators' own as a machine sees it, whatever is inside: a base-protocol socket for each
/// accelerator, and address spaces that one or several of them share.
///
/// Each accelerator's RemoteDma calls nb_transport_fw with BEGIN_REQ, once for each chunk. A memory that knows at once
/// when it will be done adds its time to the delay and returns TLM_COMPLETED; one that does not answers later, with
/// BEGIN_RESP.
class RemoteTarget : public sc_core::sc_module {
 public:
  using Socket = tlm::tlm_target_socket<64>;

  explicit RemoteTarget(sc_core::sc_module_name name) : sc_module(name) {}

  virtual Socket& socket(std::size_t accelerator) = 0;
  /// How many address spaces there are, and which one is an accelerator's. Each has as many accelerators, which follow
  /// each other.
  [[nodiscard]] virtual std::size_t spaces() const = 0;
  [[nodiscard]] virtual std::size_t space_of(std::size_t accelerator) const = 0;
  /// Of one space.
  [[nodiscard]] virtual Bytes capacity() const = 0;
  /// The field of the platform that the capacity comes from.
  [[nodiscard]] virtual std::string capacity_path() const { return "remote_memory.capacity"; }
  /// Chunks of a space lie in so many memories in turn. Its accelerators' parts begin in one after the other, so that
  /// ranks in step with each other meet in none.
  [[nodiscard]] virtual std::uint64_t ways() const { return 1; }
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
  [[nodiscard]] virtual std::vector<std::string> left_over() const { return {}; }
  /// Counts of its own up to now: `summary.json` has them.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::int64_t>> own_counts() const { return {}; }
};

}  // namespace weft::memory
