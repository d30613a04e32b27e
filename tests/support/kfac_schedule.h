// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platforms/machine/machine.h"
#include "sw/schedules/kfac/kfac.h"
#include "sw/schedules/kfac/schedule.h"
#include "tests/support/kernel.h"

/// K-FAC schedules on machines of default parts.
namespace weft::test {

using namespace literals;

inline platforms::MachineConfig kfac_machine(int accelerators, int per_node = 1) {
  platforms::MachineConfig machine;
  machine.accelerators = accelerators;
  machine.per_node = per_node;
  machine.fabric.segment = 64_KiB;
  machine.fabric.link.buffer = 256_KiB;
  machine.fabric.link.rate = Rate(25'000'000'000);
  machine.scale_up.fabric.segment = 64_KiB;
  machine.scale_up.fabric.link.buffer = 256_KiB;
  return machine;
}

inline schedules::KfacConfig kfac_workload(schedules::ScheduleName algorithm) {
  schedules::KfacConfig config;
  config.batch = 4;
  config.algorithm = algorithm;
  return config;
}

struct KfacOutcome {
  schedules::KfacResult result;
  std::uint64_t digest;
  schedules::KfacDecisions decisions;
};

inline KfacOutcome run_kfac(const platforms::MachineConfig& machine_config, const schedules::KfacConfig& config) {
  fresh_kernel();
  platforms::Machine machine(machine_config);
  schedules::Kfac kfac(machine.ranks(), config, machine_config.collectives, machine_config.accelerator.array.compute);
  kfac.start();
  machine.run();
  return {kfac.result(), machine.dispatcher().digest(), kfac.decisions()};
}

inline double to_seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}

inline Time kfac_part(const schedules::KfacResult& result, schedules::KfacPart part) {
  return result.parts[static_cast<std::size_t>(part)];
}

}  // namespace weft::test
