// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/core/quantity.h"
#include "hw/core/waves.h"

namespace weft::platforms {

/// Keeps what a WaveFile is told, and gives it part by part.
class WaveOrder {
 public:
  enum class What : std::uint32_t { kSet, kAdd, kBytes, kUnknown };
  struct Change {
    std::int64_t time;
    std::uint64_t value;  ///< or where the bytes are
    std::uint32_t pin;
    std::uint32_t count : 30;  ///< of bytes
    What what : 2;
  };
  struct Running {
    enum class What : std::uint8_t { kRun, kHold, kRelease };
    Time from;
    Time to;
    Waves::Clock clock;
    What what;

    /// Whether a clock runs at a time by this.
    [[nodiscard]] bool covers(Waves::Clock which, Time at) const {
      return what == What::kRun && clock.index == which.index && from <= at && at <= to;
    }
  };
  /// What lies before `until`, of which nothing more will be told.
  struct Part {
    std::vector<Change> changes = {};  ///< as they were told, or sorted
    std::vector<std::byte> bytes = {};
    std::vector<Running> clocks = {};  ///< all, as they were told
    Time until = Time();
    bool sorted = false;
  };

  void tell(Time at, Waves::Pin pin, What what, std::uint64_t value, std::size_t count = 0) {
    changes_.push_back(Change{at.count(), value, pin.index, static_cast<std::uint32_t>(count), what});
  }
  /// Without bytes they are unknown.
  void tell(Time at, Waves::Pin bus, const std::byte* bytes, std::size_t count);
  void tell(const Running& running);
  /// Whether enough was told to be taken: as much as waited then, so that nothing is looked at often.
  [[nodiscard]] bool full() const { return changes_.size() >= limit_; }
  /// Replaces `part`, and keeps what comes at `until` or later.
  void take(Time until, Part& part);

 private:
  static constexpr std::size_t kLeast = 1U << 14;

  std::vector<Change> changes_;
  std::vector<std::byte> bytes_;
  std::vector<Running> clocks_;
  std::size_t limit_ = kLeast;
};

/// Sorts a part's changes by time, those of one time by pin, and leaves those of one pin and time as they were told.
class WaveSort {
 public:
  void operator()(WaveOrder::Part& part);

 private:
  /// Of a change: 16 bytes that are sorted, where changes stay.
  struct Place {
    std::int64_t time;
    std::uint32_t pin;
    std::uint32_t told;
    bool operator<(const Place& other) const { return time != other.time ? time < other.time : rank() < other.rank(); }
    [[nodiscard]] std::uint64_t rank() const { return std::uint64_t{pin} << 32 | told; }
  };

  void sort();

  std::vector<Place> places_;
  std::vector<Place> spread_;
  std::vector<std::uint32_t> ends_;
  std::vector<WaveOrder::Change> sorted_;
};

}  // namespace weft::platforms
