// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/compressed/message.h"

#include <algorithm>
#include <span>

namespace weft::collectives {

using compression::Codec;
using compression::Plan;
using compression::Wire;
using firmware::Floats;
using firmware::load_from;
using firmware::load_into;
using firmware::Rank;
using firmware::store_to;
using firmware::Task;

namespace {

using Count = std::uint32_t;

Codec::Sent bytes_at(const Rank& rank, std::uint64_t address, std::uint64_t bytes) {
  Codec::Sent read(bytes);
  load_into(rank, address, std::span(read));
  return read;
}

/// Of all members, in units.
std::vector<Count> counts_of(const Rank& rank, const CompressedMessage& message, std::size_t members) {
  std::vector<Count> counts(members);
  load_into(rank, message.counts, std::span(counts));
  return counts;
}

}  // namespace

void CompressedMessage::lay_out(std::uint64_t members, const std::string& of, const Allocate& allocate) {
  std::uint64_t most = 0;
  for (std::size_t r = 0; r < plan.rounds.size(); ++r) most = std::max(most, plan.most(r));
  if (plan.wire == Wire::kSummed) {
    all = allocate("compressed " + of, most);
    return;
  }
  if (plan.varies) {
    own = allocate("compressed " + of, most);
    counts = allocate("lengths of compressed " + of, sizeof(Count) * members);
  }
  all = allocate("compressed " + of + " of all ranks", most * members);
}

CompressedEnd CompressedEnd::make(Rank& rank, int member, bool varies) {
  return {.rank = rank,
          .member = member,
          .placed = varies ? &rank.processor->create_completion_queue("compressed messages to be in place") : nullptr};
}

Task send_compressed(Communicator& group, CompressedEnd& end, const CompressedMessage& message, std::size_t round,
                     bool real) {
  const Plan& plan = message.plan;
  const auto members = static_cast<std::size_t>(group.size());
  std::uint64_t most = plan.rounds[round].bytes;
  std::uint64_t own = most;
  if (plan.varies) {
    co_await group.allgather(end.member, message.counts, sizeof(Count) * members, sizeof(Count));
    if (real) {
      const std::vector<Count> counts = counts_of(end.rank, message, members);
      most = plan.unit * *std::max_element(counts.begin(), counts.end());
      own = plan.unit * counts[static_cast<std::size_t>(end.member)];
    }
  }
  end.sent += own;
  if (round == 0) end.dense += static_cast<std::uint64_t>(message.message.elements);
  if (most == 0) co_return;
  if (plan.wire == Wire::kSummed) {
    co_await group.all_reduce_whole(end.member, message.all, most, ElementType::kFp32);
    co_return;
  }
  if (plan.varies) {
    end.rank.accelerator.copy(0, message.own, message.all + most * static_cast<std::uint64_t>(end.member), most,
                              *end.placed, 0);
    co_await end.placed->next();
  }
  co_await group.allgather(end.member, message.all, most * members, plan.unit);
}

CompressedArithmetic::CompressedArithmetic(const std::vector<const CompressedMessage*>& messages,
                                           const compression::CompressionConfig& config, std::uint64_t seed,
                                           int members)
    : messages_(messages), error_feedback_(config.error_feedback), halves_(static_cast<std::size_t>(members)) {
  for (int member = 0; member < members; ++member) {
    std::uint64_t of_message = seed;
    for (const CompressedMessage* message : messages_) {
      // Tensors of a message that are compressed by themselves count on from there.
      halves_[static_cast<std::size_t>(member)].push_back(
          {compression::codec_of({message->message, config, of_message, member}), {}});
      of_message += 1'000'000;
    }
  }
}

void CompressedArithmetic::clear(const Rank& rank) const {
  if (!error_feedback_) return;
  for (const CompressedMessage* message : messages_) {
    store_to(rank, message->residuals, Floats(static_cast<std::size_t>(message->message.elements)));
  }
}

void CompressedArithmetic::compress(Rank& rank, int member, std::size_t which, std::size_t round) {
  const CompressedMessage& message = *messages_[which];
  const Plan& plan = message.plan;
  const std::int64_t elements = message.message.elements;
  Half& mine = half(member, which);
  Codec::Sent came;
  if (round == 0) {
    mine.values = load_from(rank, message.address, elements);
    mine.codec->prepare(mine.values);
    if (error_feedback_) {
      const Floats left = load_from(rank, message.residuals, elements);
      for (std::size_t i = 0; i < left.size(); ++i) mine.values[i] += left[i];
    }
  } else {
    came = bytes_at(rank, message.all, plan.rounds[round - 1].bytes);
  }
  const Codec::Sent sent = mine.codec->compress(mine.values, round, came);
  const auto place = static_cast<std::uint64_t>(member);
  std::uint64_t address = message.all;
  if (plan.varies) {
    const auto count = static_cast<Count>(sent.size() / plan.unit);
    store_to(rank, message.counts + sizeof count * place, std::span<const Count>(&count, 1));
    address = message.own;
  } else if (plan.wire == Wire::kGathered) {
    address += plan.rounds[round].bytes * place;
  }
  store_to(rank, address, std::span<const std::byte>(sent));
  if (round + 1 < plan.rounds.size()) return;
  if (error_feedback_) {
    compression::leave(*mine.codec, sent, mine.values);
    store_to(rank, message.residuals, mine.values);
  }
  mine.values = {};
}

void CompressedArithmetic::decompress(Rank& rank, int member, std::size_t which) {
  const CompressedMessage& message = *messages_[which];
  const Plan& plan = message.plan;
  const Codec& codec = *half(member, which).codec;
  const std::size_t members = halves_.size();
  Floats sum(static_cast<std::size_t>(message.message.elements));
  if (plan.wire == Wire::kSummed) {
    codec.add(bytes_at(rank, message.all, plan.rounds.back().bytes), sum);
  } else {
    std::vector<Count> counts(members, static_cast<Count>(plan.rounds.back().bytes / plan.unit));
    if (plan.varies) counts = counts_of(rank, message, members);
    const std::uint64_t block = plan.unit * *std::max_element(counts.begin(), counts.end());
    for (std::size_t r = 0; r < members; ++r) {
      codec.add(bytes_at(rank, message.all + block * r, plan.unit * counts[r]), sum);
    }
  }
  codec.finish(sum, static_cast<int>(members));
  store_to(rank, message.address, sum);
}

}  // namespace weft::collectives
