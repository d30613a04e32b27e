// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <systemc>
#include <tlm>
#include <utility>
#include <vector>

#include "hw/core/quantity.h"
#include "hw/core/waves.h"
#include "hw/memory/backing_store.h"

namespace weft::memory {

/// The memory of an accelerator as a machine sees it, whatever is inside: base-protocol target sockets, one for each
/// master, and the bytes.
class Memory : public sc_core::sc_module {
 public:
  using Socket = tlm::tlm_target_socket<64>;
  /// What a master moved.
  struct Traffic {
    std::int64_t reads = 0;
    std::int64_t writes = 0;
    std::int64_t read_bytes = 0;
    std::int64_t written_bytes = 0;
    Time busy;    ///< that the memory alone takes for it
    Time waited;  ///< of requests, for what other masters moved; none of a master alone, whatever it has queued
  };

  explicit Memory(sc_core::sc_module_name name) : sc_module(name) {}

  virtual Socket& socket(std::size_t master) = 0;
  [[nodiscard]] virtual std::size_t masters() const = 0;
  [[nodiscard]] virtual const std::string& master_name(std::size_t master) const = 0;
  [[nodiscard]] virtual Traffic traffic(std::size_t master) const = 0;
  /// Joules of the DRAM's commands for what it moved up to now: activates, bursts, pins. Refresh and what is drawn all
  /// the time are not among them. Nothing where the configuration does not say what the memory is made of.
  [[nodiscard]] virtual std::optional<double> command_energy(std::size_t /*master*/) { return std::nullopt; }
  virtual BackingStore& store() = 0;
  /// Tells what its sockets would show, in NAME.from_MASTER (hw/memory/memory_waves.h). Before the run.
  virtual void record(Waves& /*waves*/) {}
  /// Counts of its own up to now, the same names in the same order for each memory of a machine: `summary.json` has
  /// them, added up over accelerators.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::int64_t>> own_counts() const { return {}; }
};

}  // namespace weft::memory
