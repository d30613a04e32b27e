// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/reduction/reduction_model.h"

#include <algorithm>
#include <cassert>

#include "hw/fabric/planes.h"
#include "hw/fabric/reduction/reduction_waves.h"

namespace weft::fabric {

ReductionModel::ReductionModel(const Config& config, std::size_t ports, PacketPool& packets)
    : ReductionEngine(config),
      packets_(packets),
      low_latency_cost_(Rate(config.clock.count() * config.low_latency_bytes * 8)),
      adder_free_(ports) {
  // In the order of ElementType.
  for (const int bytes : {config.fp32, config.bf16, config.int32, config.fp16}) {
    costs_.emplace_back(Rate(config.clock.count() * bytes * 8));
  }
}

ReductionModel::~ReductionModel() = default;

void ReductionModel::record(Waves& waves, const std::string& scope) {
  if (!waves.wants(scope)) return;
  const Config& c = config();
  const int beat = std::max({c.fp32, c.bf16, c.int32, c.fp16, c.low_latency_bytes});
  waves_ = std::make_unique<ReductionWaves>(waves, scope, c.clock, static_cast<std::size_t>(beat), adder_free_.size());
}

ReductionEngine::Outcome ReductionModel::take(std::uint32_t group, std::uint16_t port, Packet& packet, Time now) {
  const Tree& tree = this->tree(group);
  const std::size_t child = child_of(tree, port);
  ++counters_.operands;
  counters_.operand_bytes += packet.payload_bytes;
  const auto type = static_cast<ElementType>(packet.queue_pair);
  Time& free = adder_free_[port];
  const Time start = std::max(now, free);
  Time length = (tree.streaming ? cost(type) : low_latency_cost_)(packet.payload_bytes);
  if (planes_ != nullptr) [[unlikely]]
    length = planes_->stretched(packet, start, length);
  free = start + length;
  const Time whole = std::max(free, now + Time(packet.tail_lag_ps));

  if (waves_ != nullptr) [[unlikely]] {
    if (chunks_.empty()) waves_->busy(now);
    waves_->operand(packet, {group, port, now, start, free, whole});
  }
  const std::uint64_t key = key_of(group, packet);
  Chunk& chunk = chunks_[key];
  if (chunk.operands.empty()) {
    chunk.operands.assign(tree.children.size(), nullptr);
    chunk.missing = tree.children.size();
    counters_.most_open = std::max(counters_.most_open, static_cast<std::int64_t>(chunks_.size()));
  }
  assert(chunk.operands[child] == nullptr && "an operand came twice");
  chunk.operands[child] = &packet;
  const Time latency = tree.streaming ? config().latency : config().low_latency;
  chunk.head = std::max(chunk.head, (tree.streaming ? start : whole) + latency);
  chunk.tail = std::max(chunk.tail, whole + latency);
  Outcome outcome{whole, nullptr, chunk.head, chunk.tail};
  if (--chunk.missing == 0) {
    outcome.sum = add_up(chunk);
    chunks_.erase(key);
    if (waves_ != nullptr) [[unlikely]] {
      waves_->sum(*outcome.sum, group, outcome.head, outcome.tail);
      if (chunks_.empty()) waves_->idle(outcome.tail);
    }
  }
  return outcome;
}

Packet* ReductionModel::add_up(Chunk& chunk) {
  Packet* sum = sum_of(chunk.operands);
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
