// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/tree/tree.h"

#include <algorithm>

#include "sw/collectives/followed.h"

namespace weft::collectives {

using firmware::Task;

namespace {

constexpr std::uint64_t kParent = 0;          // completions: of the parent, and one more for each child
constexpr std::uint64_t kMoved = 1ULL << 63;  // of the copy engine

}  // namespace

TreeMember::TreeMember(firmware::Rank& rank, const Place& place, const Options& options, int engine,
                       const std::string& name)
    : rank_(rank),
      options_(options),
      engine_((options.first_engine + engine) % rank.copy_engines),
      window_(static_cast<std::uint64_t>(std::min(options.slots, SlotLane::kMostUnderWay))),
      root_(place.parent < 0),
      children_(place.children.size()) {
  const auto allocate = [&](std::uint64_t slot) { return rank.memory.allocate("collective staging", slot * window_); };
  outgoing_ = allocate(SlotLane::kLongestFlagged);
  if (!root_) down_.parent.slots = allocate(options.chunk);
  for (std::size_t i = 0; i < children_; ++i) up_.children[i].slots = allocate(options.chunk);
  const auto queue = [&](const char* what) {
    return &rank.processor->create_completion_queue(std::string("a chunk or a slot of ") + what + " of " + name +
                                                    ", queue");
  };
  up_.completions = queue("sums that go up the tree");
  down_.completions = queue("sums that come down the tree");
}

std::vector<std::unique_ptr<TreeMember>> TreeMember::join(const std::vector<firmware::Rank*>& ranks,
                                                          const std::vector<Place>& places, const Options& options,
                                                          int engine, const std::string& name) {
  std::vector<std::unique_ptr<TreeMember>> members;
  members.reserve(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    members.push_back(std::make_unique<TreeMember>(*ranks[i], places[i], options, engine, name));
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t c = 0; c < places[i].children.size(); ++c) {
      TreeMember& parent = *members[i];
      TreeMember& child = *members[static_cast<std::size_t>(places[i].children[c])];
      const auto make = [&](Half& above, Half& below) {
        above.children[c].make(parent.rank_, child.rank_, *above.completions, kParent + 1 + c);
        below.parent.make(child.rank_, parent.rank_, *below.completions, kParent);
      };
      make(parent.up_, child.up_);
      make(parent.down_, child.down_);
      SlotLane::join(child.up_.parent, parent.up_.children[c]);
      SlotLane::join(parent.down_.children[c], child.down_.parent);
    }
  }
  return members;
}

void TreeMember::take(Half& half, const nic::Completion& entry) {
  if (entry.id == kMoved) {
    ++half.moved;
  } else {
    (entry.id == kParent ? half.parent : half.children[entry.id - kParent - 1]).take(entry);
  }
  if (&half == &down_ && !root_) return_slots();
}

template <typename Condition>
Task TreeMember::until(Half& half, Condition condition) {
  while (!condition()) take(half, co_await half.completions->next());
}

void TreeMember::prepare(Half& half, const Message& message) const {
  if (!root_) half.parent.relay(rank_, message.flags);
  for (std::size_t i = 0; i < children_; ++i) half.children[i].relay(rank_, message.flags);
}

void TreeMember::begin(Half& half, const Message& message, std::uint64_t source, std::uint64_t other,
                       std::uint64_t target, std::uint64_t bytes) {
  rank_.accelerator.submit(
      engine_command(source, other, target, bytes, message.type, message.flags, engine_, *half.completions, kMoved));
  ++half.begun;
}

Task TreeMember::up(Message message, firmware::Counter& summed) {
  for (const Followed what : {Followed::kRings, Followed::kLaneSlots, Followed::kChunk}) follow(rank_.followed, what);
  prepare(up_, message);
  const Chunks chunks{message.part, message.chunk};
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    const Extent chunk = chunks[i];
    const std::uint64_t own = message.buffer + chunk.offset;
    if (!root_) co_await until(up_, [this] { return up_.parent.has_room(window_); });
    // Sums with flags never lie in the buffer but at the root.
    const bool apart = message.has_flags() && !root_;
    const std::uint64_t sum = apart ? outgoing(up_.parent) : own;
    if (apart && children_ == 0) begin(up_, message, own, kNoOther, sum, chunk.bytes);
    for (std::size_t c = 0; c < children_; ++c) {
      SlotLane& child = up_.children[c];
      co_await until(up_, [&child] { return child.has_chunk(); });
      begin(up_, message, slot(child), c == 0 ? own : sum, sum, chunk.bytes);
      ++child.chunks;
    }
    co_await until(up_, [this] { return up_.moved == up_.begun; });
    for (std::size_t c = 0; c < children_; ++c) up_.children[c].give_back(1);
    if (root_) {
      summed.increment();
    } else {
      up_.parent.send(sum, slot(up_.parent), chunk.bytes, message.flags);
    }
  }
}

void TreeMember::return_slots() {
  SlotLane& parent = down_.parent;
  const std::uint64_t emptied = parent.chunks - (down_.begun - down_.moved);
  const auto passed_on = [this] {
    return all_below([this](const SlotLane& child) { return child.arrived > returned_; });
  };
  while (returned_ < emptied && (returned_ >= sent_from_slots_ || passed_on())) {
    ++returned_;
    parent.give_back(1);
  }
}

Task TreeMember::down(Message message, firmware::Counter& summed) {
  for (const Followed what : {Followed::kRings, Followed::kLaneSlots, Followed::kChunk}) follow(rank_.followed, what);
  prepare(down_, message);
  const Chunks chunks{message.part, message.chunk};
  const auto copied = [this] { return down_.moved == down_.begun; };
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    const Extent chunk = chunks[i];
    const std::uint64_t own = message.buffer + chunk.offset;
    std::uint64_t from = own;
    if (root_) {
      co_await summed.reach(i + 1);
      if (message.has_flags()) {
        co_await until(down_,
                       [this] { return all_below([this](const SlotLane& child) { return child.has_room(window_); }); });
        from = outgoing(down_.children[0]);
        begin(down_, message, own, kNoOther, from, chunk.bytes);
        co_await until(down_, copied);
      }
    } else {
      SlotLane& parent = down_.parent;
      co_await until(down_, [&parent] { return parent.has_chunk(); });
      const std::uint64_t come = slot(parent);
      if (message.has_flags() || rank_.staged) begin(down_, message, come, kNoOther, own, chunk.bytes);
      ++parent.chunks;
      if (message.has_flags()) {
        from = come;
        sent_from_slots_ = parent.chunks;
      } else {
        co_await until(down_, copied);
      }
      return_slots();
    }
    for (std::size_t c = 0; c < children_; ++c) {
      SlotLane& child = down_.children[c];
      co_await until(down_, [this, &child] { return child.has_room(window_); });
      const bool to_slot = message.has_flags() || rank_.staged;
      child.send(from, to_slot ? slot(child) : own, chunk.bytes, message.flags);
    }
  }
  // What lies in the buffer must have been read before the caller changes it.
  co_await until(down_, [&] {
    return copied() &&
           (message.has_flags() || all_below([](const SlotLane& child) { return child.arrived == child.chunks; }));
  });
}

}  // namespace weft::collectives
