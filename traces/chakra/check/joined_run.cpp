// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <utility>

#include "traces/chakra/check/joined_graph.h"

namespace weft::chakra {

JoinedRun::JoinedRun(const JoinedGraph& graph, Rules rules)
    : graph_(graph), rules_(rules), waits_for_(graph.size()), states_(graph.size()), arrived_(graph.units()) {
  const auto size = static_cast<Vertex>(graph.size());
  ends_.resize(size);
  for (Vertex vertex = 0; vertex < size; ++vertex) {
    for (const Vertex before : graph.before(vertex)) ++ends_[before];
  }
  for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
  behind_.resize(ends_.empty() ? 0 : ends_.back());
  // From behind, so that what comes first stands first: each end becomes a beginning, and the next one's is its end.
  for (Vertex vertex = size; vertex-- > 0;) {
    for (const Vertex before : graph.before(vertex)) behind_[--ends_[before]] = vertex;
  }
  ends_.push_back(behind_.size());
  if (rules_.as_begun || rules_.rooted == Rooted::kReached) arrivals_.resize(graph.units());
  if (rules_.rooted == Rooted::kReached) roots_begun_.resize(graph.units());
  if (rules_.as_begun) taken_.assign(size, JoinedGraph::kNone);
  order_.reserve(size);
  for (Vertex vertex = 0; vertex < size; ++vertex) {
    waits_for_[vertex] = static_cast<std::uint32_t>(graph.before(vertex).size());
    if (waits_for_[vertex] == 0) make_ready(vertex);
  }
  go_on();
}

void JoinedRun::go_on() {
  while (next_ready_ < ready_.size()) begin(ready_[next_ready_++]);
}

bool JoinedRun::takes_turns(Vertex vertex) const {
  const Unit unit = graph_.unit_of(vertex);
  if (!rules_.one_at_a_time || unit == JoinedGraph::kNone) return false;
  return graph_.kind_of(unit) != JoinedGraph::Kind::kMessage || graph_.members(unit).front() == vertex;
}

void JoinedRun::make_ready(Vertex vertex) {
  if (takes_turns(vertex)) {
    const std::size_t file = graph_.file_of(vertex);
    if (turns_.size() <= file) turns_.resize(file + 1);
    Turns& turns = turns_[file];
    if (turns.busy) {
      turns.waiting.emplace_back(graph_.id_of(vertex), vertex);
      std::push_heap(turns.waiting.begin(), turns.waiting.end(), std::greater<>());
      return;
    }
    turns.busy = true;
  }
  ready_.push_back(vertex);
}

JoinedRun::Unit JoinedRun::take(Vertex vertex) {
  const Unit unit = graph_.unit_of(vertex);
  if (!rules_.as_begun) return unit;
  const Unit like = graph_.like(unit);
  Unit& next = next_.try_emplace(std::uint64_t{graph_.file_of(vertex)} << 32 | like, like).first->second;
  taken_[vertex] = next;
  return std::exchange(next, graph_.next_alike(next));
}

void JoinedRun::begin(Vertex vertex) {
  states_[vertex] = State::kBegun;
  const Unit joined = graph_.unit_of(vertex);
  if (joined < rules_.first || joined >= rules_.end) return end(vertex);
  const Unit unit = take(vertex);
  if (goes_by_needs(unit)) return meet(unit, vertex);
  if (!graph_.has_root(unit) || rules_.rooted == Rooted::kJoined) return arrive(unit, vertex);
  rules_.rooted == Rooted::kReached ? reach(unit, vertex) : end(vertex);
}

/// Of a BROADCAST and SCATTER others have nothing before the root, and it gives to somebody; the other way round a
/// root has all only when all have begun.
void JoinedRun::reach(Unit unit, Vertex vertex) {
  const std::size_t root = graph_.file_of(graph_.root(unit));
  if (graph_.file_of(vertex) == root) roots_begun_[unit] = true;
  const std::size_t members = graph_.members(unit).size();
  const std::uint32_t arrived = ++arrived_[unit];
  const bool has_other = members == 1 || arrived > 1;
  const auto waits = [&](Vertex each) {
    const bool is_root = graph_.file_of(each) == root;
    if (graph_.kind_of(unit) == JoinedGraph::Kind::kFromRoot) return is_root ? !has_other : !roots_begun_[unit];
    return is_root ? arrived < members : !has_other;
  };
  std::vector<Vertex>& here = arrivals_[unit];
  // Others wait for the root, for a second one, or for all.
  const bool tells_others = graph_.file_of(vertex) == root || arrived == 2 || arrived == members;
  if (!tells_others && !waits(vertex)) return end(vertex);
  here.push_back(vertex);
  if (!tells_others) return;
  const auto ended = std::stable_partition(here.begin(), here.end(), waits);
  for (auto each = ended; each != here.end(); ++each) {
    if (states_[*each] == State::kBegun) end(*each);
  }
  here.erase(ended, here.end());
}

/// Units that are alike have members of the same files. These come in the order of their files.
std::uint32_t JoinedRun::place_of(Vertex vertex) const {
  const std::span<const Vertex> members = graph_.members(graph_.unit_of(vertex));
  return static_cast<std::uint32_t>(std::lower_bound(members.begin(), members.end(), vertex) - members.begin());
}

void JoinedRun::meet(Unit unit, Vertex vertex) {
  const Needs& needs = *graph_.needs(unit);
  Needs& needed_by = needed_by_[&needs];
  if (needed_by.empty()) {
    needed_by.resize(needs.size());
    for (std::uint32_t place = 0; place < needs.size(); ++place) {
      for (const std::uint32_t needed : needs[place]) needed_by[needed].push_back(place);
    }
  }
  Met& met = met_[unit];
  if (met.vertices.empty()) {
    met.vertices.resize(needs.size(), JoinedGraph::kNone);
    for (const auto& each : needs) met.missing.push_back(static_cast<std::uint32_t>(each.size()));
  }
  const std::uint32_t own = place_of(vertex);
  met.vertices[own] = vertex;
  std::vector<Vertex> done;
  for (const std::uint32_t place : needed_by[own]) {
    --met.missing[place];
    const Vertex other = met.vertices[place];
    if (met.missing[place] == 0 && other != JoinedGraph::kNone && states_[other] == State::kBegun)
      done.push_back(other);
  }
  if (met.missing[own] == 0 && std::find(done.begin(), done.end(), vertex) == done.end()) done.push_back(vertex);
  if (++arrived_[unit] == needs.size()) met_.erase(unit);
  for (const Vertex each : done) end(each);
}

void JoinedRun::arrive(Unit unit, Vertex vertex) {
  const std::span<const Vertex> members = graph_.members(unit);
  const bool is_message = graph_.kind_of(unit) == JoinedGraph::Kind::kMessage;
  const bool is_send = is_message && graph_.members(graph_.unit_of(vertex)).front() == vertex;
  if (rules_.as_begun && !is_send) arrivals_[unit].push_back(vertex);
  const bool is_last = ++arrived_[unit] == members.size();
  if (is_send) end(vertex);
  if (!is_last) return;
  if (!rules_.as_begun) {
    for (const Vertex each : members) {
      if (states_[each] == State::kBegun) end(each);
    }
    return;
  }
  for (const Vertex each : std::exchange(arrivals_[unit], {})) end(each);
}

void JoinedRun::end(Vertex vertex) {
  states_[vertex] = State::kEnded;
  order_.push_back(vertex);
  if (takes_turns(vertex)) {
    Turns& turns = turns_[graph_.file_of(vertex)];
    turns.busy = !turns.waiting.empty();
    if (turns.busy) {
      std::pop_heap(turns.waiting.begin(), turns.waiting.end(), std::greater<>());
      ready_.push_back(turns.waiting.back().second);
      turns.waiting.pop_back();
    }
  }
  for (std::size_t i = ends_[vertex]; i < ends_[vertex + 1]; ++i) {
    if (--waits_for_[behind_[i]] == 0) make_ready(behind_[i]);
  }
}

/// What the vertex waits for, in its file or as another's part of the unit.
JoinedRun::Vertex JoinedRun::cause(Vertex vertex) const {
  const bool has_begun = states_[vertex] == State::kBegun;
  if (has_begun && goes_by_needs(graph_.unit_of(vertex))) {
    const Unit unit = graph_.unit_of(vertex);
    for (const std::uint32_t place : (*graph_.needs(unit))[place_of(vertex)]) {
      if (states_[graph_.members(unit)[place]] == State::kWaiting) return graph_.members(unit)[place];
    }
    return JoinedGraph::kNone;
  }
  if (has_begun && rules_.rooted == Rooted::kReached) {
    const Unit unit = graph_.unit_of(vertex);
    const bool gets = graph_.kind_of(unit) == JoinedGraph::Kind::kFromRoot && graph_.root(unit) != vertex;
    if (gets) return graph_.root(unit);
  }
  for (const Vertex other : has_begun ? graph_.members(graph_.unit_of(vertex)) : graph_.before(vertex)) {
    if (has_begun ? states_[other] == State::kWaiting : states_[other] != State::kEnded) return other;
  }
  return JoinedGraph::kNone;
}

std::vector<JoinedRun::Circle> JoinedRun::circles() const {
  std::vector<Circle> circles;
  std::vector<Vertex> walk_of(graph_.size(), JoinedGraph::kNone);
  for (Vertex start = 0; start < graph_.size(); ++start) {
    Vertex at = start;
    while (states_[at] != State::kEnded && walk_of[at] == JoinedGraph::kNone) {
      walk_of[at] = start;
      at = cause(at);
    }
    if (states_[at] == State::kEnded || walk_of[at] != start) continue;
    // It has come round. A step begins where another rank's part is waited for.
    const auto is_first = [&](Vertex vertex) { return states_[vertex] == State::kBegun; };
    while (!is_first(at)) at = cause(at);
    Circle circle;
    const Vertex last = at;
    do {
      const Vertex waits = cause(at);
      at = waits;
      while (!is_first(at)) at = cause(at);
      circle.push_back({waits, at});
    } while (at != last);
    std::rotate(
        circle.begin(),
        std::min_element(circle.begin(), circle.end(), [](const Step& a, const Step& b) { return a.waits < b.waits; }),
        circle.end());
    circles.push_back(std::move(circle));
  }
  return circles;
}

void JoinedRun::open(const Circle& circle) {
  for (const Step& step : circle) {
    if (states_[step.awaited] == State::kBegun) end(step.awaited);
  }
  go_on();
}

JoinedRun::Vertex JoinedRun::held_up() const {
  for (const Turns& turns : turns_) {
    if (!turns.waiting.empty()) return turns.waiting.front().second;
  }
  const auto waiting = std::find(states_.begin(), states_.end(), State::kWaiting);
  return static_cast<Vertex>(waiting - states_.begin());
}

}  // namespace weft::chakra
