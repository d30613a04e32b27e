// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/graph/graph_rows.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <map>
#include <string>
#include <type_traits>
#include <variant>

#include "sw/workloads/phases.h"
#include "traces/chakra/ranks.h"
#include "traces/chakra/reader.h"

namespace weft::schedules {
namespace {

using chakra::Node;
using chakra::NodeType;
using workloads::Mark;
using workloads::Repeated;

/// Of patterns, such as blocks of which every second computes again.
constexpr int kLongestUnit = 8;
/// Of a row: three to compare, and something to leave out behind what has begun.
constexpr int kFewestPieces = 5;

void add_value(std::size_t& digest, const chakra::Value& value) {
  boost::hash_combine(digest, value.index());
  std::visit(
      [&digest](const auto& each) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(each)>, std::monostate>) boost::hash_combine(digest, each);
      },
      value);
}

/// Of all that says what a node does, but for its name and the tag of its message. Dependencies are apart.
std::size_t digest_of(const Node& node) {
  std::size_t digest = 0;
  boost::hash_combine(digest, static_cast<int>(node.type));
  boost::hash_combine(digest, node.duration_micros);
  for (const chakra::Attribute& attribute : node.attributes) {
    boost::hash_combine(digest, attribute.name);
    if (attribute.name != "comm_tag") add_value(digest, attribute.value);
  }
  return digest;
}

const char* name_of_pieces(Repeated what) {
  switch (what) {
    case Repeated::kSteps:
      return "steps";
    case Repeated::kMicrobatches:
      return "microbatches";
    case Repeated::kForwardBlocks:
      return "forward blocks";
    case Repeated::kBackwardBlocks:
      break;
  }
  return "backward blocks";
}

/// Pieces that are simulated where all goes well: those that are compared, and what has begun behind them.
int simulated_of(Repeated what) {
  return what == Repeated::kSteps ? 4 : 6;
}

}  // namespace

void RowFinder::node(std::size_t number, const Node& node) {
  if (ranks_.size() <= number) ranks_.resize(number + 1);
  Rank& rank = ranks_[number];
  if (node.id != rank.nodes++) rank.is_numbered = false;
  std::optional<std::size_t> digest;
  for (Kind& kind : rank.kinds) {
    if (!kind.open) continue;
    if (!digest) digest = digest_of(node);
    Part& part = kind.parts.back();
    boost::hash_combine(part.digest, *digest);
    for (const auto* dependencies : {&node.control_dependencies, &node.data_dependencies}) {
      boost::hash_combine(part.digest, dependencies->size());
      for (const std::uint64_t dependency : *dependencies) {
        // What comes later in the graph has no place in a row.
        if (dependency > node.id) rank.is_numbered = false;
        if (dependency >= part.begin) {
          boost::hash_combine(part.digest, node.id - dependency);
        } else {
          part.outer.push_back({node.id - part.begin, dependency});
        }
      }
    }
    part.end = rank.nodes;
    if (node.type == NodeType::kCompute) {
      part.computes = true;
      part.last_compute = node.id - part.begin;
    }
    if (node.type == NodeType::kCollective) ++part.collectives;
    if (node.type == NodeType::kReceive) ++part.receives;
    if (node.type == NodeType::kMemoryLoad || node.type == NodeType::kMemoryStore) ++part.transfers;
  }
}

void RowFinder::mark(std::size_t number, const Mark& mark) {
  if (ranks_.size() <= number) ranks_.resize(number + 1);
  Rank& rank = ranks_[number];
  if (mark.what == Repeated::kSteps && rank.nodes > 0) rank.step_ends.push_back(rank.nodes);
  Kind& kind = rank.kinds[static_cast<std::size_t>(mark.what)];
  kind.open = mark.begins;
  if (!mark.begins) return;
  Part part;
  part.mark = mark;
  part.begin = part.end = rank.nodes;
  kind.parts.push_back(part);
}

/// Dependencies of `other`, which is so many nodes behind, are as far back as this one's, or on the same node: such as
/// on parameters that are gathered once in a step.
bool RowFinder::Part::depends_like(const Part& other) const {
  const std::uint64_t behind = other.begin - begin;
  return std::equal(outer.begin(), outer.end(), other.outer.begin(), other.outer.end(),
                    [behind](const Outer& one, const Outer& two) {
                      return one.place == two.place && (one.on == two.on || one.on + behind == two.on);
                    });
}

/// How far back nodes depend on others that are another node in the part `next`.
std::uint64_t RowFinder::Part::reach(const Part& next) const {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    if (outer[i].on != next.outer[i].on) most = std::max(most, begin + outer[i].place - outer[i].on);
  }
  return most;
}

std::vector<RowFinder::Run> RowFinder::runs_of(const std::vector<Part>& parts) {
  const auto follows = [&](std::size_t one, std::size_t other) {
    return parts[other].mark.number == parts[other - 1].mark.number + 1 && parts[other].begin == parts[other - 1].end &&
           parts[one].digest == parts[other].digest && parts[one].computes && parts[one].depends_like(parts[other]) &&
           parts[one].end - parts[one].begin == parts[other].end - parts[other].begin;
  };
  std::vector<Run> runs;
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin + 1;
    for (int unit = 1; unit <= kLongestUnit; ++unit) {
      const auto apart = static_cast<std::size_t>(unit);
      std::size_t behind = begin + apart;
      while (behind < parts.size() && follows(behind - apart, behind)) ++behind;
      if (behind > parts.size() || behind - begin < kFewestPieces * apart) continue;
      runs.push_back({begin, behind, unit});
      end = behind;
      break;
    }
    begin = end;
  }
  return runs;
}

std::optional<GraphRow> RowFinder::row_on_all(Repeated what, std::int64_t first, std::int64_t behind, int unit) const {
  const auto kind = static_cast<std::size_t>(what);
  GraphRow row;
  row.what.pieces = static_cast<int>((behind - first) / unit);
  for (const Rank& rank : ranks_) {
    const std::vector<Part>& parts = rank.kinds[kind].parts;
    const auto part =
        std::find_if(parts.begin(), parts.end(), [first](const Part& each) { return each.mark.number == first; });
    if (part == parts.end()) return std::nullopt;
    RankPieces pieces;
    pieces.begin = part->begin;
    for (int i = 0; i < unit; ++i) {
      const Part& each = *(part + i);
      pieces.last = each.begin + each.last_compute - pieces.begin;
      pieces.length += each.end - each.begin;
      pieces.reach = std::max(pieces.reach, each.reach(*(part + i + unit)));
      pieces.collectives += each.collectives;
      pieces.receives += each.receives;
      pieces.transfers += each.transfers;
    }
    pieces.ends_graph = pieces.begin_of(row.what.pieces) == rank.nodes;
    pieces.tags = part->mark.tags * unit;
    const auto step_end = std::upper_bound(rank.step_ends.begin(), rank.step_ends.end(), pieces.begin);
    pieces.tagged = step_end != rank.step_ends.end() ? *step_end : rank.nodes;
    row.what.step = part->mark.step;
    row.what.far_apart = part->mark.tags != 0;
    // Nodes behind a gap depend on what is before it as they did on what is left out.
    row.what.fewest = std::max(row.what.fewest, static_cast<int>((pieces.reach + pieces.length - 1) / pieces.length));
    row.what.covers = part->mark.covers * unit;
    row.ranks.push_back(pieces);
  }
  row.what.what = name_of_pieces(what);
  return row;
}

std::vector<GraphRow> RowFinder::rows_of(Repeated what) const {
  const auto kind = static_cast<std::size_t>(what);
  struct Numbers {
    std::int64_t first;
    std::int64_t behind;
    int unit;
  };
  const auto numbers_of = [&](const Rank& rank) {
    std::vector<Numbers> numbers;
    const std::vector<Part>& parts = rank.kinds[kind].parts;
    for (const Run& run : runs_of(parts)) {
      numbers.push_back({parts[run.begin].mark.number, parts[run.end - 1].mark.number + 1, run.unit});
    }
    return numbers;
  };
  std::vector<Numbers> common = numbers_of(ranks_.front());
  for (std::size_t r = 1; r < ranks_.size() && !common.empty(); ++r) {
    const std::vector<Numbers> others = numbers_of(ranks_[r]);
    std::vector<Numbers> both;
    for (const Numbers& one : common) {
      for (const Numbers& other : others) {
        const Numbers cut{std::max(one.first, other.first), std::min(one.behind, other.behind), one.unit};
        if (one.unit == other.unit && cut.behind - cut.first >= std::int64_t{kFewestPieces} * cut.unit) {
          both.push_back(cut);
        }
      }
    }
    common = std::move(both);
  }
  std::vector<GraphRow> rows;
  for (const Numbers& each : common) {
    if (auto row = row_on_all(what, each.first, each.behind, each.unit)) rows.push_back(std::move(*row));
  }
  return rows;
}

GraphRows RowFinder::rows() const {
  GraphRows best;
  std::uint64_t all = 0;
  for (const Rank& rank : ranks_) {
    if (!rank.is_numbered) return best;
    all += rank.nodes;
  }
  if (all == 0) return best;
  const auto simulated = [&](const std::vector<GraphRow>& rows, int pieces) {
    std::uint64_t left_out = 0;
    for (const GraphRow& row : rows) {
      const int fewer = std::max(0, row.what.pieces - pieces);
      for (const RankPieces& rank : row.ranks) left_out += static_cast<std::uint64_t>(fewer) * rank.length;
    }
    return 1 - static_cast<double>(left_out) / static_cast<double>(all);
  };
  for (const auto& kinds : {std::vector{Repeated::kSteps}, std::vector{Repeated::kMicrobatches},
                            std::vector{Repeated::kForwardBlocks, Repeated::kBackwardBlocks}}) {
    std::vector<GraphRow> rows;
    for (const Repeated what : kinds) {
      for (GraphRow& row : rows_of(what)) rows.push_back(std::move(row));
    }
    // On all ranks in one order.
    std::sort(rows.begin(), rows.end(), [](const GraphRow& one, const GraphRow& other) {
      return one.ranks.front().begin < other.ranks.front().begin;
    });
    const double share = simulated(rows, simulated_of(kinds.front()));
    if (share < best.simulated) best = {std::move(rows), share};
  }
  return best;
}

GraphRows find_steps(const dimensions::Workload& traces, std::size_t ranks) {
  RowFinder finder;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    chakra::TraceReader reader(traces.shared ? traces.prefix : chakra::find_rank(traces.prefix, rank));
    std::optional<int> step;
    for (Node node; reader.next(node);) {
      const std::optional<int> of = workloads::step_of(node.name);
      if (of && of != step) {
        step = of;
        finder.mark(rank, {Repeated::kSteps, true, *of, *of});
      }
      finder.node(rank, node);
    }
    finder.mark(rank, {Repeated::kSteps, false});
  }
  return finder.rows();
}

}  // namespace weft::schedules
