// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "platforms/machine/machine.h"

/// What a machine's counters say after a run, for summary.json.
namespace weft::platforms {

/// Of each network, the links by what they join: their number, mean and highest utilisation, and bytes on the wire; and
/// the busiest links by name. Utilisation is the share of `span` in which a link was sending.
nlohmann::ordered_json link_summary(Machine& machine, Time span);

/// The same of the memories, by master: the share of `span` for which its traffic occupied the memory.
nlohmann::ordered_json memory_summary(Machine& machine, Time span);

/// Sums over the accelerators, NICs and scale-up ports of the machine.
nlohmann::ordered_json counter_summary(Machine& machine, Time span);

/// Events, hops, digest, and how fast they were simulated.
nlohmann::ordered_json simulator_summary(Machine& machine, double build_seconds, double run_seconds);

}  // namespace weft::platforms
