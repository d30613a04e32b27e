// SPDX-License-Identifier: Apache-2.0
// The energy of whole machines, against the closed form for what they move and compute.
#include "platforms/results/energy.h"

#include <gtest/gtest.h>

#include "hw/memory/remote/cxl_pool.h"
#include "platforms/jobs/collective_run.h"
#include "sw/schedules/fsdp.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;

double in_seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}

/// Two accelerators on one switch, whose figures are all different.
MachineConfig pair_with_figures() {
  MachineConfig machine;
  machine.accelerators = 2;
  machine.per_node = 1;
  machine.fabric.topology = fabric::Shape::kSwitch;
  machine.fabric.link.power.bit = 2_pJ;
  machine.fabric.link.power.idle = 3_W;
  machine.fabric.switch_config.power.bit = 5_pJ;
  machine.fabric.switch_config.power.idle = 100_W;
  machine.fabric.switch_config.power.port = 7_W;
  machine.nic.power.bit = 11_pJ;
  machine.nic.power.message = 13_pJ;
  machine.nic.power.idle = 17_W;
  machine.accelerator.array.compute.power.idle = 50_W;
  machine.accelerator.array.compute.power.memory_byte = 30_pJ;
  return machine;
}

TEST(Energy, OfAnAllgatherIsItsClosedForm) {
  constexpr std::uint64_t kBytes = 1 << 20;
  Machine machine(pair_with_figures());
  run_collective(machine, CollectiveOp::kAllgather, {kBytes}, ElementType::kFp32);
  const Time span = machine.dispatcher().last_change();
  const double time = in_seconds(span);
  const EnergyAccount energy = account_energy(machine, span);

  // Each rank has sent its half twice, to warm up and to be measured, and has received as much.
  const double payload = 2 * static_cast<double>(kBytes);
  EXPECT_DOUBLE_EQ(energy.all_accelerators().hbm, 2 * payload * 30e-12);
  EXPECT_DOUBLE_EQ(energy.all_accelerators().compute, 0);
  EXPECT_DOUBLE_EQ(energy.accelerators[0].idle, 50 * time);
  // What is not payload of the transport crosses the same wires: each byte two links and one switch.
  const double wire = static_cast<double>(machine.nic(0).transmitter().counters().wire_bytes +
                                          machine.nic(1).transmitter().counters().wire_bytes);
  EXPECT_GT(wire, payload);
  EXPECT_LT(wire, payload * 1.05);
  EXPECT_DOUBLE_EQ(energy.all_links().active, 2 * wire * 8 * 2e-12);
  EXPECT_DOUBLE_EQ(energy.all_switches().active, wire * 8 * 5e-12);
  const double messages =
      static_cast<double>(machine.nic(0).counters().messages_sent + machine.nic(1).counters().messages_sent);
  EXPECT_GT(messages, 4);
  EXPECT_DOUBLE_EQ(energy.nics.active, 2 * payload * 8 * 11e-12 + 2 * messages * 13e-12);
  // Two links of two transceivers, a switch with two ports, two NICs, two accelerators.
  EXPECT_DOUBLE_EQ(energy.all_links().idle, 2 * 2 * 3 * time);
  EXPECT_DOUBLE_EQ(energy.all_switches().idle, (100 + 2 * 7) * time);
  EXPECT_DOUBLE_EQ(energy.nics.idle, 2 * 17 * time);
  EXPECT_NEAR(energy.idle(), (12 + 114 + 34 + 100) * time, 1e-12);
  EXPECT_TRUE(energy.unknown().empty());
}

/// With stacks described, commands count in place of bytes, and the device says what they take.
TEST(Energy, OfHbmIsThatOfTheDevicesCommands) {
  const auto hbm = [](Energy read, Energy byte) {
    test::fresh_kernel();
    MachineConfig config = pair_with_figures();
    config.accelerator.array.compute.power.memory_byte = byte;
    memory::HbmStacks& stacks = config.accelerator.hbm.stacks;
    stacks.count = 5;
    stacks.device.energy = {Energy(), read, Energy(), Energy(), Energy(), Energy(), Power()};
    Machine machine(config);
    run_collective(machine, CollectiveOp::kAllgather, {1 << 20}, ElementType::kFp32);
    return account_energy(machine, machine.dispatcher().last_change()).all_accelerators().hbm;
  };
  const double once = hbm(32_pJ, 30_pJ);
  // Each half is read once by its NIC to warm up and once to be measured: a picojoule a byte.
  EXPECT_NEAR(once / (2 * (1 << 20) * 1e-12), 1, 0.02);
  EXPECT_NEAR(hbm(64_pJ, 30_pJ) / once, 2, 1e-9);
  EXPECT_DOUBLE_EQ(hbm(32_pJ, 60_pJ), once);
}

TEST(Energy, OfAStepIsThatOfItsKernelsAndBytes) {
  MachineConfig config;
  config.accelerators = 4;
  config.per_node = 2;
  config.scale_up.fabric.link.power.bit = 10_pJ;
  schedules::FsdpConfig workload;
  workload.model = "nano";
  workload.sequences = 2;
  workload.sequence = 256;
  Machine machine(config);
  schedules::Fsdp fsdp(machine.ranks(), workload, config.collectives, config.accelerator.array.compute);
  fsdp.start();
  machine.run();
  const Time span = machine.dispatcher().last_change();
  const EnergyAccount energy = account_energy(machine, span);

  double operations = 0;
  double memory = 0;
  const auto add = [&](const std::vector<schedules::PlannedKernel>& kernels) {
    for (const schedules::PlannedKernel& kernel : kernels) {
      operations += kernel.work.array_energy + kernel.work.moving_energy;
      memory += kernel.work.memory_energy;
    }
  };
  for (const schedules::Stage& stage : fsdp.plan().stages) {
    add(stage.kernels);
    add(stage.tail);
  }
  for (const schedules::Gather& gather : fsdp.plan().gathers) add(gather.before);
  for (const schedules::Scatter& scatter : fsdp.plan().scatters) add(scatter.sums);
  add(fsdp.plan().update(0).kernels());
  EXPECT_NEAR(energy.all_accelerators().compute / (4 * operations), 1, 1e-9);
  ASSERT_EQ(energy.hbm_by_master[0].first, "compute");
  EXPECT_NEAR(energy.hbm_by_master[0].second / (4 * memory), 1, 1e-9);
  // Copy engines and both kinds of ports move bytes as well.
  double masters = 0;
  for (const auto& [master, joules] : energy.hbm_by_master) {
    EXPECT_GT(joules, 0) << master;
    masters += joules;
  }
  EXPECT_NEAR(masters / energy.all_accelerators().hbm, 1, 1e-12);
  EXPECT_DOUBLE_EQ(energy.total(), energy.all_accelerators().total() + energy.networks[0].links.total() +
                                       energy.networks[0].switches.total() + energy.networks[1].links.total() +
                                       energy.networks[1].switches.total() + energy.nics.total());
  EXPECT_GT(energy.networks[1].links.active, 0);
  EXPECT_EQ(energy.unknown(),
            (std::vector<std::string>{"links of fabric", "switches of fabric", "switches of scale_up", "NICs"}));
}

TEST(Energy, OfAPoolIsThatOfItsLinksAndDevices) {
  MachineConfig config;
  config.accelerators = 2;
  config.per_node = 1;
  config.remote_memory.kind = "cxl";
  config.remote_memory.chunk = 16_KiB;
  auto& pool = config.remote_memory.sections.of<memory::CxlPool::Config>();
  pool.sharers = 2;
  pool.path = memory::CxlPath::kFar;
  pool.link.bit = 2_pJ;
  pool.device_link.bit = 3_pJ;
  pool.switch_config.idle = 5_W;
  pool.device.byte = 7_pJ;
  pool.device.idle = 11_W;
  schedules::FsdpConfig workload;
  workload.model = "nano";
  workload.sequences = 1;
  workload.sequence = 256;
  workload.offload.optimizer = true;
  workload.offload.piece = 32_KiB;
  Machine machine(config);
  schedules::Fsdp fsdp(machine.ranks(), workload, config.collectives, config.accelerator.array.compute);
  fsdp.start();
  machine.run();
  const Time span = machine.dispatcher().last_change();
  const EnergyAccount energy = account_energy(machine, span);

  // Moments come and go once, in chunks of 256 lines, and lines that do not fill one.
  const std::uint64_t moments = fsdp.result().remote_bytes;
  const auto lines = static_cast<std::int64_t>((moments + 63) / 64);
  std::int64_t wire = 0;
  for (const auto direction : {memory::CxlLink::kDown, memory::CxlLink::kUp}) {
    for (const bool reads : {false, true}) {
      const auto wire_of = [&](std::int64_t n) {
        return n == 0 ? 0 : memory::CxlLink::wire_bytes(memory::CxlFlit::k68, direction, reads, n);
      };
      wire += lines / 256 * wire_of(256) + wire_of(lines % 256);
    }
  }
  const double bytes = 2.0 * static_cast<double>(moments);
  EXPECT_NEAR(energy.pool.active / (2 * (static_cast<double>(wire) * 8 * 5e-12 + bytes * 7e-12)), 1, 0.01);
  EXPECT_NEAR(energy.pool.idle, 16 * in_seconds(span), 1e-12);
  const std::vector<std::string> fabric = {"links of fabric", "switches of fabric", "NICs"};
  EXPECT_EQ(energy.unknown(), fabric);  // none of the pool
}

/// What draws power all the time and says nothing of it, and memory beyond without any figure.
TEST(Energy, NamesRemoteMemoryWithoutFigures) {
  const auto unknown = [](const char* kind, memory::CxlPath path, Power device, Power switches, Energy bit) {
    test::fresh_kernel();
    MachineConfig config = pair_with_figures();
    config.remote_memory.kind = kind;
    config.remote_memory.chunk = 16_KiB;
    auto& pool = config.remote_memory.sections.of<memory::CxlPool::Config>();
    pool.sharers = 2;
    pool.path = path;
    pool.link.bit = bit;
    pool.device_link.bit = bit;
    pool.switch_config.idle = switches;
    pool.device.byte = Energy();
    pool.device.idle = device;
    Machine machine(config);
    return account_energy(machine, 1_us).unknown();
  };
  using Names = std::vector<std::string>;
  using memory::CxlPath;
  EXPECT_EQ(unknown("none", CxlPath::kFar, 0_W, 0_W, 0_pJ), Names{});
  for (const char* kind : {"per-accelerator", "per-node", "pool"}) {
    EXPECT_EQ(unknown(kind, CxlPath::kFar, 1_W, 1_W, 1_pJ), Names{"remote memory"});
  }
  EXPECT_EQ(unknown("cxl", CxlPath::kFar, 0_W, 0_W, 0_pJ), Names{"memory pools"});
  EXPECT_EQ(unknown("cxl", CxlPath::kFar, 0_W, 0_W, 1_pJ), (Names{"idle memory expanders", "idle CXL switches"}));
  EXPECT_EQ(unknown("cxl", CxlPath::kFar, 1_W, 0_W, 1_pJ), Names{"idle CXL switches"});
  EXPECT_EQ(unknown("cxl", CxlPath::kFar, 0_W, 1_W, 0_pJ), Names{"idle memory expanders"});
  EXPECT_EQ(unknown("cxl", CxlPath::kNear, 1_W, 0_W, 1_pJ), Names{});  // has none
}

}  // namespace
}  // namespace weft::platforms
