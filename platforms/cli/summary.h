// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "platforms/machine/machine.h"

/// What a machine's counters say after a run, for summary.json.
namespace weft::platforms {

/// Of the memories, by master: number, mean and highest utilisation, and bytes. Utilisation is the share of `span` for
/// which its traffic occupied the memory. And how much the rank with the most has allocated.
nlohmann::ordered_json memory_summary(Machine& machine, Time span);

/// Sums over the accelerators, NICs and scale-up ports of the machine.
nlohmann::ordered_json counter_summary(Machine& machine, Time span);

/// Of these the NICs and scale-up ports alone.
nlohmann::ordered_json interface_summary(Machine& machine);

/// Events, hops, digest, and how fast they were simulated.
nlohmann::ordered_json simulator_summary(Machine& machine, double build_seconds, double run_seconds);

}  // namespace weft::platforms
