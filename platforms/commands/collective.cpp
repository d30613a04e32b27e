// SPDX-License-Identifier: Apache-2.0
// weft collective: the table that nccl-tests users know.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "hw/core/cause/causes.h"
#include "platforms/cli/choices.h"
#include "platforms/cli/output.h"
#include "platforms/cli/platform_options.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/result_files.h"
#include "platforms/cli/signals.h"
#include "platforms/cli/sizes.h"
#include "platforms/cli/timeline_option.h"
#include "platforms/cli/waves.h"
#include "platforms/commands/analytical/collective.h"
#include "platforms/commands/analytical/platform.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/jobs/collective_details.h"
#include "platforms/jobs/collective_run.h"
#include "platforms/machine/idle_settings.h"
#include "platforms/machine/platform.h"
#include "platforms/machine/starvation.h"
#include "platforms/results/format.h"
#include "platforms/results/link_summary.h"
#include "platforms/results/stopwatch.h"
#include "platforms/results/summary.h"
#include "platforms/results/timeline_path.h"
#include "platforms/results/version.h"
#include "platforms/results/why/why_summary.h"
#include "platforms/results/why/why_text.h"
#include "platforms/results/write_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct CollectiveOptions {
  PlatformOptions platform;
  std::string op = "all_reduce";
  std::string algorithm;
  std::string bytes = "1KiB:1GiB:x2";
  std::string type = "fp32";
  WaveOptions waves;
  TimelineOptions timeline;
  std::string out;
  bool traffic = false;
  bool json = false;
  bool cold = false;
};

/// Prints the table row by row, as they are done.
class Table {
 public:
  Table(const CollectiveOptions& options, std::uint64_t element, std::string title)
      : options_(options), element_(element), title_(std::move(title)) {}

  void add(const CollectiveResult& result) {
    // Where a NIC has cores, too, it is a choice who does the work.
    const bool offloads = result.dpa_busy.has_value();
    const bool checked = options_.platform.data;
    std::string text;
    if (!begun_) {
      text = title_ + line("#", "size", "count", "type", "time", "algbw", "busbw") + column(offloads, "host") +
             column(offloads, "NIC") + column(checked, "#wrong") + "\n" +
             line("#", "(B)", "(elements)", "", "(us)", "(GB/s)", "(GB/s)") + column(offloads, "(core us)") +
             column(offloads, "(core us)") + "\n";
    }
    begun_ = true;
    print(text +
          line("", result.bytes, result.bytes / element_, options_.type, fmt::format("{:.2f}", to_us(result.time)),
               fmt::format("{:.2f}", result.algbw_GBps), fmt::format("{:.2f}", result.busbw_GBps)) +
          column(offloads, fmt::format("{:.2f}", to_us(result.host_busy))) +
          column(offloads, fmt::format("{:.2f}", to_us(result.dpa_busy.value_or(Time())))) +
          column(checked, result.wrong) + "\n");
  }

 private:
  template <typename Size, typename Count, typename... Cells>
  static std::string line(const std::string& start, const Size& size, const Count& count, const Cells&... cells) {
    std::string text = fmt::format("{:1}{:>12} {:>13} {:>7} {:>12} {:>9} {:>9}", start, size, count, cells...);
    return text.erase(text.find_last_not_of(' ') + 1);
  }
  template <typename Cell>
  static std::string column(bool shown, const Cell& cell) {
    return shown ? fmt::format(" {:>9}", cell) : std::string();
  }

  const CollectiveOptions& options_;
  std::uint64_t element_;
  std::string title_;
  bool begun_ = false;
};

/// What was busy for nearly all of a row's time: its rate is then the row's. None where what is waited for is latency,
/// or another accelerator.
const Passed* binding(const CollectiveResult& result) {
  constexpr double kNearlyAll = 0.85;
  static constexpr std::array<Passed, kPassedParts> kParts = {Passed::kLink, Passed::kDmaRead, Passed::kDmaWrite,
                                                              Passed::kMemory, Passed::kNicCores};
  const auto most = std::max_element(result.busy.begin(), result.busy.end());
  return *most < kNearlyAll ? nullptr : &kParts[static_cast<std::size_t>(most - result.busy.begin())];
}

/// Of the largest size.
std::string binding_text(const std::vector<CollectiveResult>& results) {
  const auto largest =
      std::max_element(results.begin(), results.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (largest == results.end()) return "";
  std::vector<std::string> shares;
  for (std::size_t p = 0; p < kPassedParts; ++p) {
    shares.push_back(fmt::format("{} {:.0f} %", described(static_cast<Passed>(p)).name, 100 * largest->busy[p]));
  }
  const Passed* const bound = binding(*largest);
  return fmt::format(
      "at {} B {}; busy, at the rank where most: {}", largest->bytes,
      bound == nullptr ? "no part binds, but latency or other ranks" : fmt::format("{} binds", described(*bound).name),
      join(shares, ", "));
}

/// "ring", or of parts that run beside each other "multicast+ring".
std::string algorithms_text(const CollectiveResult& result) {
  std::vector<std::string> names;
  for (const std::string_view name : result.algorithms) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return join(names, "+");
}

ordered_json to_json(const std::vector<CollectiveResult>& results, bool has_nodes) {
  ordered_json rows = ordered_json::array();
  for (const CollectiveResult& result : results) {
    ordered_json row = {
        {"bytes", result.bytes},      {"time_us", to_us(result.time)},           {"algbw", result.algbw_GBps},
        {"busbw", result.busbw_GBps}, {"host_busy_us", to_us(result.host_busy)}, {"wrong", nullptr}};
    row["algorithm"] = algorithms_text(result);
    if (result.wrong >= 0) row["wrong"] = result.wrong;
    if (result.dpa_busy) row["dpa_busy_us"] = to_us(*result.dpa_busy);
    for (std::size_t p = 0; p < kPassedParts; ++p) {
      row["busy"][std::string(described(static_cast<Passed>(p)).key)] = result.busy[p];
    }
    const Passed* const bound = binding(result);
    row["binds"] = bound == nullptr ? ordered_json() : ordered_json(described(*bound).key);
    if (result.multicast) {
      collectives::MulticastCounters::each(
          [&](const char* name, auto field) { row["multicast"][name] = *result.multicast.*field; });
    }
    if (result.phases) row["phases"] = to_json(*result.phases);
    row["traffic"] = to_json(result.traffic, has_nodes);
    rows.push_back(row);
  }
  return rows;
}

int run_analytical(const CollectiveOptions& options, const std::vector<std::uint64_t>& sizes, std::uint64_t element) {
  if (!options.algorithm.empty()) {
    throw UsageError(
        "--algorithm: expected nothing, since each dimension of an analytical network has its own: "
        "--set analytical.dimensions.0.all_reduce=" +
        options.algorithm);
  }
  options.waves.refuse_without_modules();
  for (const auto& [option, given] :
       {std::pair("--why", options.platform.why), std::pair("--out", !options.out.empty()),
        std::pair("--timeline", !options.timeline.file.empty())}) {
    if (given) throw UsageError(option + std::string(": expected a machine of modules, got an analytical network"));
  }
  return run_analytical_collective(
      {options.platform, value_of<CollectiveOp>(options.op), options.op, sizes, options.type, element, options.json});
}

std::vector<std::string> broadcast_trees() {
  std::vector<std::string> names;
  for (const std::string& name : names_of<collectives::BroadcastAlgorithm>()) {
    if (value_of<collectives::BroadcastAlgorithm>(name) != collectives::BroadcastAlgorithm::kAutomatic) {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names = names_of<collectives::AlgorithmName>();
  for (std::string& name : broadcast_trees()) names.push_back(std::move(name));
  return names;
}

/// What --algorithm says of a Broadcast is for it alone.
void apply_algorithm(CollectiveOptions& options) {
  if (options.algorithm.empty()) return;
  const auto set = [&](const char* field, const std::string& value) {
    options.platform.by_option.push_back({field, value, "--algorithm"});
  };
  const bool broadcasts = value_of<CollectiveOp>(options.op) == CollectiveOp::kBroadcast;
  const std::vector<std::string> trees = broadcast_trees();
  if (std::find(trees.begin(), trees.end(), options.algorithm) == trees.end()) {
    set("collectives.algorithm", options.algorithm);
    if (broadcasts) set("collectives.broadcast.algorithm", "automatic");
    return;
  }
  if (!broadcasts) {
    throw UsageError("--algorithm: expected one of " + join(names_of<collectives::AlgorithmName>(), ", ") + " for " +
                     options.op + ", since " + options.algorithm + " is a tree for broadcasts only, got " +
                     in_quotes(options.algorithm));
  }
  set("collectives.broadcast.algorithm", options.algorithm);
}

/// The rows without what comes before them.
struct Measured {
  Time from;
  std::vector<Time> ends;
  std::shared_ptr<const LinkBaseline> since;

  void begin(Machine& machine) {
    from = machine.dispatcher().now();
    since = link_baseline(machine);
  }
  [[nodiscard]] Time length() const { return ends.empty() ? Time() : ends.back() - from; }
  [[nodiscard]] WhySpan why() const { return {from, ends.back(), ends, since.get()}; }
};

int run_machine(const CollectiveOptions& options, Platform& platform, const std::vector<std::uint64_t>& sizes) {
  const auto type = value_of<ElementType>(options.type);
  const std::uint64_t element = size_of(type);
  platform.ignore_workload();
  platform.document().check_unused();
  const Stopwatch watch;
  auto building = std::make_unique<BuildingLine>(what_is_built(platform.machine()));
  Machine& machine = platform.checked([&]() -> Machine& { return build_machine(platform.machine()); });
  if (options.platform.data) {
    const auto op = value_of<CollectiveOp>(options.op);
    const int buffers = op == CollectiveOp::kAllgatherReduceScatter
                            ? 3
                            : (op == CollectiveOp::kReduceScatter || op == CollectiveOp::kAllToAll ? 2 : 1);
    const std::uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
    require_host_memory(static_cast<double>(largest) * machine.size() * buffers);
  }
  ResultFiles files;
  const fs::path folder = options.out.empty() ? fs::path() : files.folder("--out", options.out, kRunFiles);
  const bool draws = !options.out.empty() || !options.timeline.file.empty();
  const std::unique_ptr<TimelineProbe> probe =
      draws ? open_timeline(files, options.timeline, options.out, folder, machine.size()) : nullptr;
  if (probe) machine.record(*probe);
  const std::unique_ptr<WaveRecording> waves = open_waves(options.waves, machine, files);
  std::vector<CollectiveResult> results;
  Measured measured_span;
  std::string remark;
  std::optional<Interrupted> interrupted;
  {
    Table table(options, element,
                fmt::format("# {}, {} on {} accelerators\n", platform.name(), options.op, machine.size()));
    std::vector<std::uint64_t> works = sizes;
    if (!options.cold) works.insert(works.begin(), sizes.front());
    ListProgress done(machine.dispatcher(), std::move(works));
    Progress progress(
        machine.dispatcher(), [&done] { return done.done(); }, Progress::kEvents, std::move(building));
    const auto add = [&](const CollectiveResult& result, bool measured) {
      done.end_one();
      if (!measured) return measured_span.begin(machine);
      measured_span.ends.push_back(machine.dispatcher().now());
      results.push_back(result);
      if (options.json) return;
      progress.hide();
      table.add(result);
    };
    try {
      platform.checked([&] {
        run_collective(machine, value_of<CollectiveOp>(options.op), sizes, type, &remark, !options.cold, add);
      });
    } catch (const Interrupted& by) {
      interrupted = by;
      interrupted->kept = fmt::format("{} of {} rows are done", results.size(), sizes.size());
    }
  }

  if (waves) waves->close();
  if (probe) {
    if (options.platform.why) draw_path(*probe, *machine.causes(), machine.causes()->path());
    probe->close();
  }
  MachineUse use = use_of(machine);
  use.energy = false;
  std::vector<IdleFields> more = platform.replaced();
  more.push_back({"workload", {}, "weft run runs it", false, {}});
  const IdleSettings idle(platform.document(), platform.machine(), use, std::move(more));
  std::vector<std::string> warnings = platform.document().remarks();
  for (std::string& line : machine.warnings()) warnings.push_back(std::move(line));
  const auto op = value_of<CollectiveOp>(options.op);
  const bool both = op == CollectiveOp::kAllReduce || op == CollectiveOp::kAllgatherReduceScatter;
  const RingUse rings{.sums = both || op == CollectiveOp::kReduceScatter,
                      .gathers = both || op == CollectiveOp::kAllgather || op == CollectiveOp::kBroadcast};
  const fabric::Plan* node = machine.node_count() > 0 ? &machine.node_network(0).plan() : nullptr;
  for (std::string& line : describe_starved_rings(machine.config(), machine.network().plan(), node, rings)) {
    warnings.push_back(std::move(line));
  }
  print_warnings(warnings);
  // What changes nothing is known at the end alone.
  const ordered_json without_effect = interrupted ? ordered_json::array() : idle.json();
  ordered_json summary = {
      {"weft", version_json()},
      {"platform", platform.name()},
      {"workload", {{"kind", "collective"}, {"op", options.op}}},
      {"op", options.op},
      {"type", options.type},
      {"ranks", machine.size()},
      {"algorithm", options.algorithm.empty() ? name_of(machine.config().collectives.algorithm) : options.algorithm},
      {"remark", remark},
      {"without_effect", without_effect},
      {"partial", partial_json(interrupted)},
      {"simulated_us", to_us(measured_span.length())},
      {"timeline", probe ? ordered_json(options.timeline.text()) : ordered_json()},
      {"rows", to_json(results, machine.node_count() > 0)},
      {"links", link_totals(machine)},
      {"counters", interface_summary(machine)},
      {"warnings", warnings},
      {"events", machine.dispatcher().handled()},
      {"hops", machine.hops()},
      {"digest", to_hex(machine.dispatcher().digest())},
      {"wall_s", watch.seconds()},
      {"cpu_s", watch.cpu_seconds()}};
  const ordered_json configured = configuration(platform.document());
  std::string why_told;
  if (options.platform.why && !measured_span.ends.empty()) {
    ordered_json why = {{"weft", version_json()}, {"left_out_us", 0}};
    why.update(why_summary(machine, measured_span.why()));
    if (!folder.empty()) write_file(folder / "why.json", why.dump(1) + "\n");
    why_told = "\n" + why_text(why, configured["values"]);
  }
  if (!folder.empty()) {
    write_file(folder / "config.json", configured);
    write_file(folder / "links.csv", link_table(machine, measured_span.length(), measured_span.since.get()));
    write_file(folder / "summary.json", summary);
  }
  files.keep();
  if (options.json) {
    print_json(summary);
  } else {
    if (!remark.empty()) print("# " + remark + "\n");
    if (!results.empty() && results.front().dpa_busy) print("# " + binding_text(results) + "\n");
    print(phases_text(results));
    if (options.traffic) print(traffic_text(results, machine.node_count() > 0));
    if (const std::string text = fetched_text(results, machine); !text.empty()) print("# " + text + "\n");
    if (const std::string text = idle.text(); !interrupted && !text.empty()) print("# " + text + "\n");
    print(link_remarks(machine) + why_told);
  }
  if (interrupted) throw Interrupted(*interrupted);
  const bool wrong = std::any_of(results.begin(), results.end(), [](const auto& result) { return result.wrong > 0; });
  return wrong ? kFailed : kDone;
}

int run(CollectiveOptions options) {
  const std::uint64_t element = size_of(value_of<ElementType>(options.type));
  const std::vector<std::uint64_t> sizes = parse_sizes(options.bytes, "--bytes", element);
  options.timeline.check();
  if (is_analytical(options.platform)) return run_analytical(options, sizes, element);
  apply_algorithm(options);
  Platform platform(options.platform);
  return checked_against(platform.document(), [&] { return run_machine(options, platform, sizes); });
}

}  // namespace

Command collective_command(const Arguments& parent) {
  auto options = std::make_shared<CollectiveOptions>();
  const Arguments app = parent.add_subcommand("collective", "Times collectives: the table that nccl-tests users know");
  add_platform_options(app, options->platform);
  app.add_option("--op", options->op, "The collective").check(OneOf(names_of<CollectiveOp>())).required();
  app.add_option("--algorithm", options->algorithm, "Algorithm instead of the platform's")
      .check(OneOf(algorithm_names()));
  app.add_option("--bytes", options->bytes, "Sizes of the whole buffer: 1MiB,8MiB or 1KiB:1GiB:x2")
      .type_name("SIZES")
      .shows_default();
  app.add_option("--type", options->type, "Element type").shows_default().check(OneOf(names_of<ElementType>()));
  options->waves.add_to(app);
  app.add_option("--out", options->out,
                 "Folder for summary.json, links.csv and config.json; none is written if left out")
      .type_name("FOLDER");
  options->timeline.add_to(app);
  app.add_flag("--why", options->platform.why, "Keep the critical path: where the time of the rows goes, exactly");
  app.add_flag("--traffic", options->traffic, "Print a second table, of the bytes that links carried");
  app.add_flag("--no-warmup", options->cold, "Skip the run of the first size that is not measured");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
