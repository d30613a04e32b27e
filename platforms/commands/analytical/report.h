// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sw/analytical/end_statistics.h"
#include "sw/analytical/network.h"

/// What the ends of an analytical network did, for summary.json, ends.csv and people.
namespace weft::platforms {

/// "mean", "worst" (the last end to finish, of several the one with most exposed communication) and "per_end", each
/// with the columns of end_table(). Values of the roofline are null where it was not used.
nlohmann::ordered_json end_statistics(const std::vector<analytical::EndReport>& ends);

/// The ends as CSV, a line each: end, finish_ns, exposed_communication_ns, computing_ns, communicating_ns,
/// overlapped_ns, remote_memory_ns, cpu_ns, idle_ns, communicated_bytes, compute_bound, compute_utilisation,
/// memory_utilisation, operation_intensity.
std::string end_table(const std::vector<analytical::EndReport>& ends);

/// Mean and worst end as a table.
std::string end_text(const std::vector<analytical::EndReport>& ends);

/// Of each dimension its block and size, the bytes that its links carried, and their share of what these could have
/// carried in `span`.
nlohmann::ordered_json dimension_summary(const analytical::Network& network, Time span);

}  // namespace weft::platforms
