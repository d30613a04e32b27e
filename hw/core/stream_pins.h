// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "hw/core/waves.h"

namespace weft {

/// The pins of an interface with valid and ready, which hands over a beat at each rising edge of its clock at which
/// both are 1: what a transaction of a model looks like there.
///
/// Pins change with an edge, as those of flip-flops do, and a beat is handed over at a later one. So what a model does
/// at time t shows from the first edge at t or after it, and the beat is handed over one cycle later, or when the beats
/// before it have left: the times of a file differ from the model's by less than two cycles, latencies by less than
/// one. A model knows the first beat and the last. Those between come at an even pace of a slow receiver; of a slow
/// sender they come together with the last, which keeps files small.
class StreamPins {
 public:
  struct Field {
    const char* name;
    int width;
  };
  struct Transfer {
    Time offered;  ///< its first beat is there
    Time from;     ///< it is taken from here on,
    Time to;       ///< and the last one until here
    std::int64_t beats = 1;
    bool receiver_sets_pace = false;  ///< else it is the sender that is slow
    const std::byte* data = nullptr;
    std::size_t bytes = 0;  ///< of data
  };

  /// Declares NAME.PREFIXvalid, ...ready, ...last, one for each field, and ...data of `beat_bytes` unless that is 0.
  StreamPins(Waves& waves, const std::string& name, const std::string& prefix, Waves::Clock clock, Frequency frequency,
             std::size_t beat_bytes, std::span<const Field> fields);

  /// `values` of the fields hold for all of its beats. Transfers are told in the order in which they pass.
  void transfer(const Transfer& transfer, std::initializer_list<std::uint64_t> values);

  /// A beat of which it is not known yet when it will be taken. One at a time; the receiver is not ready until then.
  void offer(Time at, std::initializer_list<std::uint64_t> values);
  void take(Time at);

 private:
  struct Shown {
    Waves::Pin pin;
    std::uint64_t value = 0;
  };

  void show(std::int64_t edge, std::initializer_list<std::uint64_t> values);
  void hold_up(std::int64_t taken, std::int64_t edge, bool by_receiver);
  void show(std::int64_t edge, const Transfer& transfer, std::int64_t beat);

  Waves& waves_;
  ClockEdges edges_;
  Waves::Clock clock_;
  std::size_t beat_bytes_;
  Waves::Pin valid_;
  Waves::Pin ready_;
  Waves::Pin last_;
  Waves::Pin data_;
  std::vector<Shown> fields_;
  std::int64_t offered_ = 0;  ///< the edge from which a beat waits
  bool known_ = false;        ///< the data pins show something
  std::int64_t free_ = 0;     ///< the edge at which the latest beat leaves
};

}  // namespace weft
