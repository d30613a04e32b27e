// SPDX-License-Identifier: Apache-2.0
// Machines whose memory is modelled to the bank, against the same ones in closed form.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "platforms/results/energy.h"
#include "sw/schedules/fsdp.h"
#include "tests/support/benches/machine_checkers.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;
using memory::MemoryName;

/// Two nodes of two, each accelerator with five stacks of HBM2, 1,280 GB/s.
MachineConfig small_machine(const MemoryName& detail, bool data) {
  MachineConfig config;
  config.accelerators = 4;
  config.per_node = 2;
  config.data = data;
  config.accelerator.hbm.stacks.count = 5;
  config.accelerator.hbm.stacks.channels = 8;
  config.accelerator.hbm.capacity = 40_GiB;
  config.accelerator.hbm.rate = 1280_GBps;
  config.accelerator.hbm.detail = detail;
  return config;
}

/// What a collective took, and what it left at the beginning of each memory.
struct Ended {
  Time time;
  std::int64_t wrong = 0;
  std::vector<std::vector<std::byte>> contents;
};

Ended collective_on(const MemoryName& detail, CollectiveOp op, const collectives::AlgorithmName& algorithm, bool pcie) {
  test::fresh_kernel();
  constexpr std::uint64_t kLook = 32 << 20;
  MachineConfig config = small_machine(detail, true);
  config.collectives.algorithm = algorithm;
  if (pcie) config.nic.pcie.generation = 5;
  test::MachineCheckers checkers;
  Machine machine(config, std::nullopt, checkers.wire());
  const auto rows = run_collective(machine, op, {2 << 20}, ElementType::kFp32);
  checkers.expect_rules_kept({"nic", "port"});
  Ended ended{rows[0].time, rows[0].wrong, {}};
  for (int rank = 0; rank < machine.size(); ++rank) {
    ended.contents.emplace_back(kLook);
    machine.memory(rank).store().read(0, ended.contents.back().data(), kLook);
  }
  return ended;
}

TEST(BankMemory, CollectivesLeaveTheSameBytesAndTakeTheSameTime) {
  for (const bool pcie : {false, true}) {
    for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllgather, CollectiveOp::kReduceScatter}) {
      const Ended bank = collective_on("bank", op, "ring", pcie);
      const Ended stream = collective_on("stream", op, "ring", pcie);
      EXPECT_EQ(bank.wrong, 0);
      EXPECT_EQ(stream.wrong, 0);
      EXPECT_TRUE(bank.contents == stream.contents) << name_of(op);
      const double ratio = static_cast<double>(stream.time.count()) / static_cast<double>(bank.time.count());
      EXPECT_NEAR(ratio, 1, 0.05) << name_of(op) << (pcie ? " over PCIe" : "");
      std::printf("%-12s %-5s stream %9.3f us, bank %9.3f us, %+.1f %%\n", std::string(name_of(op)).c_str(),
                  pcie ? "PCIe" : "", static_cast<double>(stream.time.count()) * 1e-6,
                  static_cast<double>(bank.time.count()) * 1e-6, (ratio - 1) * 100);
    }
  }
}

TEST(BankMemory, TrainingTakesTheSameTimeAndTellsTheSpeeds) {
  struct Step {
    Time time;
    double seconds = 0;
    std::int64_t bytes = 0;
    EnergyAccount energy;
  };
  const auto run = [](const MemoryName& detail) {
    test::fresh_kernel();
    const MachineConfig config = small_machine(detail, false);
    Machine machine(config);
    schedules::FsdpConfig workload;
    workload.model = "nano";
    workload.sequences = 1;
    workload.sequence = 32;
    schedules::Fsdp fsdp(machine.ranks(), workload, config.collectives, config.accelerator.array.compute);
    fsdp.start();
    const auto begin = std::chrono::steady_clock::now();
    machine.run();
    Step step;
    step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    step.time = fsdp.result().steps.back();
    for (int i = 0; i < machine.size(); ++i) {
      for (std::size_t m = 0; m < machine.memory(i).masters(); ++m) {
        const memory::Memory::Traffic traffic = machine.memory(i).traffic(m);
        step.bytes += traffic.read_bytes + traffic.written_bytes;
      }
    }
    step.energy = account_energy(machine, machine.dispatcher().now());
    if (detail == "bank") {
      // By master, and as the memories count their commands.
      double commands = 0;
      for (int i = 0; i < machine.size(); ++i) {
        commands += dynamic_cast<memory::BankHbm&>(machine.memory(i)).energy().commands() * 1e-12;
      }
      EXPECT_NEAR(step.energy.all_accelerators().hbm / commands, 1, 1e-9);
    }
    return step;
  };
  const Step bank = run("bank");
  const Step stream = run("stream");
  EXPECT_EQ(bank.bytes, stream.bytes);
  const double ratio = static_cast<double>(stream.time.count()) / static_cast<double>(bank.time.count());
  EXPECT_NEAR(ratio, 1, 0.05);
  const double energies = stream.energy.all_accelerators().hbm / bank.energy.all_accelerators().hbm;
  EXPECT_NEAR(energies, 1, 0.1);
  std::printf("HBM of the FSDP step: stream %.4f mJ, bank %.4f mJ\n", stream.energy.all_accelerators().hbm * 1e3,
              bank.energy.all_accelerators().hbm * 1e3);
  std::printf(
      "FSDP step: stream %.3f us, bank %.3f us, %+.1f %%; %.1f MB; stream %.0f times as fast (%.3f s, %.3f s)\n",
      static_cast<double>(stream.time.count()) * 1e-6, static_cast<double>(bank.time.count()) * 1e-6, (ratio - 1) * 100,
      static_cast<double>(bank.bytes) * 1e-6, bank.seconds / stream.seconds, stream.seconds, bank.seconds);
}

TEST(BankMemory, IsTheSameOnEveryRun) {
  const auto digest = [](std::optional<std::uint32_t> shuffle) {
    test::fresh_kernel();
    Machine machine(small_machine("bank", false), shuffle);
    run_collective(machine, CollectiveOp::kAllReduce, {256 << 10}, ElementType::kFp32);
    return machine.dispatcher().digest();
  };
  EXPECT_EQ(digest(std::nullopt), digest(std::nullopt));
  EXPECT_EQ(digest(std::nullopt), digest(7));
}

}  // namespace
}  // namespace weft::platforms
