// SPDX-License-Identifier: Apache-2.0
// weft trace: looks at Chakra execution traces, checks them, and converts them from and to other formats.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platforms/cli/output.h"
#include "platforms/cli/trace_command.h"
#include "traces/chakra/check.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// Findings that people see; --json has up to CheckOptions::most.
constexpr std::size_t kShownFindings = 20;

struct TraceOptions {
  std::string trace;
  bool json = false;
};

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

}  // namespace

Command trace_command(const Arguments& parent) {
  auto options = std::make_shared<TraceOptions>();
  const Arguments app = parent.add_subcommand("trace", "Looks at Chakra execution traces, checks and converts them");
  app.require_subcommand(1, 1);
  const Command info = trace_info_command(app);
  const Arguments check_app =
      app.add_subcommand("check", "Finds what cannot be executed; exits with 1 if there is any");
  check_app.add_option("TRACE", options->trace, kTraceArgument).required();
  check_app.add_flag("--json", options->json, "Print JSON");
  const Command convert = trace_convert_command(app);
  return {app, [options, info, check_app, convert] {
            if (info.app.given()) return info.run();
            if (check_app.given()) return check(*options);
            return convert.run();
          }};
}

}  // namespace weft::platforms
