// SPDX-License-Identifier: Apache-2.0
// The reduction lane's RTL in the place of the model: alone with random operands, and in switches of whole machines.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "Vweft_reduction_lane.h"
#include "hw/rtl/blocks.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/communicator.h"
#include "tests/support/benches/lane_bench.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;

constexpr std::size_t kChildren = WEFT_LANE_CHILDREN;
constexpr std::int64_t kLaneCycles = 3 * (kChildren - 1);  // hw/rtl/reduction_lane.sv says so

TEST(Cosimulation, TheLaneAddsWhatTheModelAddsWhateverComesWhen) {
  using Bench = test::LaneBench<Vweft_reduction_lane, kChildren, WEFT_LANE_BYTES>;
  std::vector<Time> heads;
  for (const bool data : {true, false}) {
    test::fresh_kernel();
    Bench bench(Frequency(700'000'000));
    const std::vector<Time> found = test::add_at_random(bench, 100, data);
    if (data) heads = found;
    EXPECT_EQ(found, heads);
  }
}

/// 16 hosts in four leaves under a spine: four children everywhere. The model's latency is that of the lane, and a
/// cycle of the adapter.
MachineConfig machine_of(const std::string& implementation, const std::vector<std::string>& switches) {
  static const bool once = [] {
    rtl::provide_blocks();
    return true;
  }();
  static_cast<void>(once);
  MachineConfig config;
  config.accelerators = 16;
  config.per_node = 1;
  config.fabric.radix = 16;
  config.fabric.hosts_per_leaf = 4;
  config.fabric.spines = 1;
  fabric::ReductionEngine::Config& reduction = config.fabric.switch_config.reduction;
  reduction.trees = 8;
  reduction.implementation = implementation;
  reduction.switches = switches;
  reduction.latency = reduction.low_latency = cycle_time(kLaneCycles + 1, reduction.clock);
  config.collectives.algorithm = "in-network";
  config.data = true;
  return config;
}

struct Outcome {
  Time end;
  std::int64_t cycles = 0;
  std::int64_t blocked = 0;
  std::int64_t held = 0;
  std::vector<std::vector<std::byte>> memories;
};

/// An AllReduce of any bits that are numbers, so that order and rounding show.
Outcome all_reduce(const MachineConfig& config, ElementType type, std::uint64_t bytes) {
  test::fresh_kernel();
  Machine machine(config);
  collectives::Communicator communicator(machine.ranks(), config.collectives, "test");
  const auto size = static_cast<std::size_t>(machine.size());
  std::vector<std::uint64_t> buffers(size);
  for (std::size_t r = 0; r < size; ++r) {
    firmware::Rank& rank = machine.rank(static_cast<int>(r));
    buffers[r] = rank.memory.allocate("buffer", bytes);
    if (config.data) {
      Random random(r, "contents");
      std::vector<std::byte> contents(bytes);
      for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
        // Exponents of all types are below their highest: no infinities and no NaNs.
        const auto word = static_cast<std::uint32_t>(random.next()) & 0xb7ffb7ff;
        std::memcpy(&contents[i], &word, 4);
      }
      machine.memory(static_cast<int>(r)).store().write(buffers[r], contents.data(), bytes);
    }
    rank.processor->spawn("rank", 0, communicator.all_reduce(static_cast<int>(r), buffers[r], bytes, type));
  }
  machine.run();
  Outcome outcome;
  outcome.end = machine.dispatcher().last_change();
  for (std::size_t s = 0; s < machine.network().switch_count(); ++s) {
    const fabric::ReductionEngine::Counters& counters = machine.network().switch_at(s).engine()->counters();
    outcome.cycles += counters.cycles;
    outcome.blocked += counters.blocked;
    outcome.held += counters.held;
  }
  for (std::size_t r = 0; config.data && r < size; ++r) {
    outcome.memories.emplace_back(bytes);
    machine.memory(static_cast<int>(r)).store().read(buffers[r], outcome.memories.back().data(), bytes);
  }
  return outcome;
}

TEST(Cosimulation, AnAllReduceWithRtlInOneSwitchLeavesTheSameMemoryWithinAPercentOfTheTime) {
  for (const auto& [name, type] : enum_names(ElementType())) {
    constexpr std::uint64_t kBytes = 40'004;
    const Outcome model = all_reduce(machine_of("model", {}), type, kBytes);
    const Outcome rtl = all_reduce(machine_of("rtl", {"spine0"}), type, kBytes);
    EXPECT_EQ(rtl.memories, model.memories) << name;
    EXPECT_NE(rtl.memories[0], std::vector<std::byte>(kBytes)) << name;
    EXPECT_EQ(model.cycles, 0);
    EXPECT_GE(rtl.cycles, static_cast<std::int64_t>(kBytes / 64));
    EXPECT_LT(rtl.cycles, static_cast<std::int64_t>(kBytes / 32)) << "the clock did not stand still between chunks";
    const auto time = static_cast<double>(model.end.count());
    EXPECT_NEAR(static_cast<double>(rtl.end.count()), time, 0.01 * time) << name;
  }
}

TEST(Cosimulation, RtlInEverySwitchDoesTheSameAndDataDoNotChangeItsTime) {
  constexpr std::uint64_t kBytes = 12'000;
  const Outcome model = all_reduce(machine_of("model", {}), ElementType::kBf16, kBytes);
  MachineConfig config = machine_of("rtl", {});
  const Outcome rtl = all_reduce(config, ElementType::kBf16, kBytes);
  EXPECT_EQ(rtl.memories, model.memories);
  const auto time = static_cast<double>(model.end.count());
  EXPECT_NEAR(static_cast<double>(rtl.end.count()), time, 0.01 * time);
  config.data = false;
  EXPECT_EQ(all_reduce(config, ElementType::kBf16, kBytes).end, rtl.end);
}

/// Three times slower than the links, it sets the pace.
TEST(Cosimulation, TheLaneRunsAtItsOwnClock) {
  constexpr std::uint64_t kBytes = 64 << 10;
  const MachineConfig normal = machine_of("rtl", {"spine0"});
  MachineConfig slow = normal;
  slow.fabric.switch_config.reduction.clock = 250_MHz;
  const Time longer =
      all_reduce(slow, ElementType::kFp32, kBytes).end - all_reduce(normal, ElementType::kFp32, kBytes).end;
  // A beat of 64 bytes a cycle, against that at 400 Gb/s.
  const Time least = cycle_time(kBytes / 64, 250_MHz) - transfer_time(Bytes(kBytes), normal.fabric.link.rate);
  EXPECT_GT(longer, least * 9 / 10);
  EXPECT_LT(longer, least * 12 / 10);
}

/// Room for two sums and two operands of a port: the lane is blocked and links lack credit, RTL and its model alike.
TEST(Cosimulation, BoundedBuffersHoldRtlAndItsModelUpAlike) {
  constexpr std::uint64_t kBytes = 256 << 10;
  MachineConfig model = machine_of("model", {});
  model.fabric.segment = Bytes(4096);
  const Outcome free = all_reduce(model, ElementType::kFp32, kBytes);
  EXPECT_EQ(free.blocked + free.held, 0);
  fabric::ReductionEngine::Config& reduction = model.fabric.switch_config.reduction;
  reduction.latency = cycle_time(kLaneCycles, reduction.clock);  // the adapter's cycle is in the model of the lane
  reduction.sum_buffer = reduction.operand_buffer = Bytes(2 * 4096);
  MachineConfig rtl = model;
  rtl.fabric.switch_config.reduction.implementation = "rtl";
  const Outcome modelled = all_reduce(model, ElementType::kFp32, kBytes);
  const Outcome real = all_reduce(rtl, ElementType::kFp32, kBytes);
  EXPECT_EQ(real.end, modelled.end);
  EXPECT_EQ(real.cycles, modelled.cycles);
  EXPECT_EQ(real.blocked, modelled.blocked);
  EXPECT_EQ(real.held, modelled.held);
  EXPECT_EQ(real.memories, free.memories);
  EXPECT_EQ(modelled.memories, free.memories);
  EXPECT_GT(modelled.blocked, 0);
  EXPECT_GT(modelled.held, 0);
  EXPECT_GT(modelled.end, free.end);
}

/// Rings over four leaves, whose links have room for two packets: outputs wait for credit, and inputs for outputs.
TEST(Cosimulation, ArbitersInRtlSendWhatTheirRuleSendsAtTheEdgesOfAClock) {
  constexpr std::uint64_t kBytes = 60'000;
  const auto run = [](const std::string& arbiter, const std::vector<std::string>& switches, bool data) {
    MachineConfig config = machine_of("model", {});
    config.collectives.algorithm = "ring";
    config.fabric.segment = 4_KiB;
    config.fabric.link.buffer = 9_KiB;
    config.fabric.switch_config.arbiter.implementation = arbiter;
    config.fabric.switch_config.arbiter.switches = switches;
    config.data = data;
    return all_reduce(config, ElementType::kFp32, kBytes);
  };
  const Outcome model = run("model", {}, true);
  const Outcome clocked = run("clocked", {}, true);
  const Outcome rtl = run("rtl", {}, true);
  EXPECT_EQ(rtl.memories, model.memories);
  EXPECT_EQ(rtl.end, clocked.end);
  EXPECT_EQ(run("rtl", {}, false).end, rtl.end);
  // Two cycles of each hop of a ring, at the most.
  EXPECT_GT(rtl.end, model.end);
  EXPECT_NEAR(static_cast<double>(rtl.end.count()), static_cast<double>(model.end.count()),
              0.01 * static_cast<double>(model.end.count()));
  const Time one = run("rtl", {"leaf2"}, true).end;
  EXPECT_GT(one, model.end);
  EXPECT_LT(one, rtl.end);
}

/// The path and what was expected.
std::string error_of(const MachineConfig& config) {
  test::fresh_kernel();
  try {
    Machine machine(config);
    const collectives::Communicator communicator(machine.ranks(), config.collectives, "test");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Cosimulation, SaysWhatItCannotDo) {
  MachineConfig config = machine_of("rtl", {});
  config.fabric.hosts_per_leaf = 8;
  EXPECT_EQ(error_of(config),
            "fabric.switch.reduction.implementation: expected model, or one that adds 8 operands, which a tree has in "
            "leaf0; got rtl, which adds 4 at the most");
  EXPECT_EQ(
      error_of(machine_of("rtl", {"spine0", "spine1"})),
      "fabric.switch.reduction.switches.1: expected a switch of the network, such as leaf0 or spine0, got spine1");
  EXPECT_EQ(error_of(machine_of("verilog", {})),
            "fabric.switch.reduction.implementation: expected one of model, rtl, got verilog");
}

TEST(Cosimulation, SaysWhatArbitersCannotDo) {
  const MachineConfig normal = machine_of("model", {});
  const auto error = [&](const std::string& arbiter, const auto& change) {
    MachineConfig config = normal;
    config.fabric.switch_config.arbiter.implementation = arbiter;
    change(config.fabric);
    return error_of(config);
  };
  const std::string path = "fabric.switch.arbiter.implementation: expected ";
  EXPECT_EQ(error("islip", [](auto& /*fabric*/) {}), path + "one of model, clocked, rtl, got islip");
  EXPECT_EQ(error("rtl", [](auto& fabric) { fabric.link.lanes = 4; }),
            path + "model, or one for 9 inputs and 4 lanes, which leaf0 has, its engine among them; got rtl, for " +
                std::to_string(WEFT_ARBITER_INPUTS) + " inputs and " + std::to_string(WEFT_ARBITER_LANES) + " lanes");
  const std::string turns = ": what is behind pins knows no more than turns, got clocked";
  EXPECT_EQ(error("clocked",
                  [](auto& fabric) {
                    fabric.switch_config.weights = {2, 1};
                  }),
            path + "model with switch.weights" + turns);
  EXPECT_EQ(error("clocked", [](auto& fabric) { fabric.switch_config.flow_queues = 8; }),
            path + "model with switch.flow_queues" + turns);
  EXPECT_EQ(error("clocked", [](auto& fabric) { fabric.switch_config.speedup = 2; }),
            path + "model with switch.speedup" + turns);
  EXPECT_EQ(error("clocked", [](auto& fabric) { fabric.switch_config.arbiter.switches = {"leaf9"}; }),
            "fabric.switch.arbiter.switches.0: expected a switch of the network, such as leaf0 or spine0, got leaf9");
}

}  // namespace
}  // namespace weft::platforms
