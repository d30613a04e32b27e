// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "platforms/import/astra_sim.h"
#include "platforms/import/wired_network.h"

namespace weft::platforms::astra {

/// The same system as a machine of Weft's own models, as members of a platform: what ASTRA-sim's files give is set,
/// and what its arithmetic leaves out (NICs, copy engines, firmware, packet headers) is a default part's. Its rates are
/// of links, its latencies of a link, its endpoint delay the NIC's cost of a message, its peak what kernels reach, its
/// memory bandwidth what kernels and reductions get of memory beside what messages pass through.
///
/// Throws ConfigError for what the machine does not have, such as `replay-only`. Appends to the system's remarks what
/// has no effect.
nlohmann::ordered_json machine_of(System& system, bool rendezvous);

/// The machine on such a network in place of its dimensions' links: these are where collectives' algorithms run.
void rewire(nlohmann::ordered_json& machine, const System& system, const WiredNetwork& network);

/// How compute nodes are timed, as a member of the workload.
std::string compute_of(const System& system);

}  // namespace weft::platforms::astra
