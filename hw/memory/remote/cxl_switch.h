// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tlm>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/fixed_vector.h"
#include "hw/core/power.h"
#include "hw/core/quantity.h"
#include "hw/memory/response_queue.h"

namespace weft::memory {

/// A switch between hosts and memories, for CXL.mem: `up(h)` takes the requests of host h, `down(d)` leads to memory d.
/// An address lies in memory (address / granule) mod their number: the interleaving of a decoder with one way for each
/// memory (Compute Express Link Specification 3.1, 8.2.4.20).
///
/// Timing: `latency` each way. Its crossbar holds nobody up: requests and answers queue for the links at both sides.
/// Protocol as CxlLink's.
///
/// Left out: routing by port ids, several levels, virtual hierarchies, the granules that the specification allows (256
/// bytes to 16 KiB).
class CxlSwitch final : public sc_core::sc_module, public EventTarget {
 public:
  struct Config {
    static constexpr std::string_view kPartKind = "cxl_switch";

    Time latency = Time(50'000);
    Power idle;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("latency", latency, "Time from port to port, each way", Range{0, 1'000'000'000});
      visit("idle", idle, "Power drawn all the time");
    }
  };

  CxlSwitch(sc_core::sc_module_name name, const Config& config, std::size_t hosts, std::size_t memories, Bytes granule,
            Dispatcher& dispatcher);
  ~CxlSwitch() override;

  tlm::tlm_target_socket<64>& up(std::size_t host) { return hosts_[host].socket; }
  tlm::tlm_initiator_socket<64>& down(std::size_t memory) { return memories_[memory].socket; }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t /*tag*/) const override { return CauseKind::kRemoteMemory; }

 private:
  struct Host final : public tlm::tlm_fw_transport_if<> {
    Host(CxlSwitch& owner_switch, std::size_t number)
        : socket(("up" + std::to_string(number)).c_str()), owner(owner_switch), index(number), responses(socket) {
      socket.bind(*this);
    }
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    bool get_direct_mem_ptr(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_dmi& /*dmi*/) override { return false; }
    unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override;

    tlm::tlm_target_socket<64> socket;
    CxlSwitch& owner;
    std::size_t index;
    ResponseQueue responses;
  };
  struct Memory final : public tlm::tlm_bw_transport_if<> {
    Memory(CxlSwitch& owner_switch, std::size_t number)
        : socket(("down" + std::to_string(number)).c_str()), owner(owner_switch) {
      socket.bind(*this);
    }
    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}

    tlm::tlm_initiator_socket<64> socket;
    CxlSwitch& owner;
  };

  [[nodiscard]] Memory& memory_of(const tlm::tlm_generic_payload& payload) {
    return memories_[payload.get_address() / granule_ % memories_.size()];
  }

  Config config_;
  std::uint64_t granule_;
  Dispatcher& dispatcher_;
  FixedVector<Host> hosts_;
  FixedVector<Memory> memories_;
  std::map<const tlm::tlm_generic_payload*, std::size_t> host_of_;  ///< of requests under way; looked up, never walked
};

}  // namespace weft::memory
