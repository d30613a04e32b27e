// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/pat/pat.h"

#include <algorithm>

#include "sw/collectives/followed.h"

namespace weft::collectives {

using firmware::Task;

namespace {

// Completions: of a connection, by dimension, direction and queue pair, and of the copy engine.
constexpr int kDimensionBit = 9;
constexpr std::uint64_t kIn = 1 << 8;
constexpr std::uint64_t kPairs = kIn - 1;
constexpr std::uint64_t kMoved = 1ULL << 63;

/// What travels of a place's block in a round.
Extent piece(const PatMember::Work& work, int place, std::uint64_t round) {
  const Extent& block = work.blocks[static_cast<std::size_t>(place)];
  const std::uint64_t before = std::min(round * work.chunk, block.bytes);
  return {block.offset + before, std::min(work.chunk, block.bytes - before)};
}

/// Of a message of a dimension's, in all rounds.
std::uint64_t number_in(const PatPlan& plan, int dimension, int message, std::uint64_t round) {
  return round * plan.ordered[static_cast<std::size_t>(dimension)].size() + static_cast<std::uint64_t>(message);
}

}  // namespace

int PatMember::slots_of(const Options& options) {
  return std::min(options.slots, kMostSlots);
}

PatMember::PatMember(firmware::Rank& rank, int dimensions, const Options& options, int engine, const std::string& name)
    : rank_(rank),
      options_(options),
      engine_(engine % rank.copy_engines),
      window_(static_cast<std::uint64_t>(slots_of(options))),
      completions_(&rank.processor->create_completion_queue("blocks or a slot of " + name + ", queue")),
      dimensions_(static_cast<std::size_t>(dimensions)) {
  for (Dimension& dimension : dimensions_) {
    dimension.in.slots = rank.memory.allocate("collective staging", options.chunk * window_);
    dimension.outgoing = rank.memory.allocate("collective staging", options.chunk * window_);
    dimension.written.resize(window_);
  }
}

std::vector<std::unique_ptr<PatMember>> PatMember::join(const std::vector<firmware::Rank*>& ranks, Direction direction,
                                                        const Options& options, int engine, const std::string& name) {
  const int dimensions = pat_dimensions(static_cast<int>(ranks.size()));
  std::vector<std::unique_ptr<PatMember>> members;
  members.reserve(ranks.size());
  for (firmware::Rank* rank : ranks) {
    members.push_back(std::make_unique<PatMember>(*rank, dimensions, options, engine, name));
  }
  for (int d = 0; d < dimensions; ++d) {
    const std::uint64_t id = static_cast<std::uint64_t>(d) << kDimensionBit;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::size_t ahead = (i + (std::size_t{1} << d)) % ranks.size();
      PatMember& from = *members[direction == Direction::kDown ? ahead : i];
      PatMember& to = *members[direction == Direction::kDown ? i : ahead];
      SlotLane& out = from.at(d).out;
      SlotLane& in = to.at(d).in;
      out.make(from.rank_, to.rank_, *from.completions_, id, options.queue_pairs);
      in.make(to.rank_, from.rank_, *to.completions_, id | kIn, options.queue_pairs);
      SlotLane::join(out, in);
    }
  }
  return members;
}

void PatMember::take(const nic::Completion& entry) {
  if (entry.id == kMoved) {
    ++moved_;
    give_back();
    return;
  }
  Dimension& dimension = at(static_cast<int>(entry.id >> kDimensionBit));
  const bool comes = (entry.id & kIn) != 0;
  (comes ? dimension.in : dimension.out).take(entry, entry.id & kPairs);
  if (comes && gathers_ != nullptr) unpack(dimension);
}

void PatMember::give_back() {
  for (; !emptying_.empty() && emptying_.front().moved <= moved_; emptying_.pop_front()) {
    ++emptying_.front().dimension->emptied;
    emptying_.front().dimension->in.give_back(1);
  }
}

template <typename Condition>
Task PatMember::until(Condition condition) {
  while (!condition()) take(co_await completions_->next());
}

void PatMember::move(std::uint64_t source, std::uint64_t other, std::uint64_t target, std::uint64_t bytes,
                     ElementType type) {
  if (bytes == 0) return;
  rank_.accelerator.submit(
      engine_command(source, other, target, bytes, type, Flags::kNone, engine_, *completions_, kMoved));
  ++begun_;
}

void PatMember::begin() {
  for (const Followed what : {Followed::kRings, Followed::kChunk}) follow(rank_.followed, what);
  for (Dimension& dimension : dimensions_) {
    dimension.out_begin = dimension.out.chunks;
    dimension.in_begin = dimension.in.chunks;
    dimension.out.relay(rank_, Flags::kNone);
    dimension.in.relay(rank_, Flags::kNone);
  }
}

bool PatMember::is_quiet() const {
  return moved_ == begun_ && std::all_of(dimensions_.begin(), dimensions_.end(), [](const Dimension& dimension) {
           return dimension.out.arrived >= dimension.borrowed;
         });
}

void PatMember::unpack(Dimension& dimension) {
  const auto& messages = gathers_->plan->ordered[static_cast<std::size_t>(&dimension - dimensions_.data())];
  const std::uint64_t end = dimension.in_begin + gathers_->rounds * messages.size();
  for (; dimension.in.has_chunk() && dimension.in.chunks < end; ++dimension.in.chunks) {
    const std::uint64_t number = dimension.in.chunks - dimension.in_begin;
    std::uint64_t from = slot(dimension.in.slots, dimension.in.chunks);
    for (const int place : *messages[number % messages.size()]) {
      const Extent block = piece(*gathers_, place, number / messages.size());
      move(from, kNoOther, gathered_ + block.offset, block.bytes, ElementType::kInt32);
      from += block.bytes;
    }
    emptying_.push_back({&dimension, begun_});
  }
  give_back();
}

Task PatMember::pass_on(const PatPlan::Step& step, const std::vector<int>& message, std::uint64_t round) {
  SlotLane& out = at(step.dimension).out;
  co_await until([this, &out] { return out.has_room(window_); });
  const std::uint64_t packed = slot(at(step.dimension).outgoing, out.chunks);
  std::uint64_t from = packed;
  std::uint64_t bytes = 0;
  for (const int below : message) {
    const int place = below - (1 << step.dimension);
    if (place > 0) {
      const auto& [by, number] = gathers_->plan->positions[static_cast<std::size_t>(place)];
      const Dimension& came = at(by);
      const std::uint64_t nth = came.in_begin + number_in(*gathers_->plan, by, number, round);
      if (came.emptied <= nth) co_await until([&came, nth] { return came.emptied > nth; });
    }
    const Extent block = piece(*gathers_, place, round);
    if (message.size() == 1) {
      from = gathered_ + block.offset;
    } else {
      move(gathered_ + block.offset, kNoOther, packed + bytes, block.bytes, ElementType::kInt32);
    }
    bytes += block.bytes;
  }
  if (message.size() > 1) co_await until([this, last = begun_] { return moved_ >= last; });
  out.send(from, slot(out.slots, out.chunks), bytes, Flags::kNone);
  if (from != packed) at(step.dimension).borrowed = out.chunks;
}

Task PatMember::allgather(std::uint64_t buffer, Work work) {
  begin();
  gathers_ = &work;
  gathered_ = buffer;
  for (Dimension& dimension : dimensions_) unpack(dimension);
  for (std::uint64_t round = 0; round < work.rounds; ++round) {
    for (const PatPlan::Step& step : work.plan->steps) {
      for (const std::vector<int>& message : step.messages) co_await pass_on(step, message, round);
    }
  }
  co_await until([&] {
    return is_quiet() && std::all_of(dimensions_.begin(), dimensions_.end(), [&](const Dimension& dimension) {
             const auto number = static_cast<std::size_t>(&dimension - dimensions_.data());
             return dimension.emptied == dimension.in_begin + work.rounds * work.plan->ordered[number].size();
           });
  });
  gathers_ = nullptr;
}

Task PatMember::send_sums(Sum& sum, const PatPlan::Step& step) {
  Dimension& to = at(step.dimension);
  for (const std::vector<int>& message : step.messages) {
    co_await until([this, &to] { return to.out.has_room(window_); });
    const std::uint64_t formed = slot(to.outgoing, to.out.chunks);
    std::uint64_t from = formed;
    std::uint64_t& written = to.written[to.out.chunks % window_];
    std::uint64_t bytes = 0;
    for (const int place : message) {
      const auto index = static_cast<std::size_t>(place);
      const Extent block = piece(sum.work, place, sum.round);
      bytes += block.bytes;
      if (sum.has_addends[index]) continue;
      if (message.size() == 1) {
        from = sum.input + block.offset;
      } else {
        move(sum.input + block.offset, kNoOther, formed + sum.offsets[index], block.bytes, sum.type);
        written = begun_;
      }
    }
    co_await until([this, &written] { return moved_ >= written; });
    to.out.send(from, slot(to.out.slots, to.out.chunks), bytes, Flags::kNone);
    if (from != formed) to.borrowed = to.out.chunks;
  }
}

Task PatMember::add(Sum& sum, const PatPlan::Step& step) {
  Dimension& from = at(step.dimension);
  for (const std::vector<int>& message : step.messages) {
    co_await until([&from] { return from.in.has_chunk(); });
    std::uint64_t addend = slot(from.in.slots, from.in.chunks);
    ++from.in.chunks;
    for (const int below : message) {
      const int place = below - (1 << step.dimension);
      const auto index = static_cast<std::size_t>(place);
      const Extent block = piece(sum.work, place, sum.round);
      std::uint64_t target = sum.output + sum.round * sum.work.chunk;
      std::uint64_t* written = nullptr;
      if (place > 0) {
        const auto& [by, number] = sum.work.plan->positions[index];
        Dimension& next = at(by);
        const std::uint64_t nth = next.out_begin + number_in(*sum.work.plan, by, number, sum.round);
        const auto has_room = [this, &next, nth] { return nth < next.out.arrived + window_; };
        if (!has_room()) co_await until(has_room);
        target = slot(next.outgoing, nth) + sum.offsets[index];
        written = &next.written[nth % window_];
      }
      const std::uint64_t other = sum.has_addends[index] ? target : sum.input + block.offset;
      move(addend, other, target, block.bytes, sum.type);
      sum.has_addends[index] = true;
      if (written != nullptr) *written = begun_;
      addend += block.bytes;
    }
    emptying_.push_back({&from, begun_});
    give_back();
  }
}

Task PatMember::reduce_scatter(std::uint64_t input, std::uint64_t output, Work work, ElementType type) {
  begin();
  Sum sum{input, output, work, type, 0, std::vector<std::uint64_t>(work.blocks.size()), {}};
  for (; sum.round < work.rounds; ++sum.round) {
    sum.has_addends.assign(work.blocks.size(), false);
    for (const PatPlan::Step& step : work.plan->steps) {
      for (const std::vector<int>& message : step.messages) {
        std::uint64_t offset = 0;
        for (const int place : message) {
          sum.offsets[static_cast<std::size_t>(place)] = offset;
          offset += piece(work, place, sum.round).bytes;
        }
      }
    }
    for (const PatPlan::Step& step : work.plan->steps) {
      co_await send_sums(sum, step);
      co_await add(sum, step);
    }
  }
  co_await until([this] { return is_quiet(); });
}

}  // namespace weft::collectives
