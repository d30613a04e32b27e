// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sw/collectives/tally.h"
#include "sw/schedules/graph/graph_rows.h"
#include "sw/schedules/leaving_out.h"
#include "traces/chakra/window.h"

namespace weft::schedules {

/// Pieces of ranks' graphs that need not be executed, since they repeat (LeavingOut). They are taken out of what ranks
/// have not read: of all ranks as many, so that what remains is the graphs of fewer pieces.
class GraphSteady {
 public:
  struct Rank {
    chakra::TraceWindow* window;
    const collectives::CollectiveTally* tally;
    std::function<SteadyRow::Sample()> sample;
  };

  GraphSteady(const SteadyConfig& config, GraphRows rows, std::vector<Rank> ranks, LeavingOut::Hooks hooks);

  void record(Probe& probe) { leaving_out_.record(probe); }

  /// A compute node of the rank's own graph has ended.
  void ended(std::size_t rank, std::uint64_t node);
  /// By how much a node of the rank is lower in the graphs of fewer pieces: its number, and the tag of its message.
  struct Lower {
    std::uint64_t node = 0;
    std::int64_t tag = 0;
  };
  [[nodiscard]] Lower lower(std::size_t rank, std::uint64_t node) const;

  /// What a rank's pieces that are left out would have done.
  struct Counts {
    std::uint64_t nodes = 0;
    std::uint64_t collectives = 0;
    std::uint64_t receives = 0;
    std::uint64_t transfers = 0;
  };
  [[nodiscard]] const Counts& counts(std::size_t rank) const { return at_[rank].counts; }
  /// The collectives of rank 0 among it.
  [[nodiscard]] const collectives::CollectiveTally& tally() const { return tally_; }
  [[nodiscard]] const LeavingOut& rows() const { return leaving_out_; }

 private:
  /// Nodes behind what is left out.
  struct Behind {
    std::uint64_t from;
    std::uint64_t tagged;  ///< the first one whose tag is as its graph has it
    Lower lower;
  };
  struct At {
    std::size_t row = 0;
    int piece = 0;  ///< that it ends next
    Counts counts;
    std::vector<Behind> behind;  ///< ascending
  };

  /// To the piece that the rank ends next.
  void go_on(std::size_t rank);
  [[nodiscard]] LeavingOut::Range free(std::size_t row, int from) const;
  void leave_out(std::size_t row, LeavingOut::Range range);
  void keep_tally(std::size_t mark);
  void add_tally(std::size_t from, std::size_t to, int times);

  GraphRows rows_;
  std::vector<Rank> ranks_;
  std::vector<At> at_;
  std::vector<LeavingOut::Range> out_;  ///< by row
  collectives::CollectiveTally tally_;
  std::map<std::size_t, collectives::CollectiveTally> tallies_;  ///< of rank 0, by mark, the latest
  std::size_t first_mark_ = 0;                                   ///< of the row that rank 0 is in
  LeavingOut leaving_out_;
};

}  // namespace weft::schedules
