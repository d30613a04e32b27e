// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/core/annotation.h"
#include "hw/core/dispatcher.h"
#include "hw/core/payload_pool.h"

namespace weft::test {

/// A master that sends what it is given through nb_transport with four phases, one request after the other, as fast as
/// END_REQ allows.
class NbMaster final : public sc_core::sc_module, public tlm::tlm_bw_transport_if<>, public EventTarget {
 public:
  /// How it ends a response.
  enum class End : std::uint8_t { kCompleted, kUpdated, kLater };
  struct Answer {
    std::uint64_t id;
    tlm::tlm_response_status status;
    Time asked;  ///< BEGIN_REQ
    Time at;     ///< BEGIN_RESP
  };

  NbMaster(sc_core::sc_module_name name, Dispatcher& dispatcher)
      : sc_module(name), socket("socket"), dispatcher_(dispatcher) {
    socket.bind(*this);
    dispatcher.attach(*this, this->name());
  }

  tlm::tlm_initiator_socket<64> socket;
  End end = End::kCompleted;
  Time end_delay;      ///< from BEGIN_RESP to END_RESP, unless completed
  Time request_delay;  ///< annotated to BEGIN_REQ
  std::vector<Answer> answers;
  std::function<void(const Answer&)> on_answer;
  PayloadPool pool;

  /// Returns the id: requests are counted. `enables` may be null, and stays until the answer.
  std::uint64_t send(tlm::tlm_command command, std::uint64_t address, void* data, std::uint32_t bytes,
                     std::vector<unsigned char>* enables = nullptr) {
    tlm::tlm_generic_payload* payload = pool.take();
    payload->set_command(command);
    payload->set_address(address);
    payload->set_data_ptr(static_cast<unsigned char*>(data));
    payload->set_data_length(bytes);
    payload->set_streaming_width(bytes);
    payload->set_byte_enable_ptr(enables == nullptr ? nullptr : enables->data());
    payload->set_byte_enable_length(enables == nullptr ? 0 : static_cast<unsigned int>(enables->size()));
    payload->set_dmi_allowed(false);
    waiting_.push_back({payload, ids_, Time()});
    pump();
    return ids_++;
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    if (phase == tlm::END_REQ) {
      asking_ = false;
      pump();
      return tlm::TLM_ACCEPTED;
    }
    for (std::size_t i = 0; i < flying_.size(); ++i) {
      if (flying_[i].payload != &payload) continue;
      answers.push_back({flying_[i].id, payload.get_response_status(), flying_[i].asked, dispatcher_.now()});
      flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    const Answer answer = answers.back();
    if (end == End::kLater) {
      dispatcher_.post(dispatcher_.now() + end_delay, *this, 0, reinterpret_cast<std::uintptr_t>(&payload));
      if (on_answer) on_answer(answer);
      return tlm::TLM_ACCEPTED;
    }
    if (end == End::kUpdated) {
      phase = tlm::END_RESP;
      delay = to_delay(from_delay(delay) + end_delay);
    }
    payload.release();
    if (on_answer) on_answer(answer);
    return end == End::kUpdated ? tlm::TLM_UPDATED : tlm::TLM_COMPLETED;
  }
  void invalidate_direct_mem_ptr(sc_dt::uint64 /*start*/, sc_dt::uint64 /*end*/) override {}

  void on_event(Time /*now*/, std::uint32_t /*tag*/, std::uint64_t data) override {
    auto* payload = reinterpret_cast<tlm::tlm_generic_payload*>(data);
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_core::sc_time delay;
    socket->nb_transport_fw(*payload, phase, delay);
    payload->release();
  }

 private:
  struct Item {
    tlm::tlm_generic_payload* payload;
    std::uint64_t id;
    Time asked;
  };
  void pump() {
    while (!asking_ && !waiting_.empty()) {
      Item item = waiting_.front();
      waiting_.pop_front();
      item.asked = dispatcher_.now() + request_delay;
      flying_.push_back(item);
      asking_ = true;
      tlm::tlm_phase phase = tlm::BEGIN_REQ;
      sc_core::sc_time delay = to_delay(request_delay);
      const tlm::tlm_sync_enum sync = socket->nb_transport_fw(*item.payload, phase, delay);
      if (sync == tlm::TLM_ACCEPTED) continue;
      asking_ = false;
      if (sync == tlm::TLM_COMPLETED || phase == tlm::BEGIN_RESP) {
        flying_.pop_back();
        answers.push_back(
            {item.id, item.payload->get_response_status(), item.asked, dispatcher_.now() + from_delay(delay)});
        item.payload->release();
      }
    }
  }

  Dispatcher& dispatcher_;
  std::deque<Item> waiting_;
  std::vector<Item> flying_;
  std::uint64_t ids_ = 0;
  bool asking_ = false;
};

}  // namespace weft::test
