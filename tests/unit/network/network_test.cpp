// SPDX-License-Identifier: Apache-2.0
// Whole networks: topologies, routes, and what does not close.
#include "hw/fabric/fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/benches/fabric_end.h"
#include "tests/support/benches/net.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

struct NetworkCase {
  Shape shape;
  int ends;
  int hosts_per_leaf;
  int radix;
  int spines;
  Routing routing;
};

FabricConfig config_of(const NetworkCase& c) {
  FabricConfig config;
  config.topology = c.shape;
  config.hosts_per_leaf = c.hosts_per_leaf;
  config.radix = c.radix;
  config.spines = c.spines;
  config.routing = c.routing;
  return config;
}

class Networks : public testing::TestWithParam<NetworkCase> {};

TEST_P(Networks, EverybodyReachesEverybody) {
  Net net(config_of(GetParam()), GetParam().ends);
  net.all_to_all(2, 500);
  sc_core::sc_start();
  net.expect_all_arrived(2);
  net.expect_nothing_left();
}

TEST_P(Networks, DoNotDeadlockWithBuffersOfOnePacket) {
  FabricConfig config = config_of(GetParam());
  config.mtu = 256_B;
  config.segment = 256_B;
  config.header = Bytes();
  config.link.buffer = 256_B;
  Net net(config, GetParam().ends);
  net.all_to_all(10, 256);
  sc_core::sc_start();
  net.expect_all_arrived(10);
  net.expect_nothing_left();
}

TEST_P(Networks, DoNotDependOnTheOrderOfElaboration) {
  const auto run = [](bool reversed) {
    test::fresh_kernel();
    FabricConfig config = config_of(GetParam());
    config.link.buffer = 9_KiB;
    Net net(config, GetParam().ends, reversed, {50_ns, 7});
    net.all_to_all(3, 4162);
    sc_core::sc_start();
    net.expect_nothing_left();
    std::vector<std::int64_t> tails;
    for (const auto& end : net.ends) {
      for (const auto& arrival : end->arrivals) tails.push_back(arrival.tail.count());
    }
    return std::pair{net.dispatcher.digest(), tails};
  };
  EXPECT_EQ(run(false), run(true));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Networks,
                         testing::Values(NetworkCase{Shape::kSwitch, 2, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kSwitch, 9, 1, 2, 0, Routing::kEcmp},
                                         NetworkCase{Shape::kRing, 2, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kRing, 3, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kRing, 4, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kRing, 5, 1, 2, 0, Routing::kEcmp},
                                         NetworkCase{Shape::kRing, 8, 1, 2, 0, Routing::kEcmp},
                                         NetworkCase{Shape::kRing, 13, 1, 2, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kFatTree, 4, 4, 8, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kFatTree, 8, 4, 8, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kFatTree, 16, 4, 8, 0, Routing::kEcmp},
                                         NetworkCase{Shape::kFatTree, 32, 4, 8, 0, Routing::kDmodk},
                                         NetworkCase{Shape::kFatTree, 32, 4, 8, 4, Routing::kEcmp},
                                         NetworkCase{Shape::kFatTree, 11, 4, 8, 2, Routing::kEcmp},
                                         NetworkCase{Shape::kFatTree, 7, 1, 8, 1, Routing::kDmodk}),
                         [](const auto& test) {
                           const NetworkCase& c = test.param;
                           const char* shape = c.shape == Shape::kSwitch ? "Switch"
                                               : c.shape == Shape::kRing ? "Ring"
                                                                         : "FatTree";
                           return shape + std::to_string(c.ends) + "By" + std::to_string(c.hosts_per_leaf) + "Radix" +
                                  std::to_string(c.radix) + "Spines" + std::to_string(c.spines) +
                                  (c.routing == Routing::kDmodk ? "Dmodk" : "Ecmp");
                         });

TEST(Ring, HasNoDeadlockWhenEveryLinkOfItIsFull) {
  for (const int ends : {3, 4, 6, 9}) {
    test::fresh_kernel();
    FabricConfig config;
    config.topology = Shape::kRing;
    config.link = link(400_Gbps, 10_ns, 4200_B);
    Net net(config, ends);
    // Everybody as far as it goes, in the same direction: each link is asked for by half of the ring.
    net.script.at(1_us, [&] {
      for (int i = 0; i < 200; ++i) {
        for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(ends); ++s) {
          net.ends[s]->send(s, (s + static_cast<std::uint32_t>((ends - 1) / 2)) % static_cast<std::uint32_t>(ends),
                            4162);
        }
      }
    });
    sc_core::sc_start();
    for (const auto& end : net.ends) EXPECT_EQ(end->arrivals.size(), 200u) << ends << " ends, " << end->name();
    net.expect_nothing_left();
  }
}

TEST(FatTree, CarriesAShiftByOneLeafAtFullRate) {
  // D-mod-k gives each host of a leaf an uplink of its own, and the way down is as disjoint (Zahavi 2012).
  FabricConfig config = config_of({Shape::kFatTree, 16, 4, 8, 0, Routing::kDmodk});
  Net net(config, 16);
  constexpr int kPackets = 100;
  net.script.at(1_us, [&] {
    for (int i = 0; i < kPackets; ++i) {
      for (std::uint32_t s = 0; s < 16; ++s) net.ends[s]->send(s, (s + 4) % 16, 4162);
    }
  });
  sc_core::sc_start();
  for (const auto& end : net.ends) {
    ASSERT_EQ(end->arrivals.size(), static_cast<std::size_t>(kPackets));
    EXPECT_EQ(end->arrivals.back().tail, 1_us + 4 * 10_ns + 3 * 220_ns + kPackets * 4162 * 20_ps);
  }
  net.expect_nothing_left();
}

TEST(LeftOver, NamesThePortAndTheBytes) {
  FabricConfig config;
  config.topology = Shape::kSwitch;
  config.link.buffer = 5000_B;
  Net net(config, 2);
  net.ends[1]->hold = true;
  net.script.at(1_us, [&] {
    for (int i = 0; i < 7; ++i) net.ends[0]->send(0, 1, 1000);
  });
  sc_core::sc_start();
  EXPECT_EQ(net.network->left_over(),
            (std::vector<std::string>{"network.switch0: 2 packets wait for an output",
                                      "network.switch0.out1: 5000 bytes of credit are missing"}));
}

// --- What does not close ---

void expect_error(const FabricConfig& config, int ends, const std::string& path, const std::string& expected) {
  try {
    Topology::build(config, ends, "fabric");
    FAIL() << "no error at " << path;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.expected(), expected);
  }
}

TEST(Topology, TellsWhereAndWhyItDoesNotClose) {
  FabricConfig tree = config_of({Shape::kFatTree, 0, 4, 8, 0, Routing::kDmodk});
  tree.hosts_per_leaf = 5;
  expect_error(tree, 20, "fabric.hosts_per_leaf",
               "expected at most half of radix 8, since a leaf has as many uplinks as hosts; got 5");
  tree.hosts_per_leaf = 4;
  expect_error(
      tree, 33, "fabric.radix",
      "the fat tree does not close: 9 leaves with 1 links to each of 4 spines need a radix of 9, got 8; expected more "
      "hosts per leaf, more spines or a larger radix");
  tree.spines = 2;
  expect_error(
      tree, 32, "fabric.radix",
      "the fat tree does not close: 8 leaves with 2 links to each of 2 spines need a radix of 16, got 8; expected more "
      "hosts per leaf, more spines or a larger radix");
  tree.spines = 3;
  expect_error(tree, 16, "fabric.spines",
               "the fat tree does not close: expected a divisor of the 4 uplinks of a leaf, got 3");

  FabricConfig ring = config_of({Shape::kRing, 0, 4, 8, 0, Routing::kDmodk});
  ring.link.lanes = 1;
  expect_error(ring, 8, "fabric.link.lanes",
               "expected at least 2, got 1: packets change lane at a ring's dateline so that they cannot deadlock");

  FabricConfig any;
  any.mtu = 4_KiB;
  any.segment = 2_KiB;
  expect_error(any, 8, "fabric.segment", "expected at least the mtu of 4KiB, got 2KiB");
  any.segment = 16_KiB;
  any.link.buffer = 16_KiB;
  expect_error(any, 8, "fabric.link.buffer",
               "expected room for at least one segment with its headers, 16648 bytes, got 16KiB");
  any.link.buffer = Bytes(16'648);
  EXPECT_EQ(Topology::build(any, 8, "fabric").ends.size(), 8u);
}

TEST(Topology, BuildsAsFewSpinesAsClose) {
  const auto spines = [](int ends, int per_leaf, int radix) {
    const Topology topology =
        Topology::build(config_of({Shape::kFatTree, 0, per_leaf, radix, 0, Routing::kDmodk}), ends, "");
    return std::count_if(topology.switches.begin(), topology.switches.end(),
                         [](const auto& sw) { return sw.name.rfind("spine", 0) == 0; });
  };
  EXPECT_EQ(spines(4, 4, 8), 0);
  EXPECT_EQ(spines(8, 4, 8), 1);
  EXPECT_EQ(spines(16, 4, 8), 2);
  EXPECT_EQ(spines(32, 4, 8), 4);
}

TEST(WireBytes, PayAHeaderForEachPacket) {
  FabricConfig config;
  config.mtu = 4_KiB;
  config.header = 66_B;
  EXPECT_EQ(config.wire_bytes(0), 66u);
  EXPECT_EQ(config.wire_bytes(1), 67u);
  EXPECT_EQ(config.wire_bytes(4096), 4096u + 66);
  EXPECT_EQ(config.wire_bytes(4097), 4097u + 2 * 66);
  EXPECT_EQ(config.wire_bytes(65536), 65536u + 16 * 66);
}

}  // namespace
}  // namespace weft::fabric
