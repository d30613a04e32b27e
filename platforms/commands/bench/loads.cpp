// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/bench/loads.h"

#include <array>
#include <nlohmann/json.hpp>

#include "hw/core/random.h"
#include "hw/memory/dram/replay.h"
#include "platforms/cli/process.h"
#include "platforms/commands/bench/analytical_load.h"
#include "platforms/commands/bench/traffic_load.h"
#include "platforms/commands/command.h"
#include "platforms/config/document.h"
#include "platforms/config/field_visitor.h"
#include "platforms/machine/machine.h"
#include "platforms/machine/platform.h"
#include "platforms/results/format.h"
#include "platforms/results/stopwatch.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// Events that each post the next one up to 2 us later.
class Churn final : public sc_core::sc_module, public EventTarget {
 public:
  Churn(sc_core::sc_module_name name, Dispatcher& dispatcher, std::uint64_t pending, std::uint64_t events)
      : sc_module(name), dispatcher_(dispatcher), pending_(pending), left_(events) {
    dispatcher.attach(*this, this->name());
  }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override {
    if (left_ == 0) return;
    --left_;
    data = data * 6364136223846793005ULL + 1442695040888963407ULL;
    dispatcher_.post(now + Time(static_cast<std::int64_t>(data >> 43)), *this, tag, data);
  }

 private:
  void start_of_simulation() override {
    for (std::uint64_t i = 0; i < pending_; ++i) dispatcher_.post(Time(), *this, static_cast<std::uint32_t>(i), i);
  }

  Dispatcher& dispatcher_;
  std::uint64_t pending_;
  std::uint64_t left_;
};

ordered_json dispatcher_load(std::uint64_t events) {
  constexpr std::uint64_t kPending = 10'000;
  Dispatcher dispatcher("dispatcher");
  const Churn churn("churn", dispatcher, kPending, events);
  // Not in two steps: the dispatcher runs ahead, and would be done with the first.
  const Stopwatch watch;
  dispatcher.run_to_end();
  const double seconds = watch.seconds();
  const double cpu_seconds = watch.cpu_seconds();
  return {{"what", "dispatcher events, 10,000 pending"},
          {"unit", "events/s"},
          {"value", static_cast<double>(dispatcher.handled()) / seconds},
          {"value_by_cpu", static_cast<double>(dispatcher.handled()) / cpu_seconds},
          {"events", dispatcher.handled()},
          {"wall_s", seconds},
          {"cpu_s", cpu_seconds},
          {"digest", to_hex(dispatcher.digest())}};
}

/// The smallest two-level tree of leaves as wide as it is deep.
fabric::FabricConfig smallest_tree(int ends) {
  fabric::FabricConfig config;
  while (config.radix / 2 * config.radix < ends) config.radix *= 2;
  config.hosts_per_leaf = config.radix / 2;
  return config;
}

/// A two-level tree of switches that all have `radix` ports.
fabric::FabricConfig tree_of(int radix) {
  fabric::FabricConfig config;
  config.radix = radix;
  config.hosts_per_leaf = radix / 2;
  config.spines = radix / 2;
  config.link.lanes = 1;
  config.link.buffer = Bytes(64 << 10);
  return config;
}

/// With all that a switch does about congestion, and buffers that lanes share.
fabric::FabricConfig marking_tree_of(int radix) {
  fabric::FabricConfig config = tree_of(radix);
  config.link.lanes = 2;
  config.link.buffer = Bytes(16 << 10);
  config.link.shared = Bytes(48 << 10);
  config.switch_config.marking = {Bytes(32 << 10), Bytes(128 << 10), 0.1};
  return config;
}

/// Without credits: buffers that inputs share, from which pauses go back.
fabric::FabricConfig pausing_tree_of(int radix) {
  fabric::FabricConfig config = marking_tree_of(radix);
  config.link.buffer = Bytes(64 << 10);
  config.link.shared = Bytes();
  config.link.flow_control = fabric::FlowControl::kPfc;
  config.switch_config.buffer.shared = Bytes(1 << 20);
  return config;
}

ordered_json packet_load(std::uint32_t hosts, int radix, int messages) {
  return traffic_load("packet hops, fat tree of " + std::to_string(hosts) + " hosts",
                      {Pattern::kPermutation, hosts, messages}, tree_of(radix));
}

/// Packets of a queue pair over all paths, with what the guide sets for it: cut packets, marks and windows.
ordered_json sprayed_load(bool quick) {
  fabric::FabricConfig config = tree_of(16);
  config.routing = fabric::Routing::kEcmp;
  config.link.flow_control = fabric::FlowControl::kLossy;
  config.switch_config.buffer.trim = Bytes(256 << 10);
  config.switch_config.marking = {Bytes(64 << 10), Bytes(192 << 10), 1};
  Traffic traffic{Pattern::kPermutation, 128, quick ? 4 : 80};
  traffic.interface.transport = nic::Transport::kUet;
  traffic.interface.congestion = "nscc";
  return traffic_load("permutation, 128 hosts, Ultra Ethernet", traffic, config);
}

ordered_json load_128(const std::string& what, Pattern pattern, const fabric::FabricConfig& config, bool quick) {
  if (pattern == Pattern::kAllToAll) return traffic_load(what, {pattern, 128, quick ? 1 : 10, 64 << 10}, config);
  return traffic_load(what, {pattern, 128, quick ? 4 : 80}, config);
}

/// One AllReduce of 64 MiB round a ring of 1,024 ranks, the whole machine with its firmware: 2.1 million messages, 33.5
/// million packets of data. `quick` leaves all messages and makes them smaller.
ordered_json ring_load(bool quick) {
  MachineConfig config;
  config.accelerators = 1024;
  config.per_node = 1;
  config.fabric = smallest_tree(config.accelerators);
  config.collectives.channels = 1;
  Machine& machine = build_machine(config);
  collectives::Communicator communicator(machine.ranks(), config.collectives, "collectives");
  const std::uint64_t bytes = quick ? 1 << 20 : 64 << 20;
  std::uint64_t buffer = 0;
  for (firmware::Rank* rank : machine.ranks()) buffer = rank->memory.allocate("the collective's buffer", bytes);
  for (int r = 0; r < machine.size(); ++r) {
    machine.rank(r).processor->spawn("rank " + std::to_string(r), 0,
                                     communicator.all_reduce(r, buffer, bytes, ElementType::kFp32));
  }
  const Stopwatch watch;
  machine.run();
  const double seconds = watch.seconds();
  const double cpu_seconds = watch.cpu_seconds();
  std::int64_t messages = 0;
  for (int r = 0; r < machine.size(); ++r) messages += machine.nic(r).counters().messages_sent;
  const std::int64_t hops = machine.hops();
  return {{"what", "ring AllReduce over 1,024 ranks"},
          {"unit", "hops/s"},
          {"value", static_cast<double>(hops) / seconds},
          {"value_by_cpu", static_cast<double>(hops) / cpu_seconds},
          {"hops", hops},
          {"messages", messages},
          {"events", machine.dispatcher().handled()},
          {"most_resident_bytes", most_resident_bytes()},
          {"simulated_us", to_us(machine.dispatcher().last_change())},
          {"wall_s", seconds},
          {"cpu_s", cpu_seconds},
          {"digest", to_hex(machine.dispatcher().digest())}};
}

fabric::FabricConfig three_levels() {
  fabric::FabricConfig config;
  config.levels = 3;
  return config;
}

fabric::FabricConfig torus(std::vector<int> sizes) {
  fabric::FabricConfig config;
  config.topology = fabric::Shape::kTorus;
  config.sizes = std::move(sizes);
  return config;
}

fabric::FabricConfig all_joined(int ends) {
  fabric::FabricConfig config;
  config.topology = fabric::Shape::kDimensions;
  config.dimensions = {{"FullyConnected(" + std::to_string(ends) + ")", config.link, 1}};
  return config;
}

ordered_json machine_load(int accelerators, const fabric::FabricConfig& network, const std::string& of = "") {
  MachineConfig config;
  config.accelerators = accelerators;
  config.fabric = network;

  const double before = resident_bytes();
  const Stopwatch watch;
  build_machine(config);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  const double seconds = watch.seconds();
  const double cpu_seconds = watch.cpu_seconds();
  const double bytes = resident_bytes() - before;
  return {{"what", "machine of " + std::to_string(accelerators) + " accelerators" + of},
          {"unit", "bytes/accelerator"},
          {"value", bytes / accelerators},
          {"resident_bytes", bytes},
          {"elaboration_s", seconds},
          {"elaboration_cpu_s", cpu_seconds}};
}

/// 64 MiB over 1,024 ranks.
ordered_json analytical_ring_load(analytical::Congestion congestion, bool quick) {
  const analytical::Dimension ring{analytical::Block::kRing, 1024, 50, 500};
  const bool aware = congestion == analytical::Congestion::kAware;
  return analytical_load(std::string("analytical ring AllReduce, 1,024 ranks") + (aware ? ", aware" : ""), {ring},
                         {dimensions::Algorithm::kRing}, congestion, quick ? 1 : 4);
}

ordered_json analytical_cube_load(bool quick) {
  using analytical::Block;
  using dimensions::Algorithm;
  return analytical_load(
      "analytical AllReduce, 16 x 32 x 32 ends",
      {{Block::kRing, 16, 250, 50}, {Block::kFullyConnected, 32, 200, 500}, {Block::kSwitch, 32, 50, 2000}},
      {Algorithm::kRing, Algorithm::kDirect, Algorithm::kHalvingDoubling}, analytical::Congestion::kUnaware,
      quick ? 1 : 4);
}

/// Reads of a pseudo channel's bursts, one after the other or at random, as `weft memory` has them.
ordered_json memory_load(bool sequential, bool quick) {
  Document document = Document::from_text(R"({"device": "hbm3"})", "weft bench");
  dram::MemoryConfig config;
  document.root().read(config);
  dram::MemorySystem memory(config);
  dram::Replay replay(memory, 128);
  const std::uint64_t bursts =
      config.map().capacity() / static_cast<std::uint64_t>(config.device.geometry.burst.count());
  Random random(1, "weft bench");
  const std::int64_t requests = quick ? 200'000 : 10'000'000;
  const Stopwatch watch;
  for (std::int64_t i = 0; i < requests; ++i) {
    const std::uint64_t burst = sequential ? static_cast<std::uint64_t>(i) % bursts : random.next() % bursts;
    replay.request(false, burst * static_cast<std::uint64_t>(config.device.geometry.burst.count()));
  }
  replay.finish();
  const double seconds = watch.seconds();
  const double cpu_seconds = watch.cpu_seconds();
  return {{"what", std::string("HBM3 to the bank, ") + (sequential ? "sequential" : "random") + " reads"},
          {"unit", "requests/s"},
          {"value", static_cast<double>(requests) / seconds},
          {"value_by_cpu", static_cast<double>(requests) / cpu_seconds},
          {"wall_s", seconds},
          {"cpu_s", cpu_seconds}};
}

struct Load {
  std::string_view name;
  ordered_json (*run)(bool quick);
  bool by_name_alone = false;  ///< takes too long for the whole table, or stands beside one of it to be compared
};

constexpr std::array kLoads = {
    Load{"dispatcher", [](bool quick) { return dispatcher_load(quick ? 2'000'000 : 40'000'000); }},
    Load{"packets-128", [](bool quick) { return packet_load(128, 16, quick ? 4 : 80); }},
    Load{"packets-1024", [](bool quick) { return packet_load(1024, 64, quick ? 1 : 10); }},
    Load{
        "incast-128",
        [](bool quick) { return load_128("incast, 127 to 1, marking", Pattern::kIncast, marking_tree_of(16), quick); }},
    Load{"all-to-all-128",
         [](bool quick) {
           return load_128("all to all, 128 hosts, marking", Pattern::kAllToAll, marking_tree_of(16), quick);
         }},
    Load{"permutation-pfc-128",
         [](bool quick) {
           return load_128("permutation, 128 hosts, PFC, marking", Pattern::kPermutation, pausing_tree_of(16), quick);
         }},
    Load{"incast-plain-128",
         [](bool quick) { return load_128("incast, 127 to 1", Pattern::kIncast, tree_of(16), quick); }, true},
    Load{"incast-pfc-128",
         [](bool quick) {
           return load_128("incast, 127 to 1, PFC, marking", Pattern::kIncast, pausing_tree_of(16), quick);
         },
         true},
    Load{"all-to-all-plain-128",
         [](bool quick) { return load_128("all to all, 128 hosts", Pattern::kAllToAll, tree_of(16), quick); }, true},
    Load{"all-to-all-pfc-128",
         [](bool quick) {
           return load_128("all to all, 128 hosts, PFC, marking", Pattern::kAllToAll, pausing_tree_of(16), quick);
         },
         true},
    Load{"permutation-uet-128", sprayed_load, true},
    Load{"permutation-marking-128",
         [](bool quick) {
           return load_128("permutation, 128 hosts, marking", Pattern::kPermutation, marking_tree_of(16), quick);
         },
         true},
    Load{"ring-1024", ring_load, true},
    Load{"memory-sequential", [](bool quick) { return memory_load(true, quick); }},
    Load{"memory-random", [](bool quick) { return memory_load(false, quick); }},
    Load{"analytical-1024", [](bool quick) { return analytical_ring_load(analytical::Congestion::kUnaware, quick); }},
    Load{"analytical-aware-1024",
         [](bool quick) { return analytical_ring_load(analytical::Congestion::kAware, quick); }},
    Load{"analytical-16384", analytical_cube_load},
    Load{"machine-64", [](bool /*quick*/) { return machine_load(64, smallest_tree(64)); }},
    Load{"machine-1024", [](bool /*quick*/) { return machine_load(1024, smallest_tree(1024)); }},
    Load{"machine-16384", [](bool /*quick*/) { return machine_load(16384, smallest_tree(16384)); }},
    Load{"tree-16384",
         [](bool /*quick*/) { return machine_load(16384, three_levels(), " on a tree of three levels"); }},
    Load{"torus-16384",
         [](bool /*quick*/) {
           return machine_load(16384, torus({32, 32, 16}), " on a torus of 32 x 32 x 16");
         }},
    Load{"joined-256",
         [](bool /*quick*/) { return machine_load(256, all_joined(256), ", each joined to all others"); }},
};

}  // namespace

std::vector<std::string> bench_loads(bool all) {
  std::vector<std::string> names;
  for (const Load& load : kLoads) {
    if (all || !load.by_name_alone) names.emplace_back(load.name);
  }
  return names;
}

ordered_json run_bench_load(const std::string& name, bool quick) {
  for (const Load& load : kLoads) {
    if (load.name != name) continue;
    ordered_json result = {{"name", name}};
    result.update(load.run(quick));
    return result;
  }
  throw UsageError("--measure: expected a measurement's name, got \"" + name + "\"");
}

}  // namespace weft::platforms
