// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <tlm>

namespace weft::memory {

/// The answers of a base-protocol target that takes any number of requests: one is out at a time (the exclusion rule,
/// IEEE 1666-2011, 15.2.6), the others wait in the order in which they were ready.
class ResponseQueue {
 public:
  using Socket = tlm::tlm_target_socket<64>;

  explicit ResponseQueue(Socket& socket) : socket_(socket) {}

  /// Answers `payload`, which the target has acquired, and releases it then.
  void add(tlm::tlm_generic_payload& payload) {
    waiting_.push_back(&payload);
    advance();
  }
  /// The initiator has sent END_RESP.
  void ended() {
    out_ = false;
    advance();
  }

 private:
  void advance() {
    while (!out_ && !waiting_.empty()) {
      tlm::tlm_generic_payload& payload = *waiting_.front();
      waiting_.pop_front();
      out_ = true;
      tlm::tlm_phase phase = tlm::BEGIN_RESP;
      sc_core::sc_time delay;
      const tlm::tlm_sync_enum answer = socket_->nb_transport_bw(payload, phase, delay);
      if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP)) out_ = false;
      payload.release();
    }
  }

  Socket& socket_;
  std::deque<tlm::tlm_generic_payload*> waiting_;
  bool out_ = false;
};

}  // namespace weft::memory
