// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/core/probe.h"
#include "hw/core/waves.h"
#include "hw/fabric/link.h"
#include "hw/fabric/protocol.h"
#include "hw/nic/memory_regions.h"
#include "hw/nic/nic_config.h"
#include "hw/nic/work.h"

namespace weft::nic {

/// What firmware asks of a network interface beside its registers: the control path, as a driver's commands. Work
/// requests are written to its doorbells, and completions come to the addresses that are given here.
class Verbs : public sc_core::sc_module {
 public:
  explicit Verbs(sc_core::sc_module_name name) : sc_module(name) {}

  /// Its number in the fabric.
  [[nodiscard]] virtual std::uint32_t end() const = 0;

  /// Makes a queue pair whose completions go to `completion_address`, and returns its number. `connect` names its peer;
  /// nothing may be posted before.
  virtual std::uint32_t create_queue_pair(std::uint64_t completion_address) = 0;
  virtual void connect(std::uint32_t queue_pair, std::uint32_t peer_end, std::uint32_t peer_queue_pair) = 0;
  /// A receive that is posted as part of connecting: it is there when the connection is.
  virtual void provide(const WorkRequest& receive) = 0;

  /// How many requests a queue pair holds; 0: any number. Where it is not, `report_places` says where completions go
  /// that tell of places that are free again: `id` is how many have been freed so far in the queue of receives, if
  /// `verb` is kReceive, or of all else. Before anything is posted.
  struct Depths {
    int sends = 0;
    int receives = 0;
  };
  [[nodiscard]] virtual Depths depths() const { return {}; }
  virtual void report_places(std::uint32_t /*queue_pair*/, std::uint64_t /*completion_address*/) {}

  /// A queue pair of group `group` of the fabric for reductions with up to `window` chunks open, or for multicast if
  /// that is 0.
  virtual std::uint32_t create_group_queue_pair(std::uint64_t /*completion_address*/, std::uint32_t /*group*/,
                                                int /*window*/) {
    lacks("groups, which multicast and reductions in the network take");
  }
  /// One for multicast that receives nothing.
  virtual std::uint32_t create_group_sender(std::uint64_t /*completion_address*/, std::uint32_t /*group*/) {
    lacks("groups, which multicast takes");
  }
  /// A queue pair of datagrams, and the groups of the fabric that reach it.
  virtual std::uint32_t create_datagram_queue_pair(std::uint64_t /*completion_address*/) { lacks("datagrams"); }
  virtual void attach(std::uint32_t /*queue_pair*/, std::uint32_t /*group*/) { lacks("datagrams"); }
  /// Which memory peers may reach, and by which keys.
  virtual MemoryRegions& regions() { lacks("memory keys, which multicast takes"); }

 private:
  [[noreturn]] void lacks(const char* what) const;
};

/// A network interface or scale-up port as a machine binds it, whatever is inside.
class AnyNic : public Verbs {
 public:
  using Config = NicConfig;
  using Counters = NicCounters;
  using NearInitiator = tlm::tlm_initiator_socket<64, tlm::tlm_base_protocol_types, 1, sc_core::SC_ZERO_OR_MORE_BOUND>;
  using NearTarget = tlm::tlm_target_socket<64, tlm::tlm_base_protocol_types, 1, sc_core::SC_ZERO_OR_MORE_BOUND>;

  /// To and from the fabric; to memory; where completions are written; where doorbells are (work.h). The same for cores
  /// on its own side of the host link: null where it has none.
  struct Sockets {
    fabric::InitiatorSocket& out;
    fabric::TargetSocket& in;
    tlm::tlm_initiator_socket<64>& dma;
    tlm::tlm_initiator_socket<64>& completion;
    tlm::tlm_target_socket<64>& registers;
    NearInitiator* near_completion = nullptr;
    NearTarget* near_registers = nullptr;
  };

  using Verbs::Verbs;

  [[nodiscard]] virtual Sockets sockets() = 0;
  /// Before the simulation, for a memory that asks for phases (MemoryMaster).
  virtual void use_phases() = 0;

  [[nodiscard]] virtual const Config& config() const = 0;
  [[nodiscard]] virtual const Counters& counters() const = 0;
  /// Counts of its own, or of its congestion control, up to now, the same names for each interface of a machine:
  /// `summary.json` has them, added up over interfaces.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::int64_t>> own_counts() const { return {}; }
  /// Of its link.
  [[nodiscard]] virtual const fabric::Transmitter& transmitter() const = 0;

  /// Draws when the link was sending. `finish_drawing` ends the last bar after the run.
  virtual void record(Probe& /*probe*/, const std::string& /*process*/, const std::string& /*thread*/) {}
  virtual void finish_drawing() {}
  /// Tells what the pins of its link, NAME.out, would show. Before the run.
  virtual void record(Waves& /*waves*/) {}

  /// What is unfinished, one line each, for the report of a deadlock and the check at the end.
  [[nodiscard]] virtual std::vector<std::string> left_over() = 0;
  /// Of these the ones that are no consequence of others: queue pairs that stand in error.
  [[nodiscard]] virtual std::vector<std::string> failures() { return {}; }
};

}  // namespace weft::nic
