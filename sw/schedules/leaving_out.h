// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "hw/core/probe.h"
#include "sw/schedules/steady.h"

namespace weft::schedules {

/// A row of equal pieces that a schedule does: what it leaves to LeavingOut.
struct PiecesOfRow {
  const char* what = "";  ///< of one piece's parts: "forward blocks"
  int step = 0;
  int pieces = 0;
  int unit = 1;    ///< pieces after which the row repeats itself
  int covers = 1;  ///< parts that a piece is: microbatches of a cycle
  /// Ranks may be several pieces apart, as stages of a pipeline are. Else each waits in a piece for what others give.
  bool far_apart = false;
  int fewest = 1;  ///< pieces that can be left out together
};

/// Finds pieces that need not be simulated. When all ranks have ended two stretches of a row of equal pieces that
/// differ by no more than the tolerance, those pieces that no rank has begun are left out. What they would have taken
/// and counted is what the last stretch before them did, so many times.
///
/// A schedule gives its rows, in the order in which they end, and says when a rank has ended a piece.
class LeavingOut {
 public:
  /// Who counts what the machine does: `ended` is called with rising marks, and `left_out` says that what was counted
  /// between two of the last 16 comes so many times more.
  struct Hooks {
    std::function<void(std::size_t mark)> ended;
    std::function<void(std::size_t from, std::size_t to, int times)> left_out;
  };
  /// Pieces from one to before another.
  struct Range {
    int from;
    int to;
  };
  /// Who knows what ranks have begun, and leaves pieces out.
  struct Schedule {
    /// Of the pieces of a row from `from` on, those that can be left out: no rank has begun one, nor waits for it.
    std::function<Range(std::size_t row, int from)> free;
    std::function<void(std::size_t row, Range range)> leave_out;
  };

  LeavingOut(const SteadyConfig& config, std::vector<PiecesOfRow> rows, std::size_t ranks, Schedule schedule,
             Hooks hooks);

  void record(Probe& probe);

  /// A rank has ended its next piece of a row; `piece` is its number.
  void ended(std::size_t row, int piece, std::size_t rank, SteadyRow::Sample sample);

  [[nodiscard]] const std::vector<LeftOutPieces>& left_out() const { return left_out_; }
  /// Of a step; nothing where all is simulated to verify it.
  [[nodiscard]] Time time_of(int step) const;
  /// Of all steps.
  [[nodiscard]] Time time() const;
  [[nodiscard]] bool verifies() const { return config_.verify; }

 private:
  struct Row {
    explicit Row(std::size_t ranks) : times(ranks) {}
    SteadyRow times;
    std::size_t stretch = 0;  ///< pieces in which it repeats itself; 0 until it does
    Range out{0, 0};          ///< what is left out; nothing if these are equal
  };

  [[nodiscard]] std::size_t settled_stretch(const PiecesOfRow& of, const Row& row) const;
  void decide(std::size_t number, int piece, Row& row);
  void account(std::size_t number, int piece, const Row& row);
  /// By which so many stretches behind a piece may take another time than those before it.
  [[nodiscard]] Time bound(const PiecesOfRow& of, const Row& row, std::size_t last, int times) const;
  void verify(std::size_t number, const Row& row);

  SteadyConfig config_;
  std::vector<PiecesOfRow> all_;
  std::vector<std::size_t> marks_;  ///< of the first piece of each
  std::size_t ranks_;
  Schedule schedule_;
  Hooks hooks_;
  Probe* probe_ = nullptr;
  int track_ = 0;
  std::map<std::size_t, Row> rows_;
  std::vector<LeftOutPieces> left_out_;
};

}  // namespace weft::schedules
