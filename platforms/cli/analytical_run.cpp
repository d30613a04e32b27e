// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/analytical_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/cli/analytical_platform.h"
#include "platforms/cli/graph_workload.h"
#include "platforms/cli/output.h"
#include "platforms/cli/process.h"
#include "sw/analytical/config.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

}  // namespace

int run_analytical(const AnalyticalRunOptions& options) {
  AnalyticalPlatform platform(options.platform);
  Document& document = platform.document;
  const analytical::AnalyticalConfig& config = platform.config;
  Dispatcher dispatcher("dispatcher");
  const Stopwatch watch;
  const auto network = platform.make_network(dispatcher);
  const dimensions::Workload traces = read_graph_workload(document, network->ends());
  document.check_unused();
  const auto replay = platform.checked([&] {
    return std::make_unique<analytical::Replay>("replay", dispatcher, *network, config.whole_collectives(), config.end,
                                                traces);
  });
  const fs::path out = options.out.empty() ? fs::path("out") / platform.name : fs::path(options.out);
  OutputFolder folder(out);
  {
    const Progress progress(dispatcher);
    sc_core::sc_start();
  }
  platform.checked([&] { replay->check_finished(); });
  print_warnings(replay->remarks());
  const double seconds = watch.seconds();

  std::vector<std::int64_t> finish;
  for (std::uint32_t e = 0; e < network->ends(); ++e) finish.push_back(replay->finished_at(e).count() / 1000);
  const auto [first, last] = std::minmax_element(finish.begin(), finish.end());
  const ordered_json summary = {{"platform", platform.name},
                                {"description", platform.description},
                                {"file", document.file()},
                                {"workload", {{"kind", "chakra"}, {"traces", traces.source.string()}}},
                                {"ends", finish.size()},
                                {"first_finish_ns", *first},
                                {"last_finish_ns", *last},
                                {"finish_ns", finish},
                                {"nodes", replay->nodes()},
                                {"messages", network->messages()},
                                {"simulator",
                                 {{"events", network->agenda().handled()},
                                  {"wall_s", seconds},
                                  {"most_resident_bytes", most_resident_bytes()},
                                  {"digest", to_hex(network->agenda().digest())}}},
                                {"configuration", "config.json"}};
  write_file(out / "config.json", ordered_json(document.effective()));
  write_file(out / "summary.json", summary);
  folder.keep();
  if (options.json) {
    print_json(summary);
    return kDone;
  }
  print(fmt::format(
      "{}: {} ends, analytical network, congestion {}\n\nfirst end done  {:>14} ns\nlast end done   {:>14} ns\n"
      "\n{} nodes, {} messages in {:.2f} s\nwrote {}\n",
      platform.name, finish.size(), name_of(config.congestion), *first, *last, replay->nodes(), network->messages(),
      seconds, (out / "summary.json").string()));
  return kDone;
}

}  // namespace weft::platforms
