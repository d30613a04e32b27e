// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/benches/nic_bench.h"

/// A tree whose ends have Ultra Ethernet.
namespace weft::nic::uet_tree {

using namespace weft::literals;
using namespace test_bench;

constexpr std::size_t kEnds = 8;

/// Two leaves of four ends, four spines.
inline BenchConfig tree(const std::string& spray = "oblivious") {
  BenchConfig config;
  config.ends = kEnds;
  config.network.topology = fabric::Shape::kFatTree;
  config.network.radix = 8;
  config.network.hosts_per_leaf = 4;
  config.network.spines = 4;
  config.network.routing = fabric::Routing::kEcmp;
  config.network.link.rate = 100_Gbps;
  config.network.link.propagation = 500_ns;
  config.nic.transport = Transport::kUet;
  config.nic.uet.spray = spray;
  config.stall.seed = 1;
  return config;
}

/// The same, whose switches drop what does not fit, or cut it.
inline BenchConfig lossy_tree(Bytes trim, const std::string& spray = "oblivious") {
  BenchConfig config = tree(spray);
  config.network.link.flow_control = fabric::FlowControl::kLossy;
  config.network.switch_config.buffer.trim = trim;
  return config;
}

inline std::int64_t sum(const Bench& bench, std::int64_t NicCounters::*member) {
  std::int64_t all = 0;
  for (const auto& nic : bench.nics) all += nic->counters().*member;
  return all;
}

inline std::int64_t ports_sum(Bench& bench, std::int64_t fabric::AnySwitch::PortCounters::*member) {
  std::int64_t all = 0;
  for (std::size_t s = 0; s < bench.network.switch_count(); ++s) {
    fabric::AnySwitch& sw = bench.network.switch_at(s);
    for (std::size_t p = 0; p < sw.radix(); ++p) all += sw.port_counters(p).*member;
  }
  return all;
}

/// When the last message is complete.
inline Time finished(const Bench& bench) {
  Time last;
  for (std::size_t e = 0; e < bench.nics.size(); ++e) {
    for (const auto& each : bench.completions(e)) last = std::max(last, each.at);
  }
  return last;
}

}  // namespace weft::nic::uet_tree
