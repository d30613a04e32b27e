// SPDX-License-Identifier: Apache-2.0
// The optimizer at the end of a step: its kernels, and collectives between them.
#include <algorithm>
#include <cstddef>

#include "sw/schedules/fsdp_check.h"
#include "sw/schedules/fsdp_member.h"
#include "sw/schedules/kernel_work.h"

namespace weft::schedules {

using collectives::Communicator;
using firmware::Task;

namespace {

// Of collectives that are under way or whose result is still used.
constexpr std::size_t kExchangeBuffers = 3;
// What is exchanged is taken for data of this type when it is checked.
constexpr ElementType kExchangeType = ElementType::kBf16;

std::uint64_t exchange_seed(std::uint64_t number) {
  constexpr std::uint64_t kFirst = 1'000'000'000;
  return kFirst + number;
}

}  // namespace

bool Fsdp::exchanges() const {
  return std::any_of(plan_.updates.begin(), plan_.updates.end(),
                     [](const PlannedUpdate& update) { return update.exchanges() > 0; });
}

std::uint64_t Fsdp::exchanges_before(int step) const {
  std::uint64_t sum = 0;
  for (int before = 0; before < step; ++before) sum += plan_.update(before).exchanges();
  return sum;
}

void Fsdp::allocate_exchanges(Member& member) {
  if (!exchanges()) return;
  const bool on_host = collectives::algorithm_of(collectives_.algorithm).on_host;
  member.exchange_kernel = std::make_unique<CollectiveKernel>(member.rank, on_host, "a collective's kernel");
  member.exchanges = &member.rank.processor->create_completion_queue("what the optimizer exchanges");
  std::int64_t most = 0;
  bool in_place = true;
  std::size_t count = 0;
  for (const PlannedUpdate& update : plan_.updates) {
    count = std::max(count, update.exchanges());
    for (const PlannedPiece& piece : update.pieces) {
      if (!piece.exchange) continue;
      in_place = in_place && piece.exchange->what == dimensions::Operation::kAllgather;
      optimizer_group(member, *piece.exchange).first->check(piece.exchange->what);
      most = std::max(most, piece.exchange->bytes);
    }
  }
  const auto bytes = static_cast<std::uint64_t>(most);
  for (std::size_t i = 0; i < std::min(count, kExchangeBuffers); ++i) {
    const std::uint64_t in = allocate(member, "what the optimizer exchanges", bytes);
    member.exchange_buffers.emplace_back(in, in_place ? in : allocate(member, "what the optimizer exchanges", bytes));
  }
}

/// Those that share parameters, or have all of them, or have copies of a shard.
std::pair<Communicator*, int> Fsdp::optimizer_group(const Member& member, const optimizers::Exchange& exchange) const {
  if (shards_ > 1 && !exchange.is_of_copies) {
    return {gather_groups_[static_cast<std::size_t>(member.copy)].get(), member.shard};
  }
  return {copy_groups_[static_cast<std::size_t>(member.shard)].get(), member.copy};
}

void Fsdp::update(Member& member, int step) {
  if (member.offload && member.offload->optimises()) {
    member.offload->optimise(step, [&](const PlannedKernel& kernel) { enqueue(member, kComputeStream, kernel); });
    return;
  }
  const std::uint64_t before = exchanges_before(step);
  std::uint64_t number = before;
  for (const PlannedPiece& piece : plan_.update(step).pieces) {
    if (piece.exchanged > 0) member.rank.accelerator.wait(kComputeStream, kExchanged, before + piece.exchanged);
    enqueue(member, kComputeStream, piece.kernels);
    if (piece.exchange) member.rank.accelerator.notify(kComputeStream, *member.exchanges, ++number);
  }
}

Task Fsdp::exchange(Member& member) {
  std::uint64_t number = 0;
  for (int step = 0; step < config_.steps; ++step) {
    for (const PlannedPiece& piece : plan_.update(step).pieces) {
      if (!piece.exchange) continue;
      co_await member.exchanges->next();
      co_await exchange(member, piece, ++number);
    }
  }
}

Task Fsdp::exchange(Member& member, const PlannedPiece& piece, std::uint64_t number) {
  const auto bytes = static_cast<std::uint64_t>(piece.exchange->bytes);
  const auto [input, output] = member.exchange_buffers[number % member.exchange_buffers.size()];
  const auto [communicator, place] = optimizer_group(member, *piece.exchange);
  Communicator& group = *communicator;
  const std::uint64_t seed = exchange_seed(number);
  const std::uint64_t unit = size_of(kExchangeType);
  const bool gathers = piece.exchange->what == dimensions::Operation::kAllgather;
  memory::BackingStore* store = member.rank.store;
  if (store != nullptr && gathers) {
    check::fill_shard(*store, kExchangeType, input, bytes, group.block(bytes, place, unit), seed);
  } else if (store != nullptr) {
    check::fill_parts(*store, kExchangeType, input, bytes, seed, place, group.size());
  }
  const Time asked = member.rank.processor->now();
  co_await member.exchange_kernel->begin();
  const Time began = member.rank.processor->now();
  if (gathers) {
    co_await group.allgather(place, input, bytes, unit, {kExchangeType});
  } else {
    co_await group.all_to_all(place, input, output, bytes, {kExchangeType});
  }
  member.exchange_kernel->end();
  member.count(piece.exchange->what, group.size(), bytes, began);
  if (store != nullptr && gathers) {
    member.wrong += check::compare_gathered(*store, kExchangeType, input, bytes, seed);
  } else if (store != nullptr) {
    member.wrong += check::compare_parts(*store, kExchangeType, output, bytes, seed, place, group.size());
  }
  if (member.drawing) {
    member.drawing->collective(FsdpDrawing::kExchanges, {gathers ? "AllGather" : "AllToAll", piece.name, asked, began,
                                                         bytes, group.size(), kExchanged, number});
  }
  member.rank.accelerator.signal(kExchanged, number);
}

}  // namespace weft::schedules
