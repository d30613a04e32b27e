// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hw/core/waves.h"
#include "traces/vcd/writer.h"

namespace weft::platforms {

/// The clocks of a WaveFile: when they have to run, and their edges in the order of time. Most of a file are these.
class WaveClocks {
 public:
  explicit WaveClocks(vcd::Writer& writer) : writer_(writer) {}

  Waves::Clock add(Frequency frequency, vcd::Writer::Id id);
  [[nodiscard]] std::optional<Waves::Clock> find(Frequency frequency) const;
  [[nodiscard]] vcd::Writer::Id id(Waves::Clock clock) const { return clocks_[clock.index].id; }

  void run(Waves::Clock clock, Time from, Time to) { run(clocks_[clock.index], from.count(), to.count()); }
  void hold(Waves::Clock clock, Time from);
  void release(Waves::Clock clock, Time to);
  /// The last time at which one has to run, of those that nobody holds.
  [[nodiscard]] Time end() const;

  /// Nothing will be told any more of what lies before `until`: up to there edges may be written,
  void begin(Time until);
  void write(Time until) {
    if (next_ < until.count()) write_edges(until.count());
  }
  /// and now they are.
  void forget(Time until);

 private:
  struct Span {
    std::int64_t from;
    std::int64_t to;
  };
  struct Oscillator {
    Frequency frequency;
    ClockEdges edges;
    std::int64_t cycle;      ///< its whole picoseconds,
    std::int64_t remainder;  ///< and the rest in parts of one, of which 1 / frequency is one
    vcd::Writer::Id id;
    std::vector<Span> spans = {};  ///< in which it runs, in order and apart from each other; not those written
    int holders = 0;
    std::int64_t held_from = 0;
    std::int64_t rise = 0;   ///< the first rising edge that is not written; a file begins with a clock that is low
    std::int64_t early = 0;  ///< what was cut off to make it whole
    bool high = false;
    std::size_t at = 0;            ///< of the spans
    std::int64_t due = INT64_MAX;  ///< when it changes next
  };

  static void run(Oscillator& clock, std::int64_t from, std::int64_t to);
  static void seek(Oscillator& clock, std::int64_t edge);
  static void step(Oscillator& clock);
  void schedule(Oscillator& clock) const;
  void write_edges(std::int64_t until);
  void run_alone(Oscillator& clock, std::int64_t until);

  vcd::Writer& writer_;
  std::vector<Oscillator> clocks_;
  std::int64_t next_ = INT64_MAX;  ///< when the first of them changes
  std::int64_t until_ = 0;         ///< edges before it may be written
};

}  // namespace weft::platforms
