// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
        "Blocks of a pass are left out once they repeat: on all ranks the last periods and their exposed times differ "
        "by no more than this share of a period, such as 0.001 or \"0.1%\"; 0: all are simulated",
        Range{0, 1});
    visit("verify", verify, "Simulate what would be left out, and tell how far off it would have been");
  }
};

/// Equal pieces of work that ranks do one after the other, all in the same order: when each rank ended each piece, and
/// whether they have settled. Durations are compared over stretches of so many pieces, since buffers are used in turn.
class SteadyRow {
 public:
  /// Of a rank at the end of a piece.
  struct Sample {
    Time at;
    std::vector<Time> parts;  ///< that add up since the beginning, such as the time for which it stood waiting
  };
  /// Of the last two stretches: from when the last rank ended a piece, and from the mean of when all did. Where these
  /// are the same, ranks no longer draw apart or together; how far they are apart differs from piece to piece.
  struct Periods {
    Time shortest;
    Time longest;
    double differ = 0;  ///< by which these differ, or the mean of a part between the two: as a share of the longest
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
  /// What was added to a part of all ranks between the ends of two pieces.
  [[nodiscard]] Time added(std::size_t part, std::size_t from, std::size_t to) const;
  [[nodiscard]] std::size_t parts() const { return ranks_.front().front().parts.size(); }

 private:
  std::vector<std::vector<Sample>> ranks_;
  std::size_t ended_ = 0;
};

/// What a run has left out.
struct LeftOutPieces {
  const char* what = "";  ///< "forward"
  int step = 0;           ///< in which
  std::size_t row = 0;    ///< of the step
  std::size_t of = 0;     ///< pieces of the row
  std::size_t pieces = 0;
  Time time;                ///< that they are taken to last
  Time bound;               ///< by which that may be off, if periods go on to differ as they did
  Time off;                 ///< by which it is, where it was simulated all the same
  std::vector<Time> parts;  ///< sums over ranks
};

}  // namespace weft::schedules
