// SPDX-License-Identifier: Apache-2.0
// What can be mended between ranks: the matcher's part of repair().
#include <algorithm>
#include <iterator>

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
  for (const Channel& channel : channels()) mend(channel, edits, log);
}

void RankMatcher::mend(const Channel& channel, std::vector<Edits>& edits, MendLog& log) const {
  const auto edit = [&](std::uint32_t rank, const Message& message) -> Edit& {
    return edits[file_of_.at(rank)][message.id];
  };
  const auto sizes = [](Messages begin, Messages end) {
    std::vector<std::int64_t> sorted;
    std::transform(begin, end, std::back_inserter(sorted), [](const Message& message) { return message.size; });
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  };
  const bool is_order = sizes(channel.send, channel.send_end) == sizes(channel.receive, channel.receive_end);
  auto send = channel.send;
  auto receive = channel.receive;
  for (; send != channel.send_end && receive != channel.receive_end; ++send, ++receive) {
    if (send->size == receive->size) continue;
    const std::int64_t size = is_order ? send->size : std::max(send->size, receive->size);
    if (size != send->size) edit(send->source, *send).size = size;
    if (size != receive->size) edit(receive->destination, *receive).size = size;
    log.add(is_order ? Problem::kMessageOrder : Problem::kMessageSize, file_of(send->source), send->id);
  }
  const auto leave_out = [&](std::uint32_t rank, const Message& message) {
    edit(rank, message).is_left_out = true;
    log.add(Problem::kLoneMessage, file_of(rank), message.id);
  };
  for (; send != channel.send_end; ++send) leave_out(send->source, *send);
  for (; receive != channel.receive_end; ++receive) leave_out(receive->destination, *receive);
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
  std::vector<Place> places;
  for (const std::uint32_t rank : *group.group->sorted) {
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
    const std::int64_t mended_root = is_member(root, *group.group) ? root : group.group->ranks.front();
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
