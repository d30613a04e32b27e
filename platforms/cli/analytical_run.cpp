// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/analytical_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/cli/analytical_platform.h"
#include "platforms/cli/output.h"
#include "platforms/cli/process.h"
#include "platforms/import/astra_sim.h"
#include "sw/analytical/config.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using dimensions::Operation;
using nlohmann::ordered_json;

/// Paths within the platform are relative to its file.
fs::path beside(const Document& document, const std::string& path) {
  return fs::path(document.file()).parent_path() / path;
}

std::string_view text_of(analytical::Congestion congestion) {
  for (const auto& [name, value] : enum_names(congestion)) {
    if (value == congestion) return name;
  }
  return "";
}

analytical::Replay::Traces read_workload(Document& document, std::uint32_t ends) {
  const Node workload = document.root().child("workload");
  if (!workload.exists()) workload.fail("what to run, such as {\"kind\": \"chakra\", \"traces\": \"PREFIX\"}");
  if (workload.require<std::string>("kind") != "chakra") workload.child("kind").fail("\"chakra\"");
  analytical::Replay::Traces traces;
  traces.prefix = beside(document, workload.require<std::string>("traces"));
  traces.groups = astra::groups_of(workload.child("groups"), ends);
  const Node custom = workload.child("custom");
  for (const auto& [key, operation] : enum_names(Operation{})) {
    const auto prefix = custom.get<std::string>(key, "");
    if (!prefix.empty()) traces.custom[operation] = beside(document, prefix);
  }
  return traces;
}

}  // namespace

int run_analytical(const AnalyticalRunOptions& options) {
  AnalyticalPlatform platform(options.platform);
  Document& document = platform.document;
  const analytical::AnalyticalConfig& config = platform.config;
  Dispatcher dispatcher("dispatcher");
  const Stopwatch watch;
  const auto network = platform.make_network(dispatcher);
  const analytical::Replay::Traces traces = read_workload(document, network->ends());
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
  const double seconds = watch.seconds();

  std::vector<std::int64_t> finish;
  for (std::uint32_t e = 0; e < network->ends(); ++e) finish.push_back(replay->finished_at(e).count() / 1000);
  const auto [first, last] = std::minmax_element(finish.begin(), finish.end());
  const ordered_json summary = {{"platform", platform.name},
                                {"description", platform.description},
                                {"file", document.file()},
                                {"workload", {{"kind", "chakra"}, {"traces", traces.prefix.string()}}},
                                {"ends", finish.size()},
                                {"first_finish_ns", *first},
                                {"last_finish_ns", *last},
                                {"finish_ns", finish},
                                {"nodes", replay->nodes()},
                                {"messages", network->messages()},
                                {"simulator",
                                 {{"events", dispatcher.handled()},
                                  {"wall_s", seconds},
                                  {"most_resident_bytes", most_resident_bytes()},
                                  {"digest", to_hex(dispatcher.digest())}}},
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
      platform.name, finish.size(), text_of(config.congestion), *first, *last, replay->nodes(), network->messages(),
      seconds, (out / "summary.json").string()));
  return kDone;
}

}  // namespace weft::platforms
