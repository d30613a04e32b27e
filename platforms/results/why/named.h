// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "platforms/results/why/field_values.h"

/// What why.json has, as tables and sentences name it.
namespace weft::platforms {

struct NamedFlow {
  std::string name;  ///< "nic0 to nic4"
  double share = 0;
  std::int64_t flows = 0;  ///< that bear this name: what goes to several ends has no other
};
/// The flows that why.json has of a link, those of one name together, the largest first.
[[nodiscard]] std::vector<NamedFlow> flows_of(const nlohmann::ordered_json& link);

/// "all_reduce of 73.6 MiB": the collective that groups of workloads spend most of their time in, if that is more than
/// half of it; else empty.
[[nodiscard]] std::string most_of_groups(const nlohmann::ordered_json& why);

/// Fields that set how long programs let time pass on the path, with their values: "workload.bandwidth 10MHz". Those of
/// a tenth of that time or more, as far as threads tell which field they follow.
[[nodiscard]] std::string fields_of_programs(const nlohmann::ordered_json& why, const FieldValues& values);

/// Of bytes per second, with a unit that suits it: "369.5 GB/s".
[[nodiscard]] std::string rate_in_bytes(double bytes_per_s);

}  // namespace weft::platforms
