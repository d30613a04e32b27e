// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/check/dimensions.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "traces/chakra/involved.h"

namespace weft::chakra {
namespace {

bool is_prime(std::uint32_t number) {
  for (std::uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

}  // namespace

InvolvedLists::InvolvedLists(std::vector<std::uint32_t> sizes, std::uint32_t ranks)
    : sizes_(std::move(sizes)), ranks_(ranks) {
  const auto product =
      std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{1}, std::multiplies<std::uint64_t>());
  if (product != ranks_) sizes_.clear();
  if (sizes_.empty() && is_prime(ranks_)) sizes_ = {ranks_};
}

InvolvedLists::List InvolvedLists::add(const std::vector<bool>& names) {
  const auto [found, is_new] = numbers_.try_emplace(names, static_cast<List>(lists_.size()));
  if (is_new) lists_.push_back(names);
  return found->second;
}

void InvolvedLists::settle() {
  std::size_t count = sizes_.size();
  if (sizes_.empty()) {
    for (const std::vector<bool>& list : lists_) count = std::max(count, list.size());
    // A dimension has at least two ranks.
    count = std::clamp<std::size_t>(count, 1, static_cast<std::size_t>(std::bit_width(std::max(ranks_, 2U))) - 1);
  }
  sets_ = {std::vector<bool>(count, true)};
  std::map<std::vector<bool>, Set> known = {{sets_.front(), kAll}};
  set_of_ = {kAll};
  for (List list = kNone; list < lists_.size(); ++list) {
    const auto named = list == kNone ? std::nullopt : std::optional(lists_[list]);
    const std::vector<bool> dimensions = involved_in(named, count).dimensions;
    const auto [found, is_new] = known.try_emplace(dimensions, static_cast<Set>(sets_.size()));
    if (is_new) sets_.push_back(dimensions);
    set_of_.push_back(found->second);
  }
}

const GroupMembers& InvolvedLists::group_of(Set set, std::uint32_t rank) {
  std::uint32_t first = rank;
  std::uint32_t stride = 1;
  for (std::size_t i = 0; i < sizes_.size(); stride *= sizes_[i++]) {
    if (sets_[set][i]) first -= rank / stride % sizes_[i] * stride;
  }
  const auto [found, is_new] = groups_.try_emplace({set, first});
  GroupMembers& group = found->second;
  if (!is_new) return group;
  group.ranks = {first};
  stride = 1;
  for (std::size_t i = 0; i < sizes_.size(); stride *= sizes_[i++]) {
    if (!sets_[set][i]) continue;
    const std::size_t count = group.ranks.size();
    for (std::uint32_t at = 1; at < sizes_[i]; ++at) {
      for (std::size_t m = 0; m < count; ++m) group.ranks.push_back(group.ranks[m] + at * stride);
    }
  }
  group.sorted = &group.ranks;
  return group;
}

std::string InvolvedLists::text(Set set) const {
  if (set == kAll) return "all dimensions";
  std::string text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < sets_[set].size(); ++i) {
    if (sets_[set][i]) text += (count++ > 0 ? ", " : "") + std::to_string(i);
  }
  return count == 0 ? "no dimension" : (count == 1 ? "dimension " : "dimensions ") + text;
}

}  // namespace weft::chakra
