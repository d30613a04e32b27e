// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "platforms/results/run_results.h"

/// In what two runs differ, before anything ran.
namespace weft::platforms {

/// Of what was run, rows of {"what", "before", "after"}: Weft itself, the command, and of a collective its operation,
/// element type, sizes and warm-up. Of a run, what its summary has of the workload and config.json has not.
[[nodiscard]] nlohmann::ordered_json changed_work(const RunResults& base, const RunResults& other);

/// What a run is, so that its time can be compared with one of the same kind alone: "weft run (workload fsdp)".
[[nodiscard]] std::string kind_of_run(const RunResults& run);

struct ChangedFields {
  /// {"field", "before", "after"}; what somebody set comes before what parts and defaults say. An element of a list has
  /// one row, {"field", "element", "before", "after"}: "added" or "removed" with the values that somebody gave it,
  /// "changed" with those that differ. "order" is of a list that has the same elements in another order.
  nlohmann::ordered_json rows;
  /// Fields that one run alone has, where they are defaults: what follows from another row, or from another version.
  std::size_t defaults_of_one = 0;
};
/// Of config.json's `values`, without names and descriptions, and without the workload of what is a collective.
[[nodiscard]] ChangedFields changed_fields(const RunResults& base, const RunResults& other);

/// A value of a row in words: "400Gbps", "link leaf0>spine1, rate 0.1".
[[nodiscard]] std::string changed_text(const nlohmann::ordered_json& value);
/// The rows of both lists, for a table with three columns; at most `most` of the fields.
[[nodiscard]] std::vector<std::vector<std::string>> changed_lines(const nlohmann::ordered_json& work,
                                                                  const nlohmann::ordered_json& fields,
                                                                  std::size_t most);

}  // namespace weft::platforms
