// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"

/// What `weft collective` says of a row beside its time.
namespace weft::platforms {

/// The phases of multicasts as a table of lines that begin with "#", one for each row that has them; empty if none has.
[[nodiscard]] std::string phases_text(const std::vector<CollectiveResult>& results);
/// What compressors did as a table of the same kind.
[[nodiscard]] std::string compression_text(const std::vector<CollectiveResult>& results);
/// `rank`, and the microseconds of each phase.
[[nodiscard]] nlohmann::ordered_json to_json(const MulticastTimes& times);

/// Chunks of multicasts that had to be fetched, by what most likely, and what avoids it; empty if there were none.
[[nodiscard]] std::string fetched_text(const std::vector<CollectiveResult>& results, Machine& machine);
/// The same of all that the machine has run.
[[nodiscard]] std::string fetched_text(Machine& machine);

/// What links carried as a table of the same kind, in MB and, all of them, in times the row's bytes; within nodes
/// where the machine has nodes of several accelerators.
[[nodiscard]] std::string traffic_text(const std::vector<CollectiveResult>& results, bool has_nodes);
/// By network and kind of link, in bytes.
[[nodiscard]] nlohmann::ordered_json to_json(const MachineTraffic& traffic, bool has_nodes);

}  // namespace weft::platforms
