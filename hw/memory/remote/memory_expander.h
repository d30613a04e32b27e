// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <tlm>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/fixed_vector.h"
#include "hw/core/power.h"
#include "hw/core/quantity.h"
#include "hw/core/slots.h"
#include "hw/core/stall.h"
#include "hw/memory/backing_store.h"
#include "hw/memory/response_queue.h"

namespace weft::memory {

/// A memory expander (a CXL device of type 3): a controller with a socket for each head, and DRAM behind it that all
/// heads share. A device of one head stands behind a switch, one of several is shared by as many hosts (a multi-headed
/// device, Compute Express Link Specification 3.1, 2.5).
///
/// Timing: a request passes the controller, then takes the DRAM for its bytes at `rate` x `efficiency`, reads and
/// writes alike, first come first served; then the DRAM's latency, which occupies nothing.
///
/// Of the host's addresses it holds every `ways`th granule from granule `way` on, so that several make one space.
/// Function: with contents given, bytes move when the DRAM's part is done; they are kept by the host's address.
/// nb_transport takes any number of requests (END_REQ at once); b_transport books ahead and annotates the delay; debug
/// transport moves bytes in no time; no DMI. An address beyond `capacity`, or of another way, gets
/// TLM_ADDRESS_ERROR_RESPONSE; other errors are those of check_attributes. Bytes that are not enabled are left alone.
///
/// Left out: banks and refresh, for which `efficiency` stands; a cache in the controller; poison, and sharing with
/// coherence.
class MemoryExpander final : public sc_core::sc_module, public EventTarget {
 public:
  struct Config {
    static constexpr std::string_view kPartKind = "memory_expander";

    Bytes capacity = Bytes(512LL << 30);
    Rate rate = Rate(76'800'000'000LL * 8);
    double efficiency = 0.85;
    Time controller = Time(40'000);
    Time latency = Time(90'000);
    Energy byte;
    Power idle;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("capacity", capacity, "Size of the device", Range{1, 1LL << 50});
      visit("rate", rate, "Rate of all its DRAM channels together", Range{1'000'000'000, 1'000'000'000'000'000});
      visit("efficiency", efficiency, "Share of the rate that long transfers sustain", kShareAboveZero);
      visit("controller", controller, "Time from its port to the DRAM's queue", Range{0, 1'000'000'000});
      visit("latency", latency, "DRAM: first request to first data when idle", Range{0, 1'000'000'000});
      visit("byte", byte, "Energy of a byte to or from DRAM");
      visit("idle", idle, "Power drawn all the time, refresh included");
    }
  };
  struct Counters {
    std::int64_t reads = 0;
    std::int64_t writes = 0;
    std::int64_t read_bytes = 0;
    std::int64_t written_bytes = 0;
    Time busy;
  };
  /// Which addresses it holds.
  struct Interleaving {
    std::uint64_t granule = 4096;
    std::uint64_t ways = 1;
    std::uint64_t way = 0;
  };

  /// `contents` are shared by all devices of a space; null when data is off. Throws ConfigError, with `path` before the
  /// field's name.
  MemoryExpander(sc_core::sc_module_name name, const Config& config, std::size_t heads,
                 const Interleaving& interleaving, Dispatcher& dispatcher, BackingStore* contents,
                 const Stall::Config& stall, const std::string& path);
  ~MemoryExpander() override;

  tlm::tlm_target_socket<64>& head(std::size_t index) { return heads_[index].socket; }
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t /*tag*/) const override { return CauseKind::kRemoteMemory; }

 private:
  struct Head final : public tlm::tlm_fw_transport_if<> {
    Head(MemoryExpander& device, std::size_t number)
        : socket(("head" + std::to_string(number)).c_str()), owner(device), responses(socket) {
      socket.bind(*this);
    }
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    bool get_direct_mem_ptr(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_dmi& /*dmi*/) override { return false; }
    unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override;

    tlm::tlm_target_socket<64> socket;
    MemoryExpander& owner;
    ResponseQueue responses;
  };
  struct Request {
    tlm::tlm_generic_payload* payload = nullptr;
    Head* head = nullptr;
  };

  [[nodiscard]] bool holds(const tlm::tlm_generic_payload& payload) const;
  [[nodiscard]] tlm::tlm_response_status check(const tlm::tlm_generic_payload& payload) const;
  Time book(const tlm::tlm_generic_payload& payload, Time at);

  Config config_;
  Interleaving interleaving_;
  Dispatcher& dispatcher_;
  BackingStore* contents_;
  Stall stall_;
  ByteTime byte_time_;
  FixedVector<Head> heads_;
  Time free_;
  Slots<Request> requests_;
  Counters counters_;
};

}  // namespace weft::memory
