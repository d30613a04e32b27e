// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sw/analytical/collectives.h"
#include "tests/support/kernel.h"

namespace weft::test {

/// GB/s of 2^30 bytes, in bytes a nanosecond.
constexpr double gibps(double rate) {
  return rate * (1 << 30) / 1e9;
}

inline analytical::Dimension ring_of(std::uint32_t size) {
  return {analytical::Block::kRing, size, gibps(50), 500};
}

/// Four chunks, with the same algorithms for all operations.
inline dimensions::CollectiveConfig config_of(const std::vector<dimensions::Algorithm>& algorithms) {
  dimensions::CollectiveConfig config;
  config.algorithms = {algorithms, algorithms, algorithms, algorithms};
  config.splits = 4;
  return config;
}

struct Finish {
  std::int64_t first = INT64_MAX;  ///< ns
  std::int64_t last = 0;
  std::int64_t messages = 0;
  bool operator==(const Finish&) const = default;
};

/// All ranks, or those of each group, enter one collective on a network as ASTRA-sim has it: those that are late at
/// their time, the others at zero.
struct AnalyticalBench final : analytical::Listener, EventTarget {
  AnalyticalBench(const std::vector<analytical::Dimension>& dimensions, analytical::Congestion congestion,
                  const dimensions::CollectiveConfig& config, const analytical::BusConfig& bus = {},
                  bool rendezvous = false)
      : dispatcher("dispatcher"),
        network(dispatcher, dimensions, congestion, "network", rendezvous),
        collectives(network, config, *this, bus) {
    dispatcher.attach(*this, "bench");
  }

  Finish run(dimensions::Operation operation, std::int64_t bytes,
             const std::vector<analytical::Group>& groups = {analytical::Group{}}) {
    const auto enter = [this, operation, bytes, groups](Time now, std::uint32_t rank) {
      for (const analytical::Group& group : groups) {
        const auto& members = group.members;
        if (!members.empty() && std::find(members.begin(), members.end(), rank) == members.end()) continue;
        collectives.enter(now, rank, group, operation, bytes, 0, rank);
      }
    };
    on_time = enter;
    starter.start = [this, enter] {
      for (std::uint32_t r = 0; r < network.ends(); ++r) {
        const auto at = late.find(r);
        if (at == late.end()) {
          enter(Time(), r);
        } else {
          dispatcher.post(at->second, *this, r);
        }
      }
    };
    dispatcher.run_to_end();
    EXPECT_EQ(collectives.unfinished(), 0) << collectives.waits_for(0);
    finish.messages = network.messages();
    return finish;
  }
  void on_event(Time now, std::uint32_t rank, std::uint64_t /*data*/) override { on_time(now, rank); }
  void collective_done(Time now, std::uint32_t /*rank*/, std::uint64_t /*token*/) override {
    finish.first = std::min(finish.first, now.count() / 1000);
    finish.last = std::max(finish.last, now.count() / 1000);
  }

  struct Starter final : sc_core::sc_module {
    explicit Starter(sc_core::sc_module_name name) : sc_module(name) {}
    void start_of_simulation() override { start(); }
    std::function<void()> start;
  };
  Dispatcher dispatcher;
  analytical::Network network;
  analytical::Collectives collectives;
  Starter starter{"starter"};
  std::map<std::uint32_t, Time> late;  ///< by rank
  std::function<void(Time, std::uint32_t)> on_time;
  Finish finish;
};

inline Finish run_collective(const std::vector<analytical::Dimension>& dimensions,
                             const dimensions::CollectiveConfig& config, dimensions::Operation operation,
                             std::int64_t bytes, analytical::Congestion congestion = analytical::Congestion::kUnaware) {
  fresh_kernel();
  AnalyticalBench bench(dimensions, congestion, config);
  return bench.run(operation, bytes);
}

}  // namespace weft::test
