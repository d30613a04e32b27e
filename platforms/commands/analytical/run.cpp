// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/analytical/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "platforms/cli/exit_code.h"
#include "platforms/cli/output.h"
#include "platforms/cli/process.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/result_files.h"
#include "platforms/cli/signals.h"
#include "platforms/cli/timeline_option.h"
#include "platforms/commands/analytical/platform.h"
#include "platforms/commands/analytical/report.h"
#include "platforms/jobs/graph/graph_workload.h"
#include "platforms/results/format.h"
#include "platforms/results/report/report.h"
#include "platforms/results/stopwatch.h"
#include "platforms/results/version.h"
#include "platforms/results/write_file.h"
#include "sw/analytical/config.h"

namespace weft::platforms {
namespace fs = std::filesystem;
using nlohmann::ordered_json;

int run_analytical(const AnalyticalRunOptions& options) {
  AnalyticalPlatform platform(options.platform);
  Document& document = platform.document;
  const analytical::AnalyticalConfig& config = platform.config;
  Dispatcher dispatcher("dispatcher");
  const Stopwatch watch;
  const auto network = platform.make_network(dispatcher);
  std::vector<std::uint32_t> sizes;
  for (const analytical::Dimension& dimension : network->dimensions()) sizes.push_back(dimension.size);
  const auto [traces, nodes, remarks] =
      read_graph_workload(document, document.root().child("workload"), sizes, Runner::kAnalytical);
  document.check_unused();
  const fs::path out = options.out.empty() ? fs::path("out") / platform.name : fs::path(options.out);
  ResultFiles files;
  files.spare(files_of_traces(traces));
  const fs::path folder = files.folder("--out", out, kRunFiles);
  const auto replay = platform.checked([&] {
    return std::make_unique<analytical::Replay>("replay", dispatcher, *network, config.whole_collectives(), config.end,
                                                traces);
  });
  const fs::path timeline = options.timeline.place(out);
  const std::unique_ptr<TimelineProbe> probe =
      open_timeline(files, options.timeline, out, folder, static_cast<int>(network->ends()));
  if (probe) replay->record(*probe, static_cast<std::uint32_t>(options.timeline.ranks));
  std::optional<Interrupted> interrupted;
  try {
    const Progress progress(
        dispatcher,
        [&replay, all = nodes * network->ends()] {
          return static_cast<double>(replay->nodes()) / static_cast<double>(std::max<std::uint64_t>(all, 1));
        },
        Progress::kTimes);
    try {
      platform.checked([&] { dispatcher.run_to_end(); });
    } catch (const std::bad_alloc&) {
      throw UsageError(
          fmt::format("{}: {} ends, which cut each collective into {} chunks (analytical.collectives.splits), need "
                      "more memory than this computer, or a limit that is set for the process, gives",
                      document.file(), network->ends(), config.collectives.splits));
    }
    platform.checked([&] { replay->check_finished(); });
  } catch (const Interrupted& by) {
    interrupted = by;
    interrupted->kept = fmt::format("{} nodes are done", replay->nodes());
  }
  const double seconds = watch.seconds();

  std::vector<std::string> warnings = remarks;
  for (std::string& remark : replay->remarks()) warnings.push_back(std::move(remark));
  std::vector<analytical::EndReport> ends;
  std::vector<std::int64_t> finish;
  for (std::uint32_t e = 0; e < network->ends(); ++e) {
    ends.push_back(replay->report(e, dispatcher.now()));
    finish.push_back(ends.back().finished.count() / 1000);
  }
  const auto [first, last] = std::minmax_element(finish.begin(), finish.end());
  ordered_json summary = {{"weft", version_json()},
                          {"platform", platform.name},
                          {"description", platform.description},
                          {"file", document.file()},
                          {"workload", {{"kind", "chakra"}, {"traces", traces.source.string()}}},
                          {"partial", partial_json(interrupted)},
                          {"ends", finish.size()},
                          {"first_finish_ns", *first},
                          {"last_finish_ns", *last},
                          {"finish_ns", finish},
                          {"nodes", replay->nodes()},
                          {"messages", network->messages()},
                          {"statistics", end_statistics(ends)},
                          {"dimensions", dimension_summary(*network, Time(*last * 1000))},
                          {"simulator",
                           {{"events", network->agenda().handled()},
                            {"wall_s", seconds},
                            {"cpu_s", watch.cpu_seconds()},
                            {"most_resident_bytes", most_resident_bytes()},
                            {"digest", to_hex(network->agenda().digest())}}},
                          {"warnings", warnings},
                          {"configuration", "config.json"},
                          {"timeline", nullptr}};
  if (probe) {
    probe->close();
    summary["timeline"] = options.timeline.text();
    if (probe->picture()) write_file(folder / "timeline.svg", probe->picture()->svg());
  }
  write_file(folder / "config.json", configuration(document));
  write_file(folder / "ends.csv", end_table(ends));
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
    return kDone;
  }
  std::vector<std::string> wrote = {(out / "summary.json").string()};
  if (options.report) wrote.push_back((out / "report.html").string());
  if (probe) wrote.push_back(timeline.string());
  print(fmt::format(
      "{}: {} ends, analytical network, congestion {}\n\nfirst end done  {:>14} ns\nlast end done   {:>14} ns\n\n{}"
      "\n{} nodes, {} messages in {:.2f} s\nwrote {}\n",
      platform.name, finish.size(), name_of(config.congestion), *first, *last, end_text(ends), replay->nodes(),
      network->messages(), seconds, and_list(wrote)));
  return kDone;
}

}  // namespace weft::platforms
