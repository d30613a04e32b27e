// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/compressed/collectives.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "sw/collectives/communicator.h"

namespace weft::collectives {

using compression::Blocks;
using compression::Wire;
using dimensions::Operation;
using firmware::Rank;
using firmware::Task;

CompressedCollectives::CompressedCollectives(Communicator& group, const compression::CompressionConfig& config,
                                             std::vector<std::vector<int>> orders, std::string name)
    : group_(group),
      config_(config),
      orders_(std::move(orders)),
      name_(std::move(name)),
      real_(group.rank(0).store != nullptr),
      exact_(compression::compressor_of(config).exact),
      has_blocks_(Blocks::has(config)) {
  if (has_blocks_) hops_ = Blocks(config, sizeof(float)).hops();
  plain_.resize(static_cast<std::size_t>(group.size()));
  for (int member = 0; member < group.size(); ++member) {
    Rank& rank = group.rank(member);
    ranks_.push_back(&rank);
    runners_.push_back(std::make_unique<KernelRunner>(rank, static_cast<std::uint32_t>(rank.streams - 1)));
    ends_.push_back(CompressedEnd::make(rank, member, true));
  }
}

bool CompressedCollectives::by_blocks(Operation what) const {
  return has_blocks_ && (hops_ || what != Operation::kAllReduce);
}

bool CompressedCollectives::takes(Operation what, std::optional<ElementType> type) const {
  if (!type) return false;
  if (!by_blocks(what)) return what == Operation::kAllReduce && type == ElementType::kFp32;
  return exact_ || type != ElementType::kInt32;
}

bool CompressedCollectives::takes(Operation what, std::optional<ElementType> type, std::uint64_t bytes) const {
  if (!takes(what, type)) return false;
  const std::uint64_t unit = size_of(*type);
  switch (what) {
    case Operation::kAllgather:
      return bytes >= unit && bytes % unit == 0;
    case Operation::kAllToAll: {
      const std::uint64_t part = bytes / static_cast<std::uint64_t>(group_.size());
      return part >= unit && part % unit == 0;
    }
    default:
      return bytes >= unit;
  }
}

CompressedCollectives::Whole& CompressedCollectives::find(std::uint64_t address, std::uint64_t bytes) {
  const auto [found, is_new] = wholes_.try_emplace({real_ ? address : 0, bytes / sizeof(float)});
  if (is_new) add(found->second, static_cast<std::int64_t>(bytes / sizeof(float)), address);
  return found->second;
}

void CompressedCollectives::add(Whole& added, std::int64_t elements, std::uint64_t address) {
  const auto allocate = [this](const std::string& what, std::uint64_t bytes) {
    return firmware::allocate_together(ranks_, what, bytes);
  };
  const std::uint64_t seed = 1'000'000'000ULL * (wholes_.size() - 1);
  CompressedMessage& message = added.message;
  message.message = {elements};
  message.plan = compression::plan_of(message.message, config_);
  message.address = address;
  if (config_.error_feedback) {
    message.residuals = allocate("residuals", sizeof(float) * static_cast<std::uint64_t>(elements));
  }
  if (message.plan.state_bytes > 0) {
    allocate("state of compressors", static_cast<std::uint64_t>(message.plan.state_bytes));
  }
  message.lay_out(static_cast<std::uint64_t>(group_.size()), "messages", allocate);
  if (!real_) return;
  const std::vector<const CompressedMessage*> one = {&message};
  added.arithmetic = std::make_unique<CompressedArithmetic>(one, config_, seed, group_.size());
  for (const Rank* rank : ranks_) added.arithmetic->clear(*rank);
}

Task CompressedCollectives::run_rounds(int member, const Whole& whole) {
  const CompressedMessage& here = whole.message;
  CompressedArithmetic* const numbers = whole.arithmetic.get();
  KernelRunner& runner = *runners_[static_cast<std::size_t>(member)];
  plain_[static_cast<std::size_t>(member)] += static_cast<std::uint64_t>(here.message.elements) * sizeof(float);
  for (std::size_t round = 0; round < here.plan.rounds.size(); ++round) {
    co_await runner.run(here.plan.rounds[round].kernels);
    if (numbers != nullptr) numbers->compress(*ranks_[static_cast<std::size_t>(member)], member, 0, round);
    co_await send_compressed(group_, ends_[static_cast<std::size_t>(member)], here, round, numbers != nullptr);
  }
  co_await runner.run(here.plan.after(here.plan.wire == Wire::kSummed ? 1 : group_.size()));
  if (numbers != nullptr) numbers->decompress(*ranks_[static_cast<std::size_t>(member)], member, 0);
}

BlockFormat CompressedCollectives::format(ElementType type) {
  if (exchange_ == nullptr) exchange_ = std::make_unique<CompressedBlocks>(ranks_, orders_, name_);
  const std::uint64_t bytes = size_of(type);
  return {blocks_.try_emplace(bytes, config_, static_cast<std::int64_t>(bytes)).first->second, type};
}

CompressedBlocks::End CompressedCollectives::end(int member, std::uint64_t bytes, ElementType type) {
  const auto place = static_cast<std::size_t>(member);
  CompressedBlocks::End here{*ranks_[place],     member,        *runners_[place], *ends_[place].placed, nullptr,
                             &ends_[place].sent, &plain_[place]};
  if (!real_) return here;
  const std::uint64_t unit = size_of(type);
  std::unique_ptr<compression::Codec>& codec = codecs_[{member, bytes / unit, unit}];
  if (codec == nullptr) {
    const compression::Message message = {.elements = static_cast<std::int64_t>(bytes / unit),
                                          .element_bytes = static_cast<std::int64_t>(unit)};
    codec = compression::codec_of({message, config_, bytes, member});
  }
  here.codec = codec.get();
  return here;
}

std::string CompressedCollectives::remark() const {
  std::string text;
  for (const auto& [bytes, blocks] : blocks_) {
    // Of many elements, so that what a short message has beside them does not count.
    constexpr std::int64_t kMany = 1 << 20;
    if (blocks.bytes(kMany) <= bytes * kMany) continue;
    text += fmt::format("{}elements of {} bytes travel in more bytes by {} than uncompressed", text.empty() ? "" : "; ",
                        bytes, config_.method.text());
  }
  return text;
}

void CompressedAmount::add(Communicator& group) {
  std::set<const CompressedCollectives*> known;
  for (const auto& [name, traffic] : enum_names(compression::Traffic())) {
    if ((group.rank(0).compressed & 1U << static_cast<unsigned>(traffic)) == 0) continue;
    // Every compressor takes an AllReduce of float32, so that this finds it.
    const std::uint64_t bytes = sizeof(float) * static_cast<std::uint64_t>(group.size());
    const CompressedCollectives* by = group.compressed(Operation::kAllReduce, {ElementType::kFp32, traffic}, bytes);
    if (by == nullptr || !known.insert(by).second) continue;
    for (int member = 0; member < group.size(); ++member) {
      sent += static_cast<double>(by->sent(member));
      plain += static_cast<double>(by->plain(member));
    }
  }
}

Task CompressedCollectives::all_reduce(int member, std::uint64_t address, std::uint64_t bytes, ElementType type) {
  if (!by_blocks(Operation::kAllReduce)) return run_rounds(member, find(address, bytes));
  const BlockFormat how = format(type);
  return exchange_->all_reduce(end(member, bytes, type), how, address, bytes / size_of(type) * size_of(type));
}

Task CompressedCollectives::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                           ElementType type) {
  const BlockFormat how = format(type);
  return exchange_->reduce_scatter(end(member, bytes, type), how, input, output, bytes / size_of(type) * size_of(type));
}

Task CompressedCollectives::allgather(int member, std::uint64_t address, std::uint64_t bytes, ElementType type) {
  const BlockFormat how = format(type);
  return exchange_->allgather(end(member, bytes, type), how, address, bytes);
}

Task CompressedCollectives::all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                       ElementType type) {
  const BlockFormat how = format(type);
  return exchange_->all_to_all(end(member, bytes, type), how, input, output, bytes);
}

}  // namespace weft::collectives
