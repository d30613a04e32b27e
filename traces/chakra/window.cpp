// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/window.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weft::chakra {
namespace {

/// Of a cycle, in a message.
constexpr std::size_t kMostNodesNamed = 8;
constexpr std::size_t kMostSpare = 1024;

}  // namespace

TraceWindow::TraceWindow(std::filesystem::path file, std::size_t read_ahead)
    : reader_(std::move(file)), wanted_(std::max<std::size_t>(read_ahead, 1)) {}

const Node* TraceWindow::next() {
  read_ahead();
  while (ready_.empty() && out_ == 0 && read_one()) {
  }
  if (ready_.empty()) {
    if (out_ == 0 && !live_.empty()) fail_by_cycle();
    return nullptr;
  }
  Entry& entry = *ready_.top().second;
  ready_.pop();
  entry.is_out = true;
  ++out_;
  return &entry.node;
}

void TraceWindow::complete(std::uint64_t id) {
  const auto found = live_.find(id);
  if (found == live_.end() || !found->second->is_out) {
    throw std::logic_error(file().string() + ": node " + std::to_string(id) + " completes and is not out");
  }
  std::unique_ptr<Entry> entry = std::move(found->second);
  live_.erase(found);
  completed_.insert(id);
  --out_;
  for (Entry* const dependent : entry->dependents) {
    if (--dependent->waits_for == 0) ready_.emplace(dependent->node.id, dependent);
  }
  if (spare_.size() < kMostSpare) spare_.push_back(std::move(entry));
}

bool TraceWindow::read_further() {
  const std::size_t ready = ready_.size();
  while (read_one()) {
    if (ready_.size() > ready) return true;
  }
  return false;
}

void TraceWindow::read_ahead() {
  while (live_.size() < wanted_ && read_one()) {
  }
}

bool TraceWindow::read_one() {
  if (at_end_) return false;
  std::unique_ptr<Entry> entry;
  if (spare_.empty()) {
    entry = std::make_unique<Entry>();
  } else {
    entry = std::move(spare_.back());
    spare_.pop_back();
  }
  if (!reader_.next(entry->node)) {
    at_end_ = true;
    spare_.clear();
    check_end();
    return false;
  }
  const Node& node = entry->node;
  if (const auto before = live_.find(node.id); before != live_.end()) {
    fail(node.label() + ": the id was there before, as " + before->second->node.label() + ": expected unique ids");
  }
  if (completed_.contains(node.id)) fail(node.label() + ": the id was there before: expected unique ids");
  entry->waits_for = 0;
  entry->dependents.clear();
  entry->is_out = false;
  wait_for(*entry, node.control_dependencies);
  wait_for(*entry, node.data_dependencies);
  if (const auto found = expected_.find(node.id); found != expected_.end()) {
    entry->dependents = std::move(found->second);
    expected_.erase(found);
  }
  if (entry->waits_for == 0) ready_.emplace(node.id, entry.get());
  live_.emplace(node.id, std::move(entry));
  most_live_ = std::max(most_live_, live_.size());
  ++read_;
  return true;
}

void TraceWindow::wait_for(Entry& entry, const std::vector<std::uint64_t>& dependencies) {
  for (const std::uint64_t dependency : dependencies) {
    if (dependency == entry.node.id) fail(entry.node.label() + " depends on itself");
    const auto found = live_.find(dependency);
    if (found == live_.end() && completed_.contains(dependency)) continue;
    ++entry.waits_for;
    (found != live_.end() ? found->second->dependents : expected_[dependency]).push_back(&entry);
  }
}

void TraceWindow::check_end() const {
  if (expected_.empty()) return;
  // The lowest, so that the message does not depend on the order of a hash table.
  const auto lowest = std::min_element(expected_.begin(), expected_.end(),
                                       [](const auto& a, const auto& b) { return a.first < b.first; });
  const Node& dependent =
      (*std::min_element(lowest->second.begin(), lowest->second.end(), [](const Entry* a, const Entry* b) {
        return a->node.id < b->node.id;
      }))->node;
  throw traces::FormatError(
      file().string(), 0,
      dependent.label() + " depends on node " + std::to_string(lowest->first) + ", which is not in the file");
}

void TraceWindow::fail_by_cycle() const {
  // Every live node waits for a live one, so a walk from any along what it waits for comes round.
  std::uint64_t at = live_.begin()->first;
  for (const auto& [id, entry] : live_) at = std::min(at, id);
  std::vector<std::uint64_t> walk;
  std::unordered_map<std::uint64_t, std::size_t> step_of;
  while (step_of.emplace(at, walk.size()).second) {
    walk.push_back(at);
    const Node& node = live_.at(at)->node;
    std::uint64_t next = at;
    for (const auto* dependencies : {&node.control_dependencies, &node.data_dependencies}) {
      for (const std::uint64_t dependency : *dependencies) {
        if (live_.contains(dependency)) next = dependency;
      }
    }
    at = next;
  }
  const std::size_t first = step_of.at(at);
  std::string text;
  for (std::size_t i = first; i < walk.size() && i < first + kMostNodesNamed; ++i) {
    text += live_.at(walk[i])->node.label() + " waits for ";
  }
  if (walk.size() > first + kMostNodesNamed)
    text += "... (" + std::to_string(walk.size() - first) + " nodes) waits for ";
  throw traces::FormatError(file().string(), 0, text + live_.at(at)->node.label() + ": these can never be ready");
}

void TraceWindow::fail(const std::string& message) const {
  reader_.fail(message);
}

}  // namespace weft::chakra
