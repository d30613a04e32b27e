// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/watch.h"

#include <algorithm>
#include <utility>

namespace weft::collectives {

Watch::Watch(const std::vector<firmware::Rank*>& ranks, std::string group, Causes& causes)
    : ranks_(ranks), group_(std::move(group)), causes_(causes), members_(ranks.size()) {}

std::unique_ptr<Watch> Watch::of(const std::vector<firmware::Rank*>& ranks, const std::string& group) {
  firmware::Processor& processor = *ranks.front()->processor;
  Causes* const causes = processor.dispatcher().causes();
  if (causes == nullptr) return nullptr;
  const std::string& owner = processor.owner();
  return std::make_unique<Watch>(ranks, owner.empty() ? group : owner + ": " + group, *causes);
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
  waited += now() - it.first;
  causes_.add_since(it.first, it.totals->lateness);
  return number;
}

void Watch::leave(int member, std::size_t number, Time entered) {
  --members_[static_cast<std::size_t>(member)].inside;
  UnderWay& it = under_way_[number - over_];
  const Time since = std::max(entered, it.last);
  it.totals->spent += now() - entered;
  it.totals->late += since - entered;
  causes_.add_since(since, it.totals->transfer);
  ++it.left;
  while (!under_way_.empty() && under_way_.front().left == ranks_.size()) {
    under_way_.pop_front();
    ++over_;
  }
}

}  // namespace weft::collectives
