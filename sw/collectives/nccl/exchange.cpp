// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/exchange.h"

#include <algorithm>

#include "sw/collectives/nccl/p2p_turns.h"
#include "sw/collectives/nodes.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

Exchange::Exchange(const std::vector<Rank*>& ranks, Rate within, int cores, const std::string& name)
    : schedule_(Nodes(ranks), within, cores), mesh_(ranks, name) {
  for (Rank* rank : ranks) {
    copied_.push_back(&rank->processor->create_completion_queue("the copy of its own block in " + name + ", queue"));
  }
}

Task Exchange::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) {
  const std::uint64_t block = bytes / static_cast<std::uint64_t>(mesh_.size());
  const std::vector<std::uint64_t> blocks(static_cast<std::size_t>(mesh_.size()), block);
  return exchange(member, input, output, block, {blocks, blocks});
}

int Exchange::copy_own(int member, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 4 << 10;
  Rank& rank = mesh_[member].rank();
  const auto channels = static_cast<std::uint64_t>(schedule_.channels_of(bytes));
  const std::uint64_t part = (bytes + channels * kPage - 1) / (channels * kPage) * kPage;
  int copies = 0;
  for (std::uint64_t done = 0; done < bytes; done += part) {
    const int channel = (schedule_.first_channel(0) + copies++) % schedule_.channels();
    rank.accelerator.copy(static_cast<std::uint32_t>(channel % rank.copy_engines), from + done, to + done,
                          std::min(part, bytes - done), *copied_[static_cast<std::size_t>(member)], 0);
  }
  return copies;
}

Task Exchange::exchange(int member, std::uint64_t input, std::uint64_t output, std::uint64_t place, Parts parts) {
  const int members = mesh_.size();
  const auto at = [place](int of) { return place * static_cast<std::uint64_t>(of); };
  const auto of = [](const std::vector<std::uint64_t>& bytes, int peer) {
    return bytes[static_cast<std::size_t>(peer)];
  };
  Mesh::Member& here = mesh_[member];
  for (int round = 1; round < members; ++round) {
    const int peer = schedule_.from(member, round);
    if (of(parts.from, peer) != 0) here.invite(peer);
  }
  int copies = copy_own(member, input + at(member), output + at(member), of(parts.to, member));

  const auto write = [&](int peer) { here.write(peer, input + at(peer), output + at(member), of(parts.to, peer)); };
  P2pTurns turns(schedule_, member, parts);
  std::vector<bool> uninvited(static_cast<std::size_t>(members));  // by peer, to whom it is the turn to write
  for (;;) {
    for (const int round : turns.ready()) {
      const int peer = schedule_.to(member, round);
      if (of(parts.to, peer) == 0) continue;
      if (here.accept(peer)) {
        write(peer);
      } else {
        uninvited[static_cast<std::size_t>(peer)] = true;
      }
    }
    if (turns.all_ended()) break;
    Mesh::Member::News news;
    co_await here.next(news);
    switch (news.what) {
      case Mesh::Member::What::kInvited:
        if (!uninvited[static_cast<std::size_t>(news.peer)]) break;
        uninvited[static_cast<std::size_t>(news.peer)] = false;
        static_cast<void>(here.accept(news.peer));
        write(news.peer);
        break;
      case Mesh::Member::What::kReceived:
        turns.end_one(schedule_.round_to(news.peer, member));
        break;
      case Mesh::Member::What::kAcknowledged:
        turns.end_one(schedule_.round_to(member, news.peer));
        break;
    }
  }
  for (; copies > 0; --copies) co_await copied_[static_cast<std::size_t>(member)]->next();
}

}  // namespace weft::collectives
