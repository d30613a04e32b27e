// SPDX-License-Identifier: Apache-2.0
// weft trace check: all that keeps a trace from being run.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "platforms/cli/output.h"
#include "platforms/commands/trace/trace.h"
#include "platforms/jobs/graph/graph_workload.h"
#include "traces/chakra/check.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

struct CheckCommandOptions {
  std::string trace;
  TraceContext context;
  bool json = false;
};

ordered_json to_json(const chakra::Finding& finding) {
  ordered_json json = {{"file", finding.file},
                       {"node", nullptr},
                       {"name", finding.name},
                       {"problem", finding.problem},
                       {"expected", finding.expected}};
  if (finding.node) json["node"] = *finding.node;
  return json;
}

ordered_json to_json(const std::vector<chakra::FindingKind>& kinds) {
  ordered_json json = ordered_json::array();
  for (const chakra::FindingKind& kind : kinds) {
    json.push_back({{"what", chakra::describe(kind.first.kind, kind.count)},
                    {"count", kind.count},
                    {"first", to_json(kind.first)}});
  }
  return json;
}

void print_kinds(const std::vector<chakra::FindingKind>& kinds, const char* before) {
  for (const chakra::FindingKind& kind : kinds) {
    print(before + chakra::describe(kind.first.kind, kind.count) + "\n  " + kind.first.text() + "\n");
  }
}

int check(const CheckCommandOptions& options) {
  const chakra::TraceFiles files = chakra::find_trace(options.trace);
  const chakra::CheckOptions how = options.context.check_options(files, options.trace);
  const chakra::CheckReport report = chakra::check(files, how);
  if (how.shared) print_warnings(remarks_of_shared(options.trace));
  const std::uint64_t ranks = how.shared ? *how.ranks : report.ranks;
  if (options.json) {
    ordered_json findings = ordered_json::array();
    for (const chakra::Finding& finding : report.findings) findings.push_back(to_json(finding));
    print_json(ordered_json{{"ranks", ranks},
                            {"nodes", report.nodes},
                            {"found", report.found},
                            {"kinds", to_json(report.kinds)},
                            {"remarks", to_json(report.remarks)},
                            {"findings", std::move(findings)}});
  } else {
    print_kinds(report.kinds, "");
    print_kinds(report.remarks, "remark: ");
    print(fmt::format("{} {}{}, {} {}, {}\n", ranks, ranks == 1 ? "rank" : "ranks", how.shared ? " by one file" : "",
                      report.nodes, report.nodes == 1 ? "node" : "nodes",
                      report.found == 0   ? std::string("no findings")
                      : report.found == 1 ? std::string("1 finding")
                                          : fmt::format("{} findings", report.found)));
  }
  return report.found == 0 ? kDone : kFailed;
}

}  // namespace

Command trace_check_command(const Arguments& parent) {
  auto options = std::make_shared<CheckCommandOptions>();
  const Arguments app = parent.add_subcommand(
      "check", "Reports everything that weft run would refuse; exits with 1 if there is anything");
  app.add_option("TRACE", options->trace, kTraceArgument).type_name("FILE").required();
  options->context.add_to(
      app, "Ranks of the machine, if not as many as there are files; FILE.et is then the trace of each of them",
      "Check for a run that counts operations instead of durations, as with roofline-enabled 1 in a system file");
  app.add_flag("--json", options->json, "Print JSON, with each finding");
  return {app, [options] { return check(*options); }};
}

}  // namespace weft::platforms
