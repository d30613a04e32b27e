// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "hw/nic/congestion/congestion_control.h"
#include "hw/nic/nic.h"

namespace weft::nic {

/// What a queue pair needs for congestion control, as the sender and as the one that notifies.
struct Nic::Congestion {
  /// Of a scheme that is told of acknowledgements: packets that are not acknowledged, in the order of their numbers,
  /// which have no gaps.
  struct UnderWay {
    struct Sent {
      std::uint32_t psn = 0;
      std::uint32_t wire_bytes = 0;  ///< 0 of a read, which is answered and not acknowledged
      Time cut;
      Time left;
    };
    std::deque<Sent> packets;
    std::int64_t bytes = 0;
    bool full = false;  ///< the window has held a packet back
  };

  Congestion(std::unique_ptr<CongestionControl> of_pair, const CongestionScheme& of, std::int64_t carried)
      : control(std::move(of_pair)), scheme(of), unasked(carried) {}

  /// Whether a packet came marked, by the `immediate` of its acknowledgement.
  [[nodiscard]] static bool marked(std::uint32_t echo);

  // What the scheme answers. A ConfigError names it for an answer that means nothing.
  [[nodiscard]] std::optional<Rate> rate(Time now) const {
    const std::optional<Rate> answer = control->rate(now);
    if (answer && *answer <= Rate()) [[unlikely]]
      fail_answer("rate() of at least 1bps, or none", to_text(*answer));
    return answer;
  }
  [[nodiscard]] std::int64_t window(Time now) const {
    const std::int64_t answer = control->window(now);
    if (answer < 0) [[unlikely]]
      fail_answer("window() of at least 0", std::to_string(answer));
    return answer;
  }

  std::unique_ptr<CongestionControl> control;
  const CongestionScheme& scheme;
  std::int64_t unasked;                 ///< bytes that go without credit
  Time next;                            ///< when it may cut its next packet
  bool waiting = false;                 ///< an event at that time is pending
  bool held = false;                    ///< window or rate have held a packet back since the latest acknowledgement
  Time notify_from = Time();            ///< when it may notify again
  std::unique_ptr<UnderWay> under_way;  ///< null where acknowledgements are of no interest

 private:
  [[noreturn]] void fail_answer(const std::string& expected, const std::string& got) const {
    throw ConfigError("nic.congestion", "expected of " + scheme.name + " a " + expected + ", got " + got);
  }
};

}  // namespace weft::nic
