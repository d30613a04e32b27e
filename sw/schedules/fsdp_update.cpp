// SPDX-License-Identifier: Apache-2.0
// The optimizer at the end of a step: its kernels, and collectives between them.
#include <algorithm>
#include <cstddef>
#include <tuple>

#include "sw/schedules/fsdp_check.h"
#include "sw/schedules/fsdp_member.h"
#include "sw/schedules/kernel_work.h"

namespace weft::schedules {

using collectives::Communicator;
using dimensions::Operation;
using firmware::Task;

namespace {

constexpr std::size_t kFewestBuffers = 3;

/// What is exchanged is taken for data of this type when it is checked.
ElementType exchange_type(const optimizers::Exchange& exchange) {
  return exchange.element_bytes == 4 ? ElementType::kFp32 : ElementType::kBf16;
}

std::uint64_t exchange_seed(std::uint64_t number) {
  constexpr std::uint64_t kFirst = 1'000'000'000;
  return kFirst + number;
}

/// A collective of the optimizer, with numbers that tell what is whose.
struct ExchangeContents {
  const optimizers::Exchange& exchange;
  Communicator& group;
  int place;
  std::uint64_t seed;
  std::uint64_t bytes = 0;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
  ElementType type = exchange_type(exchange);

  [[nodiscard]] const char* name() const {
    switch (exchange.what) {
      case Operation::kAllgather:
        return "AllGather";
      case Operation::kReduceScatter:
        return "ReduceScatter";
      case Operation::kAllReduce:
        return "AllReduce";
      case Operation::kAllToAll:
        break;
    }
    return "AllToAll";
  }
  [[nodiscard]] collectives::Extent own() const { return group.block(bytes, place, size_of(type)); }

  void fill(memory::BackingStore& store) const {
    switch (exchange.what) {
      case Operation::kAllgather:
        return check::fill_shard(store, type, input, bytes, own(), seed);
      case Operation::kReduceScatter:
      case Operation::kAllReduce:
        return check::fill_gradient(store, type, input, bytes, seed, place, group.size());
      case Operation::kAllToAll:
        return check::fill_parts(store, type, input, bytes, seed, place, group.size());
    }
  }
  [[nodiscard]] Task run() const {
    switch (exchange.what) {
      case Operation::kAllgather:
        return group.allgather(place, input, bytes, size_of(type), {type});
      case Operation::kReduceScatter:
        return group.reduce_scatter(place, input, output, bytes, type, {type});
      case Operation::kAllReduce:
        return group.all_reduce(place, input, bytes, type, {type});
      case Operation::kAllToAll:
        break;
    }
    return group.all_to_all(place, input, output, bytes, {type});
  }
  [[nodiscard]] std::int64_t compare(const memory::BackingStore& store) const {
    switch (exchange.what) {
      case Operation::kAllgather:
        return check::compare_gathered(store, type, input, bytes, seed);
      case Operation::kReduceScatter:
        return check::compare_scattered(store, type, output, own(), seed, group.size());
      case Operation::kAllReduce:
        return check::compare_scattered(store, type, input, {0, bytes}, seed, group.size());
      case Operation::kAllToAll:
        break;
    }
    return check::compare_parts(store, type, output, bytes, seed, place, group.size());
  }
};

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

void Fsdp::allocate_optimizer(Member& member) {
  if (!config_.offload.optimizer || plan_.updates.front().pieces.empty()) {
    for (const auto& [what, bytes] : plan_.kept.state) {
      const std::uint64_t address = allocate(member, what, static_cast<std::uint64_t>(bytes));
      if (member.optimizer_state == 0) member.optimizer_state = address;
    }
  }
  if (!exchanges()) return;
  member.exchange_kernel = std::make_unique<CollectiveKernel>(member.rank, "a collective's kernel");
  member.exchanges = &member.rank.processor->create_completion_queue("what the optimizer exchanges");
  std::int64_t most_in = 0;
  std::int64_t most_out = 0;
  std::size_t count = 0;
  for (const PlannedUpdate& update : plan_.updates) {
    // Of collectives that are under way or whose result is still used: one of each of the tasks that overlap.
    count = std::max(count, std::min(update.exchanges(), std::max(kFewestBuffers, update.longest_task)));
    for (const PlannedPiece& piece : update.pieces) {
      if (!piece.exchange) continue;
      optimizer_group(member, *piece.exchange).first->check(piece.exchange->what);
      const std::int64_t bytes = piece.exchange->bytes;
      if (!piece.exchange->is_from_state) most_in = std::max(most_in, bytes);
      if (piece.exchange->what == dimensions::Operation::kAllToAll) most_out = std::max(most_out, bytes);
      if (piece.exchange->what == dimensions::Operation::kReduceScatter) {
        const std::int64_t ranks = optimizer_group(member, *piece.exchange).first->size();
        most_out = std::max(most_out, (bytes + ranks - 1) / ranks);
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t in =
        most_in == 0 ? 0 : allocate(member, "what the optimizer exchanges", static_cast<std::uint64_t>(most_in));
    const std::uint64_t out =
        most_out == 0 ? in : allocate(member, "what the optimizer exchanges", static_cast<std::uint64_t>(most_out));
    member.exchange_buffers.emplace_back(in, out);
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
  const optimizers::Exchange& exchange = *piece.exchange;
  const auto [communicator, place] = optimizer_group(member, exchange);
  ExchangeContents contents{exchange, *communicator, place, exchange_seed(number)};
  contents.bytes = static_cast<std::uint64_t>(exchange.bytes);
  std::tie(contents.input, contents.output) = member.exchange_buffers[number % member.exchange_buffers.size()];
  if (exchange.is_from_state) contents.input = member.optimizer_state;
  memory::BackingStore* store = member.rank.store;
  if (store != nullptr) contents.fill(*store);
  const Time asked = member.rank.processor->now();
  co_await member.exchange_kernel->begin(communicator->kernel_cores(place, exchange.what, contents.bytes));
  const Time began = member.rank.processor->now();
  co_await contents.run();
  member.exchange_kernel->end();
  member.count(exchange.what, communicator->size(), contents.bytes, began);
  if (store != nullptr) member.wrong += contents.compare(*store);
  if (member.drawing) {
    member.drawing->collective(FsdpDrawing::kExchanges, {contents.name(), piece.name, asked, began, contents.bytes,
                                                         communicator->size(), kExchanged, number});
  }
  member.rank.accelerator.signal(kExchanged, number);
}

int Fsdp::scatter_cores(const Member& member, std::uint64_t bytes) {
  using dimensions::Operation;
  if (shards_ > 1)
    return scatter_group(member).kernel_cores(member.shard, Operation::kReduceScatter, bytes, kGradientSums);
  return copies_ > 1 ? copy_groups_[0]->kernel_cores(member.copy, Operation::kAllReduce, bytes, kGradientSums) : 0;
}

}  // namespace weft::schedules
