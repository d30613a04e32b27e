// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// What `weft bench` measures. Each runs once in a process, which must be fresh.
namespace weft::platforms {

/// Names of the measurements, in the order of the table; or `all`, with those that it leaves out because they take
/// long.
std::vector<std::string> bench_loads(bool all);

/// Runs one of them; `quick` makes it ten times shorter where it can be. Throws UsageError for an unknown name.
nlohmann::ordered_json run_bench_load(const std::string& name, bool quick);

}  // namespace weft::platforms
