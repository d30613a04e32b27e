// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sw/dimensions/workload.h"
#include "sw/schedules/leaving_out.h"
#include "sw/workloads/workload.h"

namespace weft::schedules {

/// A rank's part of a row of equal pieces: nodes whose ids follow each other, the same in each piece but for names, and
/// for ids and tags that are higher by as much in each.
struct RankPieces {
  std::uint64_t begin = 0;   ///< the first node of the first piece
  std::uint64_t length = 0;  ///< nodes of a piece
  std::uint64_t last = 0;    ///< the last compute node of a piece, from its beginning on
  std::uint64_t reach = 0;   ///< nodes depend on others that are no further back
  std::int64_t tags = 0;     ///< by which those of messages are higher in the next piece, and behind it up to `tagged`
  std::uint64_t tagged = 0;
  bool ends_graph = false;  ///< nothing comes behind the row
  // Of a piece.
  std::uint64_t collectives = 0;
  std::uint64_t receives = 0;
  std::uint64_t transfers = 0;

  [[nodiscard]] std::uint64_t begin_of(int piece) const { return begin + static_cast<std::uint64_t>(piece) * length; }
};

struct GraphRow {
  PiecesOfRow what;
  std::vector<RankPieces> ranks;
};

/// Rows of equal pieces of a run's graphs, those of one kind by which the most can be left out.
struct GraphRows {
  std::vector<GraphRow> rows;
  /// About which share of the nodes is simulated if pieces are left out.
  double simulated = 1;
};

/// Finds rows while graphs are written or read. Parts are alike where their nodes are, whatever their names.
class RowFinder final : public workloads::GraphReader {
 public:
  void node(std::size_t rank, const chakra::Node& node) override;
  void mark(std::size_t rank, const workloads::Mark& mark) override;

  /// All ranks have been seen.
  [[nodiscard]] GraphRows rows() const;

 private:
  /// That a node of a part depends on one before it.
  struct Outer {
    std::uint64_t place;  ///< of the node, in the part
    std::uint64_t on;
  };
  struct Part {
    workloads::Mark mark;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t digest = 0;
    std::uint64_t last_compute = 0;
    std::uint64_t collectives = 0;
    std::uint64_t receives = 0;
    std::uint64_t transfers = 0;
    bool computes = false;
    std::vector<Outer> outer;

    [[nodiscard]] bool depends_like(const Part& other) const;
    [[nodiscard]] std::uint64_t reach(const Part& next) const;
  };
  /// Parts from one to before another, each like the one `unit` before it.
  struct Run {
    std::size_t begin;
    std::size_t end;
    int unit;
  };
  struct Kind {
    std::vector<Part> parts;
    bool open = false;
  };
  struct Rank {
    std::array<Kind, workloads::kRepeated> kinds;
    std::uint64_t nodes = 0;
    bool is_numbered = true;  ///< ids are nodes' places in the graph
    std::vector<std::uint64_t> step_ends;
  };

  static std::vector<Run> runs_of(const std::vector<Part>& parts);
  [[nodiscard]] std::vector<GraphRow> rows_of(workloads::Repeated what) const;
  [[nodiscard]] std::optional<GraphRow> row_on_all(workloads::Repeated what, std::int64_t first, std::int64_t behind,
                                                   int unit) const;

  std::vector<Rank> ranks_;
};

/// Steps of graphs that have been read from files, whose nodes say in their names which step they are of.
GraphRows find_steps(const dimensions::Workload& traces, std::size_t ranks);

}  // namespace weft::schedules
