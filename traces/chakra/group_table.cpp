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

std::string described(const std::optional<std::vector<std::uint64_t>>& ranks) {
  if (!ranks) return "all ranks";
  std::string text = "ranks ";
  for (std::size_t i = 0; i < std::min(ranks->size(), kMostListed); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string((*ranks)[i]);
  }
  return text + (ranks->size() > kMostListed ? ", ... (" + std::to_string(ranks->size()) + ")" : "");
}

}  // namespace

GroupTable::GroupTable(std::uint32_t ranks, Named file) : ranks_(ranks), file_(std::move(file)) {}

void GroupTable::add(std::optional<std::uint32_t> rank, const ProcessGroup& group) {
  add_to(rank ? by_rank_[*rank] : common_, group);
}

void GroupTable::add_to(Entries& entries, const ProcessGroup& group) {
  const auto [found, is_new] = entries.try_emplace(group.name, Entry{group});
  if (!is_new && found->second.group.ranks != group.ranks) found->second.is_ambiguous = true;
}

const GroupTable::Entry* GroupTable::with_description(const Entries& entries, const std::string& text) {
  const Entry* found = nullptr;
  for (const auto& [name, entry] : entries) {
    if (entry.group.description != text) continue;
    if (found != nullptr) return nullptr;
    found = &entry;
  }
  return found;
}

GroupTable::Found GroupTable::find(std::uint32_t rank, const std::string& name) {
  if (name.empty()) return everybody(name, Way::kOwn);
  if (const auto of_file = file_.find(name); of_file != file_.end()) {
    return make(rank, name, of_file->second, Way::kOwn);
  }
  const auto own = by_rank_.find(rank);
  for (const Entries* entries : {own != by_rank_.end() ? &own->second : nullptr, &common_}) {
    if (entries == nullptr) continue;
    if (const auto entry = entries->find(name); entry != entries->end()) {
      return of_entry(rank, entry->second, Way::kOwn);
    }
  }
  for (const Entries* entries : {own != by_rank_.end() ? &own->second : nullptr, &common_}) {
    const Entry* entry = entries != nullptr ? with_description(*entries, name) : nullptr;
    if (entry == nullptr) continue;
    // PyTorch's default group, which nodes name 0, is everybody.
    return entry->group.name == "0" ? everybody("", Way::kByDescription) : of_entry(rank, *entry, Way::kByDescription);
  }
  if (name == kDefault) return everybody("", Way::kByDescription);
  return of_other_ranks(rank, name);
}

GroupTable::Found GroupTable::of_other_ranks(std::uint32_t rank, const std::string& name) {
  const Entry* found = nullptr;
  for (const auto& [other, entries] : by_rank_) {
    const auto entry = entries.find(name);
    if (entry == entries.end()) continue;
    const auto& ranks = entry->second.group.ranks;
    if (ranks && std::find(ranks->begin(), ranks->end(), rank) == ranks->end()) continue;
    if (found != nullptr && found->group.ranks != ranks) {
      return {nullptr, Way::kOwn,
              "which its own metadata does not name, and other ranks name as " + described(found->group.ranks) +
                  " and as " + described(ranks),
              "one group of that name with rank " + std::to_string(rank)};
    }
    found = &entry->second;
  }
  if (found != nullptr) return of_entry(rank, *found, Way::kOfOtherRanks);
  return {nullptr, Way::kOwn, "which neither the metadata of the trace nor a groups file names",
          "a node \"## process_group:init ##\" that lists it, or a groups file {\"" + name + "\": [ranks]}"};
}

GroupTable::Found GroupTable::of_entry(std::uint32_t rank, const Entry& entry, Way way) {
  const ProcessGroup& group = entry.group;
  if (entry.is_ambiguous) {
    return {nullptr, way, "which the metadata of rank " + std::to_string(rank) + " lists twice, with different ranks",
            "one list of ranks, or a groups file"};
  }
  if (!group.ranks) return everybody(group.name, way);
  std::vector<std::uint32_t> ranks;
  for (const std::uint64_t each : *group.ranks) {
    if (each >= ranks_) {
      return {nullptr, way, "of " + described(group.ranks), "ranks below " + std::to_string(ranks_)};
    }
    ranks.push_back(static_cast<std::uint32_t>(each));
  }
  return make(rank, group.name, std::move(ranks), way);
}

GroupTable::Found GroupTable::everybody(const std::string& name, Way way) {
  if (const auto known = everybody_.find(name); known != everybody_.end()) return {known->second, way, "", ""};
  std::vector<std::uint32_t> ranks(ranks_);
  std::iota(ranks.begin(), ranks.end(), 0U);
  const Found made = make(0, name, std::move(ranks), way);
  everybody_[name] = made.group;
  return made;
}

GroupTable::Found GroupTable::make(std::uint32_t rank, const std::string& name, std::vector<std::uint32_t> ranks,
                                   Way way) {
  std::vector<std::uint32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return {nullptr, way, "which has a rank twice", "different ranks"};
  }
  if (!std::binary_search(sorted.begin(), sorted.end(), rank)) {
    return {nullptr, way, "to which rank " + std::to_string(rank) + " does not belong",
            described(std::vector<std::uint64_t>(ranks.begin(), ranks.end())) + " alone to name it"};
  }
  const auto [found, is_new] = groups_.try_emplace({name, sorted});
  GroupMembers& group = found->second;
  if (!is_new) {
    const bool differs = group.ranks != ranks;
    return {&group, differs && way == Way::kOwn ? Way::kOtherOrder : way, "", ""};
  }
  group.key = keys_.insert(name).second ? name : name + " of rank " + std::to_string(sorted.front());
  keys_.insert(group.key);
  group.ranks = std::move(ranks);
  return {&group, way, "", ""};
}

}  // namespace weft::chakra
