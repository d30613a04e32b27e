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
  const int members = mesh_.size();
  const std::uint64_t block = bytes / static_cast<std::uint64_t>(members);
  const auto place = [block](int of) { return block * static_cast<std::uint64_t>(of); };
  Mesh::Member& here = mesh_[member];
  for (int round = 1; round < members; ++round) here.invite((member + members - round) % members);
  firmware::CompletionQueue& copied = *copied_[static_cast<std::size_t>(member)];
  if (block != 0) {
    here.rank().accelerator.copy(0, input + place(member), output + place(member), block, copied, 0);
  }
  for (int round = 1; round < members; ++round) {
    const int peer = (member + round) % members;
    co_await here.invited(peer);
    co_await here.acknowledged(kTogether - 1);
    here.write(peer, input + place(peer), output + place(member), block);
  }
  co_await here.received(members - 1);
  co_await here.acknowledged();
  if (block != 0) co_await copied.next();
}

}  // namespace weft::collectives
