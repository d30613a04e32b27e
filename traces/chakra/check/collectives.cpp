// SPDX-License-Identifier: Apache-2.0
// What the ranks of a group issue together.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "traces/chakra/check/parts.h"
#include "traces/files/text_file.h"

namespace weft::chakra {
namespace {

std::string ordinal(std::size_t number) {
  return "collective " + std::to_string(number + 1);
}

std::string on_rank(std::uint32_t rank, std::uint64_t node) {
  return "rank " + std::to_string(rank) + ", node " + std::to_string(node);
}

}  // namespace

/// The ranks that have a file; the lowest is the reference.
std::vector<RankMatcher::Part> RankMatcher::parts_of(const Group& group) const {
  static const std::vector<Collective> kNothing;
  std::vector<std::uint32_t> ranks;
  for (const auto& [rank, member] : group.members) ranks.push_back(rank);
  if (group.group != nullptr) ranks = *group.group->sorted;
  std::vector<Part> parts;
  for (const std::uint32_t rank : ranks) {
    const auto member = group.members.find(rank);
    if (member == group.members.end() && !file_of_.contains(rank)) continue;
    const bool issues = member != group.members.end();
    parts.push_back({rank,
                     issues ? member->second.file : file_of_.at(rank),
                     issues ? member->second.issued->collectives.get() : &kNothing,
                     issues ? member->second.issued : nullptr,
                     {}});
  }
  return parts;
}

/// By type and size, and by root as well if that goes: which of them is which, of equal ones in order.
bool RankMatcher::number(const Part& reference, Part& part) {
  const auto same = [](const Collective& a, const Collective& b) { return a.type == b.type && a.size == b.size; };
  if (part.all == reference.all ||
      std::equal(part.all->begin(), part.all->end(), reference.all->begin(), reference.all->end(), same)) {
    return true;
  }
  if (part.all->size() != reference.all->size()) return false;
  const auto sorted = [](const std::vector<Collective>& all, bool by_root) {
    std::vector<std::uint32_t> places(all.size());
    std::iota(places.begin(), places.end(), 0U);
    const auto key = [&](std::uint32_t place) {
      return std::tuple(all[place].type, all[place].size, by_root ? all[place].root : 0);
    };
    std::stable_sort(places.begin(), places.end(), [&](auto a, auto b) { return key(a) < key(b); });
    return places;
  };
  for (const bool by_root : {true, false}) {
    const std::vector<std::uint32_t> theirs = sorted(*reference.all, by_root);
    const std::vector<std::uint32_t> ours = sorted(*part.all, by_root);
    bool fits = true;
    for (std::size_t i = 0; i < ours.size() && fits; ++i) {
      const Collective& a = (*part.all)[ours[i]];
      const Collective& b = (*reference.all)[theirs[i]];
      fits = same(a, b) && (!by_root || a.root == b.root);
    }
    if (!fits) continue;
    part.numbers.resize(ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) part.numbers[ours[i]] = theirs[i];
    return true;
  }
  return false;
}

void RankMatcher::compare(const Group& group, CheckReport& report) {
  if (shared_ || group.is_disputed || !can_compare(group)) return;
  const std::string name = group.group != nullptr ? group.group->key : group.name;
  std::string what = group.what;
  if (what.empty()) what = name.empty() ? "of all ranks" : "of group " + traces::one_line(name);
  std::vector<Part> parts = parts_of(group);
  // Of one that issues nothing nobody learns what is missing.
  const auto reference = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return !part.all->empty(); });
  if (reference == parts.end()) return;
  const Part* first_other = nullptr;
  bool all_fit = true;
  for (Part& part : parts) {
    if (!number(*reference, part)) {
      all_fit = false;
      compare(what, *reference, part);
    } else if (!part.numbers.empty() && first_other == nullptr) {
      first_other = &part;
    }
  }
  if (!all_fit) return;
  if (join(what, group, parts)) {
    first_other != nullptr ? differ_in_time(what, parts, *first_other) : differ_by_durations(what, parts);
  }
  compare_roots(what, group, parts, report);
}

/// All issue the same, in different orders where nothing takes time.
void RankMatcher::differ_in_time(const std::string& what, const std::vector<Part>& parts, const Part& first_other) {
  std::size_t at = 0;
  while (first_other.number(at) == at) ++at;
  const Collective& ours = (*first_other.all)[at];
  const Collective& theirs = (*parts.front().all)[at];
  times_differ_.push_back({joined_groups_.size() - 1, first_other.file, ours.id,
                           ordinal(at) + " " + what + " is " + described(ours) + " if nothing takes time",
                           described(theirs) + ", as in " + on_rank(parts.front().rank, theirs.id)});
}

/// The same where nothing takes time, but not with the durations of the trace.
void RankMatcher::differ_by_durations(const std::string& what, const std::vector<Part>& parts) {
  if (std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.issued->is_merged; })) return;
  const auto by_time = [](const Part& part, std::size_t at) -> const Collective& {
    return (*part.all)[part.issued->by_time.empty() ? at : part.issued->by_time[at]];
  };
  const Part& first = parts.front();
  for (const Part& part : parts) {
    if (part.issued->by_time == first.issued->by_time) continue;
    for (std::size_t i = 0; i < part.all->size(); ++i) {
      const Collective& ours = by_time(part, i);
      const Collective& theirs = by_time(first, i);
      if (ours.type == theirs.type && ours.size == theirs.size) continue;
      times_differ_.push_back({joined_groups_.size() - 1, part.file, ours.id,
                               ordinal(i) + " " + what + " is " + described(ours) + " by the durations before it",
                               described(theirs) + ", as in " + on_rank(first.rank, theirs.id)});
      return;
    }
  }
}

/// A root that no rank names is the group's first rank; those that do must agree.
void RankMatcher::compare_roots(const std::string& what, const Group& group, const std::vector<Part>& parts,
                                CheckReport& report) {
  struct Named {
    std::int64_t root = kNotNamed;
    std::uint32_t rank = 0;
    std::uint64_t node = 0;
  };
  std::vector<Named> named(parts.front().all->size());
  for (const Part& part : parts) {
    for (std::size_t i = 0; i < part.all->size(); ++i) {
      const Collective& each = (*part.all)[i];
      if (each.root == kNotNamed) continue;
      Named& first = named[part.number(i)];
      const std::string problem = "its root is " + std::to_string(each.root);
      if (group.group != nullptr && !is_member(each.root, *group.group)) {
        findings_.add(Problem::kRoot, files_.files[part.file], each.id, problem,
                      "a rank " + what + ", by its number in the machine");
      } else if (first.root == kNotNamed) {
        first = {each.root, part.rank, each.id};
      } else if (first.root != each.root) {
        findings_.add(Problem::kRoot, files_.files[part.file], each.id, problem,
                      std::to_string(first.root) + ", as in " + on_rank(first.rank, first.node));
      }
    }
  }
  for (const Part& part : parts) {
    for (std::size_t i = 0; i < part.all->size(); ++i) {
      const Collective& each = (*part.all)[i];
      if (!has_root(each.type) || each.root != kNotNamed) continue;
      const Named& first = named[part.number(i)];
      const std::string problem = name_of(each.type) + " names no root";
      if (first.root == kNotNamed) {
        findings_.add(Problem::kNoRoot, files_.files[part.file], each.id, problem, "the attribute comm_root");
        continue;
      }
      report.roots[part.rank][each.id] = static_cast<std::uint32_t>(first.root);
      findings_.add(Problem::kRootOfOthers, files_.files[part.file], each.id, problem,
                    std::to_string(first.root) + ", as in " + on_rank(first.rank, first.node));
    }
  }
}

/// They do not issue the same.
void RankMatcher::compare(const std::string& what, const Part& reference, const Part& part) {
  const RankFile& file = files_.files[part.file];
  const std::vector<Collective>& ours = *part.all;
  const std::vector<Collective>& theirs = *reference.all;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    if (ours[i].type == theirs[i].type && ours[i].size == theirs[i].size) continue;
    const bool is_size = ours[i].type == theirs[i].type;
    findings_.add(is_size ? Problem::kCollectiveSize : Problem::kCollectiveOrder, file, ours[i].id,
                  ordinal(i) + " " + what + " is " + described(ours[i]),
                  described(theirs[i]) + ", as in " + on_rank(reference.rank, theirs[i].id));
    // What follows would differ, too.
    if (!is_size) return;
  }
  if (ours.size() == theirs.size()) return;
  const bool is_longer = ours.size() > theirs.size();
  const Collective& lone = is_longer ? ours[theirs.size()] : theirs[ours.size()];
  const std::string rank = std::to_string(reference.rank);
  if (const Collective* other = other_dimensions(is_longer ? part : reference, lone, is_longer ? reference : part)) {
    const std::string which = described(lone) + " " + what;
    const auto involved = [this](const Collective& each) { return involved_.text(set_of(each)); };
    if (is_longer) {
      findings_.add(Problem::kCollectiveOrder, file, lone.id, "involves " + involved(lone) + ", and is " + which,
                    involved(*other) + ", as in " + on_rank(reference.rank, other->id));
    } else {
      findings_.add(Problem::kCollectiveOrder, file, other->id, "involves " + involved(*other),
                    involved(lone) + ", as in " + on_rank(reference.rank, lone.id) + ", " + which);
    }
    return;
  }
  findings_.add(Problem::kCollectiveOrder, file, std::nullopt,
                "the rank issues " + std::to_string(ours.size()) + " collectives " + what,
                std::to_string(theirs.size()) + ", as rank " + rank + " does");
}

const RankMatcher::Collective* RankMatcher::other_dimensions(const Part& has, const Collective& each,
                                                             const Part& lacks) const {
  const auto of = everybody_.members.find(has.rank);
  const auto beside = everybody_.members.find(lacks.rank);
  if (of == everybody_.members.end() || beside == everybody_.members.end()) return nullptr;
  const std::vector<Collective>& all = *of->second.issued->collectives;
  const std::vector<Collective>& others = *beside->second.issued->collectives;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Collective& a) { return a.place == each.place; });
  const auto number = static_cast<std::size_t>(found - all.begin());
  if (found == all.end() || number >= others.size()) return nullptr;
  return set_of(others[number]) != set_of(each) ? &others[number] : nullptr;
}

// --- Dimensions ---

void RankMatcher::add_everybody(std::uint32_t rank, std::size_t file, const Issued& issued) {
  add_member(everybody_, rank, file, issued);
  const BySet& sets = by_set(issued.collectives);
  const bool has_all_dimensions = sets.empty() || (sets.size() == 1 && sets.contains(InvolvedLists::kAll));
  if (has_all_dimensions) return add_member(groups_.at(""), rank, file, issued);
  for (const auto& [set, collectives] : sets) {
    if (set != InvolvedLists::kAll && !involved_.has_groups()) continue;
    Issued of_set{collectives->front().id, collectives, {}};
    std::vector<std::uint32_t> places;  // among those of the set
    for (const Collective& each : *issued.collectives) {
      places.push_back(places.empty() ? 0 : places.back() + 1);
      if (set_of(each) != set) --places.back();
    }
    for (const std::uint32_t place : issued.by_time) {
      if (set_of((*issued.collectives)[place]) == set) of_set.by_time.push_back(places[place]);
    }
    if (std::is_sorted(of_set.by_time.begin(), of_set.by_time.end())) of_set.by_time = {};
    merged_.push_back(std::move(of_set));
    std::string key;
    const GroupMembers* members = nullptr;
    if (set != InvolvedLists::kAll) {
      members = &involved_.group_of(set, rank);
      // No name begins so.
      key = std::string("\0", 1) + std::to_string(set) + " " + std::to_string(members->ranks.front());
    }
    Group& group = groups_[key];
    if (members != nullptr && group.group == nullptr) {
      group.group = members;
      group.what = "of " + GroupTable::described(*members) + " (" + involved_.text(set) + ")";
    }
    add_member(group, rank, file, merged_.back());
  }
}

/// Ranks that issue the same have one list of it.
const RankMatcher::BySet& RankMatcher::by_set(const Sequence& collectives) {
  const auto [found, is_new] = by_sets_.try_emplace(collectives.get());
  if (!is_new) return found->second;
  for (const Collective& each : *collectives) {
    Sequence& of_set = found->second[set_of(each)];
    if (of_set == nullptr) of_set = std::make_shared<std::vector<Collective>>();
    of_set->push_back(each);
  }
  return found->second;
}

void RankMatcher::remark_unknown_dimensions() {
  if (shared_ || everybody_.members.empty()) return;
  const auto& [first_rank, first] = *everybody_.members.begin();
  const std::vector<Collective>& theirs = *first.issued->collectives;
  const auto is_partial = [this](const Collective& each) { return set_of(each) != InvolvedLists::kAll; };
  for (const auto& [rank, member] : everybody_.members) {
    const std::vector<Collective>& ours = *member.issued->collectives;
    for (const Collective& each : ours) {
      if (!is_partial(each)) continue;
      findings_.add(Problem::kUnknownDimensions, files_.files[member.file], each.id,
                    "involves " + involved_.text(set_of(each)), "");
      // Of others, other ranks may name it.
      if (!has_root(each.type) || each.root != kNotNamed) continue;
      findings_.add(Problem::kNoRoot, files_.files[member.file], each.id, name_of(each.type) + " names no root",
                    "the attribute comm_root");
    }
    if (&ours == &theirs) continue;
    for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
      if (set_of(ours[i]) == set_of(theirs[i])) continue;
      findings_.add(Problem::kOtherDimensions, files_.files[member.file], ours[i].id,
                    "involves " + involved_.text(set_of(ours[i])),
                    involved_.text(set_of(theirs[i])) + ", as in " + on_rank(first_rank, theirs[i].id));
    }
  }
}

/// Not where lists differ that are the same on a network of one dimension.
bool RankMatcher::can_compare(const Group& everybody) const {
  const bool is_everybody = everybody.group != nullptr && everybody.group->key.empty() && everybody.what.empty();
  if (!is_everybody || involved_.has_groups()) return true;
  std::set<std::pair<std::ptrdiff_t, std::ptrdiff_t>> counts;
  for (const Part& part : parts_of(everybody)) {
    const auto member = everybody_.members.find(part.rank);
    const auto count = [&](const auto& is_counted) {
      if (member == everybody_.members.end()) return std::ptrdiff_t{0};
      const std::vector<Collective>& all = *member->second.issued->collectives;
      return std::count_if(all.begin(), all.end(), is_counted);
    };
    counts.emplace(count([this](const Collective& each) { return set_of(each) == InvolvedLists::kAll; }),
                   count([this](const Collective& each) { return involved_.has_first(each.involved); }));
  }
  const auto same = [&](const auto& part) {
    return std::all_of(counts.begin(), counts.end(),
                       [&](const auto& each) { return part(each) == part(*counts.begin()); });
  };
  return same([](const auto& each) { return each.first; }) || !same([](const auto& each) { return each.second; });
}

bool RankMatcher::joins_others(const GroupMembers& group, const Collective& each) const {
  return group.key.empty() && involved_.has_groups() && set_of(each) != InvolvedLists::kAll;
}

void RankMatcher::find_shared_roots(const Issued& issued, const GroupMembers& group) {
  for (const Collective& each : *issued.collectives) {
    if (each.root == kNotNamed) continue;
    const std::string problem = "its root is " + std::to_string(each.root);
    if (joins_others(group, each)) {
      findings_.add(Problem::kRoot, files_.files.front(), each.id, problem,
                    "none, since each rank's " + involved_.text(set_of(each)) + " joins other ranks");
    } else if (!is_member(each.root, group)) {
      const std::string of_group =
          group.key.empty() ? "from 0 to " + std::to_string(ranks_ - 1) : "of group " + group.key;
      findings_.add(Problem::kRoot, files_.files.front(), each.id, problem, "a rank " + of_group);
    }
  }
}

}  // namespace weft::chakra
