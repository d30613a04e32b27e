// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/graph/graph_steady.h"

#include <algorithm>
#include <utility>

namespace weft::schedules {
namespace {

std::vector<PiecesOfRow> pieces_of(const GraphRows& rows) {
  std::vector<PiecesOfRow> pieces;
  for (const GraphRow& row : rows.rows) pieces.push_back(row.what);
  return pieces;
}

}  // namespace

GraphSteady::GraphSteady(const SteadyConfig& config, GraphRows rows, std::vector<Rank> ranks, LeavingOut::Hooks hooks)
    : rows_(std::move(rows)),
      ranks_(std::move(ranks)),
      at_(ranks_.size()),
      out_(rows_.rows.size(), LeavingOut::Range{0, 0}),
      leaving_out_(config, pieces_of(rows_), ranks_.size(),
                   {[this](std::size_t row, int from) { return free(row, from); },
                    [this](std::size_t row, LeavingOut::Range range) { leave_out(row, range); }},
                   {hooks.ended, [this, left_out = hooks.left_out](std::size_t from, std::size_t to, int times) {
                      add_tally(from, to, times);
                      left_out(from, to, times);
                    }}) {
  // No further than what can be ready by then, so that much is left out: what does not wait for the compute node before
  // it waits for one that is no further back than that.
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    std::uint64_t ahead = 0;
    for (const GraphRow& row : rows_.rows) ahead = std::max(ahead, row.ranks[r].reach);
    constexpr std::uint64_t kBeside = 64;  // under way, of earlier pieces
    ranks_[r].window->set_read_ahead(std::min(chakra::TraceWindow::kReadAhead, ahead + kBeside));
  }
}

void GraphSteady::ended(std::size_t rank, std::uint64_t node) {
  At& at = at_[rank];
  go_on(rank);
  if (at.row == rows_.rows.size()) return;
  const RankPieces& pieces = rows_.rows[at.row].ranks[rank];
  if (node != pieces.begin_of(at.piece) + pieces.last) return;
  const int piece = at.piece++;
  if (rank == 0) keep_tally(first_mark_ + static_cast<std::size_t>(piece));
  leaving_out_.ended(at.row, piece, rank, ranks_[rank].sample());
}

void GraphSteady::go_on(std::size_t rank) {
  At& at = at_[rank];
  if (at.row == rows_.rows.size()) return;
  if (const LeavingOut::Range& out = out_[at.row]; out.from < out.to && at.piece == out.from) at.piece = out.to;
  const int pieces = rows_.rows[at.row].what.pieces;
  if (at.piece < pieces) return;
  if (rank == 0) first_mark_ += static_cast<std::size_t>(pieces);
  ++at.row;
  at.piece = 0;
}

LeavingOut::Range GraphSteady::free(std::size_t number, int from) const {
  const GraphRow& row = rows_.rows[number];
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::uint64_t read = ranks_[r].window->read();
    while (from < row.what.pieces && row.ranks[r].begin_of(from) < read) ++from;
  }
  return {from, row.what.pieces};
}

void GraphSteady::leave_out(std::size_t number, LeavingOut::Range range) {
  const GraphRow& row = rows_.rows[number];
  const auto count = static_cast<std::uint64_t>(range.to - range.from);
  out_[number] = range;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const RankPieces& pieces = row.ranks[r];
    const std::uint64_t to = pieces.begin_of(range.to);
    ranks_[r].window->leave_out({pieces.begin_of(range.from), to, pieces.length, pieces.reach});
    At& at = at_[r];
    at.behind.push_back({to, pieces.tagged, {count * pieces.length, pieces.tags * static_cast<std::int64_t>(count)}});
    at.counts.nodes += count * pieces.length;
    at.counts.collectives += count * pieces.collectives;
    at.counts.receives += count * pieces.receives;
    at.counts.transfers += count * pieces.transfers;
  }
}

GraphSteady::Lower GraphSteady::lower(std::size_t rank, std::uint64_t node) const {
  Lower sum;
  for (const Behind& each : at_[rank].behind) {
    if (node < each.from) break;
    sum.node += each.lower.node;
    if (node < each.tagged) sum.tag += each.lower.tag;
  }
  return sum;
}

void GraphSteady::keep_tally(std::size_t mark) {
  constexpr std::size_t kKept = 64;
  tallies_[mark] = *ranks_.front().tally;
  if (tallies_.size() > kKept) tallies_.erase(tallies_.begin());
}

void GraphSteady::add_tally(std::size_t from, std::size_t to, int times) {
  const auto before = tallies_.find(from);
  const auto behind = tallies_.find(to);
  if (before != tallies_.end() && behind != tallies_.end()) tally_.add(before->second, behind->second, times);
}

}  // namespace weft::schedules
