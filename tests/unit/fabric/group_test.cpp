// SPDX-License-Identifier: Apache-2.0
// Multicast and in-network reduction among the ends of a network.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "hw/fabric/fabric.h"
#include "tests/support/benches/fabric_end.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;
using namespace test_ends;

constexpr std::uint32_t kChunk = 1024;
constexpr std::uint32_t kAll = UINT32_MAX;

FabricConfig network_of(Shape shape) {
  FabricConfig config;
  config.topology = shape;
  config.radix = 8;
  config.hosts_per_leaf = 4;
  config.link.buffer = 16_KiB;
  config.link.lanes = 3;  // a ring's packets take two, groups another one
  config.switch_config.reduction.trees = 4;
  config.switch_config.reduction.chunks = 64;
  return config;
}

class Net {
 public:
  Net(const FabricConfig& config, int count, const Stall::Config& stall = {})
      : dispatcher("dispatcher"),
        network("network", config, count, dispatcher, packets, stall, "fabric"),
        script("script", dispatcher),
        got(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      ends.push_back(
          std::make_unique<End>(("end" + std::to_string(i)).c_str(), dispatcher, packets, config.link, stall));
      network.bind_end(static_cast<std::uint32_t>(i), ends[i]->out, ends[i]->in);
      ends[i]->on_packet = [this, i](Time now, const Packet& packet) { take(i, now, packet); };
    }
  }

  struct Got {
    std::uint32_t source;
    std::uint32_t psn;
    std::uint32_t bytes;
    Opcode opcode;
    Time at;
    std::vector<float> values;
  };

  Packet* packet(std::uint32_t source, std::uint32_t group, std::uint32_t psn, const std::vector<float>& values) {
    Packet* packet = packets.take();
    packet->source = source;
    packet->destination = Packet::kFirstGroup + group;
    packet->psn = psn;
    packet->opcode = Opcode::kWrite;
    packet->payload_bytes = static_cast<std::uint32_t>(values.size() * sizeof(float));
    packet->wire_bytes = packet->payload_bytes + 66;
    if (!values.empty()) {
      packets.attach_payload(*packet, packet->payload_bytes);
      std::memcpy(packet->payload, values.data(), packet->payload_bytes);
    }
    return packet;
  }
  void reduce(std::uint32_t source, std::uint32_t group, std::uint32_t psn, const std::vector<float>& values,
              std::uint32_t taker = kAll) {
    Packet* operand = packet(source, group, psn, values);
    operand->opcode = Opcode::kReduce;
    operand->queue_pair = static_cast<std::uint32_t>(ElementType::kFp32);
    operand->immediate = taker;
    ends[source]->send(operand);
  }
  std::int64_t traversals() {
    std::int64_t sum = 0;
    for (const auto& end : ends) sum += end->transmitter().counters().packets;
    for (std::size_t s = 0; s < network.switch_count(); ++s) {
      for (std::size_t p = 0; p < network.switch_at(s).radix(); ++p) {
        sum += network.switch_at(s).transmitter(p).counters().packets;
      }
    }
    return sum;
  }
  void expect_nothing_left() {
    EXPECT_EQ(network.left_over(), std::vector<std::string>());
    EXPECT_EQ(packets.outstanding(), 0);
    EXPECT_EQ(packets.payloads_outstanding(), 0);
    EXPECT_EQ(dispatcher.pending(), 0u);
    for (const auto& end : ends) EXPECT_EQ(end->transmitter().credit_missing(), 0);
  }

  PacketPool packets;
  Dispatcher dispatcher;
  Fabric network;
  test::Script script;
  std::vector<std::unique_ptr<End>> ends;
  std::vector<std::vector<Got>> got;

 private:
  void take(std::size_t end, Time now, const Packet& packet) {
    Got entry{packet.source, packet.psn, packet.payload_bytes, packet.opcode, now, {}};
    if (packet.payload != nullptr && packet.payload_bytes != 0) {
      entry.values.resize(packet.payload_bytes / sizeof(float));
      std::memcpy(entry.values.data(), packet.payload, packet.payload_bytes);
    }
    got[end].push_back(std::move(entry));
  }
};

class Groups : public testing::TestWithParam<Shape> {};

TEST_P(Groups, EveryMemberGetsEveryPacketOnceAndNobodyElse) {
  Net net(network_of(GetParam()), 13);
  const std::vector<std::uint32_t> members = {0, 2, 3, 5, 7, 8, 9, 12};
  const auto group = net.network.create_group(members, {});
  ASSERT_TRUE(group.has_value());
  constexpr std::uint32_t kPackets = 40;
  net.script.at(1_us, [&] {
    for (std::uint32_t p = 0; p < kPackets; ++p) {
      for (const std::uint32_t source : members) {
        net.ends[source]->send(net.packet(source, *group, p, std::vector<float>(kChunk / 4, static_cast<float>(p))));
      }
    }
  });
  sc_core::sc_start();
  for (std::uint32_t end = 0; end < 13; ++end) {
    const bool member = std::find(members.begin(), members.end(), end) != members.end();
    ASSERT_EQ(net.got[end].size(), member ? (members.size() - 1) * kPackets : 0) << end;
    std::map<std::uint32_t, std::uint32_t> next;
    for (const Net::Got& got : net.got[end]) {
      EXPECT_EQ(got.psn, next[got.source]++);  // in order
      EXPECT_EQ(got.values, std::vector<float>(kChunk / 4, static_cast<float>(got.psn)));
    }
    EXPECT_EQ(next.count(end), 0u);
  }
  // Each copy crosses each link of the tree once.
  EXPECT_EQ(net.traversals(), static_cast<std::int64_t>(members.size() * kPackets * net.network.tree(*group).links()));
  net.expect_nothing_left();
}

TEST_P(Groups, AddUpTheSameBitsWhateverComesFirst) {
  // Numbers whose sum depends on the order of addition.
  const std::vector<std::uint32_t> members = {0, 1, 4, 5, 6, 9, 10, 11, 12};
  const auto value = [](std::uint32_t end, std::uint32_t psn, std::size_t i) {
    Random random(end * 7919 + psn * 31 + i, "");
    const std::uint64_t drawn = random.next();
    return std::ldexp(static_cast<float>(drawn % 1000) - 500, static_cast<int>(drawn >> 32) % 20);
  };
  std::vector<std::vector<float>> first;
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    test::fresh_kernel();
    Net net(network_of(GetParam()), 13, {seed == 0 ? Time() : 2_us, seed});
    const auto group = net.network.create_group(members, {.reduces = true, .window = 16});
    ASSERT_TRUE(group.has_value());
    constexpr std::uint32_t kPackets = 16;
    net.script.at(1_us, [&] {
      for (std::uint32_t p = 0; p < kPackets; ++p) {
        for (const std::uint32_t end : members) {
          std::vector<float> values(kChunk / 4);
          for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(end, p, i);
          net.reduce(end, *group, p, values);
        }
      }
    });
    sc_core::sc_start();
    net.expect_nothing_left();
    std::vector<std::vector<float>> sums(kPackets);
    for (const std::uint32_t end : members) {
      ASSERT_EQ(net.got[end].size(), kPackets) << end;
      for (const Net::Got& got : net.got[end]) {
        EXPECT_EQ(got.opcode, Opcode::kResult);
        if (sums[got.psn].empty()) sums[got.psn] = got.values;
        EXPECT_EQ(got.values, sums[got.psn]) << "of end " << end;
      }
    }
    if (seed == 0) {
      first = sums;
      for (std::uint32_t p = 0; p < kPackets; ++p) {
        for (std::size_t i = 0; i < kChunk / 4; ++i) {
          double sum = 0;
          double size = 0;
          for (const std::uint32_t end : members) {
            sum += value(end, p, i);
            size += std::abs(value(end, p, i));
          }
          EXPECT_NEAR(sums[p][i], sum, size * 1e-6);
        }
      }
    }
    EXPECT_EQ(sums, first) << "seed " << seed;
  }
}

TEST_P(Groups, GiveAResultToTheOneThatTakesItAndTellTheOthers) {
  Net net(network_of(GetParam()), 8);
  const auto group = net.network.create_group({0, 1, 2, 3, 4, 5, 6, 7}, {.reduces = true, .window = 8});
  ASSERT_TRUE(group.has_value());
  net.script.at(1_us, [&] {
    for (std::uint32_t taker = 0; taker < 8; ++taker) {
      for (std::uint32_t end = 0; end < 8; ++end) {
        net.reduce(end, *group, taker, std::vector<float>(kChunk / 4, static_cast<float>(end + taker)), taker);
      }
    }
  });
  sc_core::sc_start();
  for (std::uint32_t end = 0; end < 8; ++end) {
    ASSERT_EQ(net.got[end].size(), 8u);
    for (const Net::Got& got : net.got[end]) {
      EXPECT_EQ(got.bytes, got.psn == end ? kChunk : 0);
      if (got.psn != end) continue;
      EXPECT_EQ(got.values, std::vector<float>(kChunk / 4, static_cast<float>(28 + 8 * end)));
    }
  }
  net.expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(All, Groups, testing::Values(Shape::kSwitch, Shape::kRing, Shape::kFatTree),
                         [](const auto& test) { return "Shape" + std::to_string(static_cast<int>(test.param)); });

/// The tree of the traffic study of Khalilov et al. (SC24): 16 hosts to a leaf, two leaves to a pod, one core above.
/// Its script counts P (P + P/16 + P/32 + 1) link traversals for an Allgather by P multicasts, and the ring's way round
/// with its last hop priced as if first and last host shared a leaf.
FabricConfig study() {
  FabricConfig config;
  config.topology = Shape::kFatTree;
  config.levels = 3;
  config.radix = 64;
  config.hosts_per_leaf = 16;
  config.leaves_per_pod = 2;
  return config;
}

TEST(Multicast, TraversesTheLinksOfTheTrafficStudy) {
  for (const int p : {64, 256, 1024}) {
    test::fresh_kernel();
    Net net(study(), p);
    std::vector<std::uint32_t> all(static_cast<std::size_t>(p));
    std::iota(all.begin(), all.end(), 0U);
    const auto group = net.network.create_group(all, {});
    ASSERT_TRUE(group.has_value());
    net.script.at(1_us, [&] {
      for (const std::uint32_t end : all) net.ends[end]->send(net.packet(end, *group, 0, {}));
    });
    sc_core::sc_start();
    // A core does not send a packet back to the pod that it came from, as the script has it: one link less for each
    // root.
    const std::int64_t published = static_cast<std::int64_t>(p) * (p + p / 16 + p / 32 + 1);
    EXPECT_EQ(net.traversals(), published - p);
    if (p == 1024) {
      EXPECT_EQ(published, 1'147'904);
    }
    net.expect_nothing_left();
  }
}

TEST(Multicast, ARingTraversesTheLinksOfTheTrafficStudy) {
  constexpr std::uint32_t kHosts = 1024;
  Net net(study(), static_cast<int>(kHosts));
  // Every block goes from host to host; a step of all hosts stands for each of the P - 1.
  net.script.at(1_us, [&] {
    for (std::uint32_t end = 0; end < kHosts; ++end) net.ends[end]->send(end, (end + 1) % kHosts, 100);
  });
  sc_core::sc_start();
  const std::int64_t round = net.traversals();
  // The honest way from the last host to the first crosses the core: six links, not two.
  EXPECT_EQ((round - 4) * (kHosts - 1), 2'287'428);
  net.expect_nothing_left();
}

TEST(Multicast, TheLossOfOneCopyIsNotThatOfAnother) {
  Net net(network_of(Shape::kSwitch), 6);
  const auto group = net.network.create_group({0, 1, 2, 3, 4, 5}, {});
  for (const std::size_t port : {1U, 2U, 3U}) net.network.switch_at(0).transmitter(port).add_fault({.loss = 0.2});
  // What is damaged arrives as such; an interface drops it.
  std::vector<std::vector<bool>> damaged(6, std::vector<bool>(500));
  for (std::size_t i = 1; i < 6; ++i) {
    net.ends[i]->on_packet = [&damaged, i](Time, const Packet& packet) {
      damaged[i][packet.psn] = (packet.flags & Packet::kDamaged) != 0;
    };
  }
  net.script.at(1_us, [&] {
    for (std::uint32_t p = 0; p < 500; ++p) net.ends[0]->send(net.packet(0, *group, p, {1.0F}));
  });
  sc_core::sc_start();
  const auto count = [](const std::vector<bool>& of) { return std::count(of.begin(), of.end(), true); };
  EXPECT_EQ(count(damaged[4]) + count(damaged[5]), 0);
  int both = 0;
  for (std::size_t p = 0; p < 500; ++p) both += damaged[1][p] && damaged[2][p] ? 1 : 0;
  for (const std::size_t end : {1U, 2U, 3U}) EXPECT_NEAR(static_cast<double>(count(damaged[end])), 100, 30);
  EXPECT_NEAR(both, 20, 14);  // 0.2 squared
  net.expect_nothing_left();
}

TEST(Multicast, ACopyForABusyOutputHoldsTheBufferNotTheOtherCopies) {
  Net net(network_of(Shape::kSwitch), 4);
  const auto group = net.network.create_group({0, 1, 2}, {});
  net.script.at(1_us, [&] {
    for (std::uint32_t p = 0; p < 10; ++p) net.ends[3]->send(3, 2, 4162);
  });
  net.script.at(1100_ns, [&] { net.ends[0]->send(net.packet(0, *group, 0, std::vector<float>(kChunk / 4, 1))); });
  sc_core::sc_start();
  ASSERT_EQ(net.got[1].size(), 1u);
  // 10 ns of wire, 220 ns of switch, 10 ns of wire, and the packet's length, as if nobody else were there.
  EXPECT_EQ(net.got[1][0].at, 1100_ns + 240_ns + transfer_time(Bytes(kChunk + 66), 400_Gbps));
  net.expect_nothing_left();
}

TEST(Reduction, RunsAtTheRateOfTheAdders) {
  const auto rate = [](int bytes_per_cycle) {
    test::fresh_kernel();
    FabricConfig config = network_of(Shape::kSwitch);
    config.switch_config.reduction.chunks = 4096;
    config.switch_config.reduction.fp32 = bytes_per_cycle;  // at 1 GHz: GB/s
    Net net(config, 4);
    const auto group = net.network.create_group({0, 1, 2, 3}, {.reduces = true, .window = 4000});
    constexpr std::uint32_t kPackets = 1000;
    net.script.at(1_us, [&] {
      for (std::uint32_t p = 0; p < kPackets; ++p) {
        for (std::uint32_t end = 0; end < 4; ++end) net.reduce(end, *group, p, std::vector<float>(kChunk / 4, 1));
      }
    });
    sc_core::sc_start();
    net.expect_nothing_left();
    const auto& got = net.got[2];
    return static_cast<double>((kPackets - 1) * kChunk) /
           static_cast<double>((got.back().at - got.front().at).count()) * 1e3;
  };
  // 400 Gb/s less headers is 47 GB/s.
  EXPECT_NEAR(rate(100), 50.0 * kChunk / (kChunk + 66), 0.1);
  EXPECT_NEAR(rate(20), 20, 0.1);
  EXPECT_NEAR(rate(5), 5, 0.05);
}

TEST(Reduction, ALowLatencyTreeIsQuicker) {
  const auto finish = [](bool streaming, std::uint32_t packets) {
    test::fresh_kernel();
    FabricConfig config = network_of(Shape::kFatTree);
    Net net(config, 16);
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < 16; ++i) all.push_back(i);
    const auto group = net.network.create_group(all, {.reduces = true, .window = 60, .streaming = streaming});
    net.script.at(1_us, [&] {
      for (std::uint32_t p = 0; p < packets; ++p) {
        for (const std::uint32_t end : all) net.reduce(end, *group, p, {1, 2});
      }
    });
    sc_core::sc_start();
    return net.got[0].back().at;
  };
  // Leaf and spine: adders with half the latency, which wait for the last byte.
  const Time whole = transfer_time(Bytes(74), 400_Gbps);
  EXPECT_EQ(finish(true, 1) - finish(false, 1), 2 * (100_ns - whole));
}

/// Groups on a torus, where unicast packets take up to two lanes.
FabricConfig torus(int lanes) {
  FabricConfig config = network_of(Shape::kTorus);
  config.sizes = {5, 3};
  config.link.lanes = lanes;
  return config;
}

std::vector<std::uint32_t> first_ends(std::uint32_t count) {
  std::vector<std::uint32_t> ends(count);
  std::iota(ends.begin(), ends.end(), 0U);
  return ends;
}

TEST(GroupLanes, GroupsThatCouldDeadlockAreRefused) {
  // The way between these crosses the dateline, where unicast packets change lane and those of groups do not.
  FabricConfig config = network_of(Shape::kRing);
  config.link.lanes = 2;
  Net net(config, 13);
  EXPECT_TRUE(net.network.create_group({3, 5}, {}).has_value());
  try {
    (void)net.network.create_group({11, 1}, {});
    ADD_FAILURE() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "fabric.link.lanes");
    EXPECT_NE(error.expected().find("expected at least 3, got 2: packets of groups"), std::string::npos)
        << error.expected();
  }
}

TEST(GroupLanes, FloodingFromAllEndsBesideUnicastEndsOnALaneOfItsOwn) {
  FabricConfig config = torus(3);
  config.mtu = config.segment = Bytes(kChunk);
  config.link.buffer = Bytes(kChunk + 66);
  Net net(config, 15);
  std::array<std::uint32_t, 3> groups{};
  for (std::uint32_t& group : groups) group = net.network.create_group(first_ends(15), {}).value();
  net.script.at(1_us, [&] {
    for (std::uint32_t p = 0; p < 20; ++p) {
      for (std::uint32_t end = 0; end < 15; ++end) {
        for (const std::uint32_t group : groups) {
          net.ends[end]->send(net.packet(end, group, p, std::vector<float>(kChunk / 4, 1)));
        }
        net.ends[end]->send(end, (end + 1 + p % 14) % 15, kChunk + 66);
      }
    }
  });
  sc_core::sc_start();
  for (const auto& got : net.got) EXPECT_EQ(got.size(), 3 * 20 * 14 + 20u);
  net.expect_nothing_left();
}

TEST(GroupLanes, TreesOfAFatTreeNeedNone) {
  FabricConfig config = network_of(Shape::kFatTree);
  config.link.lanes = 1;
  Net net(config, 16);
  for (int g = 0; g < 8; ++g) EXPECT_TRUE(net.network.create_group(first_ends(16), {}).has_value());
}

TEST(Reduction, TablesAndBuffersRunOut) {
  Net net(network_of(Shape::kFatTree), 16);
  const Fabric::GroupOptions small{.reduces = true, .window = 1};
  std::vector<std::uint32_t> groups;
  // Four trees to a switch: all of these meet at the first leaf.
  for (int i = 0; i < 4; ++i) {
    const auto group = net.network.create_group({0, 1, 5}, small);
    ASSERT_TRUE(group.has_value());
    groups.push_back(*group);
  }
  EXPECT_FALSE(net.network.create_group({0, 1, 5}, small).has_value());
  EXPECT_TRUE(net.network.create_group({8, 9}, small).has_value());
  net.network.destroy_group(groups[1]);
  // 64 chunks to a switch, of which three are taken.
  EXPECT_FALSE(net.network.create_group({0, 1}, {.reduces = true, .window = 62}).has_value());
  EXPECT_TRUE(net.network.create_group({0, 1}, {.reduces = true, .window = 61}).has_value());
  // What is no reduction needs neither.
  EXPECT_TRUE(net.network.create_group({0, 1, 5}, {}).has_value());
}

TEST(Reduction, AMissingOperandIsNamed) {
  Net net(network_of(Shape::kFatTree), 8);
  const auto group = net.network.create_group({0, 1, 2, 3, 4, 5, 6, 7}, {.reduces = true, .window = 4});
  net.script.at(1_us, [&] {
    for (std::uint32_t end = 0; end < 7; ++end) net.reduce(end, *group, 0, {1});
  });
  sc_core::sc_start();
  const std::vector<std::string> lines = net.network.left_over();
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines[0].find("1 chunks of reductions wait for operands"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace weft::fabric
