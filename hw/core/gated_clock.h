// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <systemc>

#include "hw/core/dispatcher.h"
#include "hw/core/waves.h"

namespace weft {

/// A clock for pins that stands still while nobody needs it, since each of its edges stops the dispatcher, and its
/// reset. The edges that it has are those of a clock without end: a whole number of cycles since the start of the
/// simulation.
///
///     SC_METHOD(toggle);  // is called once before the first edge, too
///     sensitive << clock_.event();
///     SC_METHOD(step);
///     sensitive << clock_.signal().posedge_event();
///     dont_initialize();
///
///     void toggle() {
///       if (!clock_.toggle() && (clock_.resets() || anything_is_to_do())) clock_.wake(dispatcher_.now());
///     }
///     void step() {
///       if (clock_.reset_edge()) return;
///       ...
///     }
class GatedClock {
 public:
  GatedClock(Dispatcher& dispatcher, Frequency frequency)
      : dispatcher_(dispatcher), edges_(frequency), half_(cycle_time(1, frequency) / 2) {}

  /// It rises at the first edge from `at` on. While it is high, that is for whoever sees it fall to say.
  void wake(Time at) {
    if (high_) return;
    const std::int64_t edge = std::max(number_ + 1, edges_.from(at));
    if (next_ != kAsleep && next_ <= edge) return;
    next_ = edge;
    dispatcher_.notify(event_, edges_.at(edge));
  }
  /// At its event. True if it rises; else it has fallen, and stands still until somebody wakes it.
  bool toggle() {
    if (next_ == kAsleep || high_) {
      high_ = false;
      signal_.write(false);
      return false;
    }
    number_ = next_;
    next_ = kAsleep;
    high_ = true;
    signal_.write(true);
    dispatcher_.notify(event_, dispatcher_.now() + half_);
    return true;
  }

  /// At a rising edge: whether it is one of the first of the simulation, for which reset is held.
  bool reset_edge() {
    if (!resets()) return false;
    if (--reset_edges_ == 0) reset_.write(false);
    return true;
  }
  [[nodiscard]] bool resets() const { return reset_edges_ > 0; }

  [[nodiscard]] const sc_core::sc_event& event() const { return event_; }
  [[nodiscard]] sc_core::sc_signal<bool>& signal() { return signal_; }
  [[nodiscard]] sc_core::sc_signal<bool>& reset() { return reset_; }

 private:
  static constexpr std::int64_t kAsleep = -1;

  Dispatcher& dispatcher_;
  ClockEdges edges_;
  Time half_;
  sc_core::sc_signal<bool> signal_{"clk", false};
  sc_core::sc_signal<bool> reset_{"reset", true};
  sc_core::sc_event event_{"edge"};
  bool high_ = false;
  int reset_edges_ = 4;          ///< still to come
  std::int64_t number_ = 0;      ///< of the latest rising edge
  std::int64_t next_ = kAsleep;  ///< of the one that is scheduled
};

}  // namespace weft
