// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/reduction_engine.h"

#include <algorithm>
#include <cassert>

#include "hw/fabric/reduction_waves.h"

namespace weft::fabric {

ReductionEngine::ReductionEngine(const Config& config, std::size_t ports, PacketPool& packets)
    : config_(config),
      packets_(packets),
      low_latency_cost_(Rate(config.clock.count() * config.low_latency_bytes * 8)),
      adder_free_(ports) {
  // In the order of ElementType.
  for (const int bytes : {config.fp32, config.bf16, config.int32, config.fp16}) {
    costs_.emplace_back(Rate(config.clock.count() * bytes * 8));
  }
}

ReductionEngine::~ReductionEngine() = default;

void ReductionEngine::record(Waves& waves, const std::string& scope) {
  if (!waves.wants(scope)) return;
  const int beat = std::max({config_.fp32, config_.bf16, config_.int32, config_.fp16, config_.low_latency_bytes});
  waves_ =
      std::make_unique<ReductionWaves>(waves, scope, config_.clock, static_cast<std::size_t>(beat), adder_free_.size());
}

bool ReductionEngine::open(std::uint32_t group, const Tree& tree) {
  if (!tree.takes_over && (trees_ == config_.trees || windows_ + tree.window > config_.chunks)) return false;
  if (entries_.size() <= group) entries_.resize(group + 1);
  entries_[group] = {tree, true};
  if (tree.takes_over) return true;
  ++trees_;
  windows_ += tree.window;
  return true;
}

void ReductionEngine::close(std::uint32_t group) {
  assert(entries_[group].used);
  if (!entries_[group].tree.takes_over) {
    --trees_;
    windows_ -= entries_[group].tree.window;
  }
  entries_[group] = {};
}

ReductionEngine::Outcome ReductionEngine::take(std::uint32_t group, std::uint16_t port, Packet& packet, Time now) {
  const Tree& tree = entries_[group].tree;
  const auto child = static_cast<std::size_t>(std::lower_bound(tree.children.begin(), tree.children.end(), port) -
                                              tree.children.begin());
  ++counters_.operands;
  counters_.operand_bytes += packet.payload_bytes;
  const auto type = static_cast<ElementType>(packet.queue_pair);
  Time& free = adder_free_[port];
  const Time start = std::max(now, free);
  free = start + (tree.streaming ? cost(type) : low_latency_cost_)(packet.payload_bytes);
  const Time whole = std::max(free, now + Time(packet.tail_lag_ps));

  if (waves_ != nullptr) [[unlikely]] {
    if (chunks_.empty()) waves_->busy(now);
    waves_->operand(packet, {group, port, now, start, free, whole});
  }
  Chunk& chunk = chunks_[static_cast<std::uint64_t>(group) << 32 | packet.psn];
  if (chunk.operands.empty()) {
    chunk.operands.assign(tree.children.size(), nullptr);
    chunk.missing = tree.children.size();
    counters_.most_open = std::max(counters_.most_open, static_cast<std::int64_t>(chunks_.size()));
  }
  assert(chunk.operands[child] == nullptr && "an operand came twice");
  chunk.operands[child] = &packet;
  const Time latency = tree.streaming ? config_.latency : config_.low_latency;
  chunk.head = std::max(chunk.head, (tree.streaming ? start : whole) + latency);
  chunk.tail = std::max(chunk.tail, whole + latency);
  Outcome outcome{whole, nullptr, chunk.head, chunk.tail};
  if (--chunk.missing == 0) {
    outcome.sum = add_up(chunk);
    chunks_.erase(static_cast<std::uint64_t>(group) << 32 | packet.psn);
    if (waves_ != nullptr) [[unlikely]] {
      waves_->sum(*outcome.sum, group, outcome.head, outcome.tail);
      if (chunks_.empty()) waves_->idle(outcome.tail);
    }
  }
  return outcome;
}

Packet* ReductionEngine::add_up(Chunk& chunk) {
  // Who abstains has sent a header alone.
  const auto adds = [](const Packet* operand) { return operand->payload_bytes > 0; };
  const auto first = std::find_if(chunk.operands.begin(), chunk.operands.end(), adds);
  Packet* sum = first == chunk.operands.end() ? chunk.operands.front() : *first;
  for (Packet* next : chunk.operands) {
    if (next == sum) continue;
    if (adds(next) && sum->payload != nullptr) {
      add(static_cast<ElementType>(sum->queue_pair), sum->payload, next->payload, sum->payload, sum->payload_bytes);
    }
    packets_.give_back(next);
  }
  return sum;
}

}  // namespace weft::fabric
