// SPDX-License-Identifier: Apache-2.0
#include "hw/core/cause/causes.h"

#include <algorithm>

namespace weft {
namespace {

/// The tree is not folded before it has so many nodes: more would not stay in the cache.
constexpr std::size_t kFewest = 1 << 12;

void append(std::vector<Causes::Step>& steps, const Causes::Step& step) {
  if (!steps.empty()) {
    Causes::Step& before = steps.back();
    if (step.until <= before.until) return;
    if (before.kind == step.kind && before.place == step.place && before.context == step.context) {
      before.until = step.until;
      return;
    }
  }
  steps.push_back(step);
}

}  // namespace

const char* name_of(CauseKind kind) {
  static constexpr std::array<const char*, kCauseKinds> kNames = {
      "other",     "kernel",        "launch", "copy",   "memory",   "remote memory", "host link",   "network interface",
      "injection", "serialisation", "queue",  "credit", "pipeline", "reduction",     "propagation", "recovery",
      "firmware"};
  return kNames[static_cast<std::size_t>(kind)];
}

Causes::Causes() : limit_(kFewest) {
  grow();
  const std::uint32_t root = take_node();
  nodes_[root].parent = kNone;
  nodes_[root].references = kHandled + 2;  // as the last, and for good
  current_ = last_ = root;
  contexts_.emplace_back();
  numbers_[0][""] = 0;
}

Causes::Place Causes::place(std::string name) {
  places_.push_back(std::move(name));
  return kFirstPlace + static_cast<Place>(places_.size() - 1);
}

const std::string& Causes::place_name(Place place) const {
  return place >= kFirstPlace ? places_[place - kFirstPlace] : targets_[place];
}

std::uint32_t Causes::context(const std::string& name, bool is_kernel) {
  const auto [at, is_new] = numbers_[is_kernel ? 1 : 0].try_emplace(name, static_cast<std::uint32_t>(contexts_.size()));
  if (is_new) contexts_.push_back({name, is_kernel});
  return at->second;
}

void Causes::begin_run(std::vector<std::string> targets, Explain explain) {
  targets_ = std::move(targets);
  explain_ = std::move(explain);
}

void Causes::grow() {
  const std::size_t old = nodes_.size();
  nodes_.resize(std::max<std::size_t>(1024, 2 * old));
  for (std::size_t i = nodes_.size(); i-- > old;) {
    nodes_[i].parent = free_;
    free_ = static_cast<std::uint32_t>(i);
  }
}

void Causes::drop_history(std::uint32_t history) {
  histories_[history] = {};
  free_histories_.push_back(history);
}

void Causes::explain(const Node& node, std::int64_t from, std::vector<Step>& steps) const {
  for (const Short& mark : node.marks) {
    if (mark.length == 0) continue;
    from += mark.length;
    append(steps,
           {from, static_cast<CauseKind>(mark.what >> kPlaceBits), mark.what & ((1U << kPlaceBits) - 1), node.context});
  }
  if (node.when > from) append(steps, {node.when, explain_(node.target, node.tag), node.target, node.context});
}

/// Of all runs of nodes with one child each, the steps go to the node below.
void Causes::compact() {
  std::vector<std::uint32_t> only_child(nodes_.size(), kNone);
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.references == 0 || node.parent == 0) continue;
    if (nodes_[node.parent].references == kHandled + 1 && node.parent != last_ && node.parent != current_) {
      only_child[node.parent] = i;
    }
  }
  for (std::uint32_t i = 1; i < only_child.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.references != 0 && only_child[i] == kNone && only_child[node.parent] == i) fold(i, only_child);
  }
  limit_ = std::max<std::size_t>(kFewest, 2 * live_);
}

void Causes::fold(std::uint32_t bottom, const std::vector<std::uint32_t>& only_child) {
  std::vector<std::uint32_t> run;  // from below
  for (std::uint32_t at = nodes_[bottom].parent; at != 0; at = nodes_[at].parent) {
    run.push_back(at);
    if (only_child[nodes_[at].parent] != at) break;
  }
  const std::uint32_t above = nodes_[run.back()].parent;
  std::vector<Step> steps;
  if (nodes_[run.back()].history != kNone) steps.swap(histories_[nodes_[run.back()].history]);
  for (auto at = run.rbegin(); at != run.rend(); ++at) {
    const Node& node = nodes_[*at];
    if (at != run.rbegin() && node.history != kNone) {
      for (const Step& step : histories_[node.history]) append(steps, step);
    }
    explain(node, steps.empty() ? nodes_[above].when : std::max(steps.back().until, nodes_[above].when), steps);
  }
  for (const std::uint32_t at : run) give_back(at);
  Node& node = nodes_[bottom];
  node.parent = above;
  if (steps.empty()) return;
  if (node.history == kNone) {
    if (free_histories_.empty()) {
      free_histories_.push_back(static_cast<std::uint32_t>(histories_.size()));
      histories_.emplace_back();
    }
    node.history = free_histories_.back();
    free_histories_.pop_back();
  } else {
    for (const Step& step : histories_[node.history]) append(steps, step);
  }
  histories_[node.history] = std::move(steps);
}

std::vector<Causes::Step> Causes::path() const {
  std::vector<std::uint32_t> chain;
  for (std::uint32_t at = last_; at != 0; at = nodes_[at].parent) chain.push_back(at);
  std::vector<Step> steps;
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    const Node& node = nodes_[*at];
    if (node.history != kNone) {
      for (const Step& step : histories_[node.history]) append(steps, step);
    }
    explain(node, steps.empty() ? 0 : steps.back().until, steps);
  }
  return steps;
}

}  // namespace weft
