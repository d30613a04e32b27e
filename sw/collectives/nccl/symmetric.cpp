// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/symmetric.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sw/collectives/nccl/symmetric_member.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

SymmetricKernels::SymmetricKernels(const std::vector<Rank*>& ranks, bool multicast, const std::string& name)
    : name_(name) {
  firmware::align_memory(ranks);
  int engines = kMostSymmetricBlocks;
  for (const Rank* rank : ranks) engines = std::min(engines, rank->copy_engines);
  const auto size = static_cast<int>(ranks.size());
  for (int i = 0; i < size; ++i) {
    members_.push_back(std::make_unique<Member>(*ranks[static_cast<std::size_t>(i)], i, size, engines, name));
  }
  Member::join(members_);
  if (multicast) join_switches(ranks, name);
}

SymmetricKernels::~SymmetricKernels() = default;

void SymmetricKernels::join_switches(const std::vector<Rank*>& ranks, const std::string& name) {
  // Pieces by words come before anybody has asked for them: there are receives for two of each other member.
  const int receives = ranks.front()->scale_up.nic->depths().receives;
  const int wanted = 2 * (static_cast<int>(ranks.size()) - 1);
  if (receives != 0 && receives < nic::NicConfig::depth_for(wanted)) return;
  InNetworkMember::Config config;
  config.all_reduce = AllReducePattern::kReduceMulticast;
  config.low_latency_limit = Bytes();  // what is short goes by words
  switches_ = InNetworkGroup::join(ranks, config, name);
  if (switches_ == nullptr) return;
  std::vector<std::uint32_t> ends;
  ends.reserve(ranks.size());
  for (const Rank* rank : ranks) ends.push_back(rank->scale_up.nic->end());
  const std::optional<std::uint32_t> group = ranks.front()->scale_up.network->create_group(ends, {});
  if (!group) {
    switches_->leave();
    switches_.reset();
    return;
  }
  for (const auto& member : members_) member->join_multicast(*group, ends);
}

Task SymmetricKernels::allgather(int member, std::uint64_t buffer, BlockMap blocks, SymmetricKernel how) {
  switch (how.kind) {
    case SymmetricKind::kWords:
    case SymmetricKind::kWordsMulticast:
      return at(member).allgather_words(buffer, std::move(blocks), how);
    case SymmetricKind::kDirect:
      return at(member).store_block(buffer, std::move(blocks));
    case SymmetricKind::kMulticast:
      break;
  }
  return switches_->allgather(member, buffer, std::move(blocks), 1);
}

Task SymmetricKernels::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                      ElementType type, SymmetricKernel how) {
  switch (how.kind) {
    case SymmetricKind::kWords:
    case SymmetricKind::kWordsMulticast:
      return at(member).reduce_scatter_words(input, output, std::move(blocks), type, how);
    case SymmetricKind::kDirect:
      return at(member).load_and_add(input, output, blocks(member), type, /*to_all=*/false);
    case SymmetricKind::kMulticast:
      break;
  }
  return switches_->reduce_scatter(member, input, output, std::move(blocks), type);
}

Task SymmetricKernels::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type,
                                  SymmetricKernel how) {
  switch (how.kind) {
    case SymmetricKind::kWords:
    case SymmetricKind::kWordsMulticast:
      return at(member).all_reduce_words(buffer, bytes, type, how);
    case SymmetricKind::kDirect: {
      const Extent own = even_blocks({0, bytes}, static_cast<int>(members_.size()), size_of(type))(member);
      return at(member).load_and_add(buffer, buffer + own.offset, own, type, /*to_all=*/true);
    }
    case SymmetricKind::kMulticast:
      break;
  }
  return switches_->all_reduce(member, buffer, bytes, type);
}

}  // namespace weft::collectives
