// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "hw/core/annotation.h"
#include "hw/core/dispatcher.h"

namespace weft::test {

/// Stands between an initiator and a target of the base protocol, hands every call through, and notes which rules of
/// IEEE 1666 either breaks: the order of phases and what calls may return; one request until its END_REQ and one
/// response until its END_RESP; attributes and, for writes, data that change under way; response status; the memory
/// manager; delays that are negative, and times of a transaction that go back. Time is the dispatcher's.
class TlmChecker final : public sc_core::sc_module,
                         public tlm::tlm_fw_transport_if<>,
                         public tlm::tlm_bw_transport_if<> {
 public:
  TlmChecker(sc_core::sc_module_name name, Dispatcher& dispatcher)
      : sc_module(name), from_initiator("from_initiator"), to_target("to_target"), dispatcher_(dispatcher) {
    from_initiator.bind(*this);
    to_target.bind(*this);
  }

  tlm::tlm_target_socket<64> from_initiator;
  tlm::tlm_initiator_socket<64> to_target;

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  [[nodiscard]] bool saw(const std::string& rule) const {
    for (const std::string& each : violations_) {
      if (each == rule) return true;
    }
    return false;
  }
  /// The first few, for a message.
  [[nodiscard]] std::string text() const {
    std::string text = std::to_string(violations_.size()) + " violations";
    for (std::size_t i = 0; i < violations_.size() && i < 5; ++i) text += "\n  " + violations_[i];
    return text;
  }
  /// Transactions that have begun and not ended.
  [[nodiscard]] std::size_t unfinished() const { return open_.size(); }
  [[nodiscard]] std::int64_t finished() const { return finished_; }

  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    const tlm::tlm_phase asked = phase;
    const bool request = asked == tlm::BEGIN_REQ;
    if (request) {
      begin_request(payload, delay);
    } else if (asked == tlm::END_RESP) {
      end_response(payload, delay, "END_RESP without BEGIN_RESP");
    } else if (asked == tlm::END_REQ || asked == tlm::BEGIN_RESP) {
      report("phase of the target on the forward path");
    }
    const tlm::tlm_sync_enum sync = to_target->nb_transport_fw(payload, phase, delay);
    if (!request) {
      if (asked == tlm::END_RESP && sync == tlm::TLM_UPDATED) report("END_RESP answered with TLM_UPDATED");
      return sync;
    }
    if (sync == tlm::TLM_UPDATED) {
      if (phase == tlm::END_REQ) {
        end_request(payload, delay);
      } else if (phase == tlm::BEGIN_RESP) {
        begin_response(payload, delay);
      } else {
        report("BEGIN_REQ answered with a phase that does not follow it");
      }
    } else if (sync == tlm::TLM_COMPLETED) {
      if (Open* open = find(payload)) {
        compare(payload, *open, delay);
        check_status(payload);
        if (request_ == &payload) request_ = nullptr;
        finish(payload);
      }
    }
    return sync;
  }

  tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) override {
    const tlm::tlm_phase asked = phase;
    if (asked == tlm::END_REQ) {
      end_request(payload, delay);
    } else if (asked == tlm::BEGIN_RESP) {
      begin_response(payload, delay);
    } else if (asked == tlm::BEGIN_REQ || asked == tlm::END_RESP) {
      report("phase of the initiator on the backward path");
    }
    const tlm::tlm_sync_enum sync = from_initiator->nb_transport_bw(payload, phase, delay);
    if (asked == tlm::END_REQ && sync != tlm::TLM_ACCEPTED) report("END_REQ not answered with TLM_ACCEPTED");
    if (asked != tlm::BEGIN_RESP || sync == tlm::TLM_ACCEPTED) return sync;
    if (sync == tlm::TLM_UPDATED && phase != tlm::END_RESP) {
      report("BEGIN_RESP answered with a phase that does not follow it");
    } else {
      end_response(payload, delay, "END_RESP without BEGIN_RESP");
    }
    return sync;
  }

  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) override {
    if (find(payload) != nullptr) report("b_transport of a payload under way");
    Open open = remember(payload, delay);
    check_request(payload);
    to_target->b_transport(payload, delay);
    compare(payload, open, delay);
    check_status(payload);
    ++finished_;
  }
  bool get_direct_mem_ptr(tlm::tlm_generic_payload& payload, tlm::tlm_dmi& dmi) override {
    return to_target->get_direct_mem_ptr(payload, dmi);
  }
  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) override { return to_target->transport_dbg(payload); }
  void invalidate_direct_mem_ptr(sc_dt::uint64 start, sc_dt::uint64 end) override {
    from_initiator->invalidate_direct_mem_ptr(start, end);
  }

 private:
  struct Open {
    tlm::tlm_command command;
    std::uint64_t address;
    unsigned char* data;
    unsigned int length;
    unsigned int width;
    unsigned char* enables;
    unsigned int enable_length;
    std::uint64_t written;  ///< a hash of what a write carries
    Time at;                ///< of the latest phase
    bool request_ended = false;
    bool responding = false;
  };

  void report(const char* rule) { violations_.emplace_back(rule); }

  static std::uint64_t hash(const tlm::tlm_generic_payload& payload) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    const auto add = [&hash](const unsigned char* bytes, unsigned int count) {
      for (unsigned int i = 0; bytes != nullptr && i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
    };
    if (payload.is_write()) add(payload.get_data_ptr(), payload.get_data_length());
    add(payload.get_byte_enable_ptr(), payload.get_byte_enable_length());
    return hash;
  }
  [[nodiscard]] Time time_of(const sc_core::sc_time& delay) {
    if (from_delay(delay) < Time()) {
      report("negative delay");
      return dispatcher_.now();
    }
    return dispatcher_.now() + from_delay(delay);
  }
  Open remember(const tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay) {
    return {payload.get_command(),
            payload.get_address(),
            payload.get_data_ptr(),
            payload.get_data_length(),
            payload.get_streaming_width(),
            payload.get_byte_enable_ptr(),
            payload.get_byte_enable_length(),
            hash(payload),
            time_of(delay)};
  }
  void compare(const tlm::tlm_generic_payload& payload, Open& open, const sc_core::sc_time& delay) {
    const Open now = remember(payload, delay);
    if (now.command != open.command || now.address != open.address || now.data != open.data ||
        now.length != open.length || now.width != open.width || now.enables != open.enables ||
        now.enable_length != open.enable_length) {
      report("payload changed");
    }
    if (now.written != open.written) report("data changed");
    if (now.at < open.at) report("time goes back");
    open.at = now.at;
  }
  void check_request(const tlm::tlm_generic_payload& payload) {
    if (payload.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE) report("request with a response status");
    if (payload.is_dmi_allowed()) report("request with the DMI hint");
  }
  void check_status(const tlm::tlm_generic_payload& payload) {
    if (payload.get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE) report("response without a status");
  }
  Open* find(tlm::tlm_generic_payload& payload) {
    const auto found = open_.find(&payload);
    return found == open_.end() ? nullptr : &found->second;
  }
  void finish(tlm::tlm_generic_payload& payload) {
    open_.erase(&payload);
    ++finished_;
  }

  void begin_request(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay) {
    if (!payload.has_mm()) {
      report("no memory manager");
    } else if (payload.get_ref_count() < 1) {
      report("no reference");
    }
    if (request_ != nullptr) report("BEGIN_REQ before END_REQ");
    if (find(payload) != nullptr) report("BEGIN_REQ of a payload under way");
    check_request(payload);
    request_ = &payload;
    open_.insert_or_assign(&payload, remember(payload, delay));
  }
  void end_request(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay) {
    Open* open = find(payload);
    if (open == nullptr || open->request_ended) {
      report("END_REQ without BEGIN_REQ");
      return;
    }
    compare(payload, *open, delay);
    open->request_ended = true;
    if (request_ == &payload) request_ = nullptr;
  }
  void begin_response(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay) {
    if (response_ != nullptr) report("BEGIN_RESP before END_RESP");
    Open* open = find(payload);
    if (open == nullptr || open->responding) {
      report("BEGIN_RESP without a request");
      return;
    }
    compare(payload, *open, delay);
    check_status(payload);
    open->responding = open->request_ended = true;
    if (request_ == &payload) request_ = nullptr;  // it implies END_REQ
    response_ = &payload;
  }
  void end_response(tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay, const char* rule) {
    Open* open = find(payload);
    if (open == nullptr || !open->responding) {
      report(rule);
      return;
    }
    compare(payload, *open, delay);
    if (response_ == &payload) response_ = nullptr;
    finish(payload);
  }

  Dispatcher& dispatcher_;
  std::vector<std::string> violations_;
  std::map<tlm::tlm_generic_payload*, Open> open_;
  tlm::tlm_generic_payload* request_ = nullptr;   ///< between BEGIN_REQ and END_REQ
  tlm::tlm_generic_payload* response_ = nullptr;  ///< between BEGIN_RESP and END_RESP
  std::int64_t finished_ = 0;
};

}  // namespace weft::test
