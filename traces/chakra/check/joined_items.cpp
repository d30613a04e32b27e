// SPDX-License-Identifier: Apache-2.0
// The order that a run of the joined graph gives.
#include <algorithm>

#include "traces/chakra/check/joined_graph.h"
#include "traces/chakra/joined_order.h"

namespace weft::chakra {
namespace {

using Vertex = JoinedGraph::Vertex;
using Kind = JoinedGraph::Kind;
constexpr std::uint32_t kNone = JoinedOrder::kNone;

class Items {
 public:
  Items(const JoinedGraph& graph, const JoinedRun& run, const std::vector<std::uint32_t>& rank_of, std::uint32_t ranks)
      : graph_(graph),
        run_(run),
        rank_of_(rank_of),
        item_of_(graph.size(), kNone),
        has_ended_(graph.size()),
        unit_item_of_(graph.units(), kNone),
        list_of_(graph.units(), kNone) {
    order_.of_rank.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) order_.members.push_back({rank});
    collect_members();
  }

  /// Units of one group, up to `end`.
  void add_group(JoinedGraph::Unit first, JoinedGraph::Unit end) {
    std::vector<std::uint32_t> ranks;
    for (const Vertex vertex : graph_.members(first)) ranks.push_back(rank(vertex));
    std::fill(list_of_.begin() + first, list_of_.begin() + end, static_cast<std::uint32_t>(order_.members.size()));
    order_.members.push_back(std::move(ranks));
  }

  JoinedOrder finish() {
    for (const Vertex vertex : run_.order()) {
      if (item_of_[vertex] == kNone) add(vertex);
      has_ended_[vertex] = true;
    }
    for (auto& entries : order_.of_rank) {
      std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
    }
    return std::move(order_);
  }

 private:
  [[nodiscard]] std::uint32_t rank(Vertex vertex) const { return rank_of_[graph_.file_of(vertex)]; }
  [[nodiscard]] bool is_send(Vertex vertex) const { return graph_.members(graph_.unit_of(vertex)).front() == vertex; }

  /// Units have as many members in the run as they were joined with.
  void collect_members() {
    for (JoinedGraph::Unit unit = 0; unit < graph_.units(); ++unit) {
      begins_.push_back(members_.size());
      members_.resize(members_.size() + graph_.members(unit).size());
    }
    std::vector<std::size_t> next = begins_;
    for (Vertex vertex = 0; vertex < graph_.size(); ++vertex) {
      const JoinedGraph::Unit unit = run_.unit_of(vertex);
      if (unit != kNone) members_[next[unit]++] = vertex;
    }
  }

  [[nodiscard]] std::span<const Vertex> parts_of(JoinedGraph::Unit unit) const {
    return std::span(members_).subspan(begins_[unit], graph_.members(unit).size());
  }
  [[nodiscard]] bool has_begun(Vertex vertex) const {
    const auto before = graph_.before(vertex);
    return std::all_of(before.begin(), before.end(), [this](Vertex each) { return has_ended_[each]; });
  }
  [[nodiscard]] bool have_all_begun(JoinedGraph::Unit unit) const {
    const std::span<const Vertex> parts = parts_of(unit);
    return std::all_of(parts.begin(), parts.end(), [this](Vertex part) { return has_begun(part); });
  }

  /// A collective that ends on some ranks before it begins on others. To begin, it waits for what those wait for that
  /// have begun it.
  void open(JoinedGraph::Unit unit) {
    gather_before_begun(unit);
    unit_item_of_[unit] = add_item(list_of_[unit]);
    for (const Vertex part : parts_of(unit)) begin(part, unit_item_of_[unit]);
  }

  /// What comes behind it on a rank waits for what those wait for that have begun it by then.
  void add_part(Vertex vertex, JoinedGraph::Unit unit) {
    gather_before_begun(unit);
    item_of_[vertex] = before_.size() > 1 ? add_item(kNone) : before_.empty() ? kNone : before_.front();
  }

  void gather_before_begun(JoinedGraph::Unit unit) {
    before_.clear();
    for (const Vertex part : parts_of(unit)) {
      if (!has_begun(part)) continue;
      for (const Vertex each : graph_.before(part)) before_.push_back(item_of_[each]);
    }
    sort_before();
  }

  void sort_before() {
    std::sort(before_.begin(), before_.end());
    before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
    if (!before_.empty() && before_.back() == kNone) before_.pop_back();
  }

  /// Behind `before_`.
  JoinedOrder::Item add_item(std::uint32_t begun_by) {
    const auto item = static_cast<JoinedOrder::Item>(order_.begun_by.size());
    order_.begun_by.push_back(begun_by);
    order_.before.insert(order_.before.end(), before_.begin(), before_.end());
    order_.ends.push_back(order_.before.size());
    return item;
  }

  void begin(Vertex vertex, JoinedOrder::Item item) {
    order_.of_rank[rank(vertex)].push_back({graph_.id_of(vertex), item});
  }

  void add(Vertex vertex) {
    const JoinedGraph::Unit unit = run_.unit_of(vertex);
    const bool is_message = unit != kNone && graph_.kind_of(unit) == Kind::kMessage;
    const bool is_collective = unit != kNone && !is_message;
    if (is_collective && unit_item_of_[unit] == kNone && !have_all_begun(unit)) open(unit);
    if (is_collective && unit_item_of_[unit] != kNone) return add_part(vertex, unit);
    std::span<const Vertex> parts(&vertex, 1);
    if (is_collective) parts = parts_of(unit);
    before_.clear();
    for (const Vertex part : parts) {
      for (const Vertex each : graph_.before(part)) before_.push_back(item_of_[each]);
    }
    if (is_message && !is_send(vertex)) {
      const std::size_t begin = begins_[unit];
      before_.push_back(item_of_[members_[is_send(members_[begin]) ? begin : begin + 1]]);
    }
    sort_before();
    const bool is_begun = is_collective || (is_message && is_send(vertex));
    if (!is_begun && before_.size() < 2) {
      if (!before_.empty()) item_of_[vertex] = before_.front();
      return;
    }
    const JoinedOrder::Item item = add_item(is_collective ? list_of_[unit] : is_begun ? rank(vertex) : kNone);
    for (const Vertex part : parts) {
      item_of_[part] = item;
      if (is_begun) begin(part, item);
    }
  }

  const JoinedGraph& graph_;
  const JoinedRun& run_;
  const std::vector<std::uint32_t>& rank_of_;    ///< by file
  std::vector<JoinedOrder::Item> item_of_;       ///< by vertex
  std::vector<bool> has_ended_;                  ///< by vertex
  std::vector<JoinedOrder::Item> unit_item_of_;  ///< by unit, of those that end on some ranks before others begin
  std::vector<std::uint32_t> list_of_;           ///< by unit, among the order's members
  std::vector<std::size_t> begins_;              ///< by unit, of its members in the run
  std::vector<Vertex> members_;
  std::vector<JoinedOrder::Item> before_;
  JoinedOrder order_;
};

/// Whether each rank's own dependencies leave it one thing to begin at a time.
bool leaves_no_choice(const JoinedGraph& graph) {
  std::vector<Vertex> last;  // by file
  for (Vertex vertex = 0; vertex < graph.size(); ++vertex) {
    const JoinedGraph::Unit unit = graph.unit_of(vertex);
    if (unit == kNone || (graph.kind_of(unit) == Kind::kMessage && graph.members(unit).front() != vertex)) continue;
    const std::size_t file = graph.file_of(vertex);
    if (last.size() <= file) last.resize(file + 1, kNone);
    const auto before = graph.before(vertex);
    if (last[file] != kNone && !std::binary_search(before.begin(), before.end(), last[file])) return false;
    last[file] = vertex;
  }
  return true;
}

}  // namespace

std::shared_ptr<const JoinedOrder> RankMatcher::order_of(const JoinedRun& run) const {
  if (leaves_no_choice(*joined_)) return nullptr;
  std::vector<std::uint32_t> rank_of;
  for (const RankFile& file : files_.files) rank_of.push_back(*file.rank);
  Items items(*joined_, run, rank_of, ranks_);
  for (const JoinedGroup& group : joined_groups_) items.add_group(group.first, group.end());
  return std::make_shared<const JoinedOrder>(items.finish());
}

}  // namespace weft::chakra
