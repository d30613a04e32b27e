// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/graph_workload.h"

#include <filesystem>

#include "platforms/import/astra_sim.h"

namespace weft::platforms {

namespace fs = std::filesystem;
using dimensions::Operation;

dimensions::Workload read_graph_workload(Document& document, std::uint32_t ranks) {
  const auto beside = [&document](const std::string& path) { return fs::path(document.file()).parent_path() / path; };
  const Node workload = document.root().child("workload");
  if (!workload.exists()) workload.fail("what to run, such as {\"kind\": \"chakra\", \"traces\": \"PREFIX\"}");
  if (workload.require<std::string>("kind") != "chakra") workload.child("kind").fail("\"chakra\"");
  dimensions::Workload traces;
  traces.prefix = beside(workload.require<std::string>("traces"));
  traces.groups = astra::groups_of(workload.child("groups"), ranks);
  const Node custom = workload.child("custom");
  for (const auto& [key, operation] : enum_names(Operation{})) {
    const auto prefix = custom.get<std::string>(key, "");
    if (!prefix.empty()) traces.custom[operation] = beside(prefix);
  }
  return traces;
}

}  // namespace weft::platforms
