// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/reduction_bench.h"

#include <algorithm>
#include <cstring>

namespace weft::platforms {
namespace {

/// Trees and chunks do not bound what a waveform shows.
fabric::ReductionEngine::Config without_bounds(fabric::ReductionEngine::Config config) {
  config.trees = INT32_MAX;
  config.chunks = INT32_MAX;
  return config;
}

}  // namespace

ReductionBench::ReductionBench(sc_core::sc_module_name name, const fabric::ReductionEngine::Config& config,
                               std::size_t ports, Dispatcher& dispatcher)
    : sc_module(name), dispatcher_(dispatcher), engine_(without_bounds(config), ports, packets_) {
  dispatcher.attach(*this, this->name());
}

void ReductionBench::give(Operand operand) {
  const auto [tree, fresh] = trees_.try_emplace(operand.children, static_cast<std::uint32_t>(trees_.size()));
  if (fresh) engine_.open(tree->second, {.children = operand.children, .window = 1});
  operands_.push_back(std::move(operand));
}

void ReductionBench::start_of_simulation() {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    dispatcher_.post(operands_[i].at, *this, operands_[i].port, i);
  }
}

void ReductionBench::on_event(Time now, std::uint32_t /*tag*/, std::uint64_t data) {
  const Operand& operand = operands_[data];
  Packet* const packet = packets_.take();
  packet->opcode = Opcode::kReduce;
  packet->queue_pair = static_cast<std::uint32_t>(operand.type);
  packet->psn = operand.chunk;
  packet->payload_bytes = operand.bytes;
  packet->tail_lag_ps = static_cast<std::uint32_t>(operand.tail_lag.count());
  if (!operand.data.empty()) {
    packets_.attach_payload(*packet, operand.bytes);
    std::memcpy(packet->payload, operand.data.data(), operand.bytes);
  }
  const auto outcome = engine_.take(trees_.at(operand.children), operand.port, *packet, now);
  if (outcome.sum == nullptr) return;
  ++sums_;
  last_sum_ = std::max(last_sum_, outcome.tail);
  packets_.give_back(outcome.sum);
}

}  // namespace weft::platforms
