// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/symmetric_member.h"

#include <algorithm>
#include <utility>

namespace weft::collectives {

using firmware::Rank;
using firmware::StockedPair;
using firmware::Task;

namespace {

/// What a message says.
constexpr std::uint32_t kSignal = 0;
constexpr std::uint32_t kWords = 1;

/// Of a block what travels when `from` bytes have.
Extent piece(Extent block, std::uint64_t from, std::uint64_t longest) {
  const std::uint64_t before = std::min(from, block.bytes);
  return {block.offset + before, std::min(longest, block.bytes - before)};
}

}  // namespace

SymmetricKernels::Member::Member(Rank& rank, int number, int members, int engines, const std::string& name)
    : rank_(rank),
      number_(number),
      members_(members),
      engines_(engines),
      completions_(rank.processor->create_completion_queue("words, a signal or a load in " + name + ", queue")),
      pairs_(static_cast<std::size_t>(members)),
      words_(static_cast<std::size_t>(members - 1)),
      signals_(static_cast<std::size_t>(members - 1)),
      under_way_(kLoads) {
  const auto all = static_cast<std::uint64_t>(members);
  const std::uint64_t words = 2 * all * 2 * kPiece * static_cast<std::uint64_t>(engines_);
  came_ = rank.memory.allocate("words of " + name, words);
  going_ = rank.memory.allocate("words of " + name, words);
  loads_ = rank.memory.allocate("loads of " + name, kLoads * all * kLoad);
}

void SymmetricKernels::Member::join(Members& members) {
  const auto make = [](Member& from, const Member& to) {
    const auto id = static_cast<std::size_t>(to.number_);
    from.pairs_[id] = std::make_unique<StockedPair>(from.rank_.towards(to.rank_), from.completions_, id);
    from.pairs_[id]->pair().prepay();  // threads of the kernel post beside each other
  };
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      make(*members[i], *members[j]);
      make(*members[j], *members[i]);
      StockedPair::join(*members[i]->pairs_[j], *members[j]->pairs_[i]);
    }
  }
}

void SymmetricKernels::Member::join_multicast(std::uint32_t group, std::vector<std::uint32_t> ends) {
  group_ = firmware::GroupQueuePair(rank_.scale_up, completions_, group, 0);
  ends_ = std::move(ends);
}

void SymmetricKernels::Member::take(const nic::Completion& entry) {
  // What the engine has done is no entry of an interface, and says so by its number alone.
  if (entry.id >= kByEngine) {
    ++ended_;
    under_way_[entry.id % kLoads].added = true;
    return;
  }
  switch (entry.verb) {
    case nic::Verb::kRead:
      if (++under_way_[entry.id % kLoads].came == static_cast<std::uint64_t>(members_ - 1)) ++loaded_;
      return;
    case nic::Verb::kWrite:
    case nic::Verb::kMulticast:
      ++acknowledged_;
      return;
    default:
      break;
  }
  if (entry.id >= kByGroup) {
    ++used_;
    const auto from = std::find(ends_.begin(), ends_.end(), entry.source);
    words_.add(other(static_cast<int>(from - ends_.begin())));
    return;
  }
  pairs_[entry.id]->used();
  (entry.immediate == kSignal ? signals_ : words_).add(other(static_cast<int>(entry.id)));
}

template <typename Condition>
Task SymmetricKernels::Member::until(Condition condition) {
  while (!condition()) take(co_await completions_.next());
}

Task SymmetricKernels::Member::meet() {
  for (int i = 1; i < members_; ++i) {
    pairs_[static_cast<std::size_t>(after(number_, i))]->pair().send_immediate(kSignal);
  }
  const std::uint64_t due = ++meetings_ * static_cast<std::uint64_t>(members_ - 1);
  co_await until([this, due] { return signals_.count() >= due; });
}

Chunks SymmetricKernels::Member::cut(std::uint64_t bytes, SymmetricKernel how) const {
  const auto blocks = static_cast<std::uint64_t>(std::min(how.blocks, engines_));
  const std::uint64_t each = (bytes + blocks - 1) / blocks;
  return {{0, bytes}, std::max((each + kSymmetricCell - 1) / kSymmetricCell, std::uint64_t{1}) * kSymmetricCell};
}

void SymmetricKernels::Member::submit_copy(std::uint64_t source, std::uint64_t target, std::uint64_t bytes,
                                           SymmetricKernel how, std::uint64_t& engine) {
  const Chunks parts = cut(bytes, how);
  for (std::uint64_t p = 0; p < parts.count(); ++p) {
    const auto number = static_cast<int>(engine++ % static_cast<std::uint64_t>(engines_));
    rank_.accelerator.submit(engine_command(source + parts[p].offset, kNoOther, target + parts[p].offset,
                                            parts[p].bytes, ElementType::kInt32, Flags::kWords, number, completions_,
                                            kByEngine));
    ++begun_;
  }
}

void SymmetricKernels::Member::submit_sum(std::uint64_t source, std::uint64_t stride, std::uint64_t other,
                                          std::uint64_t target, std::uint64_t bytes, ElementType type, Flags flags,
                                          std::uint64_t engine, std::uint64_t id) {
  const auto number = static_cast<int>(engine % static_cast<std::uint64_t>(engines_));
  accelerator::Command command = engine_command(source, other, target, bytes, type, flags, number, completions_, id);
  command.operands = static_cast<std::uint32_t>(members_ - 1);
  command.stride = stride;
  rank_.accelerator.submit(command);
  ++begun_;
}

std::uint64_t SymmetricKernels::Member::longest_block(const BlockMap& blocks) const {
  std::uint64_t most = 0;
  for (int i = 0; i < members_; ++i) most = std::max(most, blocks(i).bytes);
  return most;
}

Task SymmetricKernels::Member::moved() {
  co_await until([this] { return ended_ == begun_; });
}

Task SymmetricKernels::Member::begin_piece() {
  co_await until([this] { return acknowledged_ >= sent_with_[pieces_ % 2]; });
}

Task SymmetricKernels::Member::end_piece() {
  sent_with_[pieces_ % 2] = sent_;
  const std::uint64_t due = (pieces_ + 1) * static_cast<std::uint64_t>(members_ - 1);
  co_await until([this, due] { return words_.count() >= due; });
}

void SymmetricKernels::Member::send_words(int peer, std::uint64_t from, std::uint64_t bytes) {
  firmware::QueuePair& pair = pairs_[static_cast<std::size_t>(peer)]->pair();
  if (bytes == 0) return pair.send_immediate(kWords);
  pair.write(from, place(came_, number_), accelerator::with_flags(bytes, Flags::kWords), true, kWords, true, 0,
             /*stored=*/true);
  ++sent_;
}

Task SymmetricKernels::Member::send_words_to_all(std::uint64_t bytes, SymmetricKernel how) {
  if (how.kind == SymmetricKind::kWordsMulticast && stock_ == 0) {
    // What finds no receive is lost: there are some for two pieces of each other member, which nobody can be ahead.
    stock_ = 2 * static_cast<std::uint32_t>(members_ - 1);
    group_.receive(stock_, kByGroup);
    co_await meet();
  }
  if (used_ > 0) group_.receive(std::exchange(used_, 0), kByGroup);
  if (how.kind == SymmetricKind::kWordsMulticast && bytes > 0) {
    group_.multicast(place(came_, number_), place(came_, number_), accelerator::with_flags(bytes, Flags::kWords), true,
                     kWords, true, 0, /*stored=*/true);
    ++sent_;
    co_return;
  }
  for (int i = 1; i < members_; ++i) send_words(after(number_, i), place(came_, number_), bytes);
}

void SymmetricKernels::Member::add_words(std::uint64_t target, std::uint64_t bytes, ElementType type,
                                         SymmetricKernel how) {
  const Chunks parts = cut(bytes, how);
  for (std::uint64_t p = 0; p < parts.count(); ++p) {
    submit_sum(place(came_, 1) + parts[p].offset, place(came_, 1) - place(came_, 0), place(came_, 0) + parts[p].offset,
               target + parts[p].offset, parts[p].bytes, type, Flags::kWords, p);
  }
}

Task SymmetricKernels::Member::allgather_words(
    std::uint64_t buffer,
    BlockMap blocks,  // NOLINT(performance-unnecessary-value-param): coroutines keep it
    SymmetricKernel how) {
  const std::uint64_t longest = longest_piece(how);
  const auto piece_of = [&](int member, std::uint64_t from) { return piece(blocks(member), from, longest); };
  for (std::uint64_t from = 0; from < longest_block(blocks); from += longest) {
    const Extent own = piece_of(number_, from);
    co_await begin_piece();
    std::uint64_t engine = 0;
    submit_copy(buffer + own.offset, place(came_, number_), own.bytes, how, engine);
    co_await moved();
    co_await send_words_to_all(own.bytes, how);
    co_await end_piece();
    for (int i = 1; i < members_; ++i) {
      const int peer = after(number_, i);
      const Extent piece = piece_of(peer, from);
      submit_copy(place(came_, peer), buffer + piece.offset, piece.bytes, how, engine);
    }
    co_await moved();
    ++pieces_;
  }
}

Task SymmetricKernels::Member::reduce_scatter_words(
    std::uint64_t input, std::uint64_t output,
    BlockMap blocks,  // NOLINT(performance-unnecessary-value-param): coroutines keep it
    ElementType type, SymmetricKernel how) {
  const std::uint64_t longest = longest_piece(how);
  const auto piece_of = [&](int member, std::uint64_t from) { return piece(blocks(member), from, longest); };
  for (std::uint64_t from = 0; from < longest_block(blocks); from += longest) {
    co_await begin_piece();
    std::uint64_t engine = 0;
    for (int i = 0; i < members_; ++i) {
      const int member = after(number_, i);
      const Extent piece = piece_of(member, from);
      submit_copy(input + piece.offset, place(member == number_ ? came_ : going_, member), piece.bytes, how, engine);
    }
    co_await moved();
    for (int i = 1; i < members_; ++i) {
      const int peer = after(number_, i);
      send_words(peer, place(going_, peer), piece_of(peer, from).bytes);
    }
    co_await end_piece();
    add_words(output + std::min(from, blocks(number_).bytes), piece_of(number_, from).bytes, type, how);
    co_await moved();
    ++pieces_;
  }
}

Task SymmetricKernels::Member::all_reduce_words(std::uint64_t buffer, std::uint64_t bytes, ElementType type,
                                                SymmetricKernel how) {
  const Chunks pieces{{0, bytes}, longest_piece(how)};
  for (std::uint64_t i = 0; i < pieces.count(); ++i) {
    const std::uint64_t at = buffer + pieces[i].offset;
    std::uint64_t engine = 0;
    co_await begin_piece();
    submit_copy(at, place(came_, number_), pieces[i].bytes, how, engine);
    co_await moved();
    co_await send_words_to_all(pieces[i].bytes, how);
    co_await end_piece();
    add_words(at, pieces[i].bytes, type, how);
    co_await moved();
    ++pieces_;
  }
}

Task SymmetricKernels::Member::store_block(std::uint64_t buffer,
                                           BlockMap blocks) {  // NOLINT(performance-unnecessary-value-param): likewise
  co_await meet();
  const Extent own = blocks(number_);
  if (own.bytes > 0) {
    const std::uint64_t at = buffer + own.offset;
    for (int i = 1; i < members_; ++i) {
      pairs_[static_cast<std::size_t>(after(number_, i))]->pair().write(at, at, own.bytes, false, 0, true);
      ++sent_;
    }
  }
  co_await until([this] { return acknowledged_ == sent_; });
  co_await meet();
}

void SymmetricKernels::Member::begin_load(std::uint64_t input, const Chunks& chunks, std::uint64_t index) {
  const Extent chunk = chunks[index];
  under_way_[index % kLoads] = {};
  for (int i = 1; i < members_; ++i) {
    const int peer = after(number_, i);
    pairs_[static_cast<std::size_t>(peer)]->pair().read(load_place(index, i), input + chunk.offset, chunk.bytes,
                                                        index % kLoads, 0, /*stored=*/true);
  }
}

void SymmetricKernels::Member::add_load(std::uint64_t input, std::uint64_t output, const Chunks& chunks,
                                        std::uint64_t index, ElementType type) {
  const Extent chunk = chunks[index];
  submit_sum(load_place(index, 1), kLoad, input + chunk.offset, output + chunk.offset - chunks.extent.offset,
             chunk.bytes, type, Flags::kNone, index, kByEngine | index % kLoads);
}

Task SymmetricKernels::Member::load_and_add(std::uint64_t input, std::uint64_t output, Extent own, ElementType type,
                                            bool to_all) {
  const auto others = static_cast<std::uint64_t>(members_ - 1);
  const std::uint64_t most = std::clamp(kLoading / others / 2 / kLeastLoad * kLeastLoad, kLeastLoad, kLoad);
  const std::uint64_t each = (own.bytes / kLoads + kLeastLoad - 1) / kLeastLoad * kLeastLoad;
  const Chunks chunks{own, std::clamp(each, kLeastLoad, most)};
  const std::uint64_t ahead = std::max(kLoading / (chunks.chunk * others), std::uint64_t{1});
  co_await meet();
  loaded_ = 0;
  std::uint64_t begun = 0;
  std::uint64_t adding = 0;
  for (std::uint64_t done = 0; done < chunks.count();) {
    for (; begun < std::min({chunks.count(), done + kLoads, loaded_ + ahead}); ++begun) {
      begin_load(input, chunks, begun);
    }
    for (; adding < begun && under_way_[adding % kLoads].came == others; ++adding) {
      add_load(input, output, chunks, adding, type);
    }
    if (done == begun || !under_way_[done % kLoads].added) {
      take(co_await completions_.next());
      continue;
    }
    const std::uint64_t at = output + chunks[done].offset - own.offset;
    for (int i = 1; to_all && i < members_; ++i) {
      pairs_[static_cast<std::size_t>(after(number_, i))]->pair().write(at, at, chunks[done].bytes, false, 0, true);
      ++sent_;
    }
    ++done;
  }
  co_await until([this] { return acknowledged_ == sent_; });
  co_await meet();
}

}  // namespace weft::collectives
