// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <tlm>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/fields.h"
#include "hw/core/power.h"
#include "hw/core/quantity.h"
#include "hw/memory/response_queue.h"

namespace weft::memory {

/// How a link cuts what it carries (Compute Express Link Specification 3.1, 4.2 and 4.3). `68B`: 64 bytes in four slots
/// of 16, a protocol id and a CRC. `256B`: fifteen slots, the first two bytes short, with flit header, credits, CRC and
/// forward error correction.
enum class CxlFlit : std::uint8_t { k68, k256 };
inline EnumNames<CxlFlit> enum_names(CxlFlit /*tag*/) {
  return {{"68B", CxlFlit::k68}, {"256B", CxlFlit::k256}};
}

/// A CXL.mem link as a module: `up` takes the requests of whoever is nearer to the host, `down` passes them to a switch
/// or a memory.
///
/// Timing: the link is full duplex. A request for n lines of 64 bytes takes so many slots: a read n towards the memory,
/// a header for each line, and 4 n + n/3 back, since a slot holds three headers of data; a write 5 n and n/3. The slots
/// of a request fill whole flits; what is left of the last one stays empty. A direction sends one request after the
/// other, first come first served, at `rate`; then each takes `latency`. So a request is stored and forwarded whole:
/// long ones should come in pieces.
///
/// At most `outstanding` bytes of requests are under way beyond `up`; the others wait here, as requests wait in a host
/// for a free tag. One at least is always let through.
///
/// nb_transport takes any number of requests (END_REQ at once) and answers later, out of order if the memory does.
/// b_transport books both directions ahead and does not count as outstanding. Debug transport passes through; no DMI.
///
/// Left out: CXL.io and CXL.cache, retries, credits of message classes, and packing of messages of several requests
/// into a flit (a request alone in its flit pays for all of it).
class CxlLink final : public sc_core::sc_module, public EventTarget {
 public:
  struct Config {
    static constexpr std::string_view kPartKind = "cxl_link";

    Rate rate = Rate(504'123'000'000);
    CxlFlit flit = CxlFlit::k68;
    Time latency = Time(35'000);
    Bytes outstanding = Bytes(64 << 10);
    Energy bit;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("rate", rate, "Bits per second in each direction after line coding, flits and all",
            Range{1'000'000'000, 1'000'000'000'000'000});
      visit("flit", flit, "Size of its flits");
      visit("latency", latency, "One way, with the ports at both ends", Range{0, 1'000'000'000});
      visit("outstanding", outstanding, "Bytes requested over this link and not yet answered", Range{64, 1LL << 40});
      visit("bit", bit, "Energy of a bit on the wire, of sender and receiver together");
    }
  };
  enum Direction : std::uint8_t { kDown, kUp, kDirections };
  struct Counters {
    std::int64_t requests = 0;
    std::int64_t waited = 0;  ///< of these, those that found `outstanding` used up
    std::array<std::int64_t, kDirections> wire_bytes{};
    std::array<Time, kDirections> busy{};
  };

  CxlLink(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher);
  ~CxlLink() override;

  tlm::tlm_target_socket<64> up;
  tlm::tlm_initiator_socket<64> down;

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// Bytes of whole flits for `lines` lines.
  [[nodiscard]] static std::int64_t wire_bytes(CxlFlit flit, Direction direction, bool reads, std::int64_t lines);
  /// Requests that are here or beyond, one line if there are any.
  [[nodiscard]] std::vector<std::string> left_over() const;

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t /*tag*/) const override { return CauseKind::kRemoteMemory; }

 private:
  struct Upstream final : public tlm::tlm_fw_transport_if<> {
    explicit Upstream(CxlLink& link) : owner(link) {}
    void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    bool get_direct_mem_ptr(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_dmi& /*dmi*/) override { return false; }
    unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override {
      return owner.down->transport_dbg(payload);
    }
    CxlLink& owner;
  };
  struct Downstream final : public tlm::tlm_bw_transport_if<> {
    explicit Downstream(CxlLink& link) : owner(link) {}
    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                       sc_core::sc_time& delay) override;
    void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}
    CxlLink& owner;
  };

  void admit();
  void forward(tlm::tlm_generic_payload& payload);
  void answered(tlm::tlm_generic_payload& payload);
  Time book(Direction direction, const tlm::tlm_generic_payload& payload, Time at);

  Config config_;
  Dispatcher& dispatcher_;
  ByteTime byte_time_;
  Upstream upstream_;
  Downstream downstream_;
  ResponseQueue responses_;
  std::array<Time, kDirections> free_{};
  std::deque<tlm::tlm_generic_payload*> waiting_;
  std::int64_t under_way_ = 0;  ///< bytes
  std::int64_t held_ = 0;       ///< requests that have come and are not answered
  Counters counters_;
};

}  // namespace weft::memory
