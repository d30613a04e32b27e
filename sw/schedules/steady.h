// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"

namespace weft::schedules {

/// What repeats itself need not be simulated again and again.
struct SteadyConfig {
  double tolerance = 0;
  bool verify = false;

  [[nodiscard]] bool is_on() const { return tolerance > 0; }

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit(
        "tolerance", tolerance,
        R"(Steps, microbatches or blocks are left out once they repeat within this share of a period, such as 0.001 or "0.1%". Compared are the last two periods of the last rank, and the mean times that ranks waited; 0: all are simulated)",
        Range{0, 1});
    visit("verify", verify, "Simulate what would be left out, and report how far off the result would have been");
  }
};

/// Things that are done in the order of their numbers, but for those that are left out. A counter of them holds the
/// number of the last one done and one more.
class SparseOrder {
 public:
  /// From one number to before another; none is below those that were left out before.
  void leave_out(std::uint64_t from, std::uint64_t to);
  [[nodiscard]] bool is_left_out(std::uint64_t number) const { return find(number) != nullptr; }
  /// What the counter has reached when all before `number` are done but the last so many.
  [[nodiscard]] std::uint64_t reached_before(std::uint64_t number, std::uint64_t but = 0) const;

 private:
  struct Gap {
    std::uint64_t from;
    std::uint64_t to;
  };
  [[nodiscard]] const Gap* find(std::uint64_t number) const;

  std::vector<Gap> gaps_;  ///< ascending, none next to another
};

/// Equal pieces of work that ranks do one after the other, all in the same order: when each rank ended each piece, and
/// whether they have settled. Durations are compared over stretches of so many pieces.
class SteadyRow {
 public:
  /// Of a rank at the end of a piece.
  struct Sample {
    Time at;
    // Since the beginning.
    Time busy;
    std::vector<Time> waited;  ///< for one thing and another
  };
  /// Of the last two stretches, each from when the last rank ended a piece until the last one ended another. That one
  /// sets the pace: the others wait for it sooner or later.
  struct Periods {
    Time shortest;
    Time longest;
    double differ = 0;  ///< by which these differ, or the mean of what ranks waited: as a share of the longest
    Time drift;         ///< by which, in the last stretch, ranks drew apart or together: their mean against the last
  };

  explicit SteadyRow(std::size_t ranks) : ranks_(ranks) {}

  /// The rank has ended its next piece. Whether now all ranks have ended one more.
  bool end(std::size_t rank, Sample sample);
  /// Pieces that all ranks have ended.
  [[nodiscard]] std::size_t ended() const { return ended_; }
  /// Whether all ranks have ended as many pieces as periods() needs: two stretches behind a first piece.
  [[nodiscard]] bool has_periods(std::size_t length) const { return ended_ > 2 * length; }
  /// Up to the last piece that all ranks have ended.
  [[nodiscard]] Periods periods(std::size_t length) const;
  [[nodiscard]] Time mean_end_of(std::size_t piece) const;
  /// When the last rank ended the piece.
  [[nodiscard]] Time end_of(std::size_t piece) const;
  /// The sums over all ranks between the ends of two pieces.
  [[nodiscard]] Time busy(std::size_t from, std::size_t to) const;
  [[nodiscard]] std::vector<Time> waited(std::size_t from, std::size_t to) const;

 private:
  std::vector<std::vector<Sample>> ranks_;
  std::size_t ended_ = 0;
};

/// What a run has left out.
struct LeftOutPieces {
  const char* what = "";  ///< of the row's parts: "forward blocks"
  int step = 0;           ///< in which
  std::size_t row = 0;
  std::size_t of = 0;      ///< parts of the row
  std::size_t pieces = 0;  ///< parts that are left out
  Time time;               ///< that they are taken to last
  Time bound;              ///< by which that may be off, if periods go on to differ as they did
  Time off;                ///< by which it is, where it was simulated all the same
  // Sums over ranks, as SteadyRow's.
  Time busy;
  std::vector<Time> waited;
};

}  // namespace weft::schedules
