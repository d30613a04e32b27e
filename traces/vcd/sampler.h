// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
/// A signal is named as in Header::find, or with bits of it: "tb.dut.data[15:8]" or "tb.dut.valid[2]", by the numbers
/// of its declaration. So are clock and reset. In $dumpoff everything is x. Throws traces::FormatError, also of a
/// signal or bits that the file does not have.
class Sampler {
 public:
  Sampler(std::string file, const Sampling& sampling, const std::vector<std::string>& signals);

  /// False at the end.
  bool next();

  [[nodiscard]] std::uint64_t time() const { return edge_time_; }
  [[nodiscard]] std::uint64_t cycle() const { return cycles_ - 1; }  ///< from 0, without those in reset
  /// With all bits; reals and strings as the file writes them. Lasts until next().
  [[nodiscard]] std::string_view value(std::size_t signal) const { return before(signals_[signal]); }
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }
  [[nodiscard]] const Reader& reader() const { return reader_; }

 private:
  /// What is followed of a net.
  struct Watched {
    std::string now;
    std::string before;
    std::uint64_t changed = 0;
    bool has_changed = false;
  };

  /// A signal, or some of its bits.
  struct Place {
    std::size_t watched = 0;
    std::size_t from = 0;  ///< of the bits as text, the leftmost
    std::size_t length = std::string::npos;
  };

  Place watch(const Signal& signal);
  void apply(const Change& change);
  /// What was there before the current time, and what is there now.
  [[nodiscard]] std::string_view before(const Place& place) const;
  [[nodiscard]] std::string_view now(const Place& place) const {
    return std::string_view(watched_[place.watched].now).substr(place.from, place.length);
  }

  Reader reader_;
  std::vector<std::uint32_t> watched_of_net_;  ///< 1 + index, 0 where it is not followed
  std::vector<Watched> watched_;
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
