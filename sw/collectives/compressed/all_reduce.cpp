// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/compressed/all_reduce.h"

#include <string>

namespace weft::collectives {

using compression::Plan;
using compression::Wire;
using firmware::Rank;
using firmware::Task;

CompressedAllReduce::CompressedAllReduce(Communicator& group, const compression::CompressionConfig& config)
    : group_(group), config_(config), real_(group.rank(0).store != nullptr) {
  for (int member = 0; member < group.size(); ++member) {
    Rank& rank = group.rank(member);
    ranks_.push_back(&rank);
    runners_.push_back(std::make_unique<KernelRunner>(rank, static_cast<std::uint32_t>(rank.streams - 1)));
    ends_.push_back(CompressedEnd::make(rank, member, true));
  }
}

std::size_t CompressedAllReduce::find(std::uint64_t address, std::uint64_t bytes) {
  const auto [found, is_new] = by_place_.try_emplace({real_ ? address : 0, bytes / sizeof(float)}, messages_.size());
  if (is_new) add(static_cast<std::int64_t>(bytes / sizeof(float)), address);
  return found->second;
}

std::size_t CompressedAllReduce::add(std::int64_t elements, std::uint64_t address) {
  const auto allocate = [this](const std::string& what, std::uint64_t bytes) {
    return firmware::allocate_together(ranks_, what, bytes);
  };
  const std::size_t number = messages_.size();
  auto& added = *messages_.emplace_back(std::make_unique<CompressedMessage>());
  added.message = {elements};
  added.plan = compression::plan_of(added.message, config_);
  added.address = address;
  rings_.emplace_back();
  codecs_.emplace_back();
  arithmetic_.emplace_back();
  const std::uint64_t seed = 1'000'000'000ULL * number;
  if (added.plan.wire == Wire::kHops) {
    rings_.back() = std::make_unique<CompressedRing>(ranks_, added.message, added.plan,
                                                     "compressed ring " + std::to_string(number));
    for (int member = 0; real_ && member < group_.size(); ++member) {
      codecs_.back().push_back(compression::codec_of({added.message, config_, seed, member}));
    }
    return number;
  }
  if (config_.error_feedback) {
    added.residuals = allocate("residuals", sizeof(float) * static_cast<std::uint64_t>(elements));
  }
  if (added.plan.state_bytes > 0) {
    allocate("state of compressors", static_cast<std::uint64_t>(added.plan.state_bytes));
  }
  added.lay_out(static_cast<std::uint64_t>(group_.size()), "messages", allocate);
  if (!real_) return number;
  const std::vector<const CompressedMessage*> one = {&added};
  arithmetic_.back() = std::make_unique<CompressedArithmetic>(one, config_, seed, group_.size());
  for (const Rank* rank : ranks_) arithmetic_.back()->clear(*rank);
  return number;
}

Task CompressedAllReduce::run(int member, std::uint64_t address, std::uint64_t bytes) {
  const std::size_t message = find(address, bytes);
  return rings_[message] != nullptr ? run_hops(member, message, address) : run_rounds(member, message, address);
}

Task CompressedAllReduce::run_rounds(int member, std::size_t message, std::uint64_t /*address*/) {
  const CompressedMessage& here = *messages_[message];
  CompressedArithmetic* const numbers = arithmetic_[message].get();
  KernelRunner& runner = *runners_[static_cast<std::size_t>(member)];
  for (std::size_t round = 0; round < here.plan.rounds.size(); ++round) {
    co_await runner.run(here.plan.rounds[round].kernels);
    if (numbers != nullptr) numbers->compress(*ranks_[static_cast<std::size_t>(member)], member, 0, round);
    co_await send_compressed(group_, ends_[static_cast<std::size_t>(member)], here, round, numbers != nullptr);
  }
  co_await runner.run(here.plan.after(here.plan.wire == Wire::kSummed ? 1 : group_.size()));
  if (numbers != nullptr) numbers->decompress(*ranks_[static_cast<std::size_t>(member)], member, 0);
}

Task CompressedAllReduce::run_hops(int member, std::size_t message, std::uint64_t address) {
  const auto place = static_cast<std::size_t>(member);
  co_await rings_[message]->all_reduce(
      {*ranks_[place], member, *runners_[place], real_ ? codecs_[message][place].get() : nullptr}, address,
      &ends_[place].sent);
}

}  // namespace weft::collectives
