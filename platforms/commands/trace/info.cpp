// SPDX-License-Identifier: Apache-2.0
// weft trace info: counts what is in Chakra execution traces.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platforms/cli/output.h"
#include "platforms/commands/trace/trace.h"
#include "platforms/results/format.h"
#include "traces/chakra/statistics.h"

namespace weft::platforms {
namespace {

using chakra::TraceFiles;
using chakra::TraceStatistics;
using nlohmann::ordered_json;

struct InfoOptions {
  std::string trace;
  bool json = false;
};

std::string collective_name(int type) {
  return type < 0 ? "without comm_type" : chakra::name_of(static_cast<chakra::CollectiveType>(type));
}

std::string in_range(std::uint64_t least, std::uint64_t most) {
  return least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
}

ordered_json to_json(const TraceStatistics::Volume& volume) {
  return {{"nodes", volume.nodes}, {"bytes", volume.bytes}};
}

ordered_json to_json(const TraceStatistics& sums) {
  ordered_json types = ordered_json::object();
  for (const auto& [type, nodes] : sums.by_type) types[chakra::name_of(static_cast<chakra::NodeType>(type))] = nodes;
  ordered_json collectives = ordered_json::object();
  for (const auto& [type, volume] : sums.collectives) collectives[collective_name(type)] = to_json(volume);
  ordered_json json = {{"ranks", sums.ranks},
                       {"file_bytes", sums.file_bytes},
                       {"versions", sums.versions},
                       {"nodes", sums.nodes},
                       {"nodes_per_rank", {{"fewest", sums.fewest_nodes}, {"most", sums.most_nodes}}},
                       {"by_type", types},
                       {"collectives", collectives},
                       {"groups", sums.groups},
                       {"sends", to_json(sums.sends)},
                       {"receives", to_json(sums.receives)},
                       {"memory", to_json(sums.memory)},
                       {"operations", sums.operations},
                       {"compute_us", sums.compute_nanos * 1e-3},
                       {"cpu_operations", sums.cpu_operations},
                       {"control_dependencies", sums.control_dependencies},
                       {"data_dependencies", sums.data_dependencies},
                       {"longest_path", nullptr}};
  if (sums.longest_path >= 0) {
    json["longest_path"] = {{"nodes", sums.longest_path}, {"compute_us", sums.longest_path_nanos * 1e-3}};
  }
  return json;
}

void print_table(const std::string& trace, const TraceStatistics& sums) {
  std::vector<std::vector<std::string>> lines;
  const auto line = [&](std::string what, std::string count, std::string more = "") {
    lines.push_back({"  " + std::move(what), std::move(count), std::move(more)});
  };
  line("ranks", std::to_string(sums.ranks));
  if (sums.file_bytes > 0) line("files", short_bytes(static_cast<double>(sums.file_bytes)));
  line("nodes", std::to_string(sums.nodes),
       sums.ranks > 1 ? in_range(sums.fewest_nodes, sums.most_nodes) + " a rank" : "");
  for (const auto& [type, nodes] : sums.by_type) {
    line("  " + chakra::name_of(static_cast<chakra::NodeType>(type)), std::to_string(nodes));
  }
  if (sums.cpu_operations > 0) line("  of these on the CPU", std::to_string(sums.cpu_operations));
  const auto volume = [&](const std::string& what, const TraceStatistics::Volume& of) {
    if (of.nodes > 0) line(what, std::to_string(of.nodes), short_bytes(of.bytes));
  };
  for (const auto& [type, of] : sums.collectives) volume("collective " + collective_name(type), of);
  volume("sends", sums.sends);
  volume("receives", sums.receives);
  volume("memory loads and stores", sums.memory);
  std::vector<std::uint64_t> in_group;
  for (const auto& [group, count] : sums.groups) {
    if (!group.empty()) in_group.push_back(count);
  }
  if (!in_group.empty()) {
    const auto [fewest, most] = std::minmax_element(in_group.begin(), in_group.end());
    line("communicator groups", std::to_string(in_group.size()), in_range(*fewest, *most) + " collectives each");
  }
  line("dependencies", std::to_string(sums.control_dependencies + sums.data_dependencies),
       sums.control_dependencies > 0 ? fmt::format("{} of control", sums.control_dependencies) : "");
  if (sums.operations > 0) line("floating-point operations", fmt::format("{:.6g}", sums.operations));
  line("compute, sum of durations", fmt::format("{:.3f} us", sums.compute_nanos * 1e-3));
  if (sums.longest_path >= 0) {
    line("longest path", fmt::format("{} nodes", sums.longest_path),
         fmt::format("{:.3f} us of compute", sums.longest_path_nanos * 1e-3));
  } else {
    line("longest path", "not known: nodes come before those they depend on");
  }
  print(trace + "\n" + in_columns(lines));
}

int info(const InfoOptions& options) {
  const TraceFiles files = chakra::find_trace(options.trace);
  const TraceStatistics sums = chakra::statistics(files, read_groups_beside(files, options.trace, "", std::nullopt));
  warn_of_missing(files);
  if (options.json) {
    ordered_json json = to_json(sums);
    json["missing_ranks"] = files.missing;
    print_json(json);
  } else {
    print_table(options.trace, sums);
  }
  return kDone;
}

}  // namespace

Command trace_info_command(const Arguments& parent) {
  auto options = std::make_shared<InfoOptions>();
  const Arguments app = parent.add_subcommand("info", "Counts nodes, bytes and operations");
  app.add_option("TRACE", options->trace, kTraceArgument).type_name("FILE").required();
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return info(*options); }};
}

}  // namespace weft::platforms
