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
#include "platforms/cli/output.h"
#include "platforms/cli/platform_options.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/result_files.h"
#include "platforms/cli/signals.h"
#include "platforms/cli/timeline_option.h"
#include "platforms/cli/waves.h"
#include "platforms/commands/analytical/collective.h"
#include "platforms/commands/analytical/platform.h"
#include "platforms/commands/command.h"
#include "platforms/config/choices.h"
#include "platforms/config/sizes.h"
#include "platforms/config/text.h"
#include "platforms/jobs/collective_details.h"
#include "platforms/jobs/collective_summary.h"
#include "platforms/jobs/measured/measured.h"
#include "platforms/machine/platform.h"
#include "platforms/results/format.h"
#include "platforms/results/link_summary.h"
#include "platforms/results/stopwatch.h"
#include "platforms/results/summary.h"
#include "platforms/results/timeline_path.h"
#include "platforms/results/version.h"
#include "platforms/results/why/resources.h"
#include "platforms/results/why/why_summary.h"
#include "platforms/results/why/why_text.h"
#include "platforms/results/write_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct CollectiveOptions {
  PlatformOptions platform;
  std::string op;
  std::string algorithm;
  std::string compression;
  std::string bytes = "1KiB:1GiB:x2";
  std::string type = "fp32";
  WaveOptions waves;
  TimelineOptions timeline;
  std::string out;
  std::string measured;
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
    // Where NCCL's choice is followed, which may be another for each size.
    if (!begun_) chooses_ = !result.protocol().empty();
    std::string text;
    if (!begun_) {
      text = title_ + line("#", "size", "count", "type", "time", "algbw", "busbw") + column(offloads, "host") +
             column(offloads, "NIC") + column(checked, "#wrong") + choice("algo", "proto") + "\n" +
             line("#", "(B)", "(elements)", "", "(us)", "(GB/s)", "(GB/s)") + column(offloads, "(core us)") +
             column(offloads, "(core us)") + "\n";
    }
    begun_ = true;
    print(text +
          line("", result.bytes, result.bytes / element_, options_.type, fmt::format("{:.2f}", to_us(result.time)),
               fmt::format("{:.2f}", result.algbw_GBps), fmt::format("{:.2f}", result.busbw_GBps)) +
          column(offloads, fmt::format("{:.2f}", to_us(result.host_busy))) +
          column(offloads, fmt::format("{:.2f}", to_us(result.dpa_busy.value_or(Time())))) +
          column(checked, result.wrong) + choice(result.algorithm(), result.protocol()) + "\n");
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

  [[nodiscard]] std::string choice(const std::string& algorithm, const std::string& protocol) const {
    return chooses_ ? fmt::format(" {:>9} {:>7}", algorithm, protocol) : std::string();
  }

  const CollectiveOptions& options_;
  std::uint64_t element_;
  std::string title_;
  bool begun_ = false;
  bool chooses_ = false;
};

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
        std::pair("--timeline", !options.timeline.file.empty()), std::pair("--measured", !options.measured.empty())}) {
    if (given) throw UsageError(option + std::string(": expected a machine of modules, got an analytical network"));
  }
  return run_analytical_collective(
      {options.platform, value_of<CollectiveOp>(options.op), options.op, sizes, options.type, element, options.json});
}

/// What repeats the rows, with the platform's config.json behind the first word: algorithm and compression are in
/// there.
std::vector<std::string> command_of(const CollectiveOptions& options, const CollectiveRequest& request) {
  std::string sizes;
  for (const std::uint64_t bytes : request.sizes) sizes += fmt::format("{}{}B", sizes.empty() ? "" : ",", bytes);
  std::vector<std::string> command = {"collective", "--op", options.op, "--type", options.type, "--bytes", sizes};
  if (options.cold) command.emplace_back("--no-warmup");
  return command;
}

std::string title(const std::string& platform, const CollectiveRequest& request, int accelerators) {
  return fmt::format("# {}, {} on {}\n", platform, name_of(request.op), counted(accelerators, "accelerator"));
}

/// `measured`: null where nothing is compared.
int run_machine(const CollectiveOptions& options, Platform& platform, const CollectiveRequest& request,
                const Measured* measured) {
  CollectiveRows rows(platform, request);
  const std::vector<std::uint64_t>& sizes = request.sizes;
  auto building = std::make_unique<BuildingLine>(what_is_built(platform.machine()));
  Machine& machine = rows.build();
  ResultFiles files;
  const fs::path folder = options.out.empty() ? fs::path() : files.folder("--out", options.out, kRunFiles);
  const bool draws = !options.out.empty() || !options.timeline.file.empty();
  const std::unique_ptr<TimelineProbe> probe =
      draws ? open_timeline(files, options.timeline, options.out, folder, machine.size()) : nullptr;
  if (probe) {
    machine.record(*probe);
    rows.record(*probe, options.timeline.ranks);
  }
  const std::unique_ptr<WaveRecording> waves = open_waves(options.waves, machine, files);
  std::optional<Interrupted> interrupted;
  {
    Table table(options, size_of(request.type), title(platform.name(), request, machine.size()));
    std::vector<std::uint64_t> works = sizes;
    if (request.warms_up) works.insert(works.begin(), sizes.front());
    ListProgress done(machine.dispatcher(), std::move(works));
    Progress progress(
        machine.dispatcher(), [&done] { return done.done(); }, Progress::kEvents, std::move(building));
    try {
      rows.run([&](const CollectiveResult& result, bool is_measured) {
        done.end_one();
        if (!is_measured || options.json || measured != nullptr) return;
        progress.hide();
        table.add(result);
      });
    } catch (const Interrupted& by) {
      interrupted = by;
      interrupted->kept = counted_done(rows.results().size(), sizes.size(), "row");
    }
  }

  if (waves) waves->close();
  if (probe) {
    if (options.platform.why) draw_path(*probe, *machine.causes(), machine.causes()->path(rows.end()));
    probe->close();
  }
  ordered_json summary = rows.summary(partial_json(interrupted));
  if (probe) summary["timeline"] = options.timeline.text();
  print_warnings(rows.warnings());
  const std::vector<CollectiveResult>& results = rows.results();
  const ordered_json configured = configuration(platform.document());
  std::string why_told;
  ordered_json why;
  if (options.platform.why && !results.empty()) {
    why = why_summary(machine, rows.why(),
                      {{"weft", version_json()}, {"command", command_of(options, request)}, {"left_out_us", 0}});
    why["kernels_ignore"] = ignored_by_kernels(machine.config(), rows.kernels_on());
    if (!folder.empty()) write_file(folder / "why.json", why.dump(1) + "\n");
    why_told = "\n" + why_text(why, configured["values"]);
  }
  if (measured != nullptr) summary["measured"] = measured->beside(results, why, configured["values"]);
  if (!folder.empty()) {
    write_file(folder / "config.json", configured);
    write_file(folder / "links.csv", link_table(machine, rows.length(), rows.since()));
    write_file(folder / "summary.json", summary);
  }
  files.keep();
  if (options.json) {
    print_json(summary);
  } else {
    if (measured != nullptr && !results.empty()) {
      print(title(platform.name(), request, machine.size()) + measured_text(summary["measured"]));
    }
    print(compression_text(results));
    if (!rows.remark().empty()) print("# " + rows.remark() + "\n");
    if (!results.empty() && results.front().dpa_busy) print("# " + binding_text(results) + "\n");
    print(phases_text(results));
    if (options.traffic) print(traffic_text(results, machine.node_count() > 0));
    if (const std::string text = fetched_text(results, machine); !text.empty()) print("# " + text + "\n");
    if (const std::string text = rows.idle().text(); !interrupted && !text.empty()) print("# " + text + "\n");
    print(link_remarks(machine) + why_told);
  }
  if (interrupted) throw Interrupted(*interrupted);
  return rows.has_wrong() ? kFailed : kDone;
}

/// What is to be compared: of what the command line leaves out, all that the file has.
Measured read_measured(const CollectiveOptions& options, const Arguments& app) {
  MeasuredChoice choice;
  if (!options.op.empty()) choice.op = value_of<CollectiveOp>(options.op);
  if (app.given("--type")) choice.type = value_of<ElementType>(options.type);
  const std::uint64_t element = choice.type ? size_of(*choice.type) : 1;
  if (app.given("--bytes")) choice.sizes = parse_sizes(options.bytes, "--bytes", element);
  return {options.measured, choice};
}

int run(CollectiveOptions options, const Arguments& app) {
  options.timeline.check();
  std::optional<Measured> measured;
  if (!options.measured.empty()) {
    measured = read_measured(options, app);
    options.op = name_of(measured->op());
    options.type = name_of(measured->type());
  }
  if (options.op.empty())
    throw UsageError("--op is required, but for --measured with a file that says what it measured");
  const auto type = value_of<ElementType>(options.type);
  const std::vector<std::uint64_t> sizes =
      measured ? measured->sizes() : parse_sizes(options.bytes, "--bytes", size_of(type));
  if (is_analytical(options.platform)) return run_analytical(options, sizes, size_of(type));
  const CollectiveRequest request{
      value_of<CollectiveOp>(options.op), options.algorithm, type, sizes, !options.cold, options.compression};
  for (OptionValue& value : options_of(request, "--algorithm")) options.platform.by_option.push_back(std::move(value));
  Platform platform(options.platform);
  if (measured) {
    measured->check_ranks(platform.machine().accelerators, platform.machine().per_node, platform.name());
    print_warnings(measured->warnings());
  }
  return checked_against(platform.document(),
                         [&] { return run_machine(options, platform, request, measured ? &*measured : nullptr); });
}

}  // namespace

Command collective_command(const Arguments& parent) {
  auto options = std::make_shared<CollectiveOptions>();
  const Arguments app = parent.add_subcommand("collective", "Times collectives: the table that nccl-tests users know");
  add_platform_options(app, options->platform);
  app.add_option("--op", options->op, "The collective; required, but for --measured with a file that says it")
      .check(OneOf(names_of<CollectiveOp>()));
  app.add_option("--algorithm", options->algorithm, "Algorithm instead of the platform's")
      .check(OneOf(collective_algorithms()));
  app.add_option("--compression", options->compression,
                 "Compressor of the collective instead of the platform's, for AllReduce, ReduceScatter, Allgather, "
                 "AllToAll and pairs of them; its fields are at collectives.compression")
      .check(OneOf(compressor_names()));
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
  app.add_option("--measured", options->measured,
                 "What nccl-tests or rccl-tests printed, or wrote by -J: simulate its sizes and put both side by side")
      .type_name("FILE");
  app.add_flag("--traffic", options->traffic, "Print a second table, of the bytes that links carried");
  app.add_flag("--no-warmup", options->cold, "Skip the run of the first size that is not measured");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options, app] { return run(*options, app); }};
}

}  // namespace weft::platforms
