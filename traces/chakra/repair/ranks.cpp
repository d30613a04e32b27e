// SPDX-License-Identifier: Apache-2.0
// What can be mended between ranks: the matcher's part of repair().
#include <algorithm>
#include <map>
#include <utility>

#include "traces/chakra/check/parts.h"
#include "traces/chakra/repair/parts.h"

namespace weft::chakra {

namespace {

/// A size that most ranks have, the largest of them.
std::int64_t most_frequent(const std::map<std::int64_t, std::size_t>& sizes) {
  const auto fewer = [](const auto& a, const auto& b) {
    return std::pair(a.second, a.first) < std::pair(b.second, b.first);
  };
  return std::max_element(sizes.begin(), sizes.end(), fewer)->first;
}

}  // namespace

bool RankMatcher::knows(std::uint32_t rank, const std::string& group) {
  return table_.find(rank, group).group != nullptr;
}

std::optional<std::uint32_t> RankMatcher::other_of_two(std::uint32_t rank, const std::string& group) {
  const GroupTable::Found found = table_.find(rank, group);
  if (found.group == nullptr || found.group->ranks.size() != 2) return std::nullopt;
  const std::vector<std::uint32_t>& ranks = found.group->ranks;
  return ranks[ranks.front() == rank ? 1 : 0];
}

void RankMatcher::mend(std::vector<Edits>& edits, MendLog& log) {
  std::vector<const Group*> out_of_order;
  std::vector<std::vector<Part>> orders;
  for (const auto& [key, group] : groups_) {
    if (!can_compare(group)) continue;
    std::vector<Part> parts = parts_of(group);
    const bool all_fit =
        std::all_of(parts.begin(), parts.end(), [&](Part& part) { return number(parts.front(), part); });
    const bool in_order =
        std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.numbers.empty(); });
    if (!all_fit || in_order) {
      align_group(group, all_fit, std::move(parts), edits, log);
    } else {
      out_of_order.push_back(&group);
      orders.push_back(std::move(parts));
    }
  }
  const std::vector<bool> contradict = contradictions(out_of_order, orders);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    align_group(*out_of_order[i], !contradict[i], std::move(orders[i]), edits, log);
  }
  if (!involved_.has_groups()) leave_out_beside(edits, log);
  for (const Channel& channel : channels()) mend(channel, edits, log);
}

void RankMatcher::mend_shared(Edits& edits, MendLog& log) const {
  if (!shared_) return;
  for (const auto& [key, group] : groups_) {
    if (group.group == nullptr) continue;
    for (const Collective& each : *group.members.begin()->second.issued->collectives) {
      if (each.root == kNotNamed) continue;
      // One root is none of the ranks that other ranks share dimensions with.
      const bool is_of_some = key.empty() && involved_.has_groups() && set_of(each) != InvolvedLists::kAll;
      if (!is_of_some && is_member(each.root, *group.group)) continue;
      Edit& edit = edits[each.id];
      edit.is_rootless = is_of_some;
      if (!is_of_some) edit.root = group.group->ranks.front();
      log.add(Problem::kRoot, files_.files.front(), each.id);
    }
  }
}

/// Where nothing says which ranks share dimensions: what stands on other ranks in the place of a collective of all
/// dimensions that is left out.
void RankMatcher::leave_out_beside(std::vector<Edits>& edits, MendLog& log) const {
  if (everybody_.members.empty()) return;
  const auto is_left_out = [&](std::size_t file, const Collective& each) {
    const auto edit = edits[file].find(each.id);
    return edit != edits[file].end() && edit->second.is_left_out;
  };
  const auto& [lowest, first] = *everybody_.members.begin();
  const std::vector<Collective>& reference = *first.issued->collectives;
  const auto leaves_none_out = [&](const auto& rank_and_member) {
    const Member& member = rank_and_member.second;
    const std::vector<Collective>& all = *member.issued->collectives;
    return std::none_of(all.begin(), all.end(), [&](const Collective& each) { return is_left_out(member.file, each); });
  };
  if (std::all_of(everybody_.members.begin(), everybody_.members.end(), leaves_none_out)) return;
  std::vector<bool> goes(reference.size());
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> pairs;  // by member
  for (const auto& [rank, member] : everybody_.members) {
    const std::vector<Collective>& all = *member.issued->collectives;
    pairs.push_back(align(plain(reference), plain(all)));
    for (const auto& [there, here] : pairs.back()) goes[there] = goes[there] || is_left_out(member.file, all[here]);
  }
  auto of_member = pairs.begin();
  for (const auto& [rank, member] : everybody_.members) {
    for (const auto& [there, here] : *of_member++) {
      const Collective& each = (*member.issued->collectives)[here];
      if (!goes[there] || is_left_out(member.file, each)) continue;
      edits[member.file][each.id].is_left_out = true;
      log.add(Problem::kCollectiveOrder, files_.files[member.file], each.id);
    }
  }
}

std::vector<Aligned> RankMatcher::plain(const std::vector<Collective>& all) {
  std::vector<Aligned> result;
  result.reserve(all.size());
  for (const Collective& each : all) result.push_back({each.type, each.size});
  return result;
}

void RankMatcher::mend(const Channel& channel, std::vector<Edits>& edits, MendLog& log) const {
  const auto edit = [&](std::uint32_t rank, const Message& message) -> Edit& {
    return edits[file_of_.at(rank)][message.id];
  };
  const std::size_t pairs = std::min(channel.sends.size(), channel.receives.size());
  for (std::size_t i = 0; i < pairs; ++i) {
    const Message& send = *channel.sends[i];
    const Message& receive = *channel.receives[i];
    const std::int64_t size = std::max(send.size, receive.size);
    if (size != send.size) edit(send.source, send).size = size;
    if (size != receive.size) edit(receive.destination, receive).size = size;
    log.add(Problem::kMessageSize, file_of(send.source), send.id);
  }
  const auto leave_out = [&](std::uint32_t rank, const Message& message) {
    edit(rank, message).is_left_out = true;
    log.add(Problem::kLoneMessage, file_of(rank), message.id);
  };
  for (std::size_t i = pairs; i < channel.sends.size(); ++i) leave_out(channel.sends[i]->source, *channel.sends[i]);
  for (std::size_t i = pairs; i < channel.receives.size(); ++i) {
    leave_out(channel.receives[i]->destination, *channel.receives[i]);
  }
}

/// The lowest rank's collectives that all members have, in the order in which it issues them, or in any where they
/// have the same.
void RankMatcher::align_group(const Group& group, bool all_fit, std::vector<Part> parts, std::vector<Edits>& edits,
                              MendLog& log) const {
  constexpr std::size_t kNone = SIZE_MAX;
  const std::vector<Collective>& reference = *parts.front().all;
  const std::vector<Aligned> as_reference = plain(reference);
  std::vector<std::vector<std::size_t>> places;  // by part: where it has the reference's collectives
  for (const Part& part : parts) {
    std::vector<std::size_t>& of_reference = places.emplace_back(reference.size(), kNone);
    if (all_fit) {
      for (std::size_t i = 0; i < part.all->size(); ++i) of_reference[part.number(i)] = i;
    } else {
      for (const auto& [there, here] : align(as_reference, plain(*part.all))) of_reference[there] = here;
    }
  }
  std::vector<std::vector<bool>> kept;
  for (const Part& part : parts) kept.emplace_back(part.all->size(), false);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (std::any_of(places.begin(), places.end(), [&](const auto& of) { return of[i] == kNone; })) continue;
    const auto here = [&](std::size_t part) -> const Collective& { return (*parts[part].all)[places[part][i]]; };
    std::map<std::int64_t, std::size_t> sizes;
    std::int64_t root = kNotNamed;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      kept[part][places[part][i]] = true;
      ++sizes[here(part).size];
      if (root == kNotNamed) root = here(part).root;
    }
    const std::int64_t size = most_frequent(sizes);
    if (root != kNotNamed && !is_member(root, *group.group)) root = group.group->ranks.front();
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const Collective& each = here(part);
      const std::size_t file = parts[part].file;
      if (each.size != size) {
        edits[file][each.id].size = size;
        log.add(Problem::kCollectiveSize, files_.files[file], each.id);
      }
      if (each.root != kNotNamed && each.root != root) {
        edits[file][each.id].root = root;
        log.add(Problem::kRoot, files_.files[file], each.id);
      }
    }
  }
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (std::size_t i = 0; i < kept[part].size(); ++i) {
      if (kept[part][i]) continue;
      const std::uint64_t id = (*parts[part].all)[i].id;
      edits[parts[part].file][id].is_left_out = true;
      log.add(Problem::kCollectiveOrder, files_.files[parts[part].file], id);
    }
  }
}

}  // namespace weft::chakra
