// SPDX-License-Identifier: Apache-2.0
// weft run: a workload on a machine.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "platforms/cli/analytical_platform.h"
#include "platforms/cli/analytical_run.h"
#include "platforms/cli/command.h"
#include "platforms/cli/link_summary.h"
#include "platforms/cli/output.h"
#include "platforms/cli/platform.h"
#include "platforms/cli/summary.h"
#include "platforms/cli/timeline_probe.h"
#include "sw/schedules/fsdp.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using schedules::FsdpConfig;
using schedules::FsdpResult;

constexpr std::size_t kMostSwitches = 1024;  ///< in a picture that one can still read

struct Options {
  PlatformOptions platform;
  std::string out;
  std::string timeline;
  int timeline_ranks = 8;
  bool json = false;
};

FsdpConfig read_workload(Platform& platform) {
  const Node workload = platform.workload();
  // A misspelt key may be why it is not there, and says more.
  if (!workload.exists()) platform.document().check_unused();
  if (!workload.exists()) workload.fail("what to run, such as {\"kind\": \"fsdp\", \"model\": \"llama3-8b\"}");
  if (workload.require<std::string>("kind") != "fsdp") workload.child("kind").fail("\"fsdp\"");
  FsdpConfig config;
  workload.read(config);
  return config;
}

/// What the user came for, of the last step.
struct Speed {
  double step_s;
  double tokens_per_s;  ///< of one accelerator
  double tflops;
  double mfu;
};

Speed speed_of(const FsdpResult& result, const MachineConfig& machine) {
  Speed speed{};
  speed.step_s = result.steps.empty() ? 0 : to_seconds(result.steps.back());
  if (speed.step_s <= 0) return speed;
  speed.tokens_per_s = static_cast<double>(result.tokens_per_rank_step) / speed.step_s;
  const double flops = speed.tokens_per_s * result.model_flops_per_token;
  speed.tflops = flops * 1e-12;
  speed.mfu = flops / static_cast<double>(machine.accelerator.array.compute.tensor_16bit.count());
  return speed;
}

ordered_json to_json(const FsdpResult& result, const Speed& speed) {
  ordered_json steps = ordered_json::array();
  for (const Time step : result.steps) steps.push_back(to_us(step));
  ordered_json json = {{"step_time_us", steps.empty() ? ordered_json(0) : steps.back()},
                       {"steps_us", steps},
                       {"tokens_per_s_per_gpu", speed.tokens_per_s},
                       {"tflops_per_gpu", speed.tflops},
                       {"mfu", speed.mfu},
                       {"mfu_percent", speed.mfu * 100},
                       {"breakdown_us",
                        {{"compute", to_us(result.compute)},
                         {"exposed_allgather", to_us(result.exposed_allgather)},
                         {"exposed_reduce_scatter", to_us(result.exposed_reduce_scatter)},
                         {"other", to_us(result.other)}}},
                       {"wrong", nullptr}};
  if (result.wrong >= 0) json["wrong"] = result.wrong;
  return json;
}

std::string to_text(const FsdpResult& result, const Speed& speed) {
  const auto part = [&speed](Time time) {
    return fmt::format("{:>10}  {:5.1f} %", short_time(time),
                       speed.step_s > 0 ? to_seconds(time) / speed.step_s * 100 : 0);
  };
  std::string text = fmt::format(
      "step time               {:>10}\n"
      "  compute               {}\n"
      "  exposed allgather     {}\n"
      "  exposed reduce-scatter{}\n"
      "  other                 {}\n"
      "tokens/s per GPU        {:>10.0f}\n"
      "TFLOPS per GPU          {:>10.1f}\n"
      "MFU                     {:>8.1f} %\n",
      short_time(result.steps.empty() ? Time() : result.steps.back()), part(result.compute),
      part(result.exposed_allgather), part(result.exposed_reduce_scatter), part(result.other), speed.tokens_per_s,
      speed.tflops, speed.mfu * 100);
  if (result.wrong >= 0) text += fmt::format("wrong elements          {:>10}\n", result.wrong);
  return text;
}

std::unique_ptr<TimelineProbe> open_timeline(const fs::path& file, int ranks) {
  try {
    return std::make_unique<TimelineProbe>(file, ranks);
  } catch (const std::system_error& error) {
    throw UsageError("--timeline: expected a file that can be written, got \"" + file.string() + "\": " + error.what());
  }
}

/// Kernels of all steps of one rank, by which progress is told.
double kernels_of(const schedules::FsdpPlan& plan, int steps) {
  std::size_t kernels = plan.optimizer.size();
  for (const schedules::Stage& stage : plan.stages) kernels += stage.kernels.size() + stage.tail.size();
  return static_cast<double>(kernels) * steps;
}

int run(const Options& options) {
  if (is_analytical(options.platform)) {
    if (!options.timeline.empty())
      throw UsageError("--timeline: expected nothing, since an analytical network has none");
    return run_analytical({options.platform, options.out, options.json});
  }
  Platform platform(options.platform);
  const FsdpConfig workload = read_workload(platform);
  platform.document().check_unused();
  const Stopwatch building;
  Machine& machine = platform.checked([&]() -> Machine& { return build_machine(platform.machine()); });
  const auto fsdp = platform.checked([&] {
    return std::make_unique<schedules::Fsdp>(machine.ranks(), workload, platform.machine().collectives,
                                             platform.machine().accelerator.array.compute);
  });
  const double build_seconds = building.seconds();
  if (options.platform.data) {
    require_host_memory(static_cast<double>(machine.rank(0).memory.used()) * machine.size());
  }

  const fs::path out = options.out.empty() ? fs::path("out") / platform.name() : fs::path(options.out);
  OutputFolder folder(out);
  const fs::path timeline = options.timeline.empty() ? out / "timeline.json.gz" : fs::path(options.timeline);
  std::unique_ptr<TimelineProbe> probe;
  if (options.timeline_ranks > 0) {
    probe = open_timeline(timeline, options.timeline_ranks);
    machine.record(*probe);
    fsdp->record(*probe, options.timeline_ranks);
  }

  const Stopwatch running;
  fsdp->start();
  {
    const double kernels = kernels_of(fsdp->plan(), workload.steps);
    const Progress progress(machine.dispatcher(), [&machine, kernels] {
      return static_cast<double>(machine.accelerator(0).counters().kernels) / kernels;
    });
    machine.run();
  }
  const double run_seconds = running.seconds();

  const FsdpResult result = fsdp->result();
  const Speed speed = speed_of(result, machine.config());
  const Time span = machine.dispatcher().last_change();
  ordered_json summary = {
      {"platform", platform.name()},        {"description", platform.description()},
      {"file", platform.document().file()}, {"workload", {{"kind", "fsdp"}, {"model", workload.model}}},
      {"accelerators", machine.size()},     {"simulated_us", to_us(span)}};
  summary.update(to_json(result, speed));
  summary["remarks"] = fsdp->remarks();
  summary["links"] = link_summary(machine, span);
  summary["memory"] = memory_summary(machine, span);
  summary["counters"] = counter_summary(machine, span);
  summary["simulator"] = simulator_summary(machine, build_seconds, run_seconds);
  summary["warnings"] = machine.warnings();
  summary["configuration"] = "config.json";
  summary["timeline"] = nullptr;
  if (probe) {
    probe->close();
    summary["timeline"] = options.timeline.empty() ? "timeline.json.gz" : timeline.string();
    if (probe->picture()) write_file(out / "timeline.svg", probe->picture()->svg());
  }
  write_file(out / "config.json", ordered_json(platform.document().effective()));
  write_file(out / "links.csv", link_table(machine, span));
  if (machine.network().switch_count() <= kMostSwitches) {
    write_file(out / "network.svg", to_svg(machine.network().topology(), network_heat(machine, span)));
  }
  write_file(out / "summary.json", summary);
  folder.keep();
  print_warnings(machine.warnings());

  if (options.json) {
    print_json(summary);
  } else {
    print(fmt::format("{}: {} on {} accelerators, step {} of {}\n\n{}", platform.name(), workload.model, machine.size(),
                      result.steps.size(), workload.steps, to_text(result, speed)));
    for (const std::string& remark : fsdp->remarks()) print("\n" + remark + "\n");
    if (const std::string remarks = link_remarks(machine); !remarks.empty()) print("\n" + remarks);
    print(fmt::format("\n{:.1f} M events, {:.1f} M hops in {:.1f} s\nwrote {}{}\n",
                      summary["simulator"]["events"].get<double>() * 1e-6,
                      summary["simulator"]["hops"].get<double>() * 1e-6, run_seconds, (out / "summary.json").string(),
                      probe ? " and " + timeline.string() : ""));
  }
  return result.wrong > 0 ? kFailed : kDone;
}

}  // namespace

Command run_command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("run", "Runs a platform's workload and tells where its time goes");
  options->platform.add_to(*app);
  app->add_option("--out", options->out, "Folder of the results; out/NAME if it is left out");
  app->add_option("--timeline", options->timeline, "Where to draw the run; timeline.json.gz among the results")
      ->type_name("FILE");
  app->add_option("--timeline-ranks", options->timeline_ranks, "Accelerators to draw, 0 for no picture")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 20));
  app->add_flag("--json", options->json, "Print summary.json");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
