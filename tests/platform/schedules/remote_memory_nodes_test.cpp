// SPDX-License-Identifier: Apache-2.0
// Memory nodes of execution graphs on machines with remote memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/memory/remote/cxl_pool.h"
#include "hw/memory/remote/remote_memory.h"
#include "platforms/machine/machine.h"
#include "sw/schedules/graph/graph.h"
#include "tests/support/chakra.h"
#include "tests/support/kernel.h"
#include "tests/support/reports.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using chakra::Attribute;
using chakra::Node;
using chakra::NodeType;
using schedules::GraphConfig;
using schedules::GraphEngine;

Node memory_node(std::uint64_t id, std::vector<std::uint64_t> depends, NodeType type, std::int64_t bytes,
                 bool in_switch = false, const std::string& group = "") {
  Node node = test::chakra_node(id, std::move(depends), type);
  node.attributes = {Attribute::boolean("is_cpu_op", false), Attribute::integer("tensor_size", bytes)};
  if (in_switch) node.attributes.push_back(Attribute::boolean("in_switch", true));
  if (!group.empty()) node.attributes.push_back(Attribute::text("pg_name", group));
  return node;
}

/// With remote memory at 100 GB/s and 1 us.
MachineConfig machine_with(const char* kind, int accelerators = 4, int per_node = 2) {
  MachineConfig config;
  config.accelerators = accelerators;
  config.per_node = per_node;
  config.fabric.topology = fabric::Shape::kSwitch;
  config.remote_memory.kind = kind;
  config.remote_memory.sections.of<memory::RemoteMemory::Hierarchy>().groups = 4;
  config.remote_memory.sections.of<memory::RemoteMemory::Hierarchy>().switches = 2;
  return config;
}

class RemoteMemoryNodes : public test::ChakraTest {
 protected:
  struct Ran {
    std::vector<Time> finished;
    std::int64_t wrong = 0;
    std::uint64_t transfers = 0;
    std::uint64_t digest = 0;
  };

  /// All ranks execute `w.0.et` if it is `shared`, else each its own.
  Ran run(const MachineConfig& config, const std::filesystem::path& traces, bool shared = true,
          GraphConfig graph = {}) {
    test::fresh_kernel();
    Machine machine(config);
    dimensions::Workload workload;
    workload.prefix = traces;
    workload.shared = shared;
    workload.groups["pair"] = {1, 2};
    GraphEngine engine(machine.ranks(), graph, config.collectives, config.accelerator.array.compute, workload);
    engine.start();
    const test::ExpectReports reports;  // SystemC's own of what comes out of run()
    machine.run();
    EXPECT_TRUE(reports.messages().empty());
    const schedules::GraphResult result = engine.result();
    return {result.finished, result.wrong, result.transfers, machine.dispatcher().digest()};
  }
  /// What the run says to a trace of that one node.
  std::string error_of(const MachineConfig& config, const Node& node) {
    write({node});
    try {
      run(config, file());
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing";
  }
};

void expect_part(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(RemoteMemoryNodes, TakeTheirPlaceAmongTheOthers) {
  write({memory_node(0, {}, NodeType::kMemoryLoad, 10 << 20), memory_node(1, {0}, NodeType::kMemoryStore, 10 << 20)});
  const Ran ran = run(machine_with("per-accelerator"), file());
  // Each 1 us and 104.86 us at the memory, the HBM's latency and last chunk, and what firmware and DMA begin with.
  for (const Time time : ran.finished) {
    EXPECT_GT(time, 2 * 105'858_ns);
    EXPECT_LT(time, 2 * 105'858_ns + 5_us);
  }
  EXPECT_EQ(ran.transfers, 8u);
}

TEST_F(RemoteMemoryNodes, RunBesideKernelsAndCollectives) {
  Node kernel = test::chakra_node(0);
  kernel.attributes = {Attribute::boolean("is_cpu_op", false)};
  kernel.duration_micros = 100;
  write({kernel, memory_node(1, {}, NodeType::kMemoryLoad, 10 << 20),
         memory_node(2, {}, NodeType::kMemoryStore, 5 << 20),
         test::collective_node(3, chakra::CollectiveType::kAllReduce, 1 << 20)});
  const MachineConfig config = machine_with("per-accelerator");
  // The memory serves both: 157 us. With one at a time the store follows the load.
  GraphConfig graph;
  graph.memories = 0;
  for (const GraphConfig& each : {graph, GraphConfig()}) {
    const Ran ran = run(config, file(), true, each);
    for (const Time time : ran.finished) {
      EXPECT_GT(time, 157'286_ns);
      EXPECT_LT(time, 166_us);
    }
  }
}

/// Pattern against pattern, at both ends, whatever holds up whom.
TEST_F(RemoteMemoryNodes, MoveRealBytes) {
  std::vector<Node> nodes;
  for (std::uint64_t i = 0; i < 12; ++i) {
    nodes.push_back(memory_node(i, i >= 2 ? std::vector<std::uint64_t>{i - 2} : std::vector<std::uint64_t>(),
                                i % 3 == 0 ? NodeType::kMemoryStore : NodeType::kMemoryLoad,
                                static_cast<std::int64_t>(i * 7777)));
  }
  write(nodes);
  GraphConfig graph;
  graph.memories = 0;
  for (const char* kind : {"per-accelerator", "per-node", "pool", "hierarchical", "cxl"}) {
    MachineConfig config = machine_with(kind);
    config.remote_memory.sections.of<memory::CxlPool::Config>().sharers = 2;
    config.data = true;
    config.remote_memory.chunk = 4_KiB;
    for (const Time stall : {Time(), 3_us}) {
      config.stall = stall;
      const Ran ran = run(config, file(), true, graph);
      EXPECT_EQ(ran.wrong, 0) << kind;
      EXPECT_EQ(ran.transfers, 48u);
      EXPECT_EQ(run(config, file(), true, graph).digest, ran.digest);
    }
  }
}

/// The engine that moves them speaks to an accelerator's memory as its other masters do, whatever is at the other end.
TEST_F(RemoteMemoryNodes, MoveRealBytesOfMemoryToTheBank) {
  write({memory_node(0, {}, NodeType::kMemoryStore, 70'000), memory_node(1, {}, NodeType::kMemoryLoad, 50'000)});
  for (const char* kind : {"per-accelerator", "hierarchical", "cxl"}) {
    MachineConfig config = machine_with(kind);
    config.remote_memory.sections.of<memory::CxlPool::Config>().sharers = 2;
    config.remote_memory.chunk = 4_KiB;
    config.data = true;
    config.accelerator.hbm.stacks.count = 5;
    config.accelerator.hbm.stacks.channels = 8;
    config.accelerator.hbm.capacity = 40_GiB;
    config.accelerator.hbm.rate = 1280_GBps;
    config.accelerator.hbm.detail = "bank";
    const Ran ran = run(config, file());
    EXPECT_EQ(ran.wrong, 0) << kind;
    EXPECT_EQ(ran.transfers, 8u) << kind;
  }
}

TEST_F(RemoteMemoryNodes, GatherAndReduceInTheSwitches) {
  std::vector<Node> everybody;
  for (std::uint64_t i = 0; i < 8; ++i) {
    everybody.push_back(memory_node(i, {}, i % 2 == 0 ? NodeType::kMemoryLoad : NodeType::kMemoryStore,
                                    static_cast<std::int64_t>(i * 5000 + 400), true));
  }
  std::vector<Node> members = everybody;
  members.push_back(memory_node(8, {}, NodeType::kMemoryStore, 30'000, true, "pair"));
  members.push_back(memory_node(9, {}, NodeType::kMemoryLoad, 1001, true, "pair"));
  for (int rank = 0; rank < 4; ++rank) {
    write(rank == 1 || rank == 2 ? members : everybody, "g." + std::to_string(rank) + ".et");
  }
  MachineConfig config = machine_with("hierarchical");
  config.data = true;
  config.remote_memory.chunk = 4_KiB;
  config.remote_memory.sections.of<memory::RemoteMemory::Hierarchy>().in_switch = true;
  GraphConfig graph;
  graph.memories = 0;
  for (const Time stall : {Time(), 3_us}) {
    config.stall = stall;
    for (const ElementType type : {ElementType::kFp32, ElementType::kBf16}) {
      graph.type = type;
      const Ran ran = run(config, folder_ / "g", false, graph);
      EXPECT_EQ(ran.wrong, 0);
      EXPECT_EQ(ran.transfers, 36u);
    }
  }
}

TEST_F(RemoteMemoryNodes, SayWhatIsWrong) {
  MachineConfig none = machine_with("none");
  const Node load = memory_node(0, {}, NodeType::kMemoryLoad, 1000);
  expect_part("w.0.et: node 0 'n0' moves remote memory, which this machine does not have", error_of(none, load));
  const MachineConfig pool = machine_with("pool");
  Node without = load;
  without.attributes.clear();
  expect_part("node 0 'n0' has no tensor_size", error_of(pool, without));
  Node number = load;
  number.attributes.push_back(Attribute::integer("in_switch", 1));
  expect_part("in_switch: expected a boolean", error_of(pool, number));
  const Node gather = memory_node(0, {}, NodeType::kMemoryLoad, 1000, true);
  expect_part("expected remote_memory.hierarchical.in_switch", error_of(pool, gather));
  MachineConfig switches = machine_with("hierarchical");
  switches.remote_memory.sections.of<memory::RemoteMemory::Hierarchy>().in_switch = true;
  expect_part("is of group \"trio\", which neither the metadata of the trace nor the workload's groups name",
              error_of(switches, memory_node(0, {}, NodeType::kMemoryLoad, 1000, true, "trio")));
  expect_part("to which rank 0 does not belong",
              error_of(switches, memory_node(0, {}, NodeType::kMemoryLoad, 1000, true, "pair")));
  expect_part("tensor_size: expected a multiple of the 4 bytes of an element",
              error_of(switches, memory_node(0, {}, NodeType::kMemoryStore, 1001, true)));
  // A quarter of the pool, of which half is for collectives.
  expect_part("a rank's part of remote memory needs 129 GiB, and ",
              error_of(switches, memory_node(0, {}, NodeType::kMemoryStore, 129LL << 30)));
}

TEST_F(RemoteMemoryNodes, NeedAPartForEach) {
  MachineConfig config = machine_with("pool");
  config.remote_memory.capacity = 3_MiB;
  try {
    const Machine machine(config);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "remote_memory.capacity");
    expect_part("a chunk of 1MiB for each of the 4 accelerators", error.expected());
  }
}

/// ASTRA-sim's own results for its arithmetic: t = latency + floor(bytes / rate), of one rank after the other where
/// they share a memory. Weft's memory has the same rate and latency, but pays the latency of several requests at once:
/// of the kth, ASTRA-sim's latency comes k times. On top Weft has what ASTRA-sim has not: firmware, the DMA engine's
/// start, and the way into HBM.
TEST_F(RemoteMemoryNodes, ComeInTheOrderOfAstraSimsProbes) {
  struct Probe {
    const char* name;
    const char* kind;
    std::int64_t first_ns;  ///< of ASTRA-sim, commit 518bd51, with 1 us and 100 GB/s
    std::int64_t last_ns;
    int sharers;
    bool computes;  ///< 5 us after the load
  };
  const Probe all[] = {{"memload8", "per-accelerator", 11485, 11485, 1, false},
                       {"memload8", "pool", 11485, 91880, 8, false},
                       {"memload_comp8", "per-accelerator", 16485, 16485, 1, true},
                       {"memload_comp8", "per-node", 16485, 50940, 4, true}};
  for (const Probe& probe : all) {
    SCOPED_TRACE(probe.name);
    std::vector<Node> nodes = {memory_node(0, {}, NodeType::kMemoryLoad, 1 << 20)};
    if (probe.computes) {
      nodes.push_back(test::chakra_node(1, {0}));
      nodes.back().set_duration_nanos(5000);
    }
    const Ran ran = run(machine_with(probe.kind, 8, 4), write(nodes));
    std::vector<Time> finished = ran.finished;
    std::sort(finished.begin(), finished.end());
    const Time latencies = 1_us * (probe.sharers - 1);
    const Time own = 3_us;  // 0.5 us start, 0.34 us into HBM after 0.5 us, firmware; measured 1.5 to 1.7 us
    EXPECT_GE(finished.front(), 1_ns * probe.first_ns);
    EXPECT_LE(finished.front(), 1_ns * probe.first_ns + own);
    EXPECT_GE(finished.back(), 1_ns * probe.last_ns - latencies);
    EXPECT_LE(finished.back(), 1_ns * probe.last_ns - latencies + own);
    // Those who share a memory one after the other, in the order of ranks, a transfer's time apart.
    for (std::size_t i = 1; i < ran.finished.size(); ++i) {
      if (i % static_cast<std::size_t>(probe.sharers) == 0) continue;
      const Time apart = ran.finished[i] - ran.finished[i - 1];
      EXPECT_GE(apart, 10'485_ns);
      EXPECT_LE(apart, 10'487_ns);
    }
  }
}

}  // namespace
}  // namespace weft::platforms
