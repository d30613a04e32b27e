// SPDX-License-Identifier: Apache-2.0
// Long flows that share bottlenecks get their max-min fair shares, which a reference finds by filling links up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/benches/nic_bench.h"

namespace weft::nic {
namespace {

using namespace weft::literals;
using namespace test_bench;

constexpr Time kMeasureFrom = 500_us;
constexpr Time kMeasureUntil = 2500_us;
constexpr double kPayload = 4096.0 / (4096 + 66);

struct Flow {
  std::uint32_t from;
  std::uint32_t to;
};

/// Max-min fair rates (Bertsekas and Gallager 1992, 6.5.2): all rise together; those through a link that is full stop.
std::vector<double> fill_up(const std::vector<std::vector<std::uint64_t>>& paths,
                            const std::map<std::uint64_t, double>& capacity) {
  std::vector<double> rates(paths.size());
  std::set<std::size_t> rising;
  for (std::size_t f = 0; f < paths.size(); ++f) rising.insert(f);
  std::map<std::uint64_t, double> left = capacity;
  while (!rising.empty()) {
    std::map<std::uint64_t, int> users;
    for (const std::size_t f : rising) {
      for (const std::uint64_t link : paths[f]) ++users[link];
    }
    double step = 1e300;
    for (const auto& [link, count] : users) step = std::min(step, left[link] / count);
    for (const auto& [link, count] : users) left[link] -= step * count;
    for (const std::size_t f : std::vector<std::size_t>(rising.begin(), rising.end())) {
      rates[f] += step;
      const bool full = std::any_of(paths[f].begin(), paths[f].end(),
                                    [&](std::uint64_t link) { return left[link] < 1e-9 * capacity.at(link); });
      if (full) rising.erase(f);
    }
  }
  return rates;
}

TEST(Reference, FillsLinksUp) {
  // Two flows share link 0, one of them and a third share link 1, which is half as fast.
  const std::vector<double> rates = fill_up({{0}, {0, 1}, {1}}, {{0, 10}, {1, 5}});
  EXPECT_DOUBLE_EQ(rates[0], 7.5);
  EXPECT_DOUBLE_EQ(rates[1], 2.5);
  EXPECT_DOUBLE_EQ(rates[2], 2.5);
}

class Shared {
 public:
  Shared(const fabric::FabricConfig& network, int ends, std::vector<Flow> flows)
      : bench(config_of(network, ends)), flows_(std::move(flows)) {
    for (const Flow& flow : flows_) {
      pairs_.push_back(bench.connect(flow.from, flow.to));
      bench.ring_at(Time(), flow.from, write(pairs_.back().a, 0, 0, std::uint64_t{1} << 32));
    }
  }

  /// Payload bits per second of each flow.
  std::vector<double> rates() {
    std::vector<std::int64_t> before(flows_.size());
    bench.script.at(kMeasureFrom, [&] {
      for (std::size_t f = 0; f < flows_.size(); ++f) before[f] = bytes(f);
    });
    bench.dispatcher.run_until(kMeasureUntil);
    std::vector<double> all;
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      all.push_back(static_cast<double>(bytes(f) - before[f]) * 8e12 /
                    static_cast<double>((kMeasureUntil - kMeasureFrom).count()));
    }
    return all;
  }

  std::vector<double> expected() {
    std::vector<std::vector<std::uint64_t>> paths;
    std::map<std::uint64_t, double> capacity;
    const fabric::Topology& topology = bench.network.topology();
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      const Flow& flow = flows_[f];
      Packet packet;
      packet.source = flow.from;
      packet.destination = flow.to;
      packet.queue_pair = pairs_[f].b;
      const auto use = [&](std::uint64_t link, Rate rate) {
        capacity[link] = static_cast<double>(rate.count()) * kPayload;
        paths[f].push_back(link);
      };
      paths.emplace_back();
      use(flow.from, bench.network.end_link(flow.from).rate);
      std::uint32_t sw = topology.ends[flow.from].first;
      for (;;) {
        const std::uint16_t port = bench.network.plan().routes()[sw].port(packet);
        const fabric::Topology::Neighbour& next = topology.switches[sw].ports[port];
        use(std::uint64_t{sw} << 32 | std::uint64_t{port} << 16 | 0xffff, topology.link_of(next).rate);
        if (next.is_end) break;
        sw = next.index;
      }
    }
    return fill_up(paths, capacity);
  }

  void expect_fair() {
    const std::vector<double> fair = expected();
    const std::vector<double> got = rates();
    for (std::size_t f = 0; f < fair.size(); ++f) {
      EXPECT_NEAR(got[f] / fair[f], 1, 0.01) << "flow " << f << ", end" << flows_[f].from << " to end" << flows_[f].to;
    }
  }

  Bench bench;

 private:
  static BenchConfig config_of(const fabric::FabricConfig& network, int ends) {
    BenchConfig config;
    config.ends = ends;
    config.data = false;
    config.network = network;
    return config;
  }
  /// Each flow has a sender or a receiver of its own.
  [[nodiscard]] std::int64_t bytes(std::size_t flow) const {
    const auto alone = [&](auto end) {
      return std::count_if(flows_.begin(), flows_.end(), [&](const Flow& f) { return f.*end == flows_[flow].*end; }) ==
             1;
    };
    if (alone(&Flow::to)) return bench.nics[flows_[flow].to]->counters().bytes_received;
    EXPECT_TRUE(alone(&Flow::from)) << "nobody counts flow " << flow;
    return bench.nics[flows_[flow].from]->counters().bytes_sent;
  }

  std::vector<Flow> flows_;
  std::vector<Connection> pairs_;
};

fabric::FabricConfig graph(const std::vector<std::pair<std::string, Rate>>& edges) {
  fabric::FabricConfig config;
  config.topology = fabric::Shape::kGraph;
  config.routing = fabric::Routing::kUpDown;
  for (const auto& [between, rate] : edges) {
    config.edges.push_back({between, config.link, 1});
    config.edges.back().link.rate = rate;
  }
  return config;
}

class Bottleneck : public testing::TestWithParam<fabric::FlowControl> {
 protected:
  void TearDown() override { test::fresh_kernel(); }
};

TEST_P(Bottleneck, OfOneSwitchIsSharedByAllInputs) {
  for (const std::uint32_t senders : {2U, 3U, 7U, 16U, 63U}) {
    test::fresh_kernel();
    fabric::FabricConfig config;
    config.topology = fabric::Shape::kSwitch;
    config.link.flow_control = GetParam();
    std::vector<Flow> flows;
    for (std::uint32_t s = 0; s < senders; ++s) flows.push_back({s, senders});
    Shared(config, static_cast<int>(senders) + 1, flows).expect_fair();
  }
}

TEST_P(Bottleneck, BetweenTwoSwitchesIsSharedByAllInputs) {
  for (const Rate middle : {400_Gbps, 100_Gbps}) {
    for (const std::uint32_t pairs : {2U, 5U}) {
      test::fresh_kernel();
      std::vector<std::pair<std::string, Rate>> edges = {{"left - right", middle}};
      std::vector<Flow> flows;
      for (std::uint32_t i = 0; i < pairs; ++i) {
        edges.emplace_back("end" + std::to_string(i) + " - left", 400_Gbps);
        edges.emplace_back("end" + std::to_string(pairs + i) + " - right", 400_Gbps);
        flows.push_back({i, pairs + i});
      }
      fabric::FabricConfig config = graph(edges);
      config.link.flow_control = GetParam();
      for (auto& edge : config.edges) edge.link.flow_control = GetParam();
      Shared(config, static_cast<int>(2 * pairs), flows).expect_fair();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Bottleneck, testing::Values(fabric::FlowControl::kCredits, fabric::FlowControl::kPfc));

/// Each host of a leaf sends to the one of its number in the next leaf.
TEST(FatTree, SharesItsUplinks) {
  for (const int uplinks : {4, 2, 1}) {
    test::fresh_kernel();
    fabric::FabricConfig config;
    config.radix = 16;
    config.hosts_per_leaf = 4;
    config.uplinks = uplinks;
    std::vector<Flow> flows;
    for (std::uint32_t e = 0; e < 16; ++e) flows.push_back({e, (e + 4) % 16});
    Shared shared(config, 16, flows);
    EXPECT_DOUBLE_EQ(shared.expected()[0], 400e9 * kPayload * uplinks / 4);
    shared.expect_fair();
  }
}

/// A chain of switches, with one host at each and a last one that all send to: who comes further has been through more
/// bottlenecks.
class ParkingLot : public testing::TestWithParam<std::uint32_t> {};

TEST_P(ParkingLot, IsFairAmongFlowsWithQueuesByFlow) {
  const std::uint32_t switches = GetParam();
  for (const int flow_queues : {0, 256}) {
    test::fresh_kernel();
    std::vector<std::pair<std::string, Rate>> edges;
    std::vector<Flow> flows;
    const auto name = [](const char* what, std::uint32_t i) { return what + std::to_string(i); };
    for (std::uint32_t s = 0; s < switches; ++s) {
      edges.emplace_back(name("end", s) + " - " + name("s", s), 400_Gbps);
      if (s > 0) edges.emplace_back(name("s", s - 1) + " - " + name("s", s), 400_Gbps);
      flows.push_back({s, switches});
    }
    edges.emplace_back(name("end", switches) + " - " + name("s", switches - 1), 400_Gbps);
    fabric::FabricConfig config = graph(edges);
    config.switch_config.flow_queues = flow_queues;
    Shared shared(config, static_cast<int>(switches) + 1, flows);
    if (flow_queues != 0) {
      shared.expect_fair();
      continue;
    }
    // By input: the last to join gets half, the one before half of the rest.
    const std::vector<double> got = shared.rates();
    double share = 400e9 * kPayload;
    for (std::uint32_t s = switches; s-- > 1;) {
      share /= 2;
      EXPECT_NEAR(got[s] / share, 1, 0.01) << s;
    }
    EXPECT_NEAR(got[0] / share, 1, 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ParkingLot, testing::Values(3, 4, 6));

/// The long flow meets another at each link of a chain, and the first link is the slowest: what comes slowly does not
/// keep the fast link busy for longer.
TEST(Dumbbell, GivesALongFlowItsShareAtEachLink) {
  const auto chain = [](Rate first) {
    return graph({{"end0 - s0", 400_Gbps},
                  {"end1 - s0", 400_Gbps},
                  {"s0 - s1", first},
                  {"end2 - s1", 400_Gbps},
                  {"end3 - s1", 400_Gbps},
                  {"s1 - s2", 400_Gbps},
                  {"end4 - s2", 400_Gbps},
                  {"end5 - s2", 400_Gbps}});
  };
  const std::vector<Flow> flows = {{0, 4}, {1, 3}, {2, 5}};
  std::vector<double> fair;
  {
    Shared shared(chain(100_Gbps), 6, flows);
    fair = shared.expected();
    EXPECT_DOUBLE_EQ(fair[2], 350e9 * kPayload);
    shared.expect_fair();
  }
  test::fresh_kernel();
  fabric::FabricConfig degraded = chain(400_Gbps);
  degraded.faults = {{.link = "s0-s1", .rate = 0.25}};
  const std::vector<double> got = Shared(degraded, 6, flows).rates();
  for (std::size_t f = 0; f < fair.size(); ++f) EXPECT_NEAR(got[f] / fair[f], 1, 0.01) << f;
}

}  // namespace
}  // namespace weft::nic
