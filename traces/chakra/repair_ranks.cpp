// SPDX-License-Identifier: Apache-2.0
// What can be mended between ranks: the matcher's part of repair().
#include <algorithm>
#include <tuple>

#include "traces/chakra/check_parts.h"
#include "traces/chakra/repair_parts.h"

namespace weft::chakra {

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
  for (const auto& [key, group] : groups_) align_group(group, edits, log);
  const auto order = [](const Message& a, const Message& b) {
    return std::tie(a.source, a.destination, a.tag, a.id) < std::tie(b.source, b.destination, b.tag, b.id);
  };
  std::sort(sends_.begin(), sends_.end(), order);
  std::sort(receives_.begin(), receives_.end(), order);
  const auto channel = [](const Message& message) {
    return std::tie(message.source, message.destination, message.tag);
  };
  const auto edit = [&](std::uint32_t rank, const Message& message) -> Edit& {
    return edits[file_of_.at(rank)][message.id];
  };
  auto send = sends_.begin();
  auto receive = receives_.begin();
  while (send != sends_.end() || receive != receives_.end()) {
    const bool lone_send = receive == receives_.end() || (send != sends_.end() && channel(*send) < channel(*receive));
    const bool lone_receive = !lone_send && (send == sends_.end() || channel(*receive) < channel(*send));
    if (lone_send || lone_receive) {
      const Message& message = lone_send ? *send++ : *receive++;
      const std::uint32_t rank = lone_send ? message.source : message.destination;
      edit(rank, message).is_left_out = true;
      log.add(Problem::kLoneMessage, file_of(rank), message.id);
      continue;
    }
    if (send->size != receive->size) {
      const std::int64_t size = std::max(send->size, receive->size);
      edit(send->source, *send).size = size;
      edit(receive->destination, *receive).size = size;
      log.add(Problem::kMessageSize, file_of(send->source), send->id);
    }
    ++send;
    ++receive;
  }
}

/// The lowest rank's collectives that all members have, in the order in which it issues them.
void RankMatcher::align_group(const Group& group, std::vector<Edits>& edits, MendLog& log) const {
  static const std::vector<Collective> kNothing;
  struct Place {
    std::size_t file;
    const std::vector<Collective>* all;
    std::vector<std::size_t> of_reference;  ///< where this one has the reference's collectives
    std::vector<bool> kept;
  };
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::uint32_t> ranks = group.group->ranks;
  std::sort(ranks.begin(), ranks.end());
  std::vector<Place> places;
  for (const std::uint32_t rank : ranks) {
    const auto member = group.members.find(rank);
    if (member == group.members.end() && !file_of_.contains(rank)) continue;
    places.push_back({file_of_.at(rank),
                      member == group.members.end() ? &kNothing : member->second.issued->collectives.get(),
                      {},
                      {}});
  }
  const auto plain = [](const std::vector<Collective>& all) {
    std::vector<Aligned> result;
    result.reserve(all.size());
    for (const Collective& each : all) result.push_back({each.type, each.size});
    return result;
  };
  const std::vector<Collective>& reference = *places.front().all;
  const std::vector<Aligned> as_reference = plain(reference);
  for (Place& place : places) {
    place.of_reference.assign(reference.size(), kNone);
    place.kept.assign(place.all->size(), false);
    for (const auto& [there, here] : align(as_reference, plain(*place.all))) place.of_reference[there] = here;
  }
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (std::any_of(places.begin(), places.end(), [&](const Place& place) { return place.of_reference[i] == kNone; })) {
      continue;
    }
    std::int64_t size = 0;
    for (const Place& place : places) size = std::max(size, (*place.all)[place.of_reference[i]].size);
    const std::int64_t root = root_of(reference[i], group);
    const bool is_rank =
        std::find(group.group->ranks.begin(), group.group->ranks.end(), root) != group.group->ranks.end();
    const std::int64_t mended_root = is_rank ? root : group.group->ranks.front();
    for (Place& place : places) {
      const Collective& here = (*place.all)[place.of_reference[i]];
      place.kept[place.of_reference[i]] = true;
      if (here.size != size) {
        edits[place.file][here.id].size = size;
        log.add(Problem::kCollectiveSize, files_.files[place.file], here.id);
      }
      if (has_root(here.type) && root_of(here, group) != mended_root) {
        edits[place.file][here.id].root = mended_root;
        log.add(Problem::kRoot, files_.files[place.file], here.id);
      }
    }
  }
  for (const Place& place : places) {
    for (std::size_t i = 0; i < place.all->size(); ++i) {
      if (place.kept[i]) continue;
      edits[place.file][(*place.all)[i].id].is_left_out = true;
      log.add(Problem::kCollectiveOrder, files_.files[place.file], (*place.all)[i].id);
    }
  }
}

}  // namespace weft::chakra
