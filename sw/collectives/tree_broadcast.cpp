// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/tree_broadcast.h"

#include <algorithm>

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

  /// `slots`: where segments come to, if not straight to their place.
  Task broadcast(const std::vector<std::unique_ptr<Member>>& members, int root, std::uint64_t buffer, Chunks segments,
                 std::uint64_t slots);

 private:
  static constexpr std::uint64_t kMoved = 1ULL << 63;  ///< completions of the copy engine; others have a lane's number
  using Lanes = std::map<int, SlotLane*>;

  /// The lane from one member to another at both of their ends, made if there is none.
  static void join(Member& from, Member& to);
  SlotLane& make_lane(Lanes& lanes, const Member& peer);
  template <typename Condition>
  Task until(Condition condition) {
    while (!condition()) take(co_await completions_.next());
  }
  void take(const nic::Completion& entry) {
    if (entry.id == kMoved) {
      ++moved_;
    } else if (entry.verb == nic::Verb::kReceive) {
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
  std::uint64_t moved_ = 0;         ///< by the copy engine
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
  SlotLane::join(from.make_lane(from.below_, to), to.make_lane(to.above_, from), 0);
}

Task TreeBroadcast::Member::broadcast(const std::vector<std::unique_ptr<Member>>& members, int root,
                                      std::uint64_t buffer, Chunks segments, std::uint64_t slots) {
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
    parent->relay(rank_, Flags::kNone);
  }
  std::vector<SlotLane*> children;
  for (const int child : place.children) {
    join(*this, member(child));
    children.push_back(below_.at(member(child).position_));
    children.back()->relay(rank_, Flags::kNone);
  }
  moved_ = acknowledged_ = 0;
  const std::uint64_t count = segments.count();
  const auto slot = [&](std::uint64_t i) { return slot_at(slots, i, depth_, segments.chunk); };
  if (parent != nullptr) parent->give_back(std::min(depth_, count));
  for (std::uint64_t i = 0; i < count; ++i) {
    const Extent segment = segments[i];
    const std::uint64_t own = buffer + segment.offset;
    if (parent != nullptr) {
      co_await until([parent] { return parent->has_chunk(); });
      ++parent->chunks;
      if (rank_.staged) {
        rank_.accelerator.copy(0, slot(i), own, segment.bytes, completions_, kMoved);
        co_await until([this, i] { return moved_ > i; });
      }
      if (i + depth_ < count) parent->give_back(1);
    }
    for (SlotLane* child : children) {
      co_await until([child] { return child->has_room(0); });
      child->send(own, rank_.staged ? slot(i) : own, segment.bytes, Flags::kNone, i + 1 == count);
    }
  }
  // What lies in the buffer must have been read before the caller changes it.
  co_await until([this, &children] { return acknowledged_ == children.size(); });
}

TreeBroadcast::TreeBroadcast(const std::vector<Rank*>& ranks, const BroadcastConfig& config, const std::string& name)
    : segment_(static_cast<std::uint64_t>(config.segment.count())),
      depth_(static_cast<std::uint64_t>(config.depth)),
      staged_(std::any_of(ranks.begin(), ranks.end(), [](const Rank* rank) { return rank->staged; })),
      slots_(ranks, "staging memory of " + name),
      begun_(ranks.size()) {
  const int size = static_cast<int>(ranks.size());
  for (int i = 0; i < size; ++i) {
    members_.push_back(std::make_unique<Member>(*ranks[static_cast<std::size_t>(i)], i, size, config, name));
  }
}

TreeBroadcast::~TreeBroadcast() = default;

Task TreeBroadcast::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  if (members_.size() == 1 || bytes == 0) co_return;
  const auto at = static_cast<std::size_t>(member);
  const Chunks segments{{0, bytes}, segment_ == 0 ? bytes : std::min(segment_, bytes)};
  const std::int64_t number = begun_[at]++;
  std::uint64_t slots = 0;
  if (staged_) slots = slots_.enter(number, std::min(depth_, segments.count()) * segments.chunk);
  co_await members_[at]->broadcast(members_, root, buffer, segments, slots);
  if (staged_) slots_.leave(number);
}

}  // namespace weft::collectives
