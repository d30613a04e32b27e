// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/ring/flagged_ring.h"

#include <algorithm>
#include <utility>

#include "sw/collectives/followed.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

namespace {

constexpr std::uint64_t kNext = 0;  // completions of receives, by queue pair
constexpr std::uint64_t kPrevious = 1ULL << 32;
constexpr std::uint64_t kByEngine = 1ULL << 63;

}  // namespace

FlaggedRingMember::FlaggedRingMember(Rank& rank, int position, int size, int slots, int engine, const std::string& name)
    : rank_(rank),
      position_(position),
      size_(size),
      engine_(engine % rank.copy_engines),
      window_(static_cast<std::uint64_t>(std::min(slots, SlotLane::kMostUnderWay))),
      batch_(std::max(window_ / 4, std::uint64_t{1})),
      completions_(&rank.processor->create_completion_queue("a chunk or a slot in " + name + ", queue")) {
  outgoing_ = rank.memory.allocate("collective staging", SlotLane::kLongestLines * window_);
  previous_.slots = rank.memory.allocate("collective staging", SlotLane::kLongestLines * window_);
}

std::vector<std::unique_ptr<FlaggedRingMember>> FlaggedRingMember::join(const std::vector<Rank*>& ranks, int slots,
                                                                        int queue_pairs, int engine,
                                                                        const std::string& name) {
  std::vector<std::unique_ptr<FlaggedRingMember>> members;
  members.reserve(ranks.size());
  const int size = static_cast<int>(ranks.size());
  for (Rank* rank : ranks) {
    members.push_back(
        std::make_unique<FlaggedRingMember>(*rank, static_cast<int>(members.size()), size, slots, engine, name));
  }
  for (std::size_t i = 0; size > 1 && i < ranks.size(); ++i) {
    FlaggedRingMember& here = *members[i];
    FlaggedRingMember& there = *members[(i + 1) % ranks.size()];
    here.next_.make(here.rank_, there.rank_, *here.completions_, kNext, queue_pairs);
    there.previous_.make(there.rank_, here.rank_, *there.completions_, kPrevious, queue_pairs);
    here.acknowledged_ = InTurn(here.next_.pairs.size());
    SlotLane::join(here.next_, there.previous_);
  }
  return members;
}

void FlaggedRingMember::take(const nic::Completion& entry) {
  // What the engine has done is no entry of an interface, and says so by its number alone.
  if (entry.verb == nic::Verb::kWrite) {
    acknowledged_.add(entry.id % next_.pairs.size());
  } else if (entry.id == kByEngine) {
    ++moved_;
  } else if (entry.id >= kPrevious) {
    previous_.take(entry, entry.id - kPrevious);
  } else {
    next_.take(entry);
  }
  return_slots();
}

void FlaggedRingMember::return_slots() {
  while (!held_.empty() && moved_ >= held_.front().moved &&
         (held_.front().sent == kNowhere || held_.front().sent < acknowledged_.count())) {
    const bool ends = held_.front().ends;
    held_.pop_front();
    if (++emptied_ == batch_ || ends) previous_.give_back(std::exchange(emptied_, 0));
  }
}

void FlaggedRingMember::end_batch() {
  if (!held_.empty()) {
    held_.back().ends = true;
  } else if (emptied_ > 0) {
    previous_.give_back(std::exchange(emptied_, 0));
  }
}

bool FlaggedRingMember::can_begin(const Step& step) const {
  if (step.comes) return previous_.has_chunk();
  return !step.goes || going_ < next_.arrived + window_;
}

void FlaggedRingMember::begin(const Step& step, std::optional<ElementType> type, Flags flags) {
  const std::uint64_t slot = step.comes ? slot_at(previous_.slots, previous_.chunks++, window_, SlotLane::kLongestLines)
                                        : slot_at(outgoing_, going_, window_, SlotLane::kLongestLines);
  const auto move = [&](std::uint64_t source, std::uint64_t other, std::uint64_t target) {
    rank_.accelerator.submit(engine_command(source, other, target, step.bytes, type.value_or(ElementType::kFp32), flags,
                                            engine_, *completions_, kByEngine));
    ++begun_;
  };
  if (!step.comes) {
    move(step.own, kNoOther, step.goes ? slot : step.sum);
  } else if (type) {
    move(slot, step.own, step.goes ? slot : step.sum);
  } else {
    move(slot, kNoOther, step.own);
  }
  // What is copied to its place goes on at the same time.
  under_way_.push_back({step.bytes, slot, begun_, !step.comes || type, step.goes, step.ends, step.comes});
  if (step.goes) ++going_;
}

bool FlaggedRingMember::is_written() const {
  const auto last = std::find_if(under_way_.begin(), under_way_.end(), [](const Begun& one) { return one.ends; });
  return last != under_way_.end() && moved_ >= last->moved;
}

void FlaggedRingMember::send_begun(Flags flags) {
  for (; !under_way_.empty(); under_way_.pop_front()) {
    const Begun& next = under_way_.front();
    if ((next.waits && moved_ < next.moved) || (next.goes && !next_.has_room(window_))) return;
    if (next.goes && next_.leaves && !is_written()) return;
    if (next.holds_slot) held_.push_back({next.goes ? next_.chunks : kNowhere, next.moved, false});
    if (!next.goes) continue;
    next_.send(next.from, slot_at(next_.slots, next_.chunks, window_, SlotLane::kLongestLines), next.bytes, flags,
               true);
  }
}

Task FlaggedRingMember::run(Steps steps, std::optional<ElementType> type, Flags flags) {
  for (const Followed what : {Followed::kRings, Followed::kLaneSlots}) follow(rank_.followed, what);
  if (flags != flags_ && size_ > 1) {
    // What takes less time must not overtake what is under way.
    while (acknowledged_.count() < next_.chunks) take(co_await completions_->next());
    next_.relay(rank_, flags);
    flags_ = flags;
  }
  std::optional<Step> step = steps();
  for (;;) {
    for (; step && can_begin(*step); step = steps()) begin(*step, type, flags);
    send_begun(flags);
    return_slots();
    // The caller may change what copies read.
    if (!step && under_way_.empty() && moved_ == begun_) break;
    take(co_await completions_->next());
  }
  end_batch();
}

// A group of chunks goes all the way round before the next, so that nobody waits in a circle (see
// RingMember::reduce_scatter()).
FlaggedRingMember::Steps FlaggedRingMember::round(const BlockMap& blocks, int first_block, std::uint64_t input,
                                                  std::optional<std::uint64_t> output, Flags flags) const {
  std::uint64_t most = 0;
  for (int block = 0; block < size_; ++block) most = std::max(most, cut(blocks(block), flags).count());
  return [=, this, group = group(), first = std::uint64_t{0}, step = 0, i = std::uint64_t{0},
          chunks = cut(blocks(step_block(first_block)), flags)]() mutable -> std::optional<Step> {
    while (i >= std::min(first + group, chunks.count())) {
      if (++step == size_) {
        step = 0;
        first += group;
        if (first >= most) return std::nullopt;
      }
      i = first;
      chunks = cut(blocks(step_block(step + first_block)), flags);
    }
    const Extent chunk = chunks[i];
    const std::uint64_t in_block = chunk.offset - chunks.extent.offset;
    const bool ends = ends_message(chunks, i, flags);
    ++i;
    return Step{chunk.bytes, step > 0, step < size_ - 1, ends, input + chunk.offset, output.value_or(0) + in_block};
  };
}

Task FlaggedRingMember::allgather(std::uint64_t buffer, BlockMap blocks, Flags flags) {
  if (size_ == 1) co_return;
  co_await run(round(blocks, 0, buffer, std::nullopt, flags), std::nullopt, flags);
}

Task FlaggedRingMember::reduce_scatter(std::uint64_t input, std::uint64_t output, BlockMap blocks, ElementType type,
                                       Flags flags) {
  if (size_ == 1 && input + blocks(0).offset == output) co_return;
  co_await run(round(blocks, 1, input, output, flags), type, flags);
}

Task FlaggedRingMember::broadcast(std::uint64_t buffer, Extent part, int root, Flags flags) {
  if (size_ == 1) co_return;
  const Chunks chunks{part, SlotLane::flagged_chunk(part.bytes, flags, SlotLane::kLongestFlagged)};
  const bool comes = position_ != root;
  const bool goes = (position_ + 1) % size_ != root;
  const auto steps = [=, this, i = std::uint64_t{0}]() mutable -> std::optional<Step> {
    if (i == chunks.count()) return std::nullopt;
    const Extent chunk = chunks[i];
    const bool ends = ends_message(chunks, i, flags);
    ++i;
    return Step{chunk.bytes, comes, goes, ends, buffer + chunk.offset, 0};
  };
  co_await run(steps, std::nullopt, flags);
}

}  // namespace weft::collectives
