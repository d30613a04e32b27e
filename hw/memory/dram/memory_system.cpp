// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/dram/memory_system.h"

namespace weft::dram {
namespace {

const MemoryConfig& checked(const MemoryConfig& config) {
  config.check();
  return config;
}

}  // namespace

MemorySystem::MemorySystem(const MemoryConfig& config, CommandObserver* observer)
    : config_(checked(config)),
      period_(config.device.timing.clock.count()),
      per_period_(UINT64_MAX / static_cast<std::uint64_t>(period_) + 1),
      map_(config.map()),
      next_(static_cast<std::size_t>(config.channels())) {
  channels_.reserve(static_cast<std::size_t>(config.channels()));
  for (int i = 0; i < config.channels(); ++i) {
    channels_.emplace_back(config.device, config.controller, i, observer);
    next_.set(static_cast<std::size_t>(i), channels_.back().next());
  }
}

void MemorySystem::pass_idle(Clock until) {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (channels_[i].pass_idle(until)) next_.set(i, channels_[i].next());
  }
}

int MemorySystem::waiting() const {
  int waiting = 0;
  for (const Controller& channel : channels_) waiting += channel.waiting();
  return waiting;
}

Counters MemorySystem::counters() const {
  Counters sum;
  for (const Controller& channel : channels_) sum += channel.counters();
  return sum;
}

}  // namespace weft::dram
