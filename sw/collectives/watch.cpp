// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/watch.h"

#include <algorithm>
#include <utility>

namespace weft::collectives {

Watch::Watch(const std::vector<firmware::Rank*>& ranks, std::string group, Causes& causes)
    : ranks_(ranks), group_(std::move(group)), causes_(causes), next_(ranks.size()), entered_(ranks.size()) {}

Time Watch::now() const {
  return ranks_.front()->processor->dispatcher().now();
}

void Watch::enter(int member, std::string_view operation, std::uint64_t bytes) {
  const auto index = static_cast<std::size_t>(member);
  const std::size_t number = next_[index]++ - over_;
  entered_[index] = now();
  if (number == under_way_.size()) {
    under_way_.emplace_back();
    under_way_.back().totals = &causes_.tables().collectives[{group_, std::string(operation), bytes}];
    under_way_.back().totals->members = static_cast<int>(ranks_.size());
    under_way_.back().first = now();
  }
  UnderWay& it = under_way_[number];
  it.last = now();
  ++it.totals->calls;
  if (++it.entered != ranks_.size()) return;
  auto& [times, waited] = it.totals->last[ranks_[index]->place];
  ++times;
  waited += now() - it.first;
  causes_.add_since(it.first, it.totals->lateness);
}

void Watch::leave(int member) {
  const auto index = static_cast<std::size_t>(member);
  UnderWay& it = under_way_[next_[index] - 1 - over_];
  const Time since = std::max(entered_[index], it.last);
  it.totals->spent += now() - entered_[index];
  it.totals->late += since - entered_[index];
  causes_.add_since(since, it.totals->transfer);
  ++it.left;
  while (!under_way_.empty() && under_way_.front().left == ranks_.size()) {
    under_way_.pop_front();
    ++over_;
  }
}

}  // namespace weft::collectives
