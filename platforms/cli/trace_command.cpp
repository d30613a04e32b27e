// SPDX-License-Identifier: Apache-2.0
// weft trace: looks at Chakra execution traces, checks them, and converts them from and to other formats.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "platforms/cli/command.h"
#include "platforms/cli/output.h"
#include "traces/chakra/check.h"
#include "traces/chakra/json.h"
#include "traces/chakra/statistics.h"
#include "traces/chakra/text_workload.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using chakra::TraceFiles;
using chakra::TraceStatistics;
using nlohmann::ordered_json;

/// Findings that people see; --json has up to CheckOptions::most.
constexpr std::size_t kShownFindings = 20;

struct TraceOptions {
  std::string trace;
  std::string to;
  std::uint64_t ranks = 0;
  std::uint64_t passes = 1;
  std::string time_unit = "ns";
  bool json = false;
};

std::string collective_name(int type) {
  return type < 0 ? "without comm_type" : chakra::name_of(static_cast<chakra::CollectiveType>(type));
}

std::string in_range(std::uint64_t least, std::uint64_t most) {
  return least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
}

void warn_of_missing(const TraceFiles& files) {
  if (files.missing.empty()) return;
  print_warnings({fmt::format("rank {} has no file, and {} in all have none below rank {}", files.missing.front(),
                              files.missing.size(), *files.files.back().rank)});
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
  line("files", short_bytes(static_cast<double>(sums.file_bytes)));
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

int info(const TraceOptions& options) {
  const TraceFiles files = chakra::find_trace(options.trace);
  const TraceStatistics sums = chakra::statistics(files.files);
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

int check(const TraceOptions& options) {
  const chakra::CheckReport report = chakra::check(chakra::find_trace(options.trace));
  if (options.json) {
    ordered_json findings = ordered_json::array();
    for (const chakra::Finding& finding : report.findings) {
      findings.push_back({{"file", finding.file},
                          {"node", nullptr},
                          {"name", finding.name},
                          {"problem", finding.problem},
                          {"expected", finding.expected}});
      if (finding.node) findings.back()["node"] = *finding.node;
    }
    print_json(ordered_json{
        {"ranks", report.ranks}, {"nodes", report.nodes}, {"found", report.found}, {"findings", std::move(findings)}});
  } else {
    const std::size_t shown = std::min(report.findings.size(), kShownFindings);
    for (std::size_t i = 0; i < shown; ++i) print(report.findings[i].text() + "\n");
    if (report.found > shown) print(fmt::format("... and {} more; --json lists them\n", report.found - shown));
    print(fmt::format("{} {}, {} nodes, {}\n", report.ranks, report.ranks == 1 ? "rank" : "ranks", report.nodes,
                      report.found == 0   ? std::string("no findings")
                      : report.found == 1 ? std::string("1 finding")
                                          : fmt::format("{} findings", report.found)));
  }
  return report.found == 0 ? kDone : kFailed;
}

void wrote(const std::vector<fs::path>& files) {
  if (files.size() == 1) {
    print("wrote " + files[0].string() + "\n");
  } else {
    print(fmt::format("wrote {} files, {} to {}\n", files.size(), files.front().string(), files.back().string()));
  }
}

/// Of each rank; a file is one rank.
int convert_ranks(const TraceOptions& options, const std::string& from, const std::string& to) {
  const bool to_json_files = to == ".json";
  const TraceFiles files = chakra::find_trace(options.trace, from);
  std::vector<fs::path> written;
  for (const chakra::RankFile& file : files.files) {
    written.emplace_back(files.is_prefix ? chakra::rank_file(options.to, *file.rank, to) : fs::path(options.to));
    if (to_json_files) {
      chakra::convert_to_json(file.file, written.back());
    } else {
      chakra::convert_from_json(file.file, written.back());
    }
  }
  warn_of_missing(files);
  wrote(written);
  return kDone;
}

int convert_text(const TraceOptions& options) {
  if (options.ranks == 0) throw UsageError("trace convert: expected --ranks N, for a text workload");
  chakra::TextConversion conversion;
  conversion.ranks = options.ranks;
  conversion.passes = options.passes;
  conversion.take_nanos_for_micros = options.time_unit == "us";
  wrote(chakra::convert_text_workload(chakra::read_text_workload(options.trace), options.to, conversion));
  return kDone;
}

int convert(const TraceOptions& options) {
  const std::string ending = fs::path(options.trace).extension().string();
  std::error_code ignored;
  const bool is_file = fs::is_regular_file(options.trace, ignored);
  try {
    if (is_file && ending == ".txt") return convert_text(options);
    if (options.ranks != 0) throw UsageError("--ranks: expected only with a text workload, FILE.txt");
    if (is_file && ending == ".json") return convert_ranks(options, ".json", ".et");
    if (is_file) return convert_ranks(options, ".et", ".json");
    // A prefix: its files tell the direction.
    const bool is_json = !fs::exists(chakra::rank_file(options.trace, 0), ignored) &&
                         fs::exists(chakra::rank_file(options.trace, 0, ".json"), ignored);
    return is_json ? convert_ranks(options, ".json", ".et") : convert_ranks(options, ".et", ".json");
  } catch (const std::system_error& error) {
    throw UsageError("trace convert: expected a place that can be written: " + std::string(error.what()));
  }
}

}  // namespace

Command trace_command(const Arguments& parent) {
  auto options = std::make_shared<TraceOptions>();
  const Arguments app = parent.add_subcommand("trace", "Looks at Chakra execution traces, checks and converts them");
  app.require_subcommand(1, 1);
  const char* const what = "FILE.et, or the PREFIX of files PREFIX.0.et, PREFIX.1.et, ...";

  const Arguments info_app = app.add_subcommand("info", "Counts nodes, bytes and operations");
  info_app.add_option("TRACE", options->trace, what).required();
  info_app.add_flag("--json", options->json, "Print JSON");

  const Arguments check_app =
      app.add_subcommand("check", "Finds what cannot be executed; exits with 1 if there is any");
  check_app.add_option("TRACE", options->trace, what).required();
  check_app.add_flag("--json", options->json, "Print JSON");

  const Arguments convert_app = app.add_subcommand(
      "convert", "Chakra to JSON and back, of a file or of all ranks of a prefix, and ASTRA-sim 1.0 text to Chakra");
  convert_app.add_option("FROM", options->trace, "FILE.et, FILE.json, FILE.txt or a PREFIX").required();
  convert_app.add_option("TO", options->to, "The file, or for several ranks the prefix").required();
  convert_app.add_option("--ranks", options->ranks, "Of a text workload: how many ranks to write")
      .check(Within(std::uint64_t{1}, std::uint64_t{1'000'000}));
  convert_app.add_option("--passes", options->passes, "Of a text workload: how many training steps")
      .shows_default()
      .check(Within(std::uint64_t{1}, std::uint64_t{1'000'000}));
  convert_app
      .add_option("--time-unit", options->time_unit,
                  "Of a text workload: what its compute times count. They are nanoseconds; us makes the traces that "
                  "the usual converter makes, in which they are 1,000 times too long")
      .shows_default()
      .check(OneOf({"ns", "us"}));
  return {app, [options, info_app, check_app] {
            if (info_app.given()) return info(*options);
            if (check_app.given()) return check(*options);
            return convert(*options);
          }};
}

}  // namespace weft::platforms
