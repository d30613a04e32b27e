// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/vcd/names.h"
#include "traces/vcd/reader.h"

namespace weft::vcd {

/// When values are looked at: at the rising edges of a clock while no reset is active.
struct Sampling {
  std::string clock;
  std::string reset;  ///< none if empty
  bool reset_low = false;
};

/// The values of chosen signals at each rising edge, as a flip-flop takes them: what they were just before the edge,
/// whatever changes with it. An edge goes from 0, x or z to 1, once the clock was 0. While reset is active, or is x or
/// z, edges do not count.
///
/// $dumpoff makes everything x, and $dumpon says again what values are by then (IEEE 1800-2017 sections 21.7.2.3 and
/// 21.7.3): that is no event of the design, so that what $dumpon says counts as having been there just before. A clock
/// that it says to be 1 has no edge there, and an edge at the same time behind it sees these values. A clock that is 1
/// in $dumpall and was 0 has risen.
///
/// Signals, clock and reset are named as in Names. Throws traces::FormatError, also of a
/// signal or bits that the file does not have, and of values that a signal of its kind cannot have.
class Sampler {
 public:
  Sampler(std::string file, const Sampling& sampling, const std::vector<std::string>& signals)
      : Sampler(Reader(std::move(file)), sampling, signals) {}
  /// Of a file of which only the declarations were read.
  Sampler(Reader reader, const Sampling& sampling, const std::vector<std::string>& signals);

  /// False at the end.
  bool next();

  [[nodiscard]] std::uint64_t time() const { return edge_time_; }
  [[nodiscard]] std::uint64_t cycle() const { return cycles_ - 1; }  ///< from 0, without those in reset
  /// With all bits; a real as the shortest text of its number, strings as the file writes them. Lasts until next().
  [[nodiscard]] std::string_view value(std::size_t signal) const { return before(signals_[signal]); }
  /// Its rightmost bit; x of what has no value.
  [[nodiscard]] char bit(std::size_t signal) const { return last_of(value(signal)); }
  /// Throws FormatError if the signal, which is used as `what`, has more or fewer than one bit.
  void require_bit(std::size_t signal, std::string_view what) const { require_bit(signals_[signal], what); }
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }
  [[nodiscard]] const Reader& reader() const { return reader_; }

 private:
  static constexpr std::size_t kAll = std::string::npos;

  /// A signal that is followed, or bits of one that the file has in parts.
  struct Watched {
    std::string now;
    std::string before;
    std::uint64_t changed = 0;
    bool has_changed = false;
    const Signal* signal = nullptr;
  };
  /// Where a change of a net goes.
  struct Target {
    std::size_t watched = 0;
    std::size_t at = kAll;  ///< the character of `now` that is the part's first, or all of it
    std::size_t part_from = 0;
    std::size_t part_length = 0;  ///< of the net's bits those that are followed
    std::size_t next = 0;         ///< 1 + the next target of the net, or 0
  };

  /// A signal, or some of its bits.
  struct Place {
    std::size_t watched = 0;
    std::size_t from = 0;  ///< of the bits as text, the leftmost
    std::size_t length = kAll;
  };

  void require_bit(const Place& place, std::string_view what) const;
  Place watch(const Selection& selection);
  std::size_t watch_net(const Signal& signal);
  std::size_t watch_parts(const Selection& selection);
  void add_target(std::uint32_t net, const Target& target);
  void apply(const Change& change);
  void put(const Change& change, const Target& target);
  void check(const Change& change, const Signal& signal) const;
  static char last_of(std::string_view value) { return value.empty() ? 'x' : value.back(); }
  /// What was there before the current time, and what is there now.
  [[nodiscard]] std::string_view before(const Place& place) const;
  [[nodiscard]] std::string_view now(const Place& place) const {
    return std::string_view(watched_[place.watched].now).substr(place.from, place.length);
  }

  Reader reader_;
  std::vector<std::uint32_t> target_of_net_;  ///< 1 + index of the first, 0 where it is not followed
  std::vector<Target> targets_;
  std::vector<Watched> watched_;
  std::string part_;
  Place clock_;
  std::optional<Place> reset_;
  bool reset_low_ = false;
  bool seen_low_ = false;
  std::vector<Place> signals_;

  std::optional<Change> pending_;  ///< the first change after the current time
  std::string pending_value_;
  std::uint64_t now_ = 0;
  std::uint64_t edge_time_ = 0;
  std::uint64_t cycles_ = 0;
};

}  // namespace weft::vcd
