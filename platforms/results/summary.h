// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "platforms/machine/machine.h"
#include "platforms/results/energy.h"
#include "platforms/results/link_summary.h"
#include "platforms/results/stopwatch.h"

/// What a machine's counters say after a run, for summary.json.
namespace weft::platforms {

/// Counters of a machine at some time, from which what comes later is counted: as a workload prepares itself first.
struct Baseline {
  Time at;
  std::vector<std::vector<memory::Memory::Traffic>> memory;  ///< by accelerator and master
  std::vector<accelerator::Accelerator::Counters> accelerators;
  nlohmann::ordered_json interfaces;
  std::shared_ptr<const LinkBaseline> links;
  EnergyAccount energy;

  /// Adds `other`, of the same machine, so many times, but for the most that was open.
  void add(const Baseline& other, int times);
};
[[nodiscard]] Baseline take_baseline(Machine& machine, Time now);

/// Of the memories, by master: number, mean and highest utilisation, and bytes. Utilisation is the share of `span` for
/// which its traffic occupied the memory. And how much the rank with the most has allocated. `span` begins with
/// `since`, or with the run; banks, remote memory and pools are of the whole run.
nlohmann::ordered_json memory_summary(Machine& machine, Time span, const Baseline* since = nullptr);

/// Sums over the accelerators, NICs and scale-up ports of the machine; the most that was open at a time is that of the
/// whole run.
nlohmann::ordered_json counter_summary(Machine& machine, Time span, const Baseline* since = nullptr);

/// Of these the NICs and scale-up ports alone.
nlohmann::ordered_json interface_summary(Machine& machine);

/// Events, hops, digest, and how fast they were simulated: by time on the wall, and by that of the processor, which
/// does not depend on what else the computer does.
nlohmann::ordered_json simulator_summary(Machine& machine, double build_seconds, const Stopwatch& running);

}  // namespace weft::platforms
