// SPDX-License-Identifier: Apache-2.0
// What names of groups mean.
#include <algorithm>
#include <numeric>

#include "traces/chakra/process_groups.h"

namespace weft::chakra {
namespace {

constexpr std::size_t kMostListed = 8;  ///< ranks in a message
/// PyTorch's own description of the group of all ranks.
constexpr const char* kDefault = "default_pg";

}  // namespace

bool GroupMembers::contains(std::uint32_t rank) const {
  return std::binary_search(sorted->begin(), sorted->end(), rank);
}

GroupTable::GroupTable(std::uint32_t ranks, const Named& file) : ranks_(ranks) {
  for (const auto& [name, members] : file) {
    file_[name].list = list_of(std::vector<std::uint64_t>(members.begin(), members.end()));
  }
}

const GroupTable::RankList* GroupTable::list_of(const std::vector<std::uint64_t>& ranks) {
  const auto [found, is_new] = lists_.try_emplace(ranks);
  RankList& list = found->second;
  if (!is_new) return &list;
  list.given = &found->first;
  list.fits = std::all_of(ranks.begin(), ranks.end(), [this](std::uint64_t rank) { return rank < ranks_; });
  if (!list.fits) return &list;
  list.sorted.assign(ranks.begin(), ranks.end());
  std::sort(list.sorted.begin(), list.sorted.end());
  list.has_twice = std::adjacent_find(list.sorted.begin(), list.sorted.end()) != list.sorted.end();
  return &list;
}

std::string GroupTable::described(const RankList* list) {
  return list == nullptr ? "all ranks" : described(*list->given);
}

std::string GroupTable::described(const GroupMembers& group) {
  return described(group.ranks);
}

template <typename Rank>
std::string GroupTable::described(const std::vector<Rank>& ranks) {
  std::string text = "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostListed); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  return text + (ranks.size() > kMostListed ? ", ... (" + std::to_string(ranks.size()) + ")" : "");
}

void GroupTable::add(std::optional<std::uint32_t> rank, const ProcessGroup& group) {
  Entries& entries = rank ? by_rank_[*rank] : common_;
  const RankList* const list = group.ranks ? list_of(*group.ranks) : nullptr;
  const auto [found, is_new] = entries.by_name.try_emplace(group.name, Entry{group.name, list});
  Entry& entry = found->second;
  if (!is_new) {
    entry.is_ambiguous = entry.is_ambiguous || entry.list != list;
    return;
  }
  others_.clear();
  if (!group.description.empty()) entries.by_description[group.description].push_back(&entry);
}

GroupTable::Found GroupTable::find(std::uint32_t rank, const std::string& name) {
  if (name.empty()) return everybody(name, Way::kOwn);
  if (const auto of_file = file_.find(name); of_file != file_.end()) {
    return make(rank, name, of_file->second.list, Way::kOwn);
  }
  const auto own = by_rank_.find(rank);
  for (const Entries* entries : {own != by_rank_.end() ? &own->second : nullptr, &common_}) {
    if (entries == nullptr) continue;
    if (const auto entry = entries->by_name.find(name); entry != entries->by_name.end()) {
      return of_entry(rank, entry->second, Way::kOwn);
    }
  }
  for (const Entries* entries : {own != by_rank_.end() ? &own->second : nullptr, &common_}) {
    if (entries == nullptr) continue;
    const auto described = entries->by_description.find(name);
    if (described == entries->by_description.end()) continue;
    if (described->second.size() > 1) {
      const std::vector<const Entry*>& several = described->second;
      return {nullptr, Way::kByDescription,
              "which is no pg_name but the pg_desc of " + std::to_string(several.size()) + " groups, \"" +
                  several[0]->name + "\", \"" + several[1]->name + "\"" + (several.size() > 2 ? " and others" : ""),
              "the pg_name of one of them"};
    }
    // PyTorch's default group, which nodes name 0, is everybody.
    const Entry& entry = *described->second.front();
    return entry.name == "0" ? everybody("", Way::kByDescription) : of_entry(rank, entry, Way::kByDescription);
  }
  if (name == kDefault) return everybody("", Way::kByDescription);
  return of_other_ranks(rank, name);
}

/// Looks through all ranks once for a name.
const GroupTable::Others& GroupTable::others_of(const std::string& name) {
  const auto [found, is_new] = others_.try_emplace(name);
  Others& others = found->second;
  if (!is_new) return others;
  std::set<const RankList*> seen;
  for (const auto& [rank, entries] : by_rank_) {
    const auto entry = entries.by_name.find(name);
    if (entry == entries.by_name.end() || !seen.insert(entry->second.list).second) continue;
    const RankList* const list = entry->second.list;
    if (list == nullptr) {
      others.of_everybody = &entry->second;
      continue;
    }
    for (const std::uint64_t member : *list->given) {
      Others::Pair& pair = others.of_rank[member];
      if (pair.first == nullptr) {
        pair.first = &entry->second;
      } else if (pair.first->list != list && pair.second == nullptr) {
        pair.second = &entry->second;
      }
    }
  }
  return others;
}

GroupTable::Found GroupTable::of_other_ranks(std::uint32_t rank, const std::string& name) {
  const Others& others = others_of(name);
  Others::Pair pair;
  if (const auto found = others.of_rank.find(rank); found != others.of_rank.end()) pair = found->second;
  if (others.of_everybody != nullptr) (pair.first == nullptr ? pair.first : pair.second) = others.of_everybody;
  if (pair.second != nullptr) {
    return {nullptr, Way::kOwn,
            "which its own metadata does not name, and other ranks name as " + described(pair.first->list) +
                " and as " + described(pair.second->list),
            "one group of that name with rank " + std::to_string(rank)};
  }
  if (pair.first != nullptr) return of_entry(rank, *pair.first, Way::kOfOtherRanks);
  return {nullptr, Way::kOwn, "which neither the metadata of the trace nor a groups file names",
          "a node \"## process_group:init ##\" that lists it, or a groups file {\"" + name + "\": [ranks]}"};
}

GroupTable::Found GroupTable::of_entry(std::uint32_t rank, const Entry& entry, Way way) {
  if (entry.is_ambiguous) {
    return {nullptr, way, "which the metadata of rank " + std::to_string(rank) + " lists twice, with different ranks",
            "one list of ranks, or a groups file"};
  }
  return entry.list == nullptr ? everybody(entry.name, way) : make(rank, entry.name, entry.list, way);
}

GroupTable::Found GroupTable::everybody(const std::string& name, Way way) {
  if (everybody_ == nullptr) {
    std::vector<std::uint64_t> ranks(ranks_);
    std::iota(ranks.begin(), ranks.end(), 0U);
    everybody_ = list_of(ranks);
  }
  return make(0, name, everybody_, way);
}

GroupTable::Found GroupTable::make(std::uint32_t rank, const std::string& name, const RankList* list, Way way) {
  if (!list->fits) {
    return {nullptr, way, "of " + described(list), "ranks below " + std::to_string(ranks_), list->given};
  }
  if (list->has_twice) return {nullptr, way, "which has a rank twice", "different ranks"};
  if (!std::binary_search(list->sorted.begin(), list->sorted.end(), rank)) {
    return {nullptr, way, "to which rank " + std::to_string(rank) + " does not belong",
            described(list) + " alone to name it"};
  }
  const auto [made, is_new] = made_.try_emplace({name, list});
  if (is_new) {
    const auto [group, is_first] = groups_.try_emplace({name, list->sorted});
    if (is_first) {
      group->second.key = keys_.insert(name).second ? name : name + " of rank " + std::to_string(list->sorted.front());
      keys_.insert(group->second.key);
      group->second.ranks.assign(list->given->begin(), list->given->end());
      group->second.sorted = &group->first.second;
    }
    made->second = {&group->second, !is_first};
  }
  const auto& [group, is_other_order] = made->second;
  return {group, is_other_order && way == Way::kOwn ? Way::kOtherOrder : way, "", ""};
}

}  // namespace weft::chakra
