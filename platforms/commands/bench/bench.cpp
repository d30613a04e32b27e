// SPDX-License-Identifier: Apache-2.0
// weft bench: the speed of the simulator itself.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "platforms/cli/output.h"
#include "platforms/cli/process.h"
#include "platforms/cli/signals.h"
#include "platforms/commands/bench/loads.h"
#include "platforms/commands/command.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

struct BenchOptions {
  bool json = false;
  bool quick = false;
  std::string measure;
  std::vector<std::string> only;
};

std::string value_text(const ordered_json& row) {
  const auto value = row["value"].get<double>();
  if (row["unit"] == "bytes/accelerator") return fmt::format("{:.1f} KiB each", value / 1024);
  return fmt::format("{:.2f} M {}", value * 1e-6, row["unit"].get<std::string>());
}

std::string detail_text(const ordered_json& row) {
  if (row.contains("elaboration_s")) return fmt::format("built in {:.2f} s", row["elaboration_s"].get<double>());
  std::string text = fmt::format("{:.2f} M in a second of processor time, {:.2f} s",
                                 row["value_by_cpu"].get<double>() * 1e-6, row["wall_s"].get<double>());
  if (row.contains("hops")) {
    text += fmt::format(", {:.2f} events a hop", row["events"].get<double>() / row["hops"].get<double>());
  }
  if (row.contains("most_resident_bytes")) {
    text += fmt::format(", {:.0f} MiB resident", row["most_resident_bytes"].get<double>() / (1 << 20));
  }
  return text;
}

int run(const BenchOptions& options) {
  if (!options.measure.empty()) {
    print_json(run_bench_load(options.measure, options.quick));
    return kDone;
  }
  ordered_json rows = ordered_json::array();
  std::optional<Interrupted> interrupted;
  const Interruptible loads;
  const std::vector<std::string> names = options.only.empty() ? bench_loads(false) : options.only;
  for (const std::string& name : names) {
    std::vector<std::string> arguments = {"bench", "--measure", name};
    if (options.quick) arguments.emplace_back("--quick");
    ChildResult child;
    try {
      child = run_self(arguments);
    } catch (const Interrupted& by) {
      interrupted = by;
      interrupted->kept = fmt::format("{} of {} measurements are done", rows.size(), names.size());
      break;
    }
    if (child.exit_code != 0) {
      throw std::runtime_error("measuring " + name + " ended with " + std::to_string(child.exit_code) + ": " +
                               child.err);
    }
    rows.push_back(ordered_json::parse(child.out));
    const ordered_json& row = rows.back();
    if (!options.json) {
      print(fmt::format("{:<40} {:>18}   {}\n", row["what"].get<std::string>(), value_text(row), detail_text(row)));
    }
  }
  if (options.json) {
    print_json(ordered_json{{"quick", options.quick}, {"partial", partial_json(interrupted)}, {"rows", rows}});
  }
  if (interrupted) throw Interrupted(*interrupted);
  return kDone;
}

}  // namespace

Command bench_command(const Arguments& parent) {
  auto options = std::make_shared<BenchOptions>();
  const Arguments app = parent.add_subcommand("bench", "Measures the speed and the size of the simulator itself");
  app.add_flag("--json", options->json, "Print JSON");
  app.add_flag("--quick", options->quick, "Shorter runs, less exact");
  app.add_option("--only", options->only, "Only this measurement; can be repeated. Some run only when they are named")
      .one_at_a_time()
      .check(OneOf(bench_loads(true)));
  // One measurement in this process, for the children of the command: group "" hides it.
  app.add_option("--measure", options->measure, "").hidden();
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
