// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/graph/trace_members.h"

#include <nlohmann/json.hpp>
#include <string>

#include "hw/core/fields.h"
#include "sw/dimensions/plan.h"

namespace weft::platforms {

using nlohmann::ordered_json;

std::vector<WorkloadMember> trace_members() {
  const ordered_json prefix = {{"type", "string"}};
  const ordered_json ranks = {{"type", {"array", "string"}}, {"items", {{"type", "integer"}, {"minimum", 0}}}};
  ordered_json by_operation = ordered_json::object();
  std::string operations;
  for (const auto& [name, operation] : enum_names(dimensions::Operation{})) {
    by_operation[std::string(name)] = prefix;
    operations += (operations.empty() ? "" : ", ") + std::string(name);
  }
  return {{"traces", "string",
           "Prefix of Chakra files, relative to the platform's file, or one file, .et or .json, that all ranks execute",
           prefix, true},
          {"groups",
           "object or string",
           "Lists of ranks by the names of groups, or a file with them; default: PREFIX.groups.json beside the traces, "
           "if it exists",
           {{"type", {"string", "object"}}, {"additionalProperties", ranks}}},
          {"custom",
           "object",
           "Prefixes of Chakra files that ranks execute in place of a collective: " + operations,
           {{"type", "object"}, {"properties", by_operation}, {"additionalProperties", false}}},
          {"custom_nodes",
           "object",
           "The same for single nodes, by their ids",
           {{"type", "object"}, {"patternProperties", {{"^[0-9]+$", prefix}}}, {"additionalProperties", false}}}};
}

}  // namespace weft::platforms
