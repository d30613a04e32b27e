// SPDX-License-Identifier: Apache-2.0
// No collective becomes slower with a faster part, and little depends on the segment: draws over networks, algorithms
// and segments.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "platforms/config/document.h"
#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using Overrides = std::vector<std::string>;

constexpr double kLittle = 0.01;
const std::vector<std::uint64_t> kSizes = {16 << 10, 256 << 10, 2 << 20};

/// Sixteen accelerators with a NIC each at 200 Gb/s, whose DMA is faster.
const char* const kMachine = R"({
  "accelerators": 16, "per_node": 1, "accelerator": "h100-sxm", "nic": "connectx-7",
  "fabric": {"link": {"rate": "200Gbps", "propagation": "200ns", "buffer": "256KiB"},
             "switch": {"latency": "220ns", "reduction": {"trees": 64}}}})";

struct Network {
  std::string name;
  Overrides fields;
};

const std::vector<Network> kNetworks = {
    {"one leaf", {"fabric.topology=switch"}},
    {"leaf and spine", {"fabric.radix=8", "fabric.hosts_per_leaf=4"}},
    {"tapered", {"fabric.radix=12", "fabric.hosts_per_leaf=8", "fabric.uplinks=4"}},
    {"nodes of four", {"fabric.radix=16", "fabric.hosts_per_leaf=8", "per_node=4", "scale_up=nvswitch-h100"}},
    {"torus", {"fabric.topology=torus", "fabric.sizes=[4,4]"}},
    {"hyperx", {"fabric.topology=hyperx", "fabric.sizes=[4,4]"}},
    {"dragonfly", {"fabric.topology=dragonfly", "fabric.hosts_per_router=2"}},
    {"dimensions",
     {"fabric.topology=dimensions", "fabric.dimensions=[\"Ring(4)\",\"Switch(4)\"]", "fabric.link.lanes=4"}},
};

struct Work {
  collectives::AlgorithmName algorithm;
  CollectiveOp op;
  Overrides fields = {};
};

const std::vector<Work> kWork = {
    {"ring", CollectiveOp::kAllReduce},       {"ring", CollectiveOp::kAllgatherReduceScatter},
    {"tree", CollectiveOp::kAllReduce},       {"nccl", CollectiveOp::kAllReduce},
    {"in-network", CollectiveOp::kAllReduce}, {"hierarchical", CollectiveOp::kAllgather},
    {"multicast", CollectiveOp::kAllgather},  {"dimensions", CollectiveOp::kAllToAll},
    {"dimensions", CollectiveOp::kAllReduce},
};

/// Those whose room is short, or that are two.
const std::vector<Work> kCloseWork = {
    {"multicast", CollectiveOp::kAllgatherReduceScatter},
    {"ring", CollectiveOp::kBroadcast, {"collectives.broadcast.algorithm=chain"}},
    {"ring", CollectiveOp::kBroadcast, {"collectives.broadcast.algorithm=k-nomial"}},
};

struct Improvement {
  std::string name;
  Overrides before;
  Overrides after;
};

const std::vector<Improvement> kImprovements = {
    {"link rate", {}, {"fabric.link.rate=400Gbps"}},
    {"link latency", {}, {"fabric.link.propagation=20ns"}},
    {"buffer", {"fabric.link.buffer=128KiB"}, {"fabric.link.buffer=1MiB"}},
    {"switch latency", {}, {"fabric.switch.latency=100ns"}},
    {"memory rate", {"accelerator.hbm.rate=13400Gbps"}, {}},
    {"PCI Express", {"nic.pcie.generation=4"}, {}},
    {"read-ahead", {}, {"nic.read_ahead=4MiB"}},
    {"read latency", {}, {"nic.read_latency=100ns"}},
    {"message cost", {}, {"nic.message_cost=5ns"}},
};

/// In microseconds, by size.
std::vector<double> measure(const std::string& name, const Overrides& fields, CollectiveOp op,
                            const std::vector<std::uint64_t>& sizes, bool warm_up) {
  test::fresh_kernel();
  Document document = Document::from_text(kMachine, name, fields);
  MachineConfig config;
  document.root().read(config);
  Machine machine(config);
  std::vector<double> us;
  for (const CollectiveResult& result : run_collective(machine, op, sizes, ElementType::kFp32, nullptr, warm_up)) {
    us.push_back(static_cast<double>(result.time.count()) * 1e-6);
  }
  return us;
}

/// By kSizes.
std::vector<double> times(const Network& network, const Work& work, const std::string& segment, const Overrides& more) {
  Overrides all = network.fields;
  all.push_back("fabric.segment=" + segment);
  all.push_back("collectives.algorithm=" + std::string(name_of(work.algorithm)));
  all.insert(all.end(), work.fields.begin(), work.fields.end());
  all.insert(all.end(), more.begin(), more.end());
  static std::map<std::pair<CollectiveOp, Overrides>, std::vector<double>> known;
  std::vector<double>& us = known[{work.op, all}];
  const bool warm_up = work.op != CollectiveOp::kBroadcast;  // connections of trees are made in the first one
  if (us.empty()) us = measure(network.name, all, work.op, kSizes, warm_up);
  return us;
}

std::string described(const Network& network, const Work& work) {
  std::string text =
      network.name + ", " + std::string(name_of(work.op)) + " by " + std::string(name_of(work.algorithm));
  for (const std::string& field : work.fields) text += ", " + field;
  return text;
}

/// What differs by more than 1 % all the same, how much at the most, and why.
struct Exception {
  std::string of;  ///< a part of what is described
  double most;
  const char* why;
};

const char* const kOrder = "nanoseconds decide which chunk or child comes first, as in any list schedule (Graham 1969)";
const std::vector<Exception> kSlower = {
    {"all_reduce by nccl", 0.025, kOrder},
    {"all_reduce by tree", 0.015, kOrder},
    {"all_to_all by dimensions", 0.09, kOrder},
    {"broadcast by ring", 0.05,
     "room for two segments: the pipeline stands when news of room meets a segment on its way"},
    {"all_gather+reduce_scatter by multicast", 0.03,
     "of two that share links and interfaces one gains, the other loses"},
};

const char* const kMeet = "where flows meet in a switch its outputs take turns by segments";
const std::vector<Exception> kBySegment = {
    {"all_reduce by tree", 0.09, kMeet},
    {"all_reduce by nccl", 0.075, kMeet},
    {"dimensions, all_reduce by nccl", 0.08, kMeet},
    {"all_to_all by dimensions", 0.06, kMeet},
    {"torus, all_reduce by dimensions", 0.07, kMeet},
    {"hyperx, all_reduce by dimensions", 0.065, kMeet},
    {"dimensions, all_reduce by dimensions", 0.095, kMeet},
    {"torus, all_reduce by in-network", 0.015, kMeet},
    {"hyperx, all_reduce by in-network", 0.03, kMeet},
    {"broadcast by ring", 0.1, kMeet},
    {"all_gather+reduce_scatter by multicast", 0.04, kMeet},
};

double allowed(const std::vector<Exception>& exceptions, const std::string& described) {
  double most = kLittle;
  for (const Exception& exception : exceptions) {
    if (described.find(exception.of) != std::string::npos) most = std::max(most, exception.most);
  }
  return most;
}

void expect_no_slower(const std::vector<Work>& all) {
  std::mt19937 random(41);
  for (const Network& network : kNetworks) {
    for (const Work& work : all) {
      for (const std::string segment : {"4KiB", "64KiB"}) {
        const std::vector<double> usual = times(network, work, segment, {});
        std::vector<Improvement> drawn;
        std::sample(kImprovements.begin(), kImprovements.end(), std::back_inserter(drawn), 2, random);
        for (const Improvement& improvement : drawn) {
          const std::vector<double> before =
              improvement.before.empty() ? usual : times(network, work, segment, improvement.before);
          const std::vector<double> after =
              improvement.after.empty() ? usual : times(network, work, segment, improvement.after);
          for (std::size_t i = 0; i < kSizes.size(); ++i) {
            const std::string what = described(network, work) + ", segments of " + segment + ": " + improvement.name;
            EXPECT_LE(after[i] / before[i], 1 + allowed(kSlower, what))
                << what << ", " << kSizes[i] << " B: " << before[i] << " us, then " << after[i];
          }
        }
      }
    }
  }
}

TEST(FasterParts, MakeNoCollectiveSlower) {
  expect_no_slower(kWork);
}

TEST(FasterParts, MakeBroadcastsAndPairsNoSlower) {
  expect_no_slower(kCloseWork);
}

// A chunk begins when a place is free: what is faster may change the order, as in any list schedule (Graham 1969).
// Where one chunk is active there is no order to change.
TEST(FasterParts, ReorderActiveChunksWithinABound) {
  const Network nodes{"nodes of eight",
                      {"fabric.radix=64", "fabric.hosts_per_leaf=8", "per_node=8", "scale_up=nvswitch-h100",
                       "scale_up.fabric.segment=4KiB", "fabric.link=ndr-400g"}};
  const Work work{"dimensions", CollectiveOp::kAllToAll};
  for (const int active : {1, 2}) {
    const std::string chunks = "collectives.dimensions.active_chunks=" + std::to_string(active);
    const double usual = times(nodes, work, "4KiB", {chunks}).front();
    for (const std::string slower : {"nic.pcie.generation=1", "nic.pcie.generation=2",
                                     "scale_up.fabric.link.rate=400Gbps", "accelerator.hbm.rate=100Gbps",
                                     "nic.message_cost=100ns", "fabric.link.rate=25Gbps", "fabric.link.rate=50Gbps"}) {
      EXPECT_LE(usual / times(nodes, work, "4KiB", {chunks, slower}).front(), active == 1 ? 1 + kLittle : 1.09)
          << chunks << ": " << slower;
    }
  }
}

// What an end has for a link that is busy does not stand before what it has for others, however much a queue pair sends
// in its turn: an end with fifteen links, whose router is a part of it. Without room for each of them in the router it
// takes 1.8 times as long.
TEST(Turns, KeepNoLinkOfAnEndWaiting) {
  std::vector<double> us;
  for (const std::string turn : {"4KiB", "64KiB"}) {
    us.push_back(measure("ports",
                         {"fabric.topology=dimensions", "fabric.dimensions=[\"FullyConnected(16)\"]",
                          "fabric.link.buffer=0B", "nic={\"dma_rate\": \"4000Gbps\"}", "nic.turn=" + turn,
                          "collectives.algorithm=dimensions", "collectives.dimensions.all_to_all=[\"direct\"]"},
                         CollectiveOp::kAllToAll, {16 << 20}, true)
                     .front());
  }
  EXPECT_LE(us[1], us[0] * 1.1);
}

TEST(Segments, MoveCollectivesLittle) {
  std::vector<Work> all = kWork;
  all.insert(all.end(), kCloseWork.begin(), kCloseWork.end());
  for (const Network& network : kNetworks) {
    for (const Work& work : all) {
      const std::vector<double> small = times(network, work, "4KiB", {});
      const std::vector<double> large = times(network, work, "64KiB", {});
      for (std::size_t i = 0; i < kSizes.size(); ++i) {
        const std::string what = described(network, work);
        EXPECT_NEAR(large[i] / small[i], 1, allowed(kBySegment, what))
            << what << ", " << kSizes[i] << " B: " << small[i] << " us in segments of 4KiB, " << large[i]
            << " of 64KiB";
      }
    }
  }
}

}  // namespace
}  // namespace weft::platforms
