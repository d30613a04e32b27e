// SPDX-License-Identifier: Apache-2.0
// weft import: other simulators' inputs become platforms.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "platforms/cli/choices.h"
#include "platforms/cli/command.h"
#include "platforms/cli/output.h"
#include "platforms/config/field_visitor.h"
#include "platforms/import/astra_machine.h"
#include "platforms/import/astra_sim.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using dimensions::Operation;
using nlohmann::ordered_json;

struct ImportOptions {
  std::string network;
  std::string system;
  std::string memory;
  std::string groups;
  std::string workload;
  std::string congestion;  ///< empty: Weft's own machine
  std::string out;
  int queues = 1;
  bool rendezvous = false;
};

/// From the platform's folder, so that both can be moved together; as it is if it has no such path.
std::string seen_from(const fs::path& platform, const fs::path& file) {
  const fs::path folder = fs::absolute(platform).parent_path();
  const fs::path relative = fs::absolute(file).lexically_relative(folder);
  return (relative.empty() ? fs::absolute(file) : relative).string();
}

int run(const ImportOptions& options) {
  astra::System system = astra::read_system(options.network, options.system);
  const std::uint32_t ends = astra::ends_of(system, options.network);
  if (!options.memory.empty()) astra::read_memory(options.memory, system.config.end, ends);
  system.config.collectives.queues = options.queues;

  ordered_json workload = {{"kind", "chakra"}, {"traces", seen_from(options.out, options.workload)}};
  if (!options.groups.empty()) workload["groups"] = astra::read_groups(options.groups, ends);
  for (const auto& [name, operation] : enum_names(Operation{})) {
    const auto custom = system.custom.find(operation);
    if (custom != system.custom.end()) workload["custom"][std::string(name)] = seen_from(options.out, custom->second);
  }
  for (const auto& [node, prefix] : system.custom_nodes) {
    workload["custom_nodes"][std::to_string(node)] = seen_from(options.out, prefix);
  }
  ordered_json platform = {{"name", fs::path(options.out).stem().string()},
                           {"description", "From ASTRA-sim: " + fs::path(options.network).filename().string() + ", " +
                                               fs::path(options.system).filename().string() + ", " +
                                               fs::path(options.workload).filename().string()}};
  if (options.congestion.empty()) {
    platform.update(astra::machine_of(system, options.rendezvous));
    workload["compute"] = astra::compute_of(system);
  } else {
    system.config.congestion = value_of<analytical::Congestion>(options.congestion);
    system.config.rendezvous = options.rendezvous;
    platform["network"] = "analytical";
    platform["analytical"] = config_to_json(system.config);
  }
  platform["workload"] = workload;
  try {
    write_file(options.out, platform);
  } catch (const std::system_error& error) {
    throw UsageError("--out: expected a file that can be written: " + std::string(error.what()));
  }
  print_warnings(system.remarks);
  print("wrote " + options.out + "\n");
  return kDone;
}

}  // namespace

Command import_command(const Arguments& parent) {
  auto options = std::make_shared<ImportOptions>();
  const Arguments app = parent.add_subcommand("import", "Makes a platform of another simulator's inputs");
  app.require_subcommand(1, 1);
  const Arguments astra =
      app.add_subcommand("astra-sim", "ASTRA-sim's network, system, memory and group files, and traces");
  astra.add_option("--network", options->network, "network.yml").required();
  astra.add_option("--system", options->system, "system.json").required();
  astra.add_option("--memory", options->memory, "Remote memory file");
  astra.add_option("--groups", options->groups, "Communicator groups file");
  astra.add_option("--workload", options->workload, "Prefix of the Chakra files").required();
  astra
      .add_option("--analytical", options->congestion,
                  "ASTRA-sim's arithmetic, with links shared or not, in place of Weft's own machine")
      .check(OneOf(names_of<analytical::Congestion>()));
  astra.add_flag("--rendezvous-protocol", options->rendezvous, "Who receives asks for each message first");
  astra.add_option("--num-queues-per-dim", options->queues, "Queues that share a dimension's active chunks")
      .check(Within(1, 255));
  astra.add_option("--out", options->out, "Platform to write").required();
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
