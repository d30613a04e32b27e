// SPDX-License-Identifier: Apache-2.0
// weft import astra-sim: ASTRA-sim's inputs become a platform.
#include "platforms/commands/import/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "hw/fabric/topology/topology.h"
#include "platforms/cli/output.h"
#include "platforms/cli/result_files.h"
#include "platforms/config/choices.h"
#include "platforms/config/field_visitor.h"
#include "platforms/config/text.h"
#include "platforms/import/astra_algorithms.h"
#include "platforms/import/astra_groups.h"
#include "platforms/import/astra_machine.h"
#include "platforms/import/astra_sim.h"
#include "platforms/jobs/graph/graph_workload.h"
#include "platforms/machine/machine_checks.h"
#include "platforms/machine/platform.h"
#include "platforms/results/write_file.h"
#include "traces/chakra/groups.h"
#include "traces/chakra/ranks.h"
#include "traces/chakra/reader.h"
#include "traces/files/input_file.h"

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
  std::string ns3_config;
  std::string ns3_topology;
  std::string htsim_topology;
  double comm_scale = 1;
  double compute_scale = 1;
  double injection_scale = 1;
  int queues = 1;
  bool rendezvous = false;
};

/// From the platform's folder, so that both can be moved together; as it is if it has no such path.
std::string seen_from(const fs::path& platform, const fs::path& file) {
  const fs::path folder = fs::absolute(platform).parent_path();
  const fs::path relative = fs::absolute(file).lexically_relative(folder);
  return text_of_path("--workload", relative.empty() ? fs::absolute(file) : relative);
}

/// The links that a file of a packet simulator gives, and the payload of its packets.
struct Packets {
  std::optional<astra::WiredNetwork> network;
  std::string file;
  std::optional<std::int64_t> payload;
};

Packets read_packets(const ImportOptions& options, std::vector<std::string>& remarks) {
  const bool is_ns3 = !options.ns3_config.empty() || !options.ns3_topology.empty();
  if (is_ns3 && !options.htsim_topology.empty()) {
    throw UsageError(
        "--htsim-topology: expected no --ns3-topology and --ns3-config beside it, as a machine has one network");
  }
  Packets packets;
  if (!options.htsim_topology.empty()) {
    packets.file = options.htsim_topology;
    packets.network = astra::read_htsim_topology(packets.file);
    if (const std::vector<std::string>& keys = packets.network->without_meaning; !keys.empty()) {
      remarks.push_back(packets.file + ": " + join(keys, ", ") +
                        (keys.size() == 1 ? " has no effect" : " have no effect") +
                        ": the radices say how many links there are, and queues are those of fabric.switch");
    }
    return packets;
  }
  if (!is_ns3) return packets;
  packets.file = options.ns3_topology;
  if (!options.ns3_config.empty()) {
    const astra::Ns3Config config = astra::read_ns3_config(options.ns3_config);
    packets.payload = config.payload;
    if (packets.file.empty()) packets.file = config.topology.string();
    if (packets.file.empty())
      throw InputError(options.ns3_config, "", "TOPOLOGY_FILE, or --ns3-topology FILE beside it", "");
    if (!fs::exists(packets.file)) {
      throw InputError(
          options.ns3_config, "TOPOLOGY_FILE",
          "a file relative to this one; ns-3 takes it from the folder that it runs in: --ns3-topology FILE "
          "says where it is",
          in_quotes(packets.file));
    }
    if (!config.without_meaning.empty()) {
      remarks.push_back(options.ns3_config + ": " + join(config.without_meaning, ", ") +
                        " have no effect: switches and congestion control are Weft's (fabric.link.flow_control, "
                        "fabric.switch, nic.dcqcn)");
    }
  }
  packets.network = astra::read_ns3_topology(packets.file);
  return packets;
}

void check(const ImportOptions& options, const astra::System& system, const Packets& packets, std::uint32_t ends) {
  if (packets.network && !options.congestion.empty()) {
    throw UsageError("--analytical: expected a network of " + options.network + " alone; the links of " + packets.file +
                     " are for packets, without this option");
  }
  if (!packets.network && !system.has_links) {
    throw InputError(
        options.network, "logical-dims",
        "--ns3-topology FILE, or --ns3-config FILE that names it, beside a logical topology, which has no links", "");
  }
  if (packets.network && packets.network->ends < ends) {
    throw InputError(packets.file, "", "at least the " + std::to_string(ends) + " ends of " + options.network,
                     std::to_string(packets.network->ends));
  }
}

/// Of ASTRA-sim's command line, what it does not read.
void remark_scales(const ImportOptions& options, std::vector<std::string>& remarks) {
  for (const auto& [name, scale] :
       {std::pair("--comm-scale", options.comm_scale), {"--compute-scale", options.compute_scale}}) {
    if (scale == 1) continue;
    remarks.push_back(
        std::string(name) +
        " has no effect, as in ASTRA-sim, which takes it and never reads it: sizes and durations are those of the "
        "traces");
  }
}

/// That a machine can have the links of the file, which says more than one of a packet simulator needs to.
void check_links(const MachineConfig& machine, const std::string& file) {
  try {
    static_cast<void>(fabric::Topology::build(machine.fabric, machine.accelerators, "fabric"));
  } catch (const ConfigError& error) {
    const auto edge = std::find_if(machine.fabric.edges.begin(), machine.fabric.edges.end(), [&](const auto& each) {
      const auto index = static_cast<std::size_t>(&each - machine.fabric.edges.data());
      return error.path().starts_with("fabric.edges." + std::to_string(index) + ".");
    });
    std::string expected = error.expected();
    constexpr std::string_view kExpected = "expected ";
    if (expected.starts_with(kExpected)) expected.erase(0, kExpected.size());
    if (expected == "one link for each end") {
      expected +=
          ", as an accelerator of a machine has one port: a switch of its own between an end and its links "
          "gives it several";
    } else if (expected == "at least one switch") {
      expected += ": ends that are joined without any are a network.yml of Ring or FullyConnected, without this file";
    }
    throw InputError(file, edge != machine.fabric.edges.end() ? edge->between : "", expected, "");
  }
}

/// That each field of the platform is within its limits, and fits the others: what does not came from the files.
void check_limits(const ordered_json& platform, const ImportOptions& options, const Packets& packets) {
  const auto fail = [&](const std::string& what) {
    throw UsageError("what " + options.network + " and " + options.system + " give is beyond what Weft has: " + what);
  };
  Document document = Document::from_text(platform.dump(), options.out);
  MachineConfig machine;
  analytical::AnalyticalConfig arithmetic;
  try {
    document.root().read(machine);
    document.root().read("analytical", arithmetic);
  } catch (const InputError& error) {
    fail(error.what());
  }
  if (packets.network) check_links(machine, packets.file);
  try {
    if (options.congestion.empty()) {
      check_machine(machine);
    } else {
      Dispatcher dispatcher("limits");
      const analytical::Network network(dispatcher, arithmetic.network(), arithmetic.congestion, "analytical");
    }
  } catch (const ConfigError& error) {
    if (error.path() == "analytical.congestion") {
      throw UsageError("--analytical " + options.congestion + ": " + error.expected() + "; " + options.network +
                       " has the dimensions");
    }
    fail(document.explain(error).what());
  }
}

/// The groups file that is given, or else the one that lies beside the traces; empty if there is none.
std::string groups_of_traces(const ImportOptions& options, std::vector<std::string>& remarks) {
  if (!options.groups.empty()) return options.groups;
  const std::optional<fs::path> beside = chakra::find_groups(options.workload);
  if (!beside) return "";
  remarks.push_back("groups are those of " + beside->string() + ", which lies beside the traces");
  return beside->string();
}

/// What a run would refuse of the collectives in the traces: of the files that take the place of some, and the
/// algorithms of others. It reads the traces where there is a reason to.
void expect_collectives(const ImportOptions& options, const astra::System& system, const ordered_json& workload,
                        std::uint32_t ends) {
  if (system.config.end.replay_only) return;
  dimensions::Workload traces;
  traces.prefix = options.workload;
  traces.shared = weft::traces::is_file(options.workload);
  traces.custom = system.custom;
  traces.custom_nodes = system.custom_nodes;
  if (workload.contains("groups")) traces.groups = workload["groups"].get<decltype(traces.groups)>();
  expect_implementations(traces, ends);
  astra::expect_algorithms(system, options.system, options.congestion.empty(),
                           [&] { return collectives_of(traces, ends); });
}

/// That there is one file for all ranks or one for each.
void expect_ranks(const std::string& workload, std::uint32_t ends) {
  const chakra::TraceFiles traces = chakra::find_trace(workload);
  if (!traces.is_prefix) return;
  const chakra::RankFile& last = traces.files.back();
  if (*last.rank >= ends) {
    throw UsageError(
        fmt::format("--workload: expected traces of {} ranks, as many as the network has ends, but there is {}", ends,
                    last.file.string()));
  }
  const std::uint32_t missing = traces.missing.empty() ? *last.rank + 1 : traces.missing.front();
  if (missing == ends) return;
  throw UsageError(fmt::format(
      "--workload: {}: rank {} has no file; expected files of all ranks from 0 to {}, as many as the network has ends: "
      "weft trace repair {} TO --ranks {} writes them from another rank's; a FILE.et as the trace is that of all ranks",
      workload, missing, ends - 1, workload, ends));
}

/// The platform names them, and a run reads them later: that they are traces, by the beginning of each.
void expect_traces(const fs::path& workload) {
  std::error_code ignored;
  if (traces::is_file(workload) && !fs::is_regular_file(workload, ignored)) {
    throw UsageError("--workload: expected files that stay, since the platform names them for weft run to read, got " +
                     in_quotes(workload.string()) + ", a pipe or a device");
  }
  for (const chakra::RankFile& file : chakra::find_trace(workload).files) {
    chakra::TraceReader reader(file.file);
    chakra::Node first;
    reader.next(first);
  }
}

/// Which files a platform comes from; a pipe has no name that says anything later.
std::string description_of(const ImportOptions& options) {
  std::vector<std::string> names;
  for (const fs::path& file : {fs::path(options.network), fs::path(options.system)}) {
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) names.push_back(file.filename().string());
  }
  names.push_back(fs::path(options.workload).filename().string());
  return "From ASTRA-sim: " + join(names, ", ");
}

/// Which of the files has a key.
const std::string& file_of(const ImportOptions& options, const std::string& key) {
  if (key == "bandwidth" || key == "latency") return options.network;
  return key.starts_with("remote-mem") || key == "num-npus-per-node" ? options.memory : options.system;
}

int run(const ImportOptions& options) {
  ResultFiles files;
  for (const std::string& input : {options.network, options.system, options.memory, options.groups, options.ns3_config,
                                   options.ns3_topology, options.htsim_topology}) {
    files.spare(input);
  }
  files.spare(files_of_trace(options.workload));
  const fs::path file = files.file("--out", options.out, ResultKind::kPlatform);
  astra::System system = astra::read_system(options.network, options.system, options.injection_scale);
  const std::uint32_t ends = astra::ends_of(system, options.network);
  if (!options.memory.empty()) astra::read_memory(options.memory, system, ends);
  if (!system.has_memory_rate && options.congestion.empty()) {
    throw InputError(options.system, "local-mem-bw", "a rate above 0 in GB/s, which a machine needs", "0 or none");
  }
  astra::expect_rates(system, options.system, options.memory, [&] { return demands_of(options.workload); });
  system.config.collectives.queues = options.queues;
  const Packets packets = read_packets(options, system.remarks);
  remark_scales(options, system.remarks);
  astra::remark_algorithms(system, options.system, options.congestion.empty());
  check(options, system, packets, ends);

  ordered_json workload = {{"kind", "chakra"}, {"traces", seen_from(options.out, options.workload)}};
  const std::string groups = groups_of_traces(options, system.remarks);
  if (!groups.empty()) {
    astra::UnusedGroups unused = unused_groups(options.workload);
    workload["groups"] = astra::read_groups(groups, ends, &unused);
    for (std::string& remark : remarks_of(unused)) system.remarks.push_back(std::move(remark));
  }
  expect_traces(options.workload);
  for (const auto& [name, operation] : enum_names(Operation{})) {
    const auto custom = system.custom.find(operation);
    if (custom != system.custom.end()) workload["custom"][std::string(name)] = seen_from(options.out, custom->second);
  }
  for (const auto& [node, prefix] : system.custom_nodes) {
    workload["custom_nodes"][std::to_string(node)] = seen_from(options.out, prefix);
  }
  ordered_json platform = {{"name", imported_name(options.out, options.workload)},
                           {"description", description_of(options)}};
  if (options.congestion.empty()) {
    try {
      platform.update(astra::machine_of(system, options.rendezvous));
    } catch (const ConfigError& error) {
      if (error.path().starts_with("--")) throw;
      throw UsageError(file_of(options, error.path()) + ": " + error.what());
    }
    workload["compute"] = astra::compute_of(system);
    if (packets.network) {
      astra::rewire(platform, system, *packets.network);
      if (packets.payload)
        platform["fabric"]["mtu"] = platform["fabric"]["segment"] = std::to_string(*packets.payload) + "B";
      if (system.has_links) {
        system.remarks.push_back(options.network + ": bandwidth and latency have no effect: links are those of " +
                                 packets.file);
      }
    }
  } else {
    system.config.congestion = value_of<analytical::Congestion>(options.congestion);
    system.config.rendezvous = options.rendezvous;
    platform["network"] = "analytical";
    platform["analytical"] = config_to_json(system.config);
  }
  check_limits(platform, options, packets);
  expect_ranks(options.workload, ends);
  expect_collectives(options, system, workload, ends);
  platform["workload"] = workload;
  write_file(file, platform);
  files.keep();
  print_warnings(system.remarks);
  print("wrote " + options.out + "\n");
  return kDone;
}

}  // namespace

Command import_astra_sim(const Arguments& parent) {
  auto options = std::make_shared<ImportOptions>();
  const Arguments astra =
      parent.add_subcommand("astra-sim", "ASTRA-sim's network, system, memory and group files, and traces");
  astra.add_option("--network", options->network, "network.yml, or a logical topology of ns-3 (logical-dims)")
      .type_name("FILE")
      .required();
  astra.add_option("--system", options->system, "system.json").type_name("FILE").required();
  astra.add_option("--memory", options->memory, "Remote memory file").type_name("FILE");
  astra.add_option("--groups", options->groups, "Communicator groups file").type_name("FILE");
  astra.add_option("--workload", options->workload, "Prefix of the Chakra files").type_name("PREFIX").required();
  astra
      .add_option("--analytical", options->congestion,
                  "ASTRA-sim's arithmetic, with links shared or not, in place of Weft's own machine")
      .check(OneOf(names_of<analytical::Congestion>()));
  astra.add_flag("--rendezvous-protocol", options->rendezvous, "The receiver requests each message first");
  astra.add_option("--injection-scale", options->injection_scale, "Factor of the endpoint delay")
      .check(Within(0.0, 1e6));
  astra.add_option("--comm-scale", options->comm_scale, "Has no effect, as in ASTRA-sim").check(Within(0.0, 1e6));
  astra.add_option("--compute-scale", options->compute_scale, "Has no effect, as in ASTRA-sim").check(Within(0.0, 1e6));
  astra
      .add_option("--ns3-topology", options->ns3_topology,
                  "Nodes, switches and links of ns-3, for the packets of a machine")
      .type_name("FILE");
  astra
      .add_option("--ns3-config", options->ns3_config,
                  "config.txt of ns-3, which names the topology and the payload of a packet")
      .type_name("FILE");
  astra
      .add_option("--htsim-topology", options->htsim_topology,
                  "Fat tree of htsim (.topo), for the packets of a machine")
      .type_name("FILE");
  astra.add_option("--num-queues-per-dim", options->queues, "Queues that share a dimension's active chunks")
      .check(Within(1, 255));
  astra.add_option("--out", options->out, "Platform to write; - is standard output").type_name("FILE").required();
  return {astra, [options] { return run(*options); }};
}

}  // namespace weft::platforms
