// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/short_ring.h"

#include <algorithm>

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

namespace {

constexpr std::uint64_t kNext = 0;  // completions of receives
constexpr std::uint64_t kPrevious = 1;
constexpr std::uint64_t kByEngine = 2;
constexpr std::uint64_t kSlot = 2 * SlotLane::kLongestFlagged;

}  // namespace

ShortRingMember::ShortRingMember(Rank& rank, int position, int size, int slots, int engine, const std::string& name)
    : rank_(rank),
      position_(position),
      size_(size),
      engine_(engine % rank.copy_engines),
      window_(static_cast<std::uint64_t>(std::min(slots, SlotLane::kMostUnderWay))),
      completions_(&rank.processor->create_completion_queue("a chunk or a slot in " + name + ", queue")) {
  outgoing_ = rank.memory.allocate("collective staging", kSlot * window_);
  previous_.slots = rank.memory.allocate("collective staging", kSlot * window_);
}

std::vector<std::unique_ptr<ShortRingMember>> ShortRingMember::join(const std::vector<Rank*>& ranks, int slots,
                                                                    int engine, const std::string& name) {
  std::vector<std::unique_ptr<ShortRingMember>> members;
  members.reserve(ranks.size());
  const int size = static_cast<int>(ranks.size());
  for (Rank* rank : ranks) {
    members.push_back(
        std::make_unique<ShortRingMember>(*rank, static_cast<int>(members.size()), size, slots, engine, name));
  }
  for (std::size_t i = 0; size > 1 && i < ranks.size(); ++i) {
    ShortRingMember& here = *members[i];
    ShortRingMember& there = *members[(i + 1) % ranks.size()];
    here.next_.make(here.rank_, there.rank_, *here.completions_, kNext);
    there.previous_.make(there.rank_, here.rank_, *there.completions_, kPrevious);
    SlotLane::join(here.next_, there.previous_, engine);
  }
  return members;
}

void ShortRingMember::take(const nic::Completion& entry) {
  // What the engine has done is no entry of an interface, and says so by its number alone.
  if (entry.verb == nic::Verb::kWrite) {
    ++acknowledged_;
  } else if (entry.id == kNext) {
    next_.take();
  } else if (entry.id == kPrevious) {
    previous_.take();
  } else {
    ++moved_;
  }
  return_slots();
}

void ShortRingMember::return_slots() {
  while (!held_.empty() && (held_.front() == kNowhere || held_.front() < acknowledged_)) {
    held_.pop_front();
    previous_.give_slot_back();
  }
}

template <typename Condition>
Task ShortRingMember::until(Condition condition) {
  while (!condition()) take(co_await completions_->next());
}

Task ShortRingMember::move(std::uint64_t source, std::uint64_t other, std::uint64_t target, std::uint64_t bytes,
                           ElementType type) {
  rank_.accelerator.submit(engine_command(source, other, target, bytes, type, true, engine_, *completions_, kByEngine));
  ++begun_;
  return until([this] { return moved_ == begun_; });
}

Task ShortRingMember::send_own(std::uint64_t source, std::uint64_t bytes) {
  co_await until([this] { return next_.has_room(window_); });
  const std::uint64_t from = slot_at(outgoing_, next_.chunks, window_, kSlot);
  co_await move(source, kNoOther, from, bytes, ElementType::kFp32);
  next_.send(from, slot_at(next_.slots, next_.chunks, window_, kSlot), bytes, true, true);
}

Task ShortRingMember::send_on(std::uint64_t slot, std::uint64_t bytes) {
  co_await until([this] { return next_.has_room(window_); });
  next_.send(slot, slot_at(next_.slots, next_.chunks, window_, kSlot), bytes, true, true);
}

Task ShortRingMember::receive(std::uint64_t& slot) {
  co_await until([this] { return previous_.has_chunk(); });
  slot = slot_at(previous_.slots, previous_.chunks, window_, kSlot);
  ++previous_.chunks;
}

std::uint64_t ShortRingMember::longest(const BlockMap& blocks) const {
  std::uint64_t most = 0;
  for (int block = 0; block < size_; ++block) most = std::max(most, cut(blocks(block)).count());
  return most;
}

Task ShortRingMember::keep(std::uint64_t slot, std::uint64_t own, std::uint64_t bytes, bool last) {
  if (!last) co_await send_on(slot, bytes);
  const std::uint64_t sent = last ? kNowhere : next_.chunks - 1;
  co_await move(slot, kNoOther, own, bytes, ElementType::kFp32);
  held_.push_back(sent);
  return_slots();
}

Task ShortRingMember::add(std::uint64_t slot, std::uint64_t own, std::uint64_t result, std::uint64_t bytes,
                          ElementType type, bool last) {
  co_await move(slot, own, last ? result : slot, bytes, type);
  if (!last) co_await send_on(slot, bytes);
  held_.push_back(last ? kNowhere : next_.chunks - 1);
  return_slots();
}

// Half of the slots' worth of chunks goes all the way round before the next, so that nobody waits in a circle (see
// RingMember::reduce_scatter()).
Task ShortRingMember::round(const BlockMap& blocks, int first_block, std::uint64_t source, const Pass& pass) {
  const std::uint64_t group = window_ / 2;
  const std::uint64_t most = longest(blocks);
  for (std::uint64_t first = 0; first < most; first += group) {
    for (int step = 0; step < size_; ++step) {
      const Chunks chunks = cut(blocks(step_block(step + first_block)));
      const std::uint64_t end = std::min(first + group, chunks.count());
      for (std::uint64_t i = first; i < end; ++i) {
        const Extent chunk = chunks[i];
        if (step == 0) {
          co_await send_own(source + chunk.offset, chunk.bytes);
        } else {
          std::uint64_t slot = 0;
          co_await receive(slot);
          co_await pass(slot, chunk, chunk.offset - chunks.extent.offset, step == size_ - 1);
        }
      }
    }
  }
}

Task ShortRingMember::allgather(std::uint64_t buffer, BlockMap blocks) {
  if (size_ == 1) co_return;
  const Pass pass = [&](std::uint64_t slot, Extent chunk, std::uint64_t /*in_block*/, bool last) {
    return keep(slot, buffer + chunk.offset, chunk.bytes, last);
  };
  co_await round(blocks, 0, buffer, pass);
}

Task ShortRingMember::reduce_scatter(std::uint64_t input, std::uint64_t output, BlockMap blocks, ElementType type) {
  if (size_ == 1) {
    const Extent own = blocks(0);
    if (input + own.offset != output && own.bytes != 0) {
      co_await move(input + own.offset, kNoOther, output, own.bytes, type);
    }
    co_return;
  }
  const Pass pass = [&](std::uint64_t slot, Extent chunk, std::uint64_t in_block, bool last) {
    return add(slot, input + chunk.offset, output + in_block, chunk.bytes, type, last);
  };
  co_await round(blocks, 1, input, pass);
}

Task ShortRingMember::broadcast(std::uint64_t buffer, Extent part, int root) {
  if (size_ == 1) co_return;
  const Chunks chunks = cut(part);
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    const Extent chunk = chunks[i];
    if (position_ == root) {
      co_await send_own(buffer + chunk.offset, chunk.bytes);
    } else {
      std::uint64_t slot = 0;
      co_await receive(slot);
      co_await keep(slot, buffer + chunk.offset, chunk.bytes, (position_ + 1) % size_ == root);
    }
  }
}

}  // namespace weft::collectives
