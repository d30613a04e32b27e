// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hw/fabric/fabric.h"
#include "tests/support/benches/fabric_end.h"

namespace weft::fabric::test_ends {

/// A network with a test end at each of its ends.
class Net {
 public:
  /// `reversed` makes the ends in the opposite order, with the same names.
  explicit Net(const FabricConfig& config, int count, bool reversed = false, const Stall::Config& stall = {})
      : Net(std::make_shared<Plan>(config, count, "fabric", stall.seed), reversed, stall) {}
  explicit Net(const std::shared_ptr<const Plan>& plan, bool reversed = false, const Stall::Config& stall = {})
      : dispatcher("dispatcher"), script("script", dispatcher), ends(plan->topology().ends.size()) {
    const int count = static_cast<int>(ends.size());
    if (!reversed) network = std::make_unique<Fabric>("network", plan, dispatcher, packets, stall);
    for (int i = 0; i < count; ++i) {
      const int index = reversed ? count - 1 - i : i;
      ends[static_cast<std::size_t>(index)] =
          std::make_unique<End>(("end" + std::to_string(index)).c_str(), dispatcher, packets,
                                plan->end_link(static_cast<std::uint32_t>(index)), stall);
    }
    if (reversed) network = std::make_unique<Fabric>("network", plan, dispatcher, packets, stall);
    for (int i = 0; i < count; ++i) {
      const auto index = static_cast<std::uint32_t>(i);
      network->bind_end(index, ends[index]->out, ends[index]->in);
    }
  }
  void expect_nothing_left() {
    EXPECT_EQ(network->left_over(), std::vector<std::string>());
    for (const auto& end : ends) {
      EXPECT_EQ(end->transmitter().credit_missing(), 0) << end->name();
      EXPECT_EQ(end->unsent(), 0u) << end->name();
    }
    EXPECT_EQ(packets.outstanding(), 0);
  }
  /// `packets_each` from all to all others, at once.
  void all_to_all(int packets_each, std::uint32_t wire_bytes) {
    script.at(1_us, [this, packets_each, wire_bytes] {
      const auto n = static_cast<std::uint32_t>(ends.size());
      for (int i = 0; i < packets_each; ++i) {
        for (std::uint32_t d = 1; d < n; ++d) {
          for (std::uint32_t s = 0; s < n; ++s) ends[s]->send(s, (s + d) % n, wire_bytes);
        }
      }
    });
  }
  void expect_all_arrived(int packets_each) {
    for (std::size_t d = 0; d < ends.size(); ++d) {
      std::map<std::uint32_t, int> from;
      for (const auto& arrival : ends[d]->arrivals) ++from[arrival.source];
      for (std::uint32_t s = 0; s < ends.size(); ++s) EXPECT_EQ(from[s], s == d ? 0 : packets_each) << s << " to " << d;
    }
  }
  PacketPool packets;
  Dispatcher dispatcher;
  test::Script script;
  std::unique_ptr<Fabric> network;
  std::vector<std::unique_ptr<End>> ends;
};

/// Dimensions and edges with links of 400 Gb/s.
inline std::vector<DimensionConfig> blocks(const std::vector<std::string>& names) {
  std::vector<DimensionConfig> all;
  all.reserve(names.size());
  for (const std::string& name : names) all.push_back({name, link(400_Gbps, 10_ns, 256_KiB, 4), 1});
  return all;
}

inline std::vector<EdgeConfig> edges(const std::vector<std::string>& between, int lanes = 4) {
  std::vector<EdgeConfig> all;
  all.reserve(between.size());
  for (const std::string& pair : between) all.push_back({pair, link(400_Gbps, 10_ns, 256_KiB, lanes), 1});
  return all;
}

}  // namespace weft::fabric::test_ends
