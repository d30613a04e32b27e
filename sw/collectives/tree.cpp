// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/tree.h"

#include <algorithm>

namespace weft::collectives {

using firmware::StockedPair;
using firmware::Task;

namespace {

constexpr std::uint64_t kParent = 0;            // completions: of the parent, and one more for each child
constexpr std::uint64_t kMoved = 1ULL << 63;    // of the copy engine
constexpr std::uint64_t kNothing = UINT64_MAX;  // in place of a second operand: a copy

}  // namespace

TreeMember::TreeMember(firmware::Rank& rank, const Place& place, const Options& options, int engine,
                       const std::string& name)
    : rank_(rank),
      options_(options),
      engine_(engine % rank.copy_engines),
      window_(static_cast<std::uint64_t>(std::min(options.slots, kMostUnderWay))),
      root_(place.parent < 0),
      children_(place.children.size()) {
  const auto allocate = [&](std::uint64_t slot) { return rank.memory.allocate("collective staging", slot * window_); };
  outgoing_ = allocate(2 * kShortChunk);
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
      const auto connect = [&](Half& above, Half& below) {
        const auto make = [](TreeMember& here, TreeMember& there, Half& half, Lane& lane, std::uint64_t id) {
          const firmware::Interface& interface = here.rank_.towards(there.rank_);
          lane.leaves = &interface == &here.rank_.scale_out;
          lane.pair = std::make_unique<StockedPair>(interface, *half.completions, id);
        };
        Lane& to_child = above.children[c];
        make(parent, child, above, to_child, kParent + 1 + c);
        make(child, parent, below, below.parent, kParent);
        StockedPair::join(*to_child.pair, *below.parent.pair, engine);
      };
      connect(parent.up_, child.up_);
      connect(parent.down_, child.down_);
      child.up_.parent.slots = parent.up_.children[c].slots;
      parent.down_.children[c].slots = child.down_.parent.slots;
    }
  }
  return members;
}

void TreeMember::take(Half& half, const nic::Completion& entry) {
  if (entry.id == kMoved) {
    ++half.moved;
  } else {
    Lane& lane = entry.id == kParent ? half.parent : half.children[entry.id - kParent - 1];
    ++lane.arrived;
    lane.pair->used();
  }
  if (&half == &down_ && !root_) return_slots();
}

template <typename Condition>
Task TreeMember::until(Half& half, Condition condition) {
  while (!condition()) take(half, co_await half.completions->next());
}

void TreeMember::prepare(Half& half, const Message& message) const {
  const auto set = [&](Lane& lane) {
    if (lane.leaves) lane.pair->pair().relay(message.low_latency ? Time() : rank_.relay);
  };
  if (!root_) set(half.parent);
  for (std::size_t i = 0; i < children_; ++i) set(half.children[i]);
}

void TreeMember::begin(Half& half, const Message& message, std::uint64_t source, std::uint64_t other,
                       std::uint64_t target, std::uint64_t bytes) {
  rank_.accelerator.submit({
      .operation = other == kNothing ? accelerator::Operation::kCopy : accelerator::Operation::kReduce,
      .type = message.type,
      .low_latency = message.low_latency,
      .stream = accelerator::Command::kImmediate,
      .engine = static_cast<std::uint32_t>(engine_),
      .source = source,
      .other = other,
      .destination = target,
      .bytes = bytes,
      .id = kMoved,
      .completion_address = half.completions->address(),
  });
  ++half.begun;
}

void TreeMember::write(Lane& lane, const Message& message, std::uint64_t from, std::uint64_t to,
                       std::uint64_t bytes) const {
  // What a kernel stores at its peer no interface reads from memory; a flag comes with each word.
  const bool stored = message.low_latency && !lane.leaves;
  lane.pair->pair().write(from, to, message.low_latency ? 2 * bytes : bytes, true, 0, false, 0, stored);
  ++lane.chunks;
}

Task TreeMember::up(Message message, firmware::Counter& summed) {
  prepare(up_, message);
  const Chunks chunks{message.part, message.chunk};
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    const Extent chunk = chunks[i];
    const std::uint64_t own = message.buffer + chunk.offset;
    if (!root_) co_await until(up_, [this] { return open(up_.parent); });
    // Sums of words with flags never lie in the buffer but at the root.
    const bool apart = message.low_latency && !root_;
    const std::uint64_t sum = apart ? outgoing(up_.parent.chunks) : own;
    if (apart && children_ == 0) begin(up_, message, own, kNothing, sum, chunk.bytes);
    for (std::size_t c = 0; c < children_; ++c) {
      Lane& child = up_.children[c];
      co_await until(up_, [&child] { return child.arrived > child.chunks; });
      begin(up_, message, slot(child.slots, child.chunks), c == 0 ? own : sum, sum, chunk.bytes);
      ++child.chunks;
    }
    co_await until(up_, [this] { return up_.moved == up_.begun; });
    for (std::size_t c = 0; c < children_; ++c) up_.children[c].pair->pair().send_immediate(0);
    if (root_) {
      summed.increment();
    } else {
      write(up_.parent, message, sum, slot(up_.parent.slots, up_.parent.chunks), chunk.bytes);
    }
  }
}

void TreeMember::return_slots() {
  Lane& parent = down_.parent;
  const std::uint64_t emptied = parent.chunks - (down_.begun - down_.moved);
  const auto passed_on = [this] { return all_below([this](const Lane& child) { return child.arrived > returned_; }); };
  while (returned_ < emptied && (returned_ >= sent_from_slots_ || passed_on())) {
    ++returned_;
    parent.pair->pair().send_immediate(0);
  }
}

Task TreeMember::down(Message message, firmware::Counter& summed) {
  prepare(down_, message);
  const Chunks chunks{message.part, message.chunk};
  const auto copied = [this] { return down_.moved == down_.begun; };
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    const Extent chunk = chunks[i];
    const std::uint64_t own = message.buffer + chunk.offset;
    std::uint64_t from = own;
    if (root_) {
      co_await summed.reach(i + 1);
      if (message.low_latency) {
        co_await until(down_, [this] { return all_below([this](const Lane& child) { return open(child); }); });
        from = outgoing(down_.children[0].chunks);
        begin(down_, message, own, kNothing, from, chunk.bytes);
        co_await until(down_, copied);
      }
    } else {
      Lane& parent = down_.parent;
      co_await until(down_, [&parent] { return parent.arrived > parent.chunks; });
      const std::uint64_t come = slot(parent.slots, parent.chunks);
      if (message.low_latency || rank_.staged) begin(down_, message, come, kNothing, own, chunk.bytes);
      ++parent.chunks;
      if (message.low_latency) {
        from = come;
        sent_from_slots_ = parent.chunks;
      } else {
        co_await until(down_, copied);
      }
      return_slots();
    }
    for (std::size_t c = 0; c < children_; ++c) {
      Lane& child = down_.children[c];
      co_await until(down_, [this, &child] { return open(child); });
      const bool to_slot = message.low_latency || rank_.staged;
      write(child, message, from, to_slot ? slot(child.slots, child.chunks) : own, chunk.bytes);
    }
  }
  // What lies in the buffer must have been read before the caller changes it.
  co_await until(down_, [&] {
    return copied() &&
           (message.low_latency || all_below([](const Lane& child) { return child.arrived == child.chunks; }));
  });
}

}  // namespace weft::collectives
