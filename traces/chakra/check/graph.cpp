// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "traces/chakra/check/parts.h"

namespace weft::chakra {
namespace {

/// One that cannot be read is a finding of the node's, not of the graph's.
std::uint64_t nanos_of(const Node& node) {
  try {
    return std::min(node.duration_nanos(), kMostNanos);
  } catch (const AttributeError&) {
    return 0;
  }
}

}  // namespace

void GraphCheck::add(const Node& node) {
  sorted_ = sorted_ && (ids_.empty() || ids_.back() < node.id);
  ids_.push_back(node.id);
  lasts_.push_back(nanos_of(node));
  for (const auto* dependencies : {&node.control_dependencies, &node.data_dependencies}) {
    dependencies_.insert(dependencies_.end(), dependencies->begin(), dependencies->end());
  }
  ends_.push_back(dependencies_.size());
}

void GraphCheck::check() {
  by_id_.resize(ids_.size());
  std::iota(by_id_.begin(), by_id_.end(), 0U);
  if (!sorted_) {
    std::stable_sort(by_id_.begin(), by_id_.end(), [this](auto a, auto b) { return ids_[a] < ids_[b]; });
  }
  for (std::size_t i = 1; i < by_id_.size(); ++i) {
    if (ids_[by_id_[i - 1]] == ids_[by_id_[i]]) {
      findings_.add(Problem::kDuplicateId, file_, ids_[by_id_[i]], "the id is there more than once", "unique ids");
    }
  }
  check_dependencies();
  check_cycles();
}

std::uint64_t GraphCheck::place_of(std::uint64_t id) const {
  const auto found = std::lower_bound(by_id_.begin(), by_id_.end(), id,
                                      [this](std::uint64_t at, std::uint64_t wanted) { return ids_[at] < wanted; });
  return found != by_id_.end() && ids_[*found] == id ? *found : kNowhere;
}

/// Dependencies are indices from then on.
void GraphCheck::check_dependencies() {
  for (std::size_t node = 0; node < ids_.size(); ++node) {
    for (std::size_t i = begin_of(node); i < ends_[node]; ++i) {
      const std::uint64_t id = dependencies_[i];
      if (id == ids_[node]) {
        dependencies_[i] = kNowhere;
        findings_.add(Problem::kSelfDependency, file_, id, "depends on itself", "a graph without cycles");
        continue;
      }
      dependencies_[i] = place_of(id);
      forward_ = forward_ && dependencies_[i] < node;
      if (dependencies_[i] == kNowhere) {
        findings_.add(Problem::kDanglingDependency, file_, ids_[node],
                      "depends on node " + std::to_string(id) + ", which is not in the file",
                      "dependencies on nodes of the file");
      }
    }
  }
}

/// Walks depth first along dependencies, with the way there on a stack of its own: a chain may be as long as the file.
/// Each dependency that closes a cycle is a finding; the first one names its nodes.
void GraphCheck::check_cycles() {
  enum class State : std::uint8_t { kNew, kOnTheWay, kDone };
  std::vector<State> states(ids_.size(), State::kNew);
  std::vector<std::uint64_t> way;
  std::vector<std::size_t> next;  // of the node at the same place of the way: the dependency to look at
  bool told = false;
  for (std::size_t root = 0; root < ids_.size(); ++root) {
    if (states[root] != State::kNew) continue;
    way.push_back(root);
    next.push_back(begin_of(root));
    states[root] = State::kOnTheWay;
    while (!way.empty()) {
      const std::uint64_t at = way.back();
      if (next.back() == ends_[at]) {
        states[at] = State::kDone;
        way.pop_back();
        next.pop_back();
        continue;
      }
      const std::uint64_t to = dependencies_[next.back()++];
      if (to == kNowhere || states[to] == State::kDone) continue;
      if (states[to] == State::kNew) {
        states[to] = State::kOnTheWay;
        way.push_back(to);
        next.push_back(begin_of(to));
      } else if (told) {
        findings_.add(Problem::kCycle, file_, ids_[at],
                      "depends on node " + std::to_string(ids_[to]) + ", which waits for it", "a graph without cycles");
      } else {
        std::vector<std::uint64_t> cycle(std::find(way.begin(), way.end(), to), way.end());
        for (std::uint64_t& node : cycle) node = ids_[node];
        findings_.add_cycle(file_, std::move(cycle));
        told = true;
      }
    }
  }
}

std::vector<std::uint64_t> GraphCheck::begins() const {
  std::vector<std::uint64_t> begins(ids_.size());
  for (const std::size_t place : sequence()) {
    for (const std::uint64_t dependency : dependencies_of(place)) {
      if (dependency != kNowhere) begins[place] = std::max(begins[place], begins[dependency] + lasts_[dependency]);
    }
  }
  return begins;
}

std::vector<std::size_t> GraphCheck::sequence() const {
  std::vector<std::size_t> sequence;
  if (sorted_ && forward_) {
    sequence.resize(ids_.size());
    std::iota(sequence.begin(), sequence.end(), 0U);
    return sequence;
  }
  std::vector<std::uint32_t> waits_for(ids_.size());
  std::vector<std::vector<std::size_t>> dependents(ids_.size());
  using Ready = std::pair<std::uint64_t, std::size_t>;  // id and index
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t node = 0; node < ids_.size(); ++node) {
    for (std::size_t i = begin_of(node); i < ends_[node]; ++i) {
      if (dependencies_[i] == kNowhere) continue;
      dependents[dependencies_[i]].push_back(node);
      ++waits_for[node];
    }
    if (waits_for[node] == 0) ready.emplace(ids_[node], node);
  }
  while (!ready.empty()) {
    const auto [id, node] = ready.top();
    ready.pop();
    sequence.push_back(node);
    for (const std::size_t dependent : dependents[node]) {
      if (--waits_for[dependent] == 0) ready.emplace(ids_[dependent], dependent);
    }
  }
  return sequence;
}

}  // namespace weft::chakra
