// SPDX-License-Identifier: Apache-2.0
// An AllReduce by reduce-multicast through staging buffers.
#include <algorithm>

#include "sw/collectives/followed.h"
#include "sw/collectives/in_network/in_network.h"

namespace weft::collectives {

using firmware::Task;

/// Three threads, each a step behind the one before; counts of steps.
struct InNetworkMember::Stages {
  std::uint64_t buffer;
  std::uint64_t bytes;
  std::uint64_t step;
  firmware::Counter in;
  firmware::Counter summed;
  firmware::Counter out;

  [[nodiscard]] std::uint64_t count() const { return (bytes + step - 1) / step; }
  [[nodiscard]] Extent extent(std::uint64_t index) const { return Chunks{{0, bytes}, step}[index]; }
};

std::uint64_t InNetworkMember::step_bytes(std::uint64_t bytes) const {
  const auto lanes = static_cast<std::uint64_t>(config_.staging.channels) * static_cast<std::uint64_t>(heads());
  auto chunk = static_cast<std::uint64_t>(config_.staging.chunk.count());
  for (const std::uint64_t steps : {64U, 8U, 2U}) {
    if (bytes < steps * lanes * chunk) chunk /= 2;
  }
  return lanes * chunk;
}

std::uint64_t InNetworkMember::slot(std::uint64_t step) const {
  const auto slots = static_cast<std::uint64_t>(config_.staging.slots);
  return staging_ + step % slots * (config_.staging.bytes(heads()) / slots);
}

Task InNetworkMember::staged_all_reduce(std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  follow(rank_.followed, Followed::kStaging);
  firmware::Processor& processor = *rank_.processor;
  Stages stages{buffer,
                bytes,
                step_bytes(bytes),
                {processor, "a step copied into staging"},
                {processor, "a step summed"},
                {processor, "a step copied out of staging"}};
  // So many messages a step that the sums of the first are multicast while the last are sent.
  constexpr std::uint64_t kMessages = 8;
  chunk_ = std::min(chunk_, std::max<std::uint64_t>(1, stages.step / static_cast<std::uint64_t>(heads()) / kMessages));
  processor.spawn("copy into staging", 1, copy_in(stages));
  processor.spawn("copy out of staging", 2, copy_out(stages));
  for (std::uint64_t step = 0; step < stages.count(); ++step) {
    co_await stages.in.reach(step + 1);
    co_await reduce_and_multicast(slot(step), first_blocks({0, stages.extent(step).bytes}, heads(), size_of(type)),
                                  type);
    stages.summed.set(step + 1);
  }
  co_await stages.out.reach(stages.count());
}

Task InNetworkMember::copy_in(Stages& stages) {
  const auto slots = static_cast<std::uint64_t>(config_.staging.slots);
  for (std::uint64_t step = 0; step < stages.count(); ++step) {
    // A slot is free once its sums have been copied out. No other member multicasts into it before this one has sent
    // operands from it again.
    if (step >= slots) co_await stages.out.reach(step - slots + 1);
    const Extent part = stages.extent(step);
    co_await copy_staged(rank_, config_.staging, Way::kIn, stages.buffer + part.offset, slot(step), part.bytes,
                         *copied_in_);
    stages.in.set(step + 1);
  }
}

Task InNetworkMember::copy_out(Stages& stages) {
  for (std::uint64_t step = 0, all = stages.count(); step < all; ++step) {
    co_await stages.summed.reach(step + 1);
    const Extent part = stages.extent(step);
    co_await copy_staged(rank_, config_.staging, Way::kOut, slot(step), stages.buffer + part.offset, part.bytes,
                         *copied_out_);
    stages.out.set(step + 1);  // the last time, `stages` may end here
  }
}

}  // namespace weft::collectives
