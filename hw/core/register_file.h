// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <tlm>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/core/quantity.h"

namespace weft {

/// The registers of a device behind a base-protocol target socket (TLM-2.0): windows at fixed offsets, each of which
/// takes writes of one size. The transport delay is handed on: a write takes effect at the local time of who made it.
///
/// Responses: TLM_ADDRESS_ERROR_RESPONSE where no window begins, TLM_COMMAND_ERROR_RESPONSE for a read,
/// TLM_BURST_ERROR_RESPONSE for a size that the window does not take or a streaming width below it,
/// TLM_BYTE_ENABLE_ERROR_RESPONSE for byte enables, TLM_GENERIC_ERROR_RESPONSE for what its handler refuses. No DMI;
/// debug transport moves nothing.
class RegisterFile final : public tlm::tlm_fw_transport_if<> {
 public:
  /// Handles `bytes` bytes written to offset `address` at time `at`; false refuses them.
  using Handler = std::function<bool(std::uint64_t address, const void* data, std::uint32_t bytes, Time at)>;

  explicit RegisterFile(Dispatcher& dispatcher) : dispatcher_(dispatcher) {}

  /// A window of `count` registers, `stride` bytes apart, which takes writes of `min_bytes` to `max_bytes`.
  void add_window(std::uint64_t offset, std::uint64_t count, std::uint64_t stride, std::uint32_t min_bytes,
                  std::uint32_t max_bytes, Handler handler) {
    windows_.push_back({offset, count, stride, min_bytes, max_bytes, std::move(handler)});
  }

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override;
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override;
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_dmi& /*dmi*/) override { return false; }
  unsigned int transport_dbg(tlm::tlm_generic_payload& /*payload*/) override { return 0; }

 private:
  struct Window {
    std::uint64_t offset;
    std::uint64_t count;
    std::uint64_t stride;
    std::uint32_t min_bytes;
    std::uint32_t max_bytes;
    Handler handler;
  };

  Dispatcher& dispatcher_;
  std::vector<Window> windows_;
};

/// The backward interface of an initiator that only calls b_transport: nothing ever comes back.
class BlockingInitiator final : public tlm::tlm_bw_transport_if<> {
 public:
  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_phase& /*phase*/,
                                     sc_core::sc_time& /*delay*/) override {
    return tlm::TLM_ACCEPTED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}
};

/// Writes `bytes` bytes through a socket's forward interface, with the delay until `at`, and returns the response.
tlm::tlm_response_status write_through(tlm::tlm_fw_transport_if<>& target, tlm::tlm_generic_payload& payload,
                                       std::uint64_t address, const void* data, std::uint32_t bytes, Time delay);

}  // namespace weft
