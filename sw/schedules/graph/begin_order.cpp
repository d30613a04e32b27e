// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/graph/begin_order.h"

#include <algorithm>
#include <span>
#include <utility>

namespace weft::schedules {

namespace {

/// What waits for more than so much is not begun: it is less than what could go on.
constexpr std::size_t kMostReached = 4096;

}  // namespace

BeginOrder::BeginOrder(std::shared_ptr<const chakra::JoinedOrder> order, int limit)
    : order_(std::move(order)), limit_(limit), ranks_(order_->of_rank.size()), seen_(order_->size()) {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    for (const chakra::JoinedOrder::Entry& entry : order_->of_rank[r]) rank.items.push_back(entry.item);
    std::sort(rank.items.begin(), rank.items.end());
    rank.begun.resize(rank.items.size());
  }
  for (const std::uint32_t who : order_->begun_by) {
    left_.push_back(who == kNone ? 1 : static_cast<std::uint32_t>(order_->members[who].size()));
  }
}

BeginOrder::Item BeginOrder::item_of(int rank, std::uint64_t node) const {
  const auto& entries = order_->of_rank[static_cast<std::size_t>(rank)];
  const auto found = std::lower_bound(entries.begin(), entries.end(), node,
                                      [](const auto& entry, std::uint64_t wanted) { return entry.node < wanted; });
  return found != entries.end() && found->node == node ? found->item : kNone;
}

std::size_t BeginOrder::place_of(const Rank& rank, Item item) const {
  return static_cast<std::size_t>(std::lower_bound(rank.items.begin(), rank.items.end(), item) - rank.items.begin());
}

bool BeginOrder::has_begun(const Rank& rank, Item item) const {
  return rank.begun[place_of(rank, item)];
}

bool BeginOrder::is_held_up(const Rank& rank, int more) const {
  if (limit_ == 0) return false;
  const auto waiting =
      std::count_if(rank.under_way.begin(), rank.under_way.end(), [this](Item item) { return left_[item] > 0; });
  return waiting + more >= limit_;
}

bool BeginOrder::allows(int number, Item item) {
  const Rank& rank = ranks_[static_cast<std::size_t>(number)];
  if (order_->is_of_group(item)) {
    const auto decided = decided_.find(order_->begun_by[item]);
    if (decided != decided_.end()) {
      for (const Item earlier : decided->second) {
        if (earlier == item) break;
        if (!has_begun(rank, earlier)) return false;
      }
    }
  }
  // The last to begin it holds up nobody.
  if (left_[item] == 1) return true;
  if (ahead_.empty() && rank.items[rank.first] == item) return true;
  return !goes_against(rank, static_cast<std::uint32_t>(number), item);
}

bool BeginOrder::goes_against(const Rank& rank, std::uint32_t number, Item item) {
  ++search_;
  // Where nothing was begun ahead of others, each waits for lower ones alone.
  const Item bound = ahead_.empty() ? rank.items[rank.first] : 0;
  const bool fills = is_held_up(rank, 1);
  const std::uint32_t group = order_->begun_by[item];
  const auto decided = decided_.find(group);
  const auto is_decided = [&](Item other) {
    return decided != decided_.end() &&
           std::find(decided->second.begin(), decided->second.end(), other) != decided->second.end();
  };
  const bool decides = !is_decided(item);
  const auto comes_behind = [&](Item other) {
    if (order_->begun_by[other] == group && other != item && decides) return !is_decided(other);
    if (!fills || other == item) return false;
    const std::size_t place = place_of(rank, other);
    return place < rank.items.size() && rank.items[place] == other && !rank.begun[place];
  };
  reached_.assign(1, item);
  seen_[item] = search_;
  for (std::size_t next = 0; next < reached_.size(); ++next) {
    const Item at = reached_[next];
    if (order_->begun_by[at] != kNone && comes_behind(at)) return true;
    if (reached_.size() > kMostReached) return true;
    for (const Item before : order_->before_of(at)) reach(before, bound);
    if (order_->begun_by[at] == kNone) continue;
    for (const std::uint32_t member : order_->members[order_->begun_by[at]]) {
      const Rank& other = ranks_[member];
      if ((at == item && member == number) || !is_held_up(other) || has_begun(other, at)) continue;
      for (const Item held : other.under_way) reach(held, bound);
    }
    if (!order_->is_of_group(at)) continue;
    const auto earlier = decided_.find(order_->begun_by[at]);
    if (earlier == decided_.end()) continue;
    for (const Item each : earlier->second) {
      if (each == at) break;
      reach(each, bound);
    }
  }
  return false;
}

void BeginOrder::reach(Item item, Item bound) {
  if (item < bound || left_[item] == 0 || seen_[item] == search_) return;
  if (order_->begun_by[item] == kNone && settle(item)) return;
  seen_[item] = search_;
  reached_.push_back(item);
}

/// Once it is so, it stays so: the way back to the beginning is gone once.
bool BeginOrder::settle(Item place) {
  places_.assign(1, place);
  while (!places_.empty()) {
    const std::span<const Item> before = order_->before_of(places_.back());
    const auto open = std::find_if(before.begin(), before.end(), [this](Item each) { return left_[each] > 0; });
    if (open == before.end()) {
      left_[places_.back()] = 0;
      places_.pop_back();
    } else if (order_->begun_by[*open] == kNone && seen_[*open] != search_) {
      places_.push_back(*open);
    } else {
      return false;
    }
  }
  return true;
}

void BeginOrder::begin(int number, Item item) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  const bool is_first = rank.items[rank.first] == item;
  rank.begun[place_of(rank, item)] = true;
  while (rank.first < rank.items.size() && rank.begun[rank.first]) ++rank.first;
  rank.under_way.push_back(item);
  const bool is_last = --left_[item] == 0;
  if (order_->is_of_group(item)) {
    std::deque<Item>& decided = decided_[order_->begun_by[item]];
    const auto found = std::find(decided.begin(), decided.end(), item);
    if (is_last && found != decided.end()) decided.erase(found);
    if (!is_last && found == decided.end()) decided.push_back(item);
  }
  if (is_last) {
    ahead_.erase(item);
    has_changed_ = true;
  } else if (!is_first) {
    ++ahead_[item];
  }
}

void BeginOrder::end(int number, Item item) {
  std::vector<Item>& under_way = ranks_[static_cast<std::size_t>(number)].under_way;
  under_way.erase(std::find(under_way.begin(), under_way.end(), item));
  has_changed_ = true;
}

bool BeginOrder::has_changed() {
  return std::exchange(has_changed_, false);
}

}  // namespace weft::schedules
