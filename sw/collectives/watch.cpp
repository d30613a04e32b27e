// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/watch.h"

#include <algorithm>
#include <utility>

namespace weft::collectives {

namespace {

/// Null where no critical path is kept.
template <typename AnyWatch>
std::unique_ptr<AnyWatch> watch_of(const std::vector<firmware::Rank*>& ranks, const std::string& group) {
  firmware::Processor& processor = *ranks.front()->processor;
  Causes* const causes = processor.dispatcher().causes();
  if (causes == nullptr) return nullptr;
  const std::string& owner = processor.owner();
  return std::make_unique<AnyWatch>(ranks, owner.empty() ? group : owner + ": " + group, *causes);
}

}  // namespace

Watch::Watch(const std::vector<firmware::Rank*>& ranks, std::string group, Causes& causes)
    : ranks_(ranks), group_(std::move(group)), causes_(causes), members_(ranks.size()) {}

std::unique_ptr<Watch> Watch::of(const std::vector<firmware::Rank*>& ranks, const std::string& group) {
  return watch_of<Watch>(ranks, group);
}

Time Watch::now() const {
  return ranks_.front()->processor->dispatcher().now();
}

std::size_t Watch::enter(int member, std::string_view operation, std::uint64_t bytes, Time& entered) {
  const auto index = static_cast<std::size_t>(member);
  const std::size_t number = members_[index].next++;
  entered = now();
  if (number - over_ == under_way_.size()) {
    under_way_.emplace_back();
    under_way_.back().totals = &causes_.tables().collectives[{group_, std::string(operation), bytes}];
    under_way_.back().totals->members = static_cast<int>(ranks_.size());
    under_way_.back().first = now();
  }
  UnderWay& it = under_way_[number - over_];
  it.last = now();
  ++it.totals->calls;
  if (++members_[index].inside > 1) causes_.tables().overlapping.insert(group_);
  if (++it.entered != ranks_.size()) return number;
  auto& [times, waited] = it.totals->last[ranks_[index]->place];
  ++times;
  waited += now() - std::max(it.first, causes_.tables().since);
  causes_.add_since(it.first, it.totals->lateness);
  return number;
}

void Watch::leave(int member, std::size_t number, Time entered) {
  --members_[static_cast<std::size_t>(member)].inside;
  UnderWay& it = under_way_[number - over_];
  const Time since = std::max(entered, it.last);
  const Time from = std::max(entered, causes_.tables().since);
  it.totals->spent += now() - from;
  it.totals->late += std::max(since, from) - from;
  causes_.add_since(since, it.totals->transfer);
  ++it.left;
  while (!under_way_.empty() && under_way_.front().left == ranks_.size()) {
    under_way_.pop_front();
    ++over_;
  }
}

MessageWatch::MessageWatch(std::vector<firmware::Rank*> ranks, std::string group, Causes& causes)
    : ranks_(std::move(ranks)), group_(std::move(group)), causes_(causes) {}

std::unique_ptr<MessageWatch> MessageWatch::of(const std::vector<firmware::Rank*>& ranks, const std::string& group) {
  return watch_of<MessageWatch>(ranks, group);
}

void MessageWatch::received(int sender, std::string_view what, std::uint64_t bytes, Time sent, Time since) {
  CauseTables& tables = causes_.tables();
  tables.overlapping.insert(group_);
  CauseTables::Collective& totals = tables.collectives[{group_, std::string(what), bytes}];
  totals.members = 1;
  ++totals.calls;
  const firmware::Rank& from = *ranks_[static_cast<std::size_t>(sender)];
  const Time now = from.processor->dispatcher().now();
  const Time begin = std::max(since, tables.since);
  if (begin >= now) return;
  const Time left = std::clamp(sent, begin, now);
  totals.spent += now - begin;
  causes_.add_since(left, totals.transfer);
  if (left == begin) return;
  totals.late += left - begin;
  auto& [times, waited] = totals.last[from.place];
  ++times;
  waited += left - begin;
  // What is before it was sent is all less what is after.
  CauseSums all;
  CauseSums rest;
  causes_.add_since(begin, all);
  causes_.add_since(left, rest);
  for (const auto& [why, time] : rest) all[why] -= time;
  for (const auto& [why, time] : all) {
    if (time > Time()) totals.lateness[why] += time;
  }
}

}  // namespace weft::collectives
