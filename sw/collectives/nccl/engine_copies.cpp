// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/engine_copies.h"

#include <utility>

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

EngineCopies::EngineCopies(const std::vector<Rank*>& ranks, const std::string& name) : mesh_(ranks, name) {
  for (Rank* rank : ranks) {
    copied_.push_back(&rank->processor->create_completion_queue("the copy of its own block in " + name + ", queue"));
  }
}

Task EngineCopies::meet(int member) {
  Mesh::Member& here = mesh_[member];
  co_await here.rank().processor->delay(here.rank().dma_start);
  const int members = mesh_.size();
  for (int i = 1; i < members; ++i) here.invite((member + i) % members);
  for (int i = 1; i < members; ++i) co_await here.invited((member + i) % members);
}

Task EngineCopies::copy(int member, int peer, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  if (bytes == 0) co_return;
  Mesh::Member& here = mesh_[member];
  co_await here.rank().processor->delay(here.rank().dma_start);
  here.write(peer, from, to, bytes);
  co_await here.acknowledged();
}

Task EngineCopies::allgather(int member, std::uint64_t buffer,
                             BlockMap blocks) {  // NOLINT(performance-unnecessary-value-param): coroutines keep it
  const int members = mesh_.size();
  co_await meet(member);
  const Extent own = blocks(member);
  int coming = 0;
  for (int i = 1; i < members; ++i) {
    const int peer = (member + i) % members;
    if (blocks(peer).bytes != 0) ++coming;
    co_await copy(member, peer, buffer + own.offset, buffer + own.offset, own.bytes);
  }
  co_await mesh_[member].received(coming);
  co_await meet(member);
}

Task EngineCopies::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes) {
  const int members = mesh_.size();
  const std::uint64_t block = bytes / static_cast<std::uint64_t>(members);
  const auto at = [block](int of) { return block * static_cast<std::uint64_t>(of); };
  co_await meet(member);
  if (block != 0) {
    const Rank& rank = mesh_[member].rank();
    firmware::CompletionQueue& copied = *copied_[static_cast<std::size_t>(member)];
    const auto engine = static_cast<std::uint32_t>(rank.copy_engines);  // DMA engines are numbered behind these
    mesh_[member].rank().accelerator.copy(engine, input + at(member), output + at(member), block, copied, 0);
    if (rank.dma_engines == 1) co_await copied.next();
    for (int i = 1; i < members; ++i) {
      const int peer = (member + i) % members;
      co_await copy(member, peer, input + at(peer), output + at(member), block);
    }
    if (rank.dma_engines > 1) co_await copied.next();
    co_await mesh_[member].received(members - 1);
  }
  co_await meet(member);
}

}  // namespace weft::collectives
