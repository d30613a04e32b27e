// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/analytical_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/cli/graph_workload.h"
#include "platforms/cli/output.h"
#include "platforms/cli/process.h"
#include "sw/analytical/config.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

}  // namespace

bool is_analytical(const PlatformOptions& options) {
  Document document(find_platform(options.platform), options.overrides);
  const Node root = document.root();
  return root.has("network") && root.child("network").raw() == "analytical";
}

int run_analytical(const AnalyticalRunOptions& options) {
  if (options.platform.data) throw UsageError("--data: expected nothing, since an analytical network moves no bytes");
  if (options.platform.seed)
    throw UsageError("--seed: expected nothing, since in an analytical network nothing is random");
  Document document(find_platform(options.platform.platform), options.platform.overrides);
  const Node root = document.root();
  const auto name = root.get<std::string>("name", fs::path(document.file()).stem().string());
  const auto description = root.get<std::string>("description", "");
  static_cast<void>(root.child("network").raw());
  analytical::AnalyticalConfig config;
  root.read("analytical", config);

  const auto checked = [&document](auto&& action) {
    try {
      return action();
    } catch (const ConfigError& error) {
      throw explain(document, error);
    }
  };
  Dispatcher dispatcher("dispatcher");
  const Stopwatch watch;
  const auto network = checked([&] {
    return std::make_unique<analytical::Network>(dispatcher, config.network(), config.congestion, "analytical",
                                                 config.rendezvous);
  });
  const dimensions::Workload traces = read_graph_workload(document, network->ends());
  document.check_unused();
  const auto replay = checked([&] {
    return std::make_unique<analytical::Replay>("replay", dispatcher, *network, config.whole_collectives(), config.end,
                                                traces);
  });
  const fs::path out = options.out.empty() ? fs::path("out") / name : fs::path(options.out);
  OutputFolder folder(out);
  {
    const Progress progress(dispatcher);
    sc_core::sc_start();
  }
  checked([&] { replay->check_finished(); });
  const double seconds = watch.seconds();

  std::vector<std::int64_t> finish;
  for (std::uint32_t e = 0; e < network->ends(); ++e) finish.push_back(replay->finished_at(e).count() / 1000);
  const auto [first, last] = std::minmax_element(finish.begin(), finish.end());
  const ordered_json summary = {{"platform", name},
                                {"description", description},
                                {"file", document.file()},
                                {"workload", {{"kind", "chakra"}, {"traces", traces.source.string()}}},
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
      name, finish.size(), config.congestion == analytical::Congestion::kAware ? "aware" : "unaware", *first, *last,
      replay->nodes(), network->messages(), seconds, (out / "summary.json").string()));
  return kDone;
}

}  // namespace weft::platforms
