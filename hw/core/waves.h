// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hw/core/quantity.h"

namespace weft {

/// Where modules tell what the pins of their interfaces would show, for waveforms. A module keeps a pointer that is
/// null when nobody records, so that not recording costs a test.
///
/// Models run ahead of the SystemC kernel, and know of what will happen: changes may be told in any order, and may lie
/// ahead of the dispatcher's now(), but never before it. Pins and clocks are declared before the run. Names are levels
/// joined by dots, as of SystemC.
class Waves {
 public:
  struct Pin {
    std::uint32_t index = 0;
  };
  struct Clock {
    std::uint32_t index = 0;
  };

  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;
  virtual ~Waves() = default;

  /// Whether anybody wants the pins in `scope`. A module asks once for each scope that it could record.
  virtual bool wants(const std::string& scope) = 0;

  /// A pin of up to 64 bits, 0 until it is told otherwise.
  virtual Pin pin(const std::string& name, int width = 1) = 0;
  /// A bus of bytes, unknown until it is told otherwise.
  virtual Pin bus(const std::string& name, std::size_t bytes) = 0;
  /// A clock with a rising edge at each whole cycle (ClockEdges) of its running.
  virtual Clock clock(const std::string& name, Frequency frequency) = 0;

  virtual void set(Time at, Pin pin, std::uint64_t value) = 0;
  /// Adds to what the pin shows then.
  virtual void add(Time at, Pin pin, std::int64_t difference) = 0;
  /// The first byte is the least significant. The bytes are copied; those that are missing at the top are 0. Null: they
  /// are unknown.
  virtual void set_bytes(Time at, Pin bus, const std::byte* bytes, std::size_t count) = 0;

  /// The clock runs from one time to another at least, both included.
  virtual void run(Clock clock, Time from, Time to) = 0;
  /// It runs from now until `release`; counts.
  virtual void hold(Clock clock, Time from) = 0;
  virtual void release(Clock clock, Time to) = 0;

 protected:
  Waves() = default;
};

/// The rising edges of a clock: number k at k cycles after time 0, rounded to the nearest picosecond.
class ClockEdges {
 public:
  constexpr explicit ClockEdges(Frequency frequency)
      : frequency_(frequency), period_(kSecond % frequency.count() == 0 ? kSecond / frequency.count() : 0) {}

  [[nodiscard]] constexpr Time at(std::int64_t edge) const {
    return period_ != 0 ? Time(edge * period_) : cycle_time(edge, frequency_);
  }
  /// The first one that is not before `time`.
  [[nodiscard]] constexpr std::int64_t from(Time time) const {
    if (period_ != 0) return (time.count() + period_ - 1) / period_;
    const auto product = static_cast<__int128>(time.count()) * frequency_.count();
    auto edge = static_cast<std::int64_t>(product / kSecond);
    while (at(edge) < time) ++edge;
    while (edge > 0 && at(edge - 1) >= time) --edge;
    return edge;
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000'000;

  Frequency frequency_;
  std::int64_t period_;  ///< 0 if it is not whole picoseconds
};

}  // namespace weft
