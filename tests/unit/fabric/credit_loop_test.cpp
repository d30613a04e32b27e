// SPDX-License-Identifier: Apache-2.0
// Buffers that nobody sets fill their links, and of those that are set it is said what they fill: against what passes.
#include "hw/fabric/credit_loop.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/benches/fabric_end.h"
#include "tests/support/benches/net.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

/// end0 - a - b - end1, with a buffer on the link between the switches and others that follow from their links.
FabricConfig chain(Rate rate, Time propagation, Bytes buffer) {
  FabricConfig config;
  config.topology = Shape::kGraph;
  config.link.rate = rate;
  for (const char* between : {"end0 - a", "end1 - b", "a - b"}) config.edges.push_back({between, config.link, 1});
  config.edges.back().link.propagation = propagation;
  config.edges.back().link.buffer = buffer;
  return config;
}

/// What passes from end 0 to end 1 of the links' rate, once the first packet's credit has been back twice.
double passes(const std::shared_ptr<const Plan>& plan, Time away) {
  test::fresh_kernel();
  Net net(plan);
  const Bytes packet = CreditLoop(plan->config(), plan->end_link(0), 1).packet;
  const Time length = transfer_time(packet, plan->end_link(0).rate);
  const auto count = static_cast<int>(6 * (away / length) + 1000);
  net.script.at(1_us, [&] {
    for (int i = 0; i < count; ++i) net.ends[0]->send(0, 1, static_cast<std::uint32_t>(packet.count()));
  });
  sc_core::sc_start();
  net.expect_nothing_left();
  const auto& arrivals = net.ends[1]->arrivals;
  EXPECT_EQ(arrivals.size(), static_cast<std::size_t>(count));
  // Whole rounds of credit, which come in bursts.
  std::size_t first = 0;
  while (first < arrivals.size() && arrivals[first].head < arrivals.front().head + 2 * away) ++first;
  std::size_t last = first;
  const Time end = arrivals[first].head + 2 * away;
  while (last < arrivals.size() && arrivals[last].head < end) ++last;
  EXPECT_LT(last, arrivals.size());
  return static_cast<double>((last - first) * static_cast<std::size_t>(length.count())) /
         static_cast<double>((arrivals[last].head - arrivals[first].head).count());
}

TEST(CreditLoop, SaysWhatShareASetBufferFills) {
  for (const Time propagation : {10_ns, 1_us, 20_us}) {
    for (const std::int64_t buffer : {4162L, 10'000L, 40'000L, 200'000L, 1'000'000L, 4'000'000L}) {
      const FabricConfig config = chain(400_Gbps, propagation, Bytes(buffer));
      const auto plan = std::make_shared<Plan>(config, 2, "fabric");
      const std::vector<StarvedLinks> starved = find_starved(plan->topology(), config);
      const double said = starved.empty() ? 1 : starved.front().share;
      const CreditLoop loop(config, config.edges.back().link, 2);
      EXPECT_NEAR(passes(plan, loop.away), said, 0.002) << to_text(propagation) << ' ' << buffer;
      if (starved.empty()) continue;
      EXPECT_EQ(starved.size(), 1u);
      EXPECT_EQ(starved.front().name, "a - b");
      EXPECT_EQ(starved.front().count, 1u);
      EXPECT_EQ(starved.front().path, "edges.2.link.buffer");
    }
  }
}

TEST(CreditLoop, SegmentsCarryNoMoreThanTheirPacketsWouldAndAllOfAShortLink) {
  for (const Time propagation : {10_ns, 1_us, 4_us, 20_us}) {
    for (const Bytes buffer : {72_KiB, 140_KiB, 256_KiB, 1_MiB}) {
      FabricConfig config = chain(400_Gbps, propagation, buffer);
      const auto share_of = [&](const Plan& plan) {
        const std::vector<StarvedLinks> starved = find_starved(plan.topology(), plan.config());
        return starved.empty() ? 1 : starved.front().share;
      };
      const double of_packets = share_of(Plan(config, 2, "fabric"));
      config.segment = 64_KiB;
      const auto plan = std::make_shared<Plan>(config, 2, "fabric");
      const double said = share_of(*plan);
      const CreditLoop loop(config, config.edges.back().link, 2);
      EXPECT_NEAR(passes(plan, loop.away), said, 0.002) << to_text(propagation) << ' ' << to_text(buffer);
      EXPECT_LE(said, of_packets * 1.05) << to_text(propagation) << ' ' << to_text(buffer);
      if (propagation == 10_ns) {
        EXPECT_EQ(said, 1) << to_text(buffer);
      }
    }
  }
}

TEST(CreditLoop, TakesWhatLanesShareForOneOfThem) {
  FabricConfig config = chain(400_Gbps, 5_us, 20_KiB);
  config.edges.back().link.shared = 60_KiB;
  const auto plan = std::make_shared<Plan>(config, 2, "fabric");
  const std::vector<StarvedLinks> starved = find_starved(plan->topology(), config);
  ASSERT_EQ(starved.size(), 1u);
  EXPECT_NEAR(passes(plan, CreditLoop(config, config.edges.back().link, 2).away), starved.front().share, 0.002);
}

TEST(CreditLoop, AnUnsetBufferFillsAnyLink) {
  for (const Rate rate : {25_Gbps, 400_Gbps, 3200_Gbps}) {
    for (const Time propagation : {0_ns, 936_ns, 40_us}) {
      for (const Bytes segment : {4_KiB, 256_KiB}) {
        FabricConfig config = chain(rate, propagation, 0_B);
        config.segment = segment;
        config.edges.front().link.propagation = propagation;
        const auto plan = std::make_shared<Plan>(config, 2, "fabric");
        EXPECT_TRUE(find_starved(plan->topology(), config).empty());
        EXPECT_GT(passes(plan, CreditLoop(config, config.edges.back().link, 2).away), 0.9999)
            << to_text(rate) << ' ' << to_text(propagation) << ' ' << to_text(segment);
      }
    }
  }
}

TEST(CreditLoop, FollowsEachDimensionsLinkAndNeverFallsBelowTheLeast) {
  FabricConfig config;
  config.topology = Shape::kDimensions;
  config.link.propagation = Time();
  config.switch_config.latency = Time();
  config.dimensions = {{"Ring(2)", config.link, 1}, {"Switch(2)", config.link, 1}};
  config.dimensions[1].link.rate = 400_GBps;
  config.dimensions[1].link.propagation = 936_ns;
  const Topology topology = Topology::build(config, 4, "fabric");
  EXPECT_EQ(topology.links[1].buffer, LinkConfig::kLeastBuffer);
  // 400 GB/s in two flights and the packet, and two packets: 748,800 + 3 x 4,162 bytes.
  EXPECT_EQ(topology.links[2].buffer, Bytes(748'800 + 3 * 4162));
  config.dimensions[1].link.buffer = 8_KiB;
  EXPECT_EQ(Topology::build(config, 4, "fabric").links[2].buffer, 8_KiB);
}

TEST(CreditLoop, HasASendQueueForEachSlowerPortOfARouterThatIsAPartOfItsEnd) {
  FabricConfig config;
  config.topology = Shape::kDimensions;
  config.link.rate = 400_GBps;
  config.link.propagation = Time();
  config.switch_config.latency = Time();
  config.dimensions = {{"FullyConnected(8)", config.link, 1}};
  config.dimensions[0].link.rate = 50_GBps;
  const auto of_end = [&] {
    const Topology topology = Topology::build(config, 8, "fabric");
    const auto& [router, port] = topology.ends[0];
    return topology.link_of(topology.switches[router].ports[port]).buffer;
  };
  EXPECT_EQ(of_end(), 7 * LinkConfig::kSendQueue);
  // Who is no faster than its ports fills none of them.
  config.injection = 50_GBps;
  EXPECT_EQ(of_end(), LinkConfig::kLeastBuffer);
}

TEST(CreditLoop, NamesKindsOfLinksOnceWorstFirst) {
  FabricConfig config;
  config.topology = Shape::kTorus;
  config.sizes = {4, 4};
  config.link.buffer = 64_KiB;
  config.link.propagation = 10_us;
  const Plan torus(config, 16, "fabric");
  // 15 packets of 4,162 bytes fit and take 1,248.6 ns. Credit is away for 2 x 10 us, 2 x 220 ns of switches and 83.24
  // ns, in which 1,026,162 bytes pass; two packets more are 1010.2 KiB.
  EXPECT_EQ(
      describe_starved(torus),
      std::vector<std::string>{"fabric: router0 - router1 and 31 more: a buffer of 64KiB fills 6.08 % of a link of "
                               "400Gbps and 10us; it takes 1011KiB (fabric.link.buffer)"});

  FabricConfig graph;
  graph.topology = Shape::kGraph;
  for (int i = 0; i < 8; ++i) {
    graph.edges.push_back({"end" + std::to_string(i) + " - a", graph.link, 1});
    graph.edges.back().link.propagation = Time((i + 1) * 10'000'000);
    graph.edges.back().link.buffer = 8_KiB;
  }
  const std::vector<std::string> lines = describe_starved(Plan(graph, 8, "scale_up.fabric"));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(
      lines.front().find("scale_up.fabric: end7 - a: a buffer of 8KiB fills 0.0519 % of a link of 400Gbps and 80us"),
      0u)
      << lines.front();
  EXPECT_EQ(lines.back(), "scale_up.fabric: 3 more kinds of links that their buffers cannot fill");
}

TEST(CreditLoop, WithPausesAnUnsetBufferAndHeadroomLoseNothingAndIdleNever) {
  for (const Time propagation : {10_ns, 2_us, 20_us}) {
    test::fresh_kernel();
    FabricConfig config;
    config.topology = Shape::kSwitch;
    config.link.flow_control = FlowControl::kPfc;
    config.link.propagation = propagation;
    config.link.pause_response = 500_ns;
    config.switch_config.buffer.shared = 64_KiB;
    Net net(config, 5);
    constexpr std::uint32_t kPackets = 4000;
    constexpr std::uint32_t kWire = 4162;
    net.script.at(1_us, [&] {
      for (std::uint32_t p = 0; p < kPackets; ++p) {
        for (std::uint32_t s = 0; s < 4; ++s) net.ends[s]->send(s, 4, kWire);
      }
    });
    sc_core::sc_start();
    const auto& arrivals = net.ends[4]->arrivals;
    EXPECT_EQ(arrivals.size(), 4 * kPackets) << to_text(propagation);
    EXPECT_EQ((arrivals.back().head - arrivals.front().head),
              (4 * kPackets - 1) * transfer_time(Bytes(kWire), 400_Gbps))
        << to_text(propagation);
    std::int64_t pauses = 0;
    for (std::size_t p = 0; p < 5; ++p) pauses += net.network->switch_at(0).port_counters(p).pauses;
    EXPECT_GT(pauses, 0);
  }
}

}  // namespace
}  // namespace weft::fabric
