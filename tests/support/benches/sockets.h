// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <systemc>
#include <tlm>
#include <utility>
#include <vector>

#include "hw/core/annotation.h"
#include "hw/core/dispatcher.h"

/// Test components to bind to a module's sockets.
namespace weft::test {

/// Does things at given times of the dispatcher.
class Script final : public sc_core::sc_module, public EventTarget {
 public:
  explicit Script(sc_core::sc_module_name name, Dispatcher& dispatcher) : sc_module(name), dispatcher_(dispatcher) {
    dispatcher.attach(*this, this->name());
  }

  /// Before the simulation or while it runs. Actions at one time run in the order in which they were given.
  void at(Time when, std::function<void()> action) {
    actions_.emplace_back(when, std::move(action));
    if (started_) dispatcher_.post(when, *this, 0, actions_.size() - 1);
  }

  void on_event(Time /*now*/, std::uint32_t /*tag*/, std::uint64_t data) override {
    const auto action = actions_[data].second;
    action();
  }

 private:
  void start_of_simulation() override {
    started_ = true;
    for (std::size_t i = 0; i < actions_.size(); ++i) dispatcher_.post(actions_[i].first, *this, 0, i);
  }

  Dispatcher& dispatcher_;
  std::vector<std::pair<Time, std::function<void()>>> actions_;
  bool started_ = false;
};

/// An initiator of the base protocol.
class Initiator final : public sc_core::sc_module, public tlm::tlm_bw_transport_if<> {
 public:
  explicit Initiator(sc_core::sc_module_name name) : sc_module(name), socket("socket") { socket.bind(*this); }

  tlm::tlm_initiator_socket<64> socket;
  tlm::tlm_generic_payload payload;

  /// One blocking transport that starts `delay` from the dispatcher's now(). Returns the delay that comes back.
  Time transport(tlm::tlm_command command, std::uint64_t address, void* data, std::uint32_t bytes,
                 Time delay = Time()) {
    prepare(command, address, data, bytes);
    sc_core::sc_time annotated = to_delay(delay);
    socket->b_transport(payload, annotated);
    return from_delay(annotated);
  }
  Time write(std::uint64_t address, const void* data, std::uint32_t bytes, Time delay = Time()) {
    return transport(tlm::TLM_WRITE_COMMAND, address, const_cast<void*>(data), bytes, delay);
  }
  Time read(std::uint64_t address, void* data, std::uint32_t bytes, Time delay = Time()) {
    return transport(tlm::TLM_READ_COMMAND, address, data, bytes, delay);
  }
  unsigned int debug(tlm::tlm_command command, std::uint64_t address, void* data, std::uint32_t bytes) {
    prepare(command, address, data, bytes);
    return socket->transport_dbg(payload);
  }
  [[nodiscard]] tlm::tlm_response_status status() const { return payload.get_response_status(); }

  void prepare(tlm::tlm_command command, std::uint64_t address, void* data, std::uint32_t bytes) {
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<unsigned char*>(data));
    payload.set_data_length(bytes);
    payload.set_streaming_width(bytes);
    payload.set_byte_enable_ptr(nullptr);
    payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_phase& /*phase*/,
                                     sc_core::sc_time& /*delay*/) override {
    return tlm::TLM_ACCEPTED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}
};

/// A target that keeps what is written to it, with the time that the write is annotated with.
template <typename Entry>
class Sink final : public sc_core::sc_module, public tlm::tlm_fw_transport_if<> {
 public:
  struct Written {
    Time at;
    std::uint64_t address;
    Entry entry;
  };

  Sink(sc_core::sc_module_name name, Dispatcher& dispatcher)
      : sc_module(name), socket("socket"), dispatcher_(dispatcher) {
    socket.bind(*this);
  }

  tlm::tlm_target_socket<64> socket;
  std::vector<Written> written;  ///< in the order of the calls

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override {
    Written entry{dispatcher_.now() + from_delay(delay), payload.get_address(), {}};
    std::memcpy(&entry.entry, payload.get_data_ptr(),
                std::min<std::size_t>(sizeof entry.entry, payload.get_data_length()));
    written.push_back(entry);
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    b_transport(payload, delay);
    phase = tlm::BEGIN_RESP;
    return tlm::TLM_COMPLETED;
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& /*payload*/, tlm::tlm_dmi& /*dmi*/) override { return false; }
  unsigned int transport_dbg(tlm::tlm_generic_payload& /*payload*/) override { return 0; }

 private:
  Dispatcher& dispatcher_;
};

/// Bytes that depend on position and seed.
inline std::vector<std::byte> pattern_bytes(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (std::byte& byte : data) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::byte>(state >> 56);
  }
  return data;
}

}  // namespace weft::test
