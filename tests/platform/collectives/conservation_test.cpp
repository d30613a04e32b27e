// SPDX-License-Identifier: Apache-2.0
// What each link of a machine carries, against what the algorithm's formula says; and machines elaborated in any order.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/blocks.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using collectives::AlgorithmName;
using collectives::Extent;
using collectives::split;

constexpr std::uint64_t kGranule = 4;  // an fp32

/// Payload bytes by sending and receiving rank.
using Traffic = std::map<std::pair<int, int>, std::int64_t>;

/// The bytes of member `index`'s block that channel `channel` carries.
std::int64_t part_of(std::uint64_t bytes, int members, int index, int channels, int channel) {
  const Extent block =
      split({0, bytes}, static_cast<std::uint64_t>(members), static_cast<std::uint64_t>(index), kGranule);
  return static_cast<std::int64_t>(
      split(block, static_cast<std::uint64_t>(channels), static_cast<std::uint64_t>(channel), kGranule).bytes);
}

/// What `member` gives for 0 to `count` - 1.
template <typename Member>
std::vector<int> ring_of(int count, const Member& member) {
  std::vector<int> order(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) order[static_cast<std::size_t>(i)] = member(i);
  return order;
}

/// A ring Allgather passes every block on but the successor's own; a ReduceScatter every block but the sender's own,
/// which ends there (Patarasuk and Yuan 2009, 3). `size_of` gives what member `i` of `order` owns.
template <typename SizeOf>
void add_ring(Traffic& traffic, const std::vector<int>& order, CollectiveOp op, const SizeOf& size_of) {
  std::int64_t sum = 0;
  for (const int member : order) sum += size_of(member);
  for (std::size_t i = 0; order.size() > 1 && i < order.size(); ++i) {
    const int from = order[i];
    const int to = order[(i + 1) % order.size()];
    if (op != CollectiveOp::kReduceScatter) traffic[{from, to}] += sum - size_of(to);
    if (op != CollectiveOp::kAllgather) traffic[{from, to}] += sum - size_of(from);
  }
}

Traffic formula(const MachineConfig& config, CollectiveOp op, std::uint64_t bytes) {
  const int ranks = config.accelerators;
  const int per_node = config.per_node;
  const int nodes = ranks / per_node;
  const int channels = config.collectives.channels;
  Traffic traffic;
  for (int c = 0; c < channels; ++c) {
    const auto own = [&](int rank) { return part_of(bytes, ranks, rank, channels, c); };
    if (config.collectives.algorithm == "ring") {
      const auto turned = [&](int r) { return r / per_node * per_node + (r + c) % per_node; };
      add_ring(traffic, ring_of(ranks, turned), op, own);
      continue;
    }
    for (int local = 0; local < per_node; ++local) {
      add_ring(traffic, ring_of(nodes, [&](int n) { return n * per_node + local; }), op, own);
    }
    for (int n = 0; n < nodes; ++n) {
      const std::vector<int> within = ring_of(per_node, [&](int local) { return n * per_node + local; });
      // Within a node a member stands for all of its position.
      add_ring(traffic, within, op, [&](int rank) {
        std::int64_t sum = 0;
        for (int other = rank % per_node; other < ranks; other += per_node) sum += own(other);
        return sum;
      });
    }
  }
  return traffic;
}

/// By switch and port.
using Load = std::map<std::pair<std::size_t, std::size_t>, std::int64_t>;

/// Puts each flow on the links that the routing tables send it over.
Load routed(fabric::Fabric& network, const Traffic& traffic) {
  const fabric::Topology& topology = network.topology();
  const std::vector<fabric::Routes>& tables = network.plan().routes();
  Load load;
  for (const auto& [pair, bytes] : traffic) {
    Packet packet;
    packet.source = static_cast<std::uint32_t>(pair.first);
    packet.destination = static_cast<std::uint32_t>(pair.second);
    std::size_t at = topology.ends[packet.source].first;
    for (bool arrived = false; !arrived;) {
      const std::size_t port = tables[at].port(packet);
      load[{at, port}] += bytes;
      const auto& next = topology.switches[at].ports[port];
      arrived = next.is_end;
      at = next.index;
    }
  }
  return load;
}

void expect_load(fabric::Fabric& network, const Traffic& traffic) {
  Load expected = routed(network, traffic);
  for (std::size_t s = 0; s < network.switch_count(); ++s) {
    for (std::size_t p = 0; p < network.switch_at(s).radix(); ++p) {
      const std::int64_t carried = network.switch_at(s).transmitter(p).counters().payload_bytes;
      EXPECT_EQ(carried, (expected[{s, p}])) << network.switch_at(s).name() << ".out" << p;
    }
  }
}

void expect_sent(const std::vector<const nic::AnyNic*>& ends, const Traffic& traffic) {
  std::vector<std::int64_t> sent(ends.size());
  std::vector<std::int64_t> received(ends.size());
  for (const auto& [pair, bytes] : traffic) {
    sent[static_cast<std::size_t>(pair.first)] += bytes;
    received[static_cast<std::size_t>(pair.second)] += bytes;
  }
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(ends[i]->transmitter().counters().payload_bytes, sent[i]) << ends[i]->name();
    EXPECT_EQ(ends[i]->counters().bytes_received, received[i]) << ends[i]->name();
  }
}

struct Case {
  std::string name;
  int ranks;
  int per_node;
  AlgorithmName algorithm;
  fabric::Shape shape;
};

MachineConfig config_of(const Case& c) {
  MachineConfig config;
  config.accelerators = c.ranks;
  config.per_node = c.per_node;
  config.fabric.topology = c.shape;
  config.fabric.hosts_per_leaf = 4;
  config.fabric.radix = 8;
  config.collectives.algorithm = c.algorithm;
  config.collectives.channels = 3;
  return config;
}

class Conservation : public testing::TestWithParam<std::tuple<CollectiveOp, Case>> {};

TEST_P(Conservation, EveryLinkCarriesWhatTheFormulaSays) {
  const auto& [op, c] = GetParam();
  const MachineConfig config = config_of(c);
  constexpr std::uint64_t kBytes = 300'017;  // divides by neither ranks nor channels nor elements
  Machine machine(config);
  run_collective(machine, op, {kBytes}, ElementType::kFp32);

  // Split by network, in the numbers of its ends; the first size runs twice.
  Traffic outside;
  std::vector<Traffic> inside(machine.node_count());
  for (const auto& [pair, bytes] : formula(config, op, kBytes)) {
    const auto [from, to] = pair;
    if (c.per_node > 1 && from / c.per_node == to / c.per_node) {
      inside[static_cast<std::size_t>(from / c.per_node)][{from % c.per_node, to % c.per_node}] += 2 * bytes;
    } else {
      outside[pair] += 2 * bytes;
    }
  }
  expect_load(machine.network(), outside);
  std::vector<const nic::AnyNic*> nics;
  nics.reserve(static_cast<std::size_t>(c.ranks));
  for (int r = 0; r < c.ranks; ++r) nics.push_back(&machine.nic(r));
  expect_sent(nics, outside);
  for (std::size_t n = 0; n < machine.node_count(); ++n) {
    expect_load(machine.node_network(n), inside[n]);
    std::vector<const nic::AnyNic*> ports;
    ports.reserve(static_cast<std::size_t>(c.per_node));
    for (int local = 0; local < c.per_node; ++local) {
      ports.push_back(machine.scale_up_port(static_cast<int>(n) * c.per_node + local));
    }
    expect_sent(ports, inside[n]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Conservation,
    testing::Combine(testing::Values(CollectiveOp::kAllgather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce),
                     testing::Values(Case{"RingOnRing", 7, 1, "ring", fabric::Shape::kRing},
                                     Case{"RingOnTree", 12, 1, "ring", fabric::Shape::kFatTree},
                                     Case{"RingThroughNodes", 12, 3, "ring", fabric::Shape::kFatTree},
                                     Case{"HierarchicalOnTree", 16, 4, "hierarchical", fabric::Shape::kFatTree},
                                     Case{"HierarchicalOnSwitch", 10, 2, "hierarchical", fabric::Shape::kSwitch})),
    [](const auto& test) {
      return std::string(weft::name_of(std::get<0>(test.param))) + "_" + std::get<1>(test.param).name;
    });

TEST(Elaboration, InAnyOrderGivesTheSameRun) {
  const auto run = [](std::optional<std::uint32_t> shuffle) {
    test::fresh_kernel();
    MachineConfig config = config_of({"", 8, 4, "hierarchical", fabric::Shape::kFatTree});
    config.stall = 100_ns;
    Machine machine(config, shuffle);
    const auto results = run_collective(machine, CollectiveOp::kAllReduce, {3000, 100'000}, ElementType::kFp32);
    return std::tuple{machine.dispatcher().digest(), machine.dispatcher().handled(), results[0].time, results[1].time};
  };
  const auto natural = run(std::nullopt);
  for (std::uint32_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(run(seed), natural) << "seed " << seed;
}

}  // namespace
}  // namespace weft::platforms
