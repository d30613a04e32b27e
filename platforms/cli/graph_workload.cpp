// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/graph_workload.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "platforms/config/text.h"
#include "platforms/import/astra_sim.h"
#include "traces/chakra/json.h"
#include "traces/chakra/ranks.h"
#include "traces/file_kind.h"
#include "traces/temporary.h"

namespace weft::platforms {

namespace fs = std::filesystem;
using dimensions::Operation;

namespace {

/// JSON that all ranks read is parsed once, not by each of them.
fs::path converted(const fs::path& trace) {
  if (!traces::is_trace_json(traces::guess(trace).kind)) return trace;
  fs::path made = trace_folder() / trace.filename().replace_extension(".et");
  chakra::convert_from_json(trace, made);
  return made;
}

}  // namespace

fs::path trace_folder() {
  static const auto folder = traces::Temporary::make_folder(fs::temp_directory_path());
  return folder.path();
}

dimensions::Workload read_graph_workload(Document& document, std::uint32_t ranks) {
  const auto beside = [&document](const std::string& path) { return fs::path(document.file()).parent_path() / path; };
  const Node workload = document.root().child("workload");
  if (!workload.exists()) workload.fail("what to run, such as {\"kind\": \"chakra\", \"traces\": \"PREFIX\"}");
  if (workload.require<std::string>("kind") != "chakra") workload.child("kind").fail("\"chakra\"");
  dimensions::Workload traces;
  traces.source = beside(workload.require<std::string>("traces"));
  traces.prefix = traces.source;
  std::error_code ignored;
  traces.shared = fs::is_regular_file(traces.source, ignored);
  if (traces.shared) traces.prefix = converted(traces.source);
  const fs::path beyond = chakra::find_rank(traces.prefix, ranks);
  if (!traces.shared && fs::exists(beyond, ignored)) {
    workload.child("traces").fail("traces of " + std::to_string(ranks) +
                                  " ranks, as many as there are accelerators, but " + "there is " +
                                  beyond.filename().string());
  }
  traces.groups = astra::groups_of(workload.child("groups"), ranks);
  const Node custom = workload.child("custom");
  for (const auto& [key, operation] : enum_names(Operation{})) {
    const auto prefix = custom.get<std::string>(key, "");
    if (!prefix.empty()) traces.custom[operation] = beside(prefix);
  }
  const Node nodes = workload.child("custom_nodes");
  if (!nodes.exists()) return traces;
  for (const auto& [id, prefix] : nodes.members()) {
    const std::optional<std::uint64_t> number = whole_number(id);
    if (!number) prefix.fail("the id of a node as its name");
    traces.custom_nodes[*number] = beside(nodes.require<std::string>(id));
  }
  return traces;
}

}  // namespace weft::platforms
