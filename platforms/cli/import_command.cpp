// SPDX-License-Identifier: Apache-2.0
// weft import: other simulators' inputs become platforms.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "platforms/cli/command.h"
#include "platforms/cli/output.h"
#include "platforms/import/astra_sim.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using analytical::Operation;
using nlohmann::ordered_json;

struct Options {
  std::string network;
  std::string system;
  std::string memory;
  std::string groups;
  std::string workload;
  std::string congestion = "unaware";
  std::string out;
  bool rendezvous = false;
};

/// From the platform's folder, so that both can be moved together; as it is if it has no such path.
std::string seen_from(const fs::path& platform, const fs::path& file) {
  const fs::path folder = fs::absolute(platform).parent_path();
  const fs::path relative = fs::absolute(file).lexically_relative(folder);
  return (relative.empty() ? fs::absolute(file) : relative).string();
}

template <typename E>
std::string name_of(E value) {
  for (const auto& [name, each] : enum_names(E{})) {
    if (each == value) return std::string(name);
  }
  return "";
}

ordered_json to_json(const analytical::AnalyticalConfig& config) {
  ordered_json dimensions = ordered_json::array();
  for (const analytical::DimensionConfig& each : config.dimensions) {
    dimensions.push_back({{"block", name_of(each.block)},
                          {"size", each.size},
                          {"bandwidth_GiBps", each.bandwidth_GiBps},
                          {"latency_ns", each.latency_ns},
                          {"all_reduce", name_of(each.all_reduce)},
                          {"all_gather", name_of(each.all_gather)},
                          {"reduce_scatter", name_of(each.reduce_scatter)},
                          {"all_to_all", name_of(each.all_to_all)}});
  }
  const analytical::CollectiveConfig& collectives = config.collectives;
  const analytical::EndConfig& end = config.end;
  ordered_json json = {{"congestion", name_of(config.congestion)},
                       {"rendezvous", config.rendezvous},
                       {"dimensions", dimensions},
                       {"collectives",
                        {{"scheduling", name_of(collectives.scheduling)},
                         {"optimization", name_of(collectives.optimization)},
                         {"splits", collectives.splits},
                         {"active_chunks", collectives.active_chunks},
                         {"endpoint_delay", std::to_string(collectives.endpoint_delay.count() / 1000) + "ns"}}},
                       {"end",
                        {{"roofline", end.roofline},
                         {"replay_only", end.replay_only},
                         {"peak_tflops", end.peak_tflops},
                         {"memory_GBps", end.memory_GBps},
                         {"remote_memory", name_of(end.remote_memory)}}}};
  if (end.remote_memory != analytical::RemoteMemory::kNone) {
    json["end"]["remote_latency_ns"] = end.remote_latency_ns;
    json["end"]["remote_GBps"] = end.remote_GBps;
    json["end"]["ends_per_node"] = end.ends_per_node;
  }
  return json;
}

int run(const Options& options) {
  astra::System system = astra::read_system(options.network, options.system);
  if (!options.memory.empty()) astra::read_memory(options.memory, system.config.end);
  system.config.congestion =
      options.congestion == "aware" ? analytical::Congestion::kAware : analytical::Congestion::kUnaware;
  system.config.rendezvous = options.rendezvous;
  std::uint32_t ends = 1;
  for (const auto& dimension : system.config.dimensions) ends *= static_cast<std::uint32_t>(dimension.size);

  ordered_json workload = {{"kind", "chakra"}, {"traces", seen_from(options.out, options.workload)}};
  if (!options.groups.empty()) workload["groups"] = astra::read_groups(options.groups, ends);
  for (const auto& [operation, prefix] : system.custom) {
    const char* key = operation == Operation::kAllReduce       ? "all_reduce"
                      : operation == Operation::kAllgather     ? "all_gather"
                      : operation == Operation::kReduceScatter ? "reduce_scatter"
                                                               : "all_to_all";
    workload["custom"][key] = seen_from(options.out, prefix);
  }
  const ordered_json platform = {{"name", fs::path(options.out).stem().string()},
                                 {"description", "From ASTRA-sim: " + fs::path(options.network).filename().string() +
                                                     ", " + fs::path(options.system).filename().string() + ", " +
                                                     fs::path(options.workload).filename().string()},
                                 {"network", "analytical"},
                                 {"analytical", to_json(system.config)},
                                 {"workload", workload}};
  write_file(options.out, platform);
  print_warnings(system.remarks);
  print("wrote " + options.out + "\n");
  return kDone;
}

}  // namespace

Command import_command(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("import", "Makes a platform of another simulator's inputs");
  app->require_subcommand(1);
  CLI::App* astra = app->add_subcommand("astra-sim", "ASTRA-sim's network, system, memory and group files, and traces");
  astra->add_option("--network", options->network, "network.yml")->required();
  astra->add_option("--system", options->system, "system.json")->required();
  astra->add_option("--memory", options->memory, "Remote memory file");
  astra->add_option("--groups", options->groups, "Communicator groups file");
  astra->add_option("--workload", options->workload, "Prefix of the Chakra files")->required();
  astra->add_option("--analytical", options->congestion, "Its backend: links shared (aware) or not")
      ->check(CLI::IsMember({"unaware", "aware"}))
      ->capture_default_str();
  astra->add_flag("--rendezvous-protocol", options->rendezvous, "A request goes ahead of each message");
  astra->add_option("--out", options->out, "Platform to write")->required();
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
