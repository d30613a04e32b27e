// SPDX-License-Identifier: Apache-2.0
// Groups and their collectives.
#include <algorithm>
#include <iterator>
#include <utility>

#include "traces/chakra/check_parts.h"

namespace weft::chakra {
namespace {

std::string describe(CollectiveType type, std::int64_t size) {
  return name_of(type) + " of " + std::to_string(size) + " bytes";
}

std::string described(const std::string& group) {
  return group.empty() ? "of all ranks" : "of group " + group;
}

std::string ordinal(std::size_t number) {
  return "collective " + std::to_string(number + 1);
}

}  // namespace

void RankMatcher::add_groups(std::size_t file, const Node& node) {
  const RankFile& in = files_.files[file];
  const ProcessGroupList list = process_groups_of(node);
  if (!list.problem.empty() || list.is_cut) {
    findings_.add(Problem::kGroupsCut, in, node,
                  list.problem.empty() ? "its list of process groups ends within one" : list.problem, "a whole list");
  }
  for (const ProcessGroup& group : list.groups) {
    const std::string label = "group \"" + group.name + "\"";
    const bool has_ranks = ranks_ > 0;
    if ((group.name == "0" || group.name.empty()) && group.ranks && has_ranks && group.ranks->size() != ranks_) {
      findings_.add(Problem::kEverybody, in, node, label + " lists " + std::to_string(group.ranks->size()) + " ranks",
                    "all " + std::to_string(ranks_));
    } else if (const std::uint64_t now = group.ranks ? group.ranks->size() : ranks_;
               group.size && (has_ranks || group.ranks) && *group.size != now) {
      findings_.add(Problem::kGroupSize, in, node, label + " had " + std::to_string(*group.size) + " ranks",
                    std::to_string(now) + ", as it has here");
    }
    table_.add(shared_ ? std::nullopt : rank_of(file), group);
  }
  if (table_.has_metadata() && table_.has_file() && !remarked_file_) {
    remarked_file_ = true;
    findings_.add(Problem::kGroupsFile, in, node, "lists process groups", "no groups file beside it");
  }
}

RankMatcher::Issued& RankMatcher::names(std::size_t file, const std::string& group, std::uint64_t node) {
  const auto [found, is_new] = issued_[file].try_emplace(group);
  if (is_new) found->second = {node, std::make_shared<std::vector<Collective>>()};
  return found->second;
}

void RankMatcher::add_collective(std::size_t file, const Node& node, CollectiveType type, std::int64_t size) {
  if (!files_.is_prefix && !shared_) return;
  Issued& issued = names(file, node.pg_name(), node.id);
  if (const auto dimensions = node.involved_dim()) {
    if (std::find(dimensions->begin(), dimensions->end(), false) != dimensions->end()) return;
  }
  const std::int64_t root = has_root(type) ? node.comm_root().value_or(kNotNamed) : kNotNamed;
  issued.collectives->push_back({size, root, node.id, node.id, type});
}

/// Ranks that issue the same share one list of it.
void RankMatcher::end_file(std::size_t file, const GraphCheck::Places& order) {
  // Nodes that wait for each other have no place.
  const auto place_of = [&](std::uint64_t id) {
    const auto found = order.find(id);
    return found != order.end() ? found->second : SIZE_MAX;
  };
  for (auto* messages : {&sends_, &receives_}) {
    std::size_t& first = messages == &sends_ ? first_send_ : first_receive_;
    if (!order.empty()) {
      std::stable_sort(messages->begin() + static_cast<std::ptrdiff_t>(first), messages->end(),
                       [&](const Message& a, const Message& b) { return place_of(a.id) < place_of(b.id); });
    }
    first = messages->size();
  }
  for (auto& [name, issued] : issued_[file]) {
    if (!order.empty()) {
      for (Collective& each : *issued.collectives) each.place = place_of(each.id);
      std::stable_sort(issued.collectives->begin(), issued.collectives->end(), in_order);
    }
    const auto [latest, is_new] = latest_.try_emplace(name, issued.collectives);
    if (!is_new && *latest->second == *issued.collectives) issued.collectives = latest->second;
    latest->second = issued.collectives;
    issued.collectives->shrink_to_fit();
  }
}

void RankMatcher::find_groups(CheckReport& report) {
  if (shared_) {
    for (const auto& [name, issued] : issued_.front()) {
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) find_group(0, rank, name, issued, report);
    }
  }
  for (std::size_t file = 0; files_.is_prefix && file < files_.files.size(); ++file) {
    const std::uint32_t rank = *rank_of(file);
    if (rank >= ranks_) continue;
    for (const auto& [name, issued] : issued_[file]) find_group(file, rank, name, issued, report);
  }
}

void RankMatcher::find_group(std::size_t file, std::uint32_t rank, const std::string& name, const Issued& issued,
                             CheckReport& report) {
  const GroupTable::Found found = table_.find(rank, name);
  if (found.group == nullptr) {
    findings_.add(Problem::kGroup, files_.files[file], issued.first_node,
                  "is of group \"" + name + "\", " + found.problem, found.expected);
    // Those who name it alike are compared all the same.
    groups_["\n" + name].members.emplace(rank, Member{file, &issued});
    return;
  }
  const GroupMembers& group = *found.group;
  if (!name.empty() && !group.key.empty()) report.groups.try_emplace(group.key, group.ranks);
  if (group.key != name) report.keys[rank][name] = group.key;
  remark(found.way, file, issued, name, group);
  Group& of_key = groups_[group.key];
  of_key.group = &group;
  add_member(of_key, rank, file, issued);
}

/// What a rank issues by all of its names for the group, in one order.
void RankMatcher::add_member(Group& group, std::uint32_t rank, std::size_t file, const Issued& issued) {
  const auto [member, is_new] = group.members.try_emplace(rank, Member{file, &issued});
  if (is_new || shared_) return;
  const Issued& before = *member->second.issued;
  Issued joined{before.first_node, std::make_shared<std::vector<Collective>>()};
  std::merge(before.collectives->begin(), before.collectives->end(), issued.collectives->begin(),
             issued.collectives->end(), std::back_inserter(*joined.collectives), in_order);
  joined_.push_back(std::move(joined));
  member->second.issued = &joined_.back();
}

void RankMatcher::remark(GroupTable::Way way, std::size_t file, const Issued& issued, const std::string& name,
                         const GroupMembers& group) {
  if (way == GroupTable::Way::kOwn) return;
  Problem kind = Problem::kGroupOrder;
  std::string expected = "one order";
  if (way == GroupTable::Way::kByDescription) {
    kind = Problem::kGroupByDescription;
    expected = "pg_name, " + (group.key.empty() ? "0" : group.key);
  } else if (way == GroupTable::Way::kOfOtherRanks) {
    kind = Problem::kGroupOfOtherRanks;
    expected = "the rank's own metadata to list it";
  }
  findings_.add(kind, files_.files[file], issued.first_node, "is of group \"" + name + "\"", expected);
}

std::int64_t RankMatcher::root_of(const Collective& collective, const Group& group) {
  if (!has_root(collective.type) || collective.root != kNotNamed || group.group == nullptr) return collective.root;
  return group.group->ranks.front();
}

void RankMatcher::compare(const std::string& key, const Group& group) {
  if (shared_) return;
  const auto& [reference, first] = *group.members.begin();
  const std::string what = described(key.starts_with("\n") ? key.substr(1) : key);
  std::vector<std::uint32_t> ranks;
  for (const auto& [rank, member] : group.members) ranks.push_back(rank);
  if (group.group != nullptr) ranks = *group.group->sorted;
  const Issued nothing{0, std::make_shared<std::vector<Collective>>()};
  for (const std::uint32_t rank : ranks) {
    const auto member = group.members.find(rank);
    if (member != group.members.end()) {
      compare(what, group, reference, *first.issued, member->second);
    } else if (file_of_.contains(rank)) {
      compare(what, group, reference, *first.issued, {file_of_.at(rank), &nothing});
    }
  }
}

void RankMatcher::compare(const std::string& what, const Group& group, std::uint32_t reference, const Issued& expected,
                          const Member& member) {
  const RankFile& file = files_.files[member.file];
  const std::vector<Collective>& ours = *member.issued->collectives;
  const std::vector<Collective>& theirs = *expected.collectives;
  const auto as_in = [&](const Collective& other) {
    return ", as in rank " + std::to_string(reference) + ", node " + std::to_string(other.id);
  };
  for (std::size_t i = 0; group.group != nullptr && i < ours.size(); ++i) {
    const std::int64_t root = root_of(ours[i], group);
    if (!has_root(ours[i].type) || is_member(root, *group.group)) continue;
    findings_.add(Problem::kRoot, file, ours[i].id, "its root is " + std::to_string(root),
                  "a rank " + what + ", by its number in the machine");
  }
  if (member.issued->collectives == expected.collectives) return;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (ours[i].type == theirs[i].type && ours[i].size == theirs[i].size) {
      if (root_of(ours[i], group) == root_of(theirs[i], group)) continue;
      findings_.add(Problem::kRoot, file, ours[i].id, "its root is " + std::to_string(root_of(ours[i], group)),
                    std::to_string(root_of(theirs[i], group)) + as_in(theirs[i]));
      continue;
    }
    const bool is_size = ours[i].type == theirs[i].type;
    findings_.add(is_size ? Problem::kCollectiveSize : Problem::kCollectiveOrder, file, ours[i].id,
                  ordinal(i) + " " + what + " is " + describe(ours[i].type, ours[i].size),
                  describe(theirs[i].type, theirs[i].size) + as_in(theirs[i]));
    // What follows would differ, too.
    if (!is_size) return;
  }
  if (ours.size() == theirs.size()) return;
  findings_.add(Problem::kCollectiveOrder, file, std::nullopt,
                "the rank issues " + std::to_string(ours.size()) + " collectives " + what,
                std::to_string(theirs.size()) + ", as rank " + std::to_string(reference) + " does");
}

}  // namespace weft::chakra
