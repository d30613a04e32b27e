// SPDX-License-Identifier: Apache-2.0
// Groups and their collectives.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "traces/chakra/check/joined_graph.h"
#include "traces/chakra/check/parts.h"
#include "traces/files/text_file.h"

namespace weft::chakra {
namespace {

constexpr const char* kLeavesOut = "leaves dimensions out in its involved_dim";
constexpr const char* kNoList = "none";

}  // namespace

void RankMatcher::add_groups(std::size_t file, const Node& node) {
  const RankFile& in = files_.files[file];
  const ProcessGroupList list = process_groups_of(node);
  if (!list.problem.empty() || list.is_cut) {
    const bool is_cut = list.problem.empty();
    findings_.add(is_cut ? Problem::kGroupsCut : Problem::kGroupsUnread, in, node,
                  is_cut ? "its list of process groups ends within one" : list.problem, is_cut ? "a whole list" : "");
  }
  for (const ProcessGroup& group : list.groups) {
    const std::string label = "group \"" + traces::one_line(group.name) + "\"";
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
  if (table_.has_metadata() && table_.has_file() && remarked_file_ != file) {
    remarked_file_ = file;
    findings_.add(Problem::kGroupsFile, in, node, "lists process groups", "no groups file beside it");
  }
}

RankMatcher::Issued& RankMatcher::names(std::size_t file, const std::string& group, std::uint64_t node) {
  const auto [found, is_new] = issued_[file].try_emplace(group);
  if (is_new) found->second = {node, std::make_shared<std::vector<Collective>>(), {}};
  return found->second;
}

void RankMatcher::add_collective(std::size_t file, const Node& node, std::uint32_t place, CollectiveType type,
                                 std::int64_t size) {
  const std::int64_t root = has_root(type) ? node.comm_root().value_or(kNotNamed) : kNotNamed;
  const auto dimensions = node.involved_dim();
  const bool leaves_out = dimensions && std::find(dimensions->begin(), dimensions->end(), false) != dimensions->end();
  const std::filesystem::path* const own = implementations_.of(node.id, type);
  const bool joins_all = own != nullptr || one_dimension_.contains(type);
  if (leaves_out && joins_all) {
    findings_.add(Problem::kAllDimensions, files_.files[file], node, kLeavesOut, kNoList);
  }
  InvolvedLists::List involved = joins_all ? InvolvedLists::kAllRanks : InvolvedLists::kNone;
  if (!joins_all && dimensions) involved = involved_.add(*dimensions);
  // Of others, other ranks may name it.
  if (has_root(type) && root == kNotNamed && !files_.is_prefix) {
    findings_.add(Problem::kNoRoot, files_.files[file], node, name_of(type) + " names no root",
                  "the attribute comm_root");
  }
  if (!files_.is_prefix && !shared_) return;
  Issued& issued = names(file, node.pg_name(), node.id);
  if (own != nullptr) issued.uses.try_emplace(own, node.id, type);
  issued.collectives->push_back({size, root, node.id, place, type, involved});
}

/// Ranks that issue the same share one list of it.
void RankMatcher::end_file(std::size_t file, const GraphCheck& graph) {
  std::vector<std::uint32_t> in_file;
  for (const auto& [name, issued] : issued_[file]) {
    for (const Collective& each : *issued.collectives) in_file.push_back(each.place);
  }
  for (std::size_t i = sends_of_others_; i < sends_.size(); ++i) in_file.push_back(sends_[i].place);
  for (std::size_t i = receives_of_others_; i < receives_.size(); ++i) in_file.push_back(receives_[i].place);
  const std::vector<std::uint32_t> places = joined_->add(file, graph, in_file);
  const std::vector<std::uint64_t> begins = issued_[file].empty() ? std::vector<std::uint64_t>() : graph.begins();
  auto next = places.begin();
  auto next_in_file = in_file.begin();
  for (auto& [name, issued] : issued_[file]) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> begun;  // a vertex, and when
    for (Collective& each : *issued.collectives) {
      each.place = *next++;
      begun.emplace_back(each.place, begins[*next_in_file++]);
    }
    std::stable_sort(issued.collectives->begin(), issued.collectives->end(), in_order);
    std::stable_sort(begun.begin(), begun.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return begun[a].second < begun[b].second; };
    issued.by_time.resize(begun.size());
    std::iota(issued.by_time.begin(), issued.by_time.end(), 0U);
    std::stable_sort(issued.by_time.begin(), issued.by_time.end(), earlier);
    if (std::is_sorted(issued.by_time.begin(), issued.by_time.end())) issued.by_time = {};
    const auto [latest, is_new] = latest_.try_emplace(name, issued.collectives);
    if (!is_new && *latest->second == *issued.collectives) issued.collectives = latest->second;
    latest->second = issued.collectives;
    issued.collectives->shrink_to_fit();
  }
  for (; sends_of_others_ < sends_.size(); ++sends_of_others_) sends_[sends_of_others_].place = *next++;
  for (; receives_of_others_ < receives_.size(); ++receives_of_others_) receives_[receives_of_others_].place = *next++;
}

void RankMatcher::find_groups(CheckReport& report) {
  involved_.settle();
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
  report_beyond();
  for (auto& [key, group] : groups_) dispute(group);
}

bool RankMatcher::is_beyond(const GroupTable::Found& found, std::size_t file, const std::string& name,
                            const Issued& issued) {
  if (found.beyond == nullptr || !files_.is_prefix) return false;
  const std::vector<std::uint64_t>& listed = *found.beyond;
  if (*std::max_element(listed.begin(), listed.end()) >= kMostRepaired) return false;
  for (const std::uint64_t rank : listed) {
    if (rank < ranks_) continue;
    beyond_.try_emplace(rank, Beyond{file, issued.first_node,
                                     "is of group \"" + name + "\", " + found.problem + ", and rank " +
                                         std::to_string(rank) + " has no file"});
  }
  return true;
}

void RankMatcher::report_beyond() {
  for (const auto& [rank, each] : beyond_) {
    const std::string ranks = std::to_string(beyond_.rbegin()->first + 1);
    findings_.add(
        Problem::kMissingRank, files_.files[each.file], each.node, each.problem,
        "a trace and a machine of " + ranks + " ranks, whose files weft trace repair --ranks " + ranks + " writes");
  }
}

/// The metadata of another member may list other ranks by the same name: then it is in no group with the first.
void RankMatcher::dispute(Group& group) {
  if (group.group == nullptr || group.name.empty() || !table_.has_metadata()) return;
  const auto& [rank, member] = *group.members.begin();
  for (const std::uint32_t other : *group.group->sorted) {
    if (other == rank || !file_of_.contains(other)) continue;
    const GroupTable::Found theirs = table_.find(other, group.name);
    if (theirs.group == group.group) continue;
    const std::string of_other =
        theirs.group != nullptr ? GroupTable::described(*theirs.group) + " by that of rank " + std::to_string(other)
                                : "for rank " + std::to_string(other) + " a group " + theirs.problem;
    group.is_disputed = true;
    findings_.add(Problem::kGroup, files_.files[member.file], member.issued->first_node,
                  "is of group \"" + group.name + "\", " + GroupTable::described(*group.group) +
                      " by the metadata of rank " + std::to_string(rank) + " and " + of_other,
                  "the same ranks, or a groups file {\"" + group.name + "\": [ranks]}");
    return;
  }
}

void RankMatcher::find_group(std::size_t file, std::uint32_t rank, const std::string& name, const Issued& issued,
                             CheckReport& report) {
  const GroupTable::Found found = table_.find(rank, name);
  if (found.group == nullptr) {
    // One that several ranks miss is one group.
    if (!is_beyond(found, file, name, issued) && missed_groups_.emplace(name, found.problem).second) {
      findings_.add(Problem::kGroup, files_.files[file], issued.first_node,
                    "is of group \"" + name + "\", " + found.problem, found.expected);
    }
    // Those who name it alike are compared all the same.
    Group& unknown = groups_["\n" + name];
    unknown.name = name;
    unknown.members.emplace(rank, Member{file, &issued});
    return;
  }
  const GroupMembers& group = *found.group;
  if (!name.empty() && !group.key.empty()) report.groups.try_emplace(group.key, group.ranks);
  if (group.key != name) report.keys[rank][name] = group.key;
  remark(found.way, file, issued, name, group);
  use_implementations(file, issued, group);
  Group& of_key = groups_[group.key];
  of_key.group = &group;
  of_key.name = name;
  if (group.key.empty() && !shared_) return add_everybody(rank, file, issued);
  // What a file has for all ranks counts once.
  const bool is_first = rank == group.sorted->front();
  if (shared_ && is_first) find_shared_roots(issued, group);
  if (!group.key.empty() && (!shared_ || is_first)) remark_dimensions(file, issued);
  add_member(of_key, rank, file, issued);
}

void RankMatcher::remark_dimensions(std::size_t file, const Issued& issued) {
  for (const Collective& each : *issued.collectives) {
    if (!involved_.leaves_out(each.involved)) continue;
    findings_.add(Problem::kAllDimensions, files_.files[file], each.id, kLeavesOut, kNoList);
  }
}

void RankMatcher::use_implementations(std::size_t file, const Issued& issued, const GroupMembers& group) {
  for (const auto& [prefix, first] : issued.uses) {
    if (!used_.emplace(prefix, &group).second) continue;
    uses_.push_back({prefix, first.second, &group, &files_.files[file], first.first});
  }
}

/// What a rank issues by all of its names for the group, in one order.
void RankMatcher::add_member(Group& group, std::uint32_t rank, std::size_t file, const Issued& issued) {
  const auto [member, is_new] = group.members.try_emplace(rank, Member{file, &issued});
  if (is_new || shared_) return;
  const Issued& before = *member->second.issued;
  Issued merged{before.first_node, std::make_shared<std::vector<Collective>>(), {}, true};
  std::merge(before.collectives->begin(), before.collectives->end(), issued.collectives->begin(),
             issued.collectives->end(), std::back_inserter(*merged.collectives), in_order);
  merged_.push_back(std::move(merged));
  member->second.issued = &merged_.back();
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

}  // namespace weft::chakra
