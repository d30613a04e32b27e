// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/exchange.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

Exchange::Exchange(const std::vector<Rank*>& ranks, const std::string& name) : mesh_(ranks, name) {
  for (Rank* rank : ranks) {
    copied_.push_back(&rank->processor->create_completion_queue("the copy of its own block in " + name + ", queue"));
  }
}

Task Exchange::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) {
  const std::uint64_t block = bytes / static_cast<std::uint64_t>(mesh_.size());
  const std::vector<std::uint64_t> blocks(static_cast<std::size_t>(mesh_.size()), block);
  return exchange(member, input, output, block, {blocks, blocks});
}

Task Exchange::exchange(int member, std::uint64_t input, std::uint64_t output, std::uint64_t place, Parts parts) {
  const int members = mesh_.size();
  const auto at = [place](int of) { return place * static_cast<std::uint64_t>(of); };
  const auto of = [](const std::vector<std::uint64_t>& bytes, int peer) {
    return bytes[static_cast<std::size_t>(peer)];
  };
  Mesh::Member& here = mesh_[member];
  int coming = 0;
  for (int round = 1; round < members; ++round) {
    const int peer = (member + members - round) % members;
    if (of(parts.from, peer) == 0) continue;
    here.invite(peer);
    ++coming;
  }
  firmware::CompletionQueue& copied = *copied_[static_cast<std::size_t>(member)];
  const std::uint64_t own = of(parts.to, member);
  if (own != 0) here.rank().accelerator.copy(0, input + at(member), output + at(member), own, copied, 0);
  for (int round = 1; round < members; ++round) {
    const int peer = (member + round) % members;
    if (of(parts.to, peer) == 0) continue;
    co_await here.invited(peer);
    co_await here.acknowledged(kTogether - 1);
    here.write(peer, input + at(peer), output + at(member), of(parts.to, peer));
  }
  co_await here.received(coming);
  co_await here.acknowledged();
  if (own != 0) co_await copied.next();
}

}  // namespace weft::collectives
