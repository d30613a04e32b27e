// SPDX-License-Identifier: Apache-2.0
// weft run: a workload on a machine.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "hw/core/cause/causes.h"
#include "platforms/cli/output.h"
#include "platforms/cli/platform_options.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/result_files.h"
#include "platforms/cli/signals.h"
#include "platforms/cli/timeline_option.h"
#include "platforms/cli/waves.h"
#include "platforms/commands/analytical/platform.h"
#include "platforms/commands/analytical/run.h"
#include "platforms/commands/command.h"
#include "platforms/commands/estimate.h"
#include "platforms/config/text.h"
#include "platforms/import/astra_groups.h"
#include "platforms/jobs/graph/graph_workload.h"
#include "platforms/jobs/kernels_alone.h"
#include "platforms/jobs/machine_run.h"
#include "platforms/machine/platform.h"
#include "platforms/results/energy_summary.h"
#include "platforms/results/format.h"
#include "platforms/results/link_summary.h"
#include "platforms/results/over_time.h"
#include "platforms/results/report/report.h"
#include "platforms/results/stopwatch.h"
#include "platforms/results/summary.h"
#include "platforms/results/timeline_path.h"
#include "platforms/results/version.h"
#include "platforms/results/what_if/advice.h"
#include "platforms/results/why/resources.h"
#include "platforms/results/why/why_summary.h"
#include "platforms/results/why/why_text.h"
#include "platforms/results/write_file.h"
#include "traces/chakra/groups.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kMostSwitches = 1024;  ///< in a picture that one can still read

struct RunOptions {
  PlatformOptions platform;
  std::string traces;
  std::string groups;
  std::string out;
  TimelineOptions timeline;
  WaveOptions waves;
  bool json = false;
  bool steady = false;
  bool verify_steady = false;
  bool estimate = false;
  bool report = false;
  double trial = 3;
};

/// The file that is given, or else the one that lies beside --traces; empty if there is none.
fs::path groups_of(const RunOptions& options) {
  if (!options.groups.empty() || options.traces.empty()) return options.groups;
  return chakra::find_groups(options.traces).value_or(fs::path());
}

/// Those of the file that nodes of the traces may name, as a workload has them.
ordered_json groups_in(const fs::path& file, const fs::path& traces) {
  ordered_json groups = ordered_json::object();
  astra::UnusedGroups unused = unused_groups(traces);
  for (const auto& [name, members] : astra::read_groups(file, astra::kAnyEnds, &unused)) {
    groups[name] = members.empty() ? ordered_json("all") : ordered_json(members);
  }
  print_warnings(remarks_of(unused));
  return groups;
}

/// Chakra traces in place of the platform's workload, with their groups; or such groups in place of the workload's.
std::string workload_of(const RunOptions& options) {
  const fs::path file = groups_of(options);
  if (!options.traces.empty()) {
    ordered_json workload = {{"kind", "chakra"}, {"traces", text_of_path("--traces", fs::absolute(options.traces))}};
    if (!file.empty()) workload["groups"] = groups_in(file, options.traces);
    return "workload=" + workload.dump();
  }
  const PlatformOptions& platform = options.platform;
  Document document(find_platform(platform.platform), platform.overrides, Catalogue(), platform.patches);
  const fs::path traces = traces_of(document);
  if (traces.empty()) {
    throw UsageError("--groups: expected --traces beside it, or a platform whose workload has traces, of kind chakra");
  }
  return "workload.groups=" + groups_in(file, traces).dump();
}

/// What is wrong with a workload of --traces and --groups is wrong with their files, unless --set changes it.
[[noreturn]] void fail_in_file(const RunOptions& options, const InputError& error) {
  static const std::string kGroups = "workload.groups.";
  const bool is_ours =
      error.file() == "--set" && std::none_of(options.platform.overrides.begin(), options.platform.overrides.end(),
                                              [](const auto& each) { return each.starts_with("workload"); });
  if (is_ours && error.path().starts_with(kGroups)) {
    throw InputError(groups_of(options).string(), error.path().substr(kGroups.size()), error.expected(), error.got());
  }
  if (is_ours && !options.traces.empty() && error.path() == "workload.traces")
    throw InputError(options.traces, "", error.expected(), "");
  throw error;
}

/// What is not in the figures above it.
std::string prepared_text(const Baseline& prepared) {
  return fmt::format("before that             {:>10}  and {} to measure the machine\n", short_time(prepared.at),
                     joules_text(prepared.energy.total()));
}

/// As a run begins, without results.
int estimate_machine(const RunOptions& options, Platform& platform) {
  MachineRun run(platform);
  // Also of what does not fit, which ends here.
  if (!options.json) print(run.job().needs());
  const Stopwatch build_watch;
  Machine& machine = run.build(false);
  const double built = build_watch.cpu_seconds();
  const Estimate told = platform.checked([&] {
    run.job().start();
    return estimate(machine, run.job(), built, options.trial);
  });
  if (options.json) {
    nlohmann::ordered_json json = to_json(told);
    if (ordered_json needs = run.job().needs_json(); !needs.is_null())
      json["memory_of_stages_bytes"] = std::move(needs);
    print_json(json);
  } else {
    print(platform.name() + ": " + to_text(told));
  }
  return kDone;
}

int run_machine(const RunOptions& options, Platform& platform) {
  MachineRun run(platform);
  Job& job = run.job();
  const fs::path out = options.out.empty() ? fs::path("out") / platform.name() : fs::path(options.out);
  ResultFiles files;
  files.spare(job.inputs());
  files.spare(groups_of(options));
  const fs::path folder = files.folder("--out", out, kRunFiles);
  const fs::path timeline = options.timeline.place(out);
  const std::unique_ptr<TimelineProbe> probe =
      open_timeline(files, options.timeline, out, folder, platform.machine().accelerators);
  auto building = std::make_unique<BuildingLine>(what_is_built(platform.machine()));
  Machine& machine = run.build();
  if (probe) {
    machine.record(*probe);
    job.record(*probe, options.timeline.ranks);
  }
  const std::unique_ptr<WaveRecording> waves = open_waves(options.waves, machine, files);
  UseOverTime over_time(machine);
  run.start();
  std::optional<Interrupted> interrupted;
  {
    Progress progress(
        machine.dispatcher(), [&job] { return job.progress(); }, Progress::kEvents, std::move(building));
    progress.watch([&over_time] { over_time.look(); });
    try {
      run.to_end();
    } catch (const DeadlockError& error) {
      print_warnings(job.remarks());  // one of them may say why
      throw std::runtime_error(run.text(error));
    } catch (const Interrupted& by) {
      interrupted = by;
      interrupted->kept = fmt::format("{} are simulated, {:.0f} % of the work", short_time(machine.dispatcher().now()),
                                      100 * job.progress());
    }
  }
  if (waves) waves->close();

  ordered_json summary = run.summary(partial_json(interrupted));
  const Baseline* const since = run.since();
  const LinkBaseline* const links_since = run.links_since();
  const Time span = run.span();
  summary["configuration"] = "config.json";
  if (probe) {
    if (options.platform.why) draw_path(*probe, *machine.causes(), machine.causes()->path(run.why().until));
    probe->close();
    summary["timeline"] = options.timeline.text();
    if (probe->picture()) write_file(folder / "timeline.svg", probe->picture()->svg());
  }
  if (waves) summary["waves"] = waves->file().string();
  const ordered_json configured = configuration(platform.document());
  write_file(folder / "config.json", configured);
  write_file(folder / "links.csv", link_table(machine, span, links_since));
  write_file(folder / "over_time.csv", over_time.table(machine.end()));
  if (machine.network().switch_count() <= kMostSwitches) {
    write_file(folder / "network.svg", to_svg(machine.network().topology(), network_heat(machine, span, links_since)));
  }
  std::string why_told;
  if (options.platform.why) {
    ordered_json why =
        why_summary(machine, run.why(), {{"weft", version_json()}, {"left_out_us", to_us(run.left_out())}});
    why["kernels_ignore"] = ignored_by_kernels(machine.config(), job.kernels_on());
    write_file(folder / "why.json", why.dump(1) + "\n");
    if (const PathHeat path = path_heat(machine, why);
        path.most > Time() && machine.network().switch_count() <= kMostSwitches) {
      const std::string meaning =
          fmt::format("of the {} that the critical path is on its worst link", short_time(path.most));
      write_file(folder / "path.svg", to_svg(machine.network().topology(), path.heat, meaning));
    }
    why_told = "\n" + why_text(why, configured["values"], WhyText::kBrief) + "\n" +
               advice_text(advice(why, configured["values"]), 4) + "weft why " + out.string() + " tells more\n";
  }
  std::string told;
  std::string of_steps;
  std::string remarks_on_links;
  std::optional<KernelTimes> kernels;
  if (!interrupted) {
    told = job.text();
    if (run.wrong() >= 0 && !run.tells_wrong()) told += fmt::format("wrong elements {:>20}\n", run.wrong());
    remarks_on_links = link_remarks(machine);
    // From here on the machine's counters and its time are of what comes after the run.
    if (!waves) kernels = measure_kernels_alone(machine, since);
    // Other lines are of one step, or of the mean.
    if (const std::size_t steps = job.step_ends().size(); steps > 1) {
      of_steps = fmt::format("in {} {}", steps, job.steps_called());
    }
    told += to_text(kernels, run.left_out() > Time() ? "in what was simulated" : of_steps);
  }
  summary["kernels"] = to_json(kernels);
  write_file(folder / "summary.json", summary);
  if (options.report) write_file(folder / "report.html", report_page(read_results(folder)));
  files.keep();
  print_warnings(run.warnings());

  if (interrupted) {
    if (options.json) print_json(summary);
    interrupted->kept += "; " + (out / "summary.json").string() + " has what is finished";
    throw Interrupted(*interrupted);
  }
  if (options.json) {
    print_json(summary);
  } else {
    print(fmt::format("{}: {}\n\n{}\n{}", platform.name(), job.title(), told, energy_text(run.energy(), of_steps)));
    if (run.prepared() != nullptr) print(prepared_text(*run.prepared()));
    if (!remarks_on_links.empty()) print("\n" + remarks_on_links);
    if (const std::string text = run.idle()->text(); !text.empty()) print("\n" + text + "\n");
    const ordered_json& simulator = summary["simulator"];
    print(why_told);
    std::vector<std::string> wrote = {(out / "summary.json").string()};
    if (options.platform.why) wrote.push_back((out / "why.json").string());
    if (options.report) wrote.push_back((out / "report.html").string());
    if (probe) wrote.push_back(timeline.string());
    if (waves) wrote.push_back(waves->file().string());
    print(fmt::format("\n{:.1f} M events, {:.1f} M hops in {:.1f} s, {:.1f} s of processor time\nwrote {}\n",
                      simulator["events"].get<double>() * 1e-6, simulator["hops"].get<double>() * 1e-6,
                      simulator["wall_s"].get<double>(), simulator["cpu_s"].get<double>(), and_list(wrote)));
  }
  return run.wrong() > 0 ? kFailed : kDone;
}

int run(const RunOptions& options) {
  if (is_analytical(options.platform)) {
    if (options.estimate) throw UsageError("--estimate: expected a machine of modules; this network takes seconds");
    if (options.platform.why) throw UsageError("--why: expected a machine of modules, got an analytical network");
    options.waves.refuse_without_modules();
    return run_analytical({options.platform, options.out, options.timeline, options.json, options.report});
  }
  Platform platform(options.platform);
  return checked_against(platform.document(), [&] {
    return options.estimate ? estimate_machine(options, platform) : run_machine(options, platform);
  });
}

/// As if they had been the first of --set.
void add_steady(RunOptions& options) {
  std::vector<std::string>& overrides = options.platform.overrides;
  if (options.verify_steady) overrides.insert(overrides.begin(), "steady.verify=true");
  if (options.steady || options.verify_steady) overrides.insert(overrides.begin(), "steady.tolerance=0.002");
}

int run_traces(const RunOptions& options) {
  options.timeline.check();
  RunOptions with_traces = options;
  add_steady(with_traces);
  if (options.traces.empty() && options.groups.empty()) return run(with_traces);
  // In place of the platform's own, so that it comes before what --set says of it.
  std::vector<std::string>& overrides = with_traces.platform.overrides;
  overrides.insert(overrides.begin(), workload_of(options));
  try {
    return run(with_traces);
  } catch (const InputError& error) {
    fail_in_file(options, error);
  }
}

}  // namespace

Command run_command(const Arguments& parent) {
  auto options = std::make_shared<RunOptions>();
  const Arguments app = parent.add_subcommand("run", "Runs a platform's workload and reports where its time goes");
  add_platform_options(app, options->platform);
  app.add_option("--traces", options->traces, "Prefix of Chakra files to run in place of the platform's workload")
      .type_name("PREFIX");
  app.add_option("--groups", options->groups,
                 "Communicator groups file of the traces; PREFIX.groups.json if left out and if it exists")
      .type_name("FILE");
  app.add_option("--out", options->out, "Folder of the results; out/NAME if it is left out").type_name("FOLDER");
  options->timeline.add_to(app);
  options->waves.add_to(app);
  app.add_flag("--json", options->json, "Print summary.json");
  app.add_flag("--steady", options->steady,
               "Leave out steps, microbatches and blocks that repeat those before them, within 0.2 % (--set "
               "steady.tolerance=0.002)");
  app.add_flag("--verify-steady", options->verify_steady,
               "Simulate what would be left out, and report how far off the result would have been");
  app.add_flag("--why", options->platform.why, "Keep the critical path: where the time of the run goes, exactly");
  app.add_flag("--report", options->report, "Write report.html among the results, as weft report does");
  app.add_flag("--estimate", options->estimate,
               "Run for some seconds, write nothing, and print what processor time and memory the whole run takes");
  app.add_option("--trial", options->trial, "Seconds of processor time that --estimate runs for")
      .type_name("SECONDS")
      .shows_default()
      .check(Within(0.5, 1e6));
  return {app, [options] { return run_traces(*options); }};
}

}  // namespace weft::platforms
