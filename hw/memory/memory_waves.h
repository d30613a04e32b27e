// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tlm>

#include <cstdint>
#include <string>

#include "hw/core/stream_pins.h"

namespace weft::memory {

/// What the socket of a memory for one master would show, as two interfaces of a beat for each transaction:
/// SCOPE.req_valid, ready, last, id, command (0 read, 1 write), address and bytes, and SCOPE.resp_valid, ready, last,
/// id and error. The id is the request's number, from 0. Data are not shown. The interface has no clock that a model
/// knows: SCOPE.clk has 2 GHz.
class MemoryWaves {
 public:
  MemoryWaves(Waves& waves, const std::string& scope);

  /// For a memory that knows at once when it will take a request, and when it will answer. Answers are shown in the
  /// order of the requests.
  void transaction(const tlm::tlm_generic_payload& payload, Time asked, Time taken, Time answered);

  /// For one that learns it as time goes on: one request at a time, and one answer.
  std::uint32_t ask(const tlm::tlm_generic_payload& payload, Time now);
  void take(Time now) { requests_.take(now); }
  void answer(std::uint32_t id, const tlm::tlm_generic_payload& payload, Time now);
  void end_answer(Time now) { answers_.take(now); }
  /// To a caller that waits until then.
  void answer_at(std::uint32_t id, const tlm::tlm_generic_payload& payload, Time at);

 private:
  MemoryWaves(Waves& waves, const std::string& scope, Waves::Clock clock);

  StreamPins requests_;
  StreamPins answers_;
  std::uint32_t next_ = 0;
};

}  // namespace weft::memory
