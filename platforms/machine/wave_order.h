// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/core/quantity.h"
#include "platforms/machine/wave_clocks.h"
#include "traces/vcd/writer.h"

namespace weft::platforms {

/// Puts what a WaveFile was told in the order of time, and writes it.
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
  /// In the order in which it was told. Of what lies before `until` nothing more will be.
  struct Told {
    std::vector<Change> changes = {};
    std::vector<std::byte> bytes = {};
    std::vector<Running> clocks = {};
    Time until = Time();
    std::size_t limit = kLeast;  ///< how many changes it should take: as many as wait, so that none is looked at often
  };

  explicit WaveOrder(vcd::Writer& writer) : writer_(writer), clocks_(writer) {}

  /// Of the next pin.
  void add(vcd::Writer::Id id) { nets_.push_back({id}); }
  [[nodiscard]] std::size_t pins() const { return nets_.size(); }
  [[nodiscard]] WaveClocks& clocks() { return clocks_; }

  /// Writes everything before `told.until`, keeps the rest, and leaves `told` empty. Of several changes of one pin at a
  /// time the last one told counts.
  void write(Told& told);
  /// Writes all that was kept, and what clocks have to run until `end` at least.
  void finish(Time end);

 private:
  static constexpr std::size_t kLeast = 1U << 14;

  struct Net {
    vcd::Writer::Id id;
    std::uint64_t value = 0;
  };
  /// Of a change that is due: 16 bytes that are sorted, where changes stay.
  struct Place {
    std::int64_t time;
    std::uint32_t pin;
    std::uint32_t told;
    bool operator<(const Place& other) const { return time != other.time ? time < other.time : rank() < other.rank(); }
    [[nodiscard]] std::uint64_t rank() const { return std::uint64_t{pin} << 32 | told; }
  };
  /// Changes that wait for their time, and the bytes of theirs.
  struct Waiting {
    std::vector<Change> changes;
    std::vector<std::byte> bytes;
  };

  void run_clocks(const std::vector<Running>& clocks);
  void sort_out(const std::vector<Change>& changes, const std::vector<std::byte>& bytes, std::int64_t until);
  void sort();
  void write(const Change& change, const std::vector<std::byte>& bytes);

  vcd::Writer& writer_;
  WaveClocks clocks_;
  std::vector<Net> nets_;
  Waiting waiting_;
  Waiting later_;
  std::vector<Place> due_;
  std::vector<Place> sorted_;
  std::vector<std::uint32_t> ends_;
};

}  // namespace weft::platforms
