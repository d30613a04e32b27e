// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/tree/tree_broadcast.h"

#include <algorithm>

#include "sw/collectives/blocks.h"
#include "sw/collectives/followed.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

namespace {

RootedAlgorithm tree_of(BroadcastAlgorithm algorithm) {
  switch (algorithm) {
    case BroadcastAlgorithm::kChain:
      return RootedAlgorithm::kChain;
    case BroadcastAlgorithm::kDirect:
      return RootedAlgorithm::kDirect;
    case BroadcastAlgorithm::kBinomial:
      return RootedAlgorithm::kBinomial;
    case BroadcastAlgorithm::kBinaryTree:
      return RootedAlgorithm::kBinaryTree;
    case BroadcastAlgorithm::kAutomatic:
    case BroadcastAlgorithm::kKNomial:
      break;
  }
  return RootedAlgorithm::kKNomial;
}

}  // namespace

class TreeBroadcast::Member {
 public:
  Member(Rank& rank, int position, int size, const BroadcastConfig& config, const std::string& name)
      : rank_(rank),
        position_(position),
        size_(size),
        config_(config),
        depth_(static_cast<std::uint64_t>(config.depth)),
        completions_(
            rank.processor->create_completion_queue("a segment from above, or room below, in " + name + ", queue")) {}

  Task broadcast(const std::vector<std::unique_ptr<Member>>& members, int root, std::uint64_t buffer, Chunks segments);

 private:
  using Lanes = std::map<int, SlotLane*>;

  /// The lane from one member to another at both of their ends, made if there is none.
  static void join(Member& from, Member& to);
  SlotLane& make_lane(Lanes& lanes, const Member& peer);
  template <typename Condition>
  Task until(Condition condition) {
    while (!condition()) take(co_await completions_.next());
  }
  void take(const nic::Completion& entry) {
    if (entry.verb == nic::Verb::kReceive) {
      lanes_[entry.id]->take(entry);
    } else {
      ++acknowledged_;
    }
  }

  Rank& rank_;
  int position_;
  int size_;
  BroadcastConfig config_;
  std::uint64_t depth_;
  firmware::CompletionQueue& completions_;
  std::vector<std::unique_ptr<SlotLane>> lanes_;
  Lanes above_;  ///< by member
  Lanes below_;
  std::uint64_t acknowledged_ = 0;  ///< last segments to children
};

SlotLane& TreeBroadcast::Member::make_lane(Lanes& lanes, const Member& peer) {
  lanes_.push_back(std::make_unique<SlotLane>());
  lanes_.back()->make(rank_, peer.rank_, completions_, lanes_.size() - 1);
  lanes[peer.position_] = lanes_.back().get();
  return *lanes_.back();
}

void TreeBroadcast::Member::join(Member& from, Member& to) {
  if (from.below_.contains(to.position_)) return;
  SlotLane::join(from.make_lane(from.below_, to), to.make_lane(to.above_, from));
}

Task TreeBroadcast::Member::broadcast(const std::vector<std::unique_ptr<Member>>& members, int root,
                                      std::uint64_t buffer, Chunks segments) {
  follow(rank_.followed, Followed::kBroadcastTree);
  const RootedPlace place =
      rooted_place(tree_of(config_.algorithm), config_.radix, size_, (position_ - root + size_) % size_);
  const auto member = [&](int number) -> Member& {
    return *members[static_cast<std::size_t>((number + root) % size_)];
  };
  SlotLane* parent = nullptr;
  if (place.parent != RootedPlace::kNone) {
    join(member(place.parent), *this);
    parent = above_.at(member(place.parent).position_);
  }
  std::vector<SlotLane*> children;
  for (const int child : place.children) {
    join(*this, member(child));
    children.push_back(below_.at(member(child).position_));
  }
  acknowledged_ = 0;
  const std::uint64_t count = segments.count();
  if (parent != nullptr) parent->give_back(std::min(depth_, count));
  for (std::uint64_t i = 0; i < count; ++i) {
    if (parent != nullptr) {
      co_await until([parent] { return parent->has_chunk(); });
      ++parent->chunks;
      if (i + depth_ < count) parent->give_back(1);
    }
    const std::uint64_t place_of_segment = buffer + segments[i].offset;
    for (SlotLane* child : children) {
      co_await until([child] { return child->has_room(0); });
      child->send(place_of_segment, place_of_segment, segments[i].bytes, Flags::kNone, i + 1 == count);
    }
  }
  // What lies in the buffer must have been read before the caller changes it.
  co_await until([this, &children] { return acknowledged_ == children.size(); });
}

TreeBroadcast::TreeBroadcast(const std::vector<Rank*>& ranks, const BroadcastConfig& config, const std::string& name)
    : segment_(static_cast<std::uint64_t>(config.segment.count())) {
  const int size = static_cast<int>(ranks.size());
  for (int i = 0; i < size; ++i) {
    members_.push_back(std::make_unique<Member>(*ranks[static_cast<std::size_t>(i)], i, size, config, name));
  }
}

TreeBroadcast::~TreeBroadcast() = default;

Task TreeBroadcast::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  if (members_.size() == 1 || bytes == 0) co_return;
  const Chunks segments{{0, bytes}, segment_ == 0 ? bytes : segment_};
  co_await members_[static_cast<std::size_t>(member)]->broadcast(members_, root, buffer, segments);
}

}  // namespace weft::collectives
