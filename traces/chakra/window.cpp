// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/window.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "traces/chakra/live/encoded_node.h"

namespace weft::chakra {
namespace {

/// Of a cycle, in a message.
constexpr std::size_t kMostNodesNamed = 8;

}  // namespace

TraceWindow::TraceWindow(std::filesystem::path file, std::size_t read_ahead, std::shared_ptr<RecordPool> pool)
    : reader_(std::move(file)),
      wanted_(std::max<std::size_t>(read_ahead, 1)),
      pool_(pool != nullptr ? std::move(pool) : std::make_shared<RecordPool>()) {}

TraceWindow::~TraceWindow() {
  live_.for_each([this](Slot slot) {
    if (live_[slot].state() != State::kExpected) pool_->release(live_[slot].record);
  });
}

const Node* TraceWindow::next() {
  read_ahead();
  while (ready_.empty() && out_ == 0 && read_one()) {
  }
  if (ready_.empty()) {
    if (out_ == 0 && live() > 0) fail_by_cycle();
    return nullptr;
  }
  const Slot slot = ready_.top().second;
  ready_.pop();
  live_[slot].set(State::kOut);
  ++out_;
  return &node_of(slot);
}

void TraceWindow::complete(std::uint64_t id) {
  const Slot slot = live_.find(id);
  if (slot == LiveNodes::kNone || live_[slot].state() != State::kOut) {
    throw std::logic_error(file().string() + ": node " + std::to_string(id) + " completes and is not out");
  }
  completed_.insert(id);
  ++completed_count_;
  --out_;
  live_.take_dependents(slot, [this](Slot dependent) {
    if (--live_[dependent].waits_for == 0) make_ready(dependent);
  });
  pool_->release(live_[slot].record);
  live_.remove(slot);
}

bool TraceWindow::read_further() {
  const std::size_t ready = ready_.size();
  while (read_one()) {
    if (ready_.size() > ready) return true;
  }
  return false;
}

void TraceWindow::read_ahead() {
  while (live() < wanted_ && read_one()) {
  }
}

void TraceWindow::leave_out(const Gap& gap) {
  if (gap.from < read_ || gap.to < gap.from || gap.reach > gap.to - gap.from || gap.length == 0) {
    throw std::logic_error(file().string() + ": nodes from " + std::to_string(gap.from) + " cannot be left out");
  }
  gaps_.push_back(gap);
}

std::uint64_t TraceWindow::in_place_of(std::uint64_t dependency) const {
  for (auto gap = gaps_.rbegin(); gap != gaps_.rend(); ++gap) {
    if (dependency < gap->from || dependency >= gap->to) continue;
    if (dependency + gap->reach >= gap->to) {
      dependency -= gap->to - gap->from;
    } else {
      dependency = gap->from - gap->length + (dependency - gap->from) % gap->length;
    }
  }
  return dependency;
}

bool TraceWindow::read_one() {
  if (at_end_) return false;
  std::string_view record;
  if (!reader_.next_encoded(record)) {
    at_end_ = true;
    check_end();
    return false;
  }
  if (!gaps_.empty() && read_ >= gaps_.back().from && read_ < gaps_.back().to) {
    ++read_;
    ++completed_count_;
    return true;
  }
  std::uint64_t id = 0;
  if (!scan_encoded(record, id, control_, data_)) {
    Node node;
    reader_.decode_or_fail(record, node);
    id = node.id;
    control_ = std::move(node.control_dependencies);
    data_ = std::move(node.data_dependencies);
  }
  const auto label = [&] {
    Node node;
    reader_.decode_or_fail(record, node);
    return node.label();
  };
  Slot slot = live_.find(id);
  if (slot != LiveNodes::kNone && live_[slot].state() != State::kExpected) {
    fail(label() + ": the id was there before, as " + node_of(slot).label() + ": expected unique ids");
  }
  if (completed_.contains(id)) fail(label() + ": the id was there before: expected unique ids");
  for (const auto* dependencies : {&control_, &data_}) {
    if (std::find(dependencies->begin(), dependencies->end(), id) != dependencies->end()) {
      fail(label() + " depends on itself");
    }
  }
  if (slot == LiveNodes::kNone) slot = live_.add(id);
  live_[slot].set(State::kWaiting);
  live_[slot].record = pool_->add(record);
  wait_for(slot, control_);
  wait_for(slot, data_);
  if (live_[slot].waits_for == 0) make_ready(slot);
  ++read_;
  most_live_ = std::max(most_live_, live());
  return true;
}

void TraceWindow::wait_for(Slot slot, const std::vector<std::uint64_t>& dependencies) {
  for (const std::uint64_t dependency : dependencies) {
    const std::uint64_t needed = gaps_.empty() ? dependency : in_place_of(dependency);
    Slot found = live_.find(needed);
    if (found == LiveNodes::kNone) {
      if (completed_.contains(needed)) continue;
      found = live_.add(needed);  // expected
    }
    ++live_[slot].waits_for;
    live_.add_dependent(found, slot);
  }
}

void TraceWindow::make_ready(Slot slot) {
  live_[slot].set(State::kReady);
  ready_.emplace(live_[slot].id, slot);
}

const Node& TraceWindow::node_of(Slot slot) {
  const Node* const node = pool_->node(live_[slot].record);
  if (node == nullptr) fail_by_damage(live_[slot].id);
  return *node;
}

void TraceWindow::fail_by_damage(std::uint64_t id) const {
  TraceReader again(reader_.file());
  for (Node node; again.next(node);) {
  }
  throw traces::FormatError(file().string(), 0, "node " + std::to_string(id) + " is damaged");
}

void TraceWindow::check_end() {
  // The lowest, so that the message does not depend on the order of a hash table.
  Slot missing = LiveNodes::kNone;
  live_.for_each([&](Slot slot) {
    if (live_[slot].state() != State::kExpected) return;
    if (missing == LiveNodes::kNone || live_[slot].id < live_[missing].id) missing = slot;
  });
  if (missing == LiveNodes::kNone) return;
  Slot dependent = LiveNodes::kNone;
  live_.for_each_dependent(missing, [&](Slot slot) {
    if (dependent == LiveNodes::kNone || live_[slot].id < live_[dependent].id) dependent = slot;
  });
  throw traces::FormatError(file().string(), 0,
                            node_of(dependent).label() + " depends on node " + std::to_string(live_[missing].id) +
                                ", which is not in the file");
}

void TraceWindow::fail_by_cycle() {
  // Every live node waits for a live one, so a walk from any along what it waits for comes round.
  std::uint64_t at = UINT64_MAX;
  live_.for_each([&](Slot slot) { at = std::min(at, live_[slot].id); });
  std::vector<std::uint64_t> walk;
  std::unordered_map<std::uint64_t, std::size_t> step_of;
  while (step_of.emplace(at, walk.size()).second) {
    walk.push_back(at);
    const Node& node = node_of(live_.find(at));
    std::uint64_t next = at;
    for (const auto* dependencies : {&node.control_dependencies, &node.data_dependencies}) {
      for (const std::uint64_t dependency : *dependencies) {
        if (live_.find(dependency) != LiveNodes::kNone) next = dependency;
      }
    }
    at = next;
  }
  const auto label = [&](std::uint64_t id) { return node_of(live_.find(id)).label(); };
  const std::size_t first = step_of.at(at);
  std::string text;
  for (std::size_t i = first; i < walk.size() && i < first + kMostNodesNamed; ++i)
    text += label(walk[i]) + " waits for ";
  if (walk.size() > first + kMostNodesNamed)
    text += "... (" + std::to_string(walk.size() - first) + " nodes) waits for ";
  throw traces::FormatError(file().string(), 0, text + label(at) + ": these can never be ready");
}

void TraceWindow::fail(const std::string& message) const {
  reader_.fail(message);
}

}  // namespace weft::chakra
