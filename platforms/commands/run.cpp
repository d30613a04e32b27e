// SPDX-License-Identifier: Apache-2.0
// weft run: a workload on a machine.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>

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
#include "platforms/jobs/collective_details.h"
#include "platforms/jobs/graph/graph_workload.h"
#include "platforms/jobs/job.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/jobs/kernels_alone.h"
#include "platforms/machine/borrowed_remark.h"
#include "platforms/machine/idle_settings.h"
#include "platforms/machine/platform.h"
#include "platforms/results/energy_summary.h"
#include "platforms/results/format.h"
#include "platforms/results/kernel_table.h"
#include "platforms/results/link_summary.h"
#include "platforms/results/over_time.h"
#include "platforms/results/report/report.h"
#include "platforms/results/stopwatch.h"
#include "platforms/results/summary.h"
#include "platforms/results/timeline_path.h"
#include "platforms/results/version.h"
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

IdleSettings idle_settings(Platform& platform, const Job& job, MachineUse use) {
  use.by_algorithm = job.follows_algorithm();
  use.kernels_on = job.kernels_on();
  std::vector<IdleFields> more = platform.replaced();
  for (IdleFields& field : job.idle()) more.push_back(std::move(field));
  return IdleSettings(platform.document(), platform.machine(), use, std::move(more));
}

/// The machine, with the job's firmware.
Machine& build(const RunOptions& options, Platform& platform, Job& job) {
  Machine& machine = platform.checked([&]() -> Machine& { return build_machine(platform.machine()); });
  platform.checked([&] { job.build(machine); });
  if (options.platform.data) {
    require_host_memory(static_cast<double>(machine.rank(0).memory.used()) * machine.size());
  }
  return machine;
}

/// As a run begins, without results.
int estimate_machine(const RunOptions& options, Platform& platform) {
  const std::unique_ptr<Job> job = make_job(platform);
  platform.document().check_unused();
  const Stopwatch build_watch;
  Machine& machine = build(options, platform, *job);
  const double built = build_watch.cpu_seconds();
  const Estimate told = platform.checked([&] {
    job->start();
    return estimate(machine, *job, built, options.trial);
  });
  if (options.json) {
    print_json(to_json(told));
  } else {
    print(platform.name() + ": " + to_text(told));
  }
  return kDone;
}

int run_machine(const RunOptions& options, Platform& platform) {
  const std::unique_ptr<Job> job = make_job(platform);
  platform.document().check_unused();
  const fs::path out = options.out.empty() ? fs::path("out") / platform.name() : fs::path(options.out);
  ResultFiles files;
  files.spare(job->inputs());
  files.spare(groups_of(options));
  const fs::path folder = files.folder("--out", out, kRunFiles);
  const fs::path timeline = options.timeline.place(out);
  const std::unique_ptr<TimelineProbe> probe =
      open_timeline(files, options.timeline, out, folder, platform.machine().accelerators);
  auto building = std::make_unique<BuildingLine>(what_is_built(platform.machine()));
  const Stopwatch build_watch;
  Machine& machine = build(options, platform, *job);
  const double build_seconds = build_watch.seconds();

  if (probe) {
    machine.record(*probe);
    job->record(*probe, options.timeline.ranks);
  }

  const std::unique_ptr<WaveRecording> waves = open_waves(options.waves, machine, files);

  std::optional<Baseline> prepared;
  job->set_begins([&] { prepared = take_baseline(machine, machine.dispatcher().now()); });

  LeftOut left_out(machine);
  job->set_left_out(left_out);

  UseOverTime over_time(machine);
  const Stopwatch running;
  platform.checked([&] { job->start(); });
  std::optional<Interrupted> interrupted;
  {
    Progress progress(
        machine.dispatcher(), [&job] { return job->progress(); }, Progress::kEvents, std::move(building));
    progress.watch([&over_time] { over_time.look(); });
    try {
      platform.checked([&] { machine.run(); });
      job->check();
    } catch (const DeadlockError& error) {
      job->check();
      print_warnings(job->remarks());  // one of them may say why
      throw std::runtime_error(error.text(job->unfinished()));
    } catch (const Interrupted& by) {
      interrupted = by;
      interrupted->kept = fmt::format("{} are simulated, {:.0f} % of the work", short_time(machine.dispatcher().now()),
                                      100 * job->progress());
    }
  }
  if (waves) waves->close();

  const Time end = machine.end();
  std::optional<Baseline> begun = prepared;
  if (left_out.any()) begun = left_out.moved(prepared ? &*prepared : nullptr);
  const Baseline* since = begun ? &*begun : nullptr;
  const LinkBaseline* links_since = begun ? begun->links.get() : nullptr;
  const Time span = begun ? end - begun->at : end;
  ordered_json summary = {{"weft", version_json()},
                          {"platform", platform.name()},
                          {"description", platform.description()},
                          {"file", platform.document().file()},
                          {"workload", job->workload()},
                          {"accelerators", machine.size()},
                          {"simulated_us", to_us(end + left_out.time())}};
  summary["partial"] = partial_json(interrupted);
  summary.update(interrupted ? job->finished() : job->summary());
  // A kind need not say itself what its wrong() finds.
  const std::int64_t wrong = interrupted ? -1 : job->wrong();
  const bool tells_wrong = summary.contains("wrong");
  if (!interrupted && !tells_wrong) summary["wrong"] = wrong >= 0 ? ordered_json(wrong) : ordered_json();
  summary["links"] = link_summary(machine, span, links_since);
  summary["memory"] = memory_summary(machine, span, since);
  summary["counters"] = counter_summary(machine, span, since);
  EnergyAccount energy = account_energy(machine, end);
  if (begun) energy = energy.since(begun->energy);
  summary["roofline"] = kernel_table(machine, since);
  summary["energy"] = energy_summary(energy);
  summary["prepared"] = nullptr;
  if (prepared) summary["prepared"] = {{"time_us", to_us(prepared->at)}, {"energy_j", prepared->energy.total()}};
  summary["simulator"] = simulator_summary(machine, build_seconds, running);
  std::vector<std::string> warnings = job->remarks();
  if (const std::string why = job->simulates_all(); machine.config().steady.is_on() && !why.empty()) {
    warnings.push_back("steady.tolerance: nothing is left out: " + why);
  }
  for (const std::string& line : platform.document().remarks()) warnings.push_back(line);
  for (const std::string& line : machine.warnings()) warnings.push_back(line);
  if (job->follows_algorithm()) {
    for (const std::string& line : machine.ring_warnings()) warnings.push_back(line);
  }
  if (const std::string fetched = fetched_text(machine); !fetched.empty()) warnings.push_back(fetched);
  MachineUse use = use_of(machine);
  if (const std::string borrowed = borrowed_remark(platform.document()); use.kernels && !borrowed.empty()) {
    warnings.push_back(borrowed);
  }
  summary["warnings"] = warnings;
  std::optional<IdleSettings> idle;  // which is known at the end alone
  if (!interrupted) idle = idle_settings(platform, *job, std::move(use));
  summary["without_effect"] = idle ? idle->json() : ordered_json::array();
  summary["configuration"] = "config.json";
  summary["timeline"] = nullptr;
  if (probe) {
    if (options.platform.why) draw_path(*probe, *machine.causes(), machine.causes()->path());
    probe->close();
    summary["timeline"] = options.timeline.text();
    if (probe->picture()) write_file(folder / "timeline.svg", probe->picture()->svg());
  }
  summary["waves"] = waves ? ordered_json(waves->file().string()) : ordered_json(nullptr);
  const ordered_json configured = configuration(platform.document());
  write_file(folder / "config.json", configured);
  write_file(folder / "links.csv", link_table(machine, span, links_since));
  write_file(folder / "over_time.csv", over_time.table(end));
  if (machine.network().switch_count() <= kMostSwitches) {
    write_file(folder / "network.svg", to_svg(machine.network().topology(), network_heat(machine, span, links_since)));
  }
  std::string why_told;
  if (options.platform.why) {
    ordered_json why = {{"weft", version_json()}, {"left_out_us", to_us(left_out.time())}};
    why.update(why_summary(machine, {prepared ? prepared->at : Time(), end, job->step_ends(), links_since}));
    write_file(folder / "why.json", why.dump(1) + "\n");
    if (const PathHeat path = path_heat(machine, why);
        path.most > Time() && machine.network().switch_count() <= kMostSwitches) {
      const std::string meaning =
          fmt::format("of the {} that the critical path is on its worst link", short_time(path.most));
      write_file(folder / "path.svg", to_svg(machine.network().topology(), path.heat, meaning));
    }
    why_told = "\n" + why_text(why, configured["values"], WhyText::kBrief) + "\n" +
               advice_text(why, configured["values"], 4) + "weft why " + out.string() + " tells more\n";
  }
  std::string told;
  std::string remarks_on_links;
  std::optional<KernelTimes> kernels;
  if (!interrupted) {
    told = job->text();
    if (wrong >= 0 && !tells_wrong) {
      told += fmt::format("wrong elements {:>20}\n", wrong);
    }
    remarks_on_links = link_remarks(machine);
    // From here on the machine's counters and its time are of what comes after the run.
    if (!waves) kernels = measure_kernels_alone(machine, since);
    told += to_text(kernels);
  }
  summary["kernels"] = to_json(kernels);
  write_file(folder / "summary.json", summary);
  if (options.report) write_file(folder / "report.html", report_page(read_results(folder)));
  files.keep();
  print_warnings(warnings);

  if (interrupted) {
    if (options.json) print_json(summary);
    interrupted->kept += "; " + (out / "summary.json").string() + " has what is finished";
    throw Interrupted(*interrupted);
  }
  if (options.json) {
    print_json(summary);
  } else {
    print(fmt::format("{}: {}\n\n{}\n{}", platform.name(), job->title(), told, energy_text(energy)));
    if (prepared) print(prepared_text(*prepared));
    if (!remarks_on_links.empty()) print("\n" + remarks_on_links);
    if (const std::string text = idle->text(); !text.empty()) print("\n" + text + "\n");
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
  return wrong > 0 ? kFailed : kDone;
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
               "Leave out blocks that repeat those before them, within 0.2 % (--set steady.tolerance=0.002)");
  app.add_flag("--verify-steady", options->verify_steady,
               "Simulate what would be left out, and report how far off the result would have been");
  app.add_flag("--why", options->platform.why, "Keep the critical path: where the time of the run goes, exactly");
  app.add_flag("--report", options->report, "Write report.html among the results, as weft report does");
  app.add_flag("--estimate", options->estimate,
               "Run for some seconds, write nothing, and print what processor time and memory the whole run takes");
  app.add_option("--trial", options->trial, "Seconds of processor time that --estimate runs for")
      .type_name("SECONDS")
      .shows_default()
      .check(Within(0.1, 1e6));
  return {app, [options] { return run_traces(*options); }};
}

}  // namespace weft::platforms
