// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/ring/ring.h"

#include "sw/collectives/followed.h"

namespace weft::collectives {

using firmware::Task;

namespace {

constexpr std::uint64_t kEngineDone = 1ULL << 63;  // marks completions of the copy engine
constexpr std::uint32_t kChunk = 0;                // immediates
constexpr std::uint32_t kEntered = 1;
constexpr std::uint32_t kCredits = 2;            // and more by as many as are given
constexpr std::uint64_t kConsumed = UINT64_MAX;  // a slot that was not sent on

}  // namespace

RingMember::RingMember(firmware::Rank& rank, int position, int size, const Options& options, int engine)
    : rank_(rank),
      position_(position),
      size_(size),
      options_(options),
      engine_(engine % rank.copy_engines),
      staging_(rank.memory.allocate("collective staging", options.chunk * static_cast<std::uint64_t>(options.slots))) {}

std::vector<std::unique_ptr<RingMember>> RingMember::join(const std::vector<firmware::Rank*>& ranks,
                                                          const Options& options, int engine, const std::string& name) {
  const int size = static_cast<int>(ranks.size());
  std::vector<std::unique_ptr<RingMember>> members;
  members.reserve(ranks.size());
  for (int i = 0; i < size; ++i) {
    members.push_back(std::make_unique<RingMember>(*ranks[static_cast<std::size_t>(i)], i, size, options, engine));
  }
  for (int i = 0; i < size; ++i) {
    RingMember& member = *members[static_cast<std::size_t>(i)];
    firmware::Rank& rank = member.rank_;
    firmware::Rank& next = *ranks[static_cast<std::size_t>((i + 1) % size)];
    firmware::Rank& previous = *ranks[static_cast<std::size_t>((i + size - 1) % size)];
    member.completions_ = &rank.processor->create_completion_queue(
        "a chunk from rank " + std::to_string(previous.place) + ", or a credit or acknowledgement from rank " +
        std::to_string(next.place) + ", in " + name + ", queue");
    if (size == 1) return members;  // nothing to join
    member.next_ = member.connection(next);
    member.previous_ = member.connection(previous);
  }
  for (int i = 0; i < size; ++i) {
    auto& next = members[static_cast<std::size_t>(i)]->next_;
    auto& previous = members[static_cast<std::size_t>((i + 1) % size)]->previous_;
    for (std::size_t q = 0; q < next.size(); ++q) firmware::QueuePair::connect(next[q], previous[q]);
    // One is always left for a peer that enters before this end does, or before it has left the collective before.
    next.front().provide(1, 0);
  }
  return members;
}

std::vector<firmware::QueuePair> RingMember::connection(const firmware::Rank& peer) const {
  const firmware::Interface& interface = rank_.towards(peer);
  const bool leaves = &interface == &rank_.scale_out;
  std::vector<firmware::QueuePair> pairs;
  for (int q = 0; q < (leaves ? options_.queue_pairs : 1); ++q) {
    pairs.emplace_back(interface, *completions_);
    if (leaves) pairs.back().relay(rank_.relay);
  }
  return pairs;
}

void RingMember::lay_out_slots(std::uint64_t longest) {
  const auto slots = static_cast<std::uint64_t>(options_.slots);
  slot_bytes_ = std::max<std::uint64_t>((longest + 255) / 256 * 256, 1);
  slots_ = std::min(options_.chunk * slots / slot_bytes_, slots);
}

void RingMember::lay_out_slots(const BlockMap& blocks) {
  std::uint64_t longest = 0;
  for (int i = 0; i < size_; ++i) longest = std::max(longest, blocks(i).bytes);
  lay_out_slots(std::min(longest, cut({0, longest}, slice()).chunk));
}

void RingMember::write(std::uint64_t number, std::uint64_t from, std::uint64_t to, std::uint64_t bytes, bool signaled) {
  const std::uint64_t pair = number % next_.size();
  next_[pair].write(from, to, bytes, true, kChunk, signaled, pair);
}

void RingMember::take(const nic::Completion& entry) {
  if (entry.id == kEngineDone) {
    ++progress_.moved;
  } else if (entry.verb != nic::Verb::kReceive) {
    progress_.sent.add(entry.id);
    return_slots();
  } else if (entry.immediate == kChunk) {
    progress_.arrived.add(entry.id);
  } else if (entry.immediate == kEntered) {
    ++next_entered_;
  } else {
    progress_.credits += entry.immediate - kCredits;
  }
}

void RingMember::return_slots() {
  while (!filled_.empty() && (filled_.front() == kConsumed || filled_.front() < progress_.sent.count())) {
    filled_.pop_front();
    previous_.front().send_immediate(kCredits + 1);
  }
}

template <typename Condition>
Task RingMember::until(Condition condition) {
  while (!condition()) take(co_await completions_->next());
}

Task RingMember::enter(std::uint64_t chunks_in, std::uint64_t credits_in) {
  progress_ = {.arrived = InTurn(previous_.size()), .sent = InTurn(next_.size())};
  ++entered_;
  for (std::uint64_t q = 0; q < previous_.size(); ++q) {
    const std::uint64_t in_turn = (chunks_in + previous_.size() - 1 - q) / previous_.size();
    previous_[q].receive(0, 0, static_cast<std::uint32_t>(in_turn), q);
  }
  next_.front().receive(0, 0, static_cast<std::uint32_t>(credits_in + 1));
  previous_.front().send_immediate(kEntered);
  co_await until([this] { return next_entered_ >= entered_; });
}

/// The chunks that an Allgather or a Broadcast brings to a buffer of this member, and those that it sends from there.
class RingMember::Flow {
 public:
  /// `coming` chunks come and `going` are sent; `next` says where in `buffer` the next one that comes belongs.
  Flow(RingMember& ring, std::uint64_t buffer, std::uint64_t coming, std::uint64_t going, std::function<Extent()> next)
      : ring_(ring), buffer_(buffer), coming_(coming), going_(going), next_(std::move(next)) {}

  Task enter() { return ring_.enter(coming_, staged_ ? (going_ + batch_ - 1) / batch_ : 0); }
  /// Until one more chunk is in the buffer.
  Task receive() {
    ++received_;
    return ring_.until([this] {
      unstage();
      return (staged_ ? ring_.progress_.moved : ring_.progress_.arrived.count()) >= received_;
    });
  }
  Task send(Extent chunk) {
    const std::uint64_t from = buffer_ + chunk.offset;
    if (staged_) {
      co_await ring_.until([this] {
        unstage();
        return ring_.progress_.credits + ring_.slots_ > sent_;
      });
    }
    ring_.write(sent_, from, staged_ ? ring_.slot_address(sent_) : from, chunk.bytes, !staged_);
    ++sent_;
  }
  /// Until all that was sent is there, which with staging the credits say.
  Task finish() {
    return ring_.until([this] {
      unstage();
      return (staged_ ? ring_.progress_.credits : ring_.progress_.sent.count()) == going_;
    });
  }

 private:
  /// Slots are emptied whatever the caller waits for, so that no member waits for one that waits for itself.
  void unstage() {
    if (!staged_) return;
    for (; begun_ < ring_.progress_.arrived.count(); ++begun_) {
      const Extent chunk = next_();
      ring_.rank_.accelerator.copy(static_cast<std::uint32_t>(ring_.engine_), ring_.slot_address(begun_),
                                   buffer_ + chunk.offset, chunk.bytes, *ring_.completions_, kEngineDone);
    }
    while (ring_.progress_.moved >= returned_ + batch_ || (ring_.progress_.moved == coming_ && returned_ < coming_)) {
      const std::uint64_t count = std::min(batch_, coming_ - returned_);
      ring_.previous_.front().send_immediate(kCredits + static_cast<std::uint32_t>(count));
      returned_ += count;
    }
  }

  RingMember& ring_;
  std::uint64_t buffer_;
  std::uint64_t coming_;
  std::uint64_t going_;
  std::function<Extent()> next_;
  bool staged_ = ring_.rank_.staged;
  std::uint64_t batch_ = std::max(ring_.slots_ / 4, std::uint64_t{1});
  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t begun_ = 0;     ///< copies out of slots
  std::uint64_t returned_ = 0;  ///< slots
};

Task RingMember::allgather(std::uint64_t buffer, BlockMap blocks, firmware::Counter* got) {
  if (size_ == 1) co_return;
  for (const Followed what : {Followed::kRings, Followed::kSlots, Followed::kChunk}) follow(rank_.followed, what);
  lay_out_slots(blocks);
  const auto chunks_of = [&](int block) { return cut(blocks(block), slice()); };
  std::uint64_t coming = 0;
  std::uint64_t going = 0;
  for (int step = 0; step + 1 < size_; ++step) {
    going += chunks_of(step_block(step)).count();
    coming += chunks_of(step_block(step + 1)).count();
  }
  Flow flow(*this, buffer, coming, going,
            [&, step = 1, i = std::uint64_t{0}, chunks = chunks_of(step_block(1))]() mutable {
              for (; i == chunks.count(); i = 0) chunks = chunks_of(step_block(++step));
              return chunks[i++];
            });
  co_await flow.enter();
  for (int step = 0; step < size_; ++step) {
    const Chunks chunks = chunks_of(step_block(step));
    for (std::uint64_t i = 0; i < chunks.count(); ++i) {
      if (step > 0) co_await flow.receive();
      if (step + 1 < size_) co_await flow.send(chunks[i]);
    }
    if (step > 0 && got != nullptr) got->increment();
  }
  co_await flow.finish();
}

Task RingMember::broadcast(std::uint64_t buffer, Extent part, int root) {
  if (size_ == 1) co_return;
  for (const Followed what : {Followed::kRings, Followed::kSlots, Followed::kChunk}) follow(rank_.followed, what);
  const Chunks chunks = cut(part, options_.chunk);
  lay_out_slots(std::min(part.bytes, chunks.chunk));
  const bool receives = position_ != root;
  const bool sends = (position_ + 1) % size_ != root;
  Flow flow(*this, buffer, receives ? chunks.count() : 0, sends ? chunks.count() : 0,
            [&, i = std::uint64_t{0}]() mutable { return chunks[i++]; });
  co_await flow.enter();
  for (std::uint64_t i = 0; i < chunks.count(); ++i) {
    if (receives) co_await flow.receive();
    if (sends) co_await flow.send(chunks[i]);
  }
  co_await flow.finish();
}

Task RingMember::reduce_scatter(std::uint64_t input, std::uint64_t output, BlockMap blocks, ElementType type,
                                firmware::Counter* ready) {
  for (const Followed what : {Followed::kRings, Followed::kSlots, Followed::kChunk}) follow(rank_.followed, what);
  if (size_ == 1) {
    if (ready != nullptr) co_await ready->reach(1);
    const Extent own = blocks(0);
    if (input + own.offset == output || own.bytes == 0) co_return;
    rank_.accelerator.copy(static_cast<std::uint32_t>(engine_), input + own.offset, output, own.bytes, *completions_,
                           kEngineDone);
    co_await completions_->next();
    co_return;
  }
  lay_out_slots(blocks);
  const auto chunks_of = [&](int block) { return cut(blocks(block), slice()); };
  // Step s sends block position - 1 - s; what is received in step s is sent in step s + 1, the last one is the own
  // block.
  std::uint64_t coming = 0;
  std::uint64_t going = 0;
  for (int step = 0; step + 1 < size_; ++step) {
    going += chunks_of(step_block(step + 1)).count();
    coming += chunks_of(step_block(step + 2)).count();
  }
  co_await enter(coming, going);

  // Half of the slots' worth of chunks goes all the way round before the next: then a member never waits for a slot
  // that frees only when it has itself gone further (with 2 g slots and g chunks, the member that is furthest behind
  // can always send, since its next member has sent on all but the latest 2 g chunks that it got).
  const std::uint64_t group = slots_ / 2;
  std::uint64_t longest = 0;
  for (int block = 0; block < size_; ++block) longest = std::max(longest, chunks_of(block).count());

  std::uint64_t sent = 0;
  std::uint64_t arrived = 0;
  for (std::uint64_t first = 0; first < longest; first += group) {
    for (int step = 0; step < size_; ++step) {
      if (ready != nullptr) co_await ready->reach(static_cast<std::uint64_t>(step) + 1);
      const Chunks chunks = chunks_of(step_block(step + 1));
      const bool last = step == size_ - 1;
      const std::uint64_t end = std::min(first + group, chunks.count());
      for (std::uint64_t i = first; i < end; ++i) {
        const Extent chunk = chunks[i];
        std::uint64_t source = input + chunk.offset;
        if (step > 0) {
          const std::uint64_t slot = slot_address(arrived);
          ++arrived;
          co_await until([this, arrived] { return progress_.arrived.count() >= arrived; });
          const std::uint64_t target = last ? output + (chunk.offset - chunks.extent.offset) : slot;
          rank_.accelerator.reduce(static_cast<std::uint32_t>(engine_), type, slot, source, target, chunk.bytes,
                                   *completions_, kEngineDone);
          co_await until([this, arrived] { return progress_.moved >= arrived; });
          source = slot;
          filled_.push_back(last ? kConsumed : sent);
          if (last) return_slots();
        }
        if (last) continue;
        co_await until([this, sent] { return progress_.credits + slots_ > sent; });
        write(sent, source, slot_address(sent), chunk.bytes, true);
        ++sent;
      }
    }
  }
  if (ready != nullptr) co_await ready->reach(static_cast<std::uint64_t>(size_));
  co_await until([this, sent] { return progress_.sent.count() == sent && progress_.credits == sent; });
}

}  // namespace weft::collectives
