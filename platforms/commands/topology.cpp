// SPDX-License-Identifier: Apache-2.0
// weft topology: what networks a platform has, in numbers and in pictures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "hw/fabric/credit_loop.h"
#include "hw/fabric/topology/measures.h"
#include "hw/fabric/topology/plan.h"
#include "platforms/cli/output.h"
#include "platforms/cli/platform_options.h"
#include "platforms/cli/progress.h"
#include "platforms/cli/result_files.h"
#include "platforms/commands/analytical/platform.h"
#include "platforms/commands/command.h"
#include "platforms/config/text.h"
#include "platforms/machine/platform.h"
#include "platforms/results/format.h"
#include "platforms/results/pictures/topology_picture.h"
#include "platforms/results/write_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kGraphEnding = ".dot";
constexpr const char* kPictureEnding = ".svg";

struct TopologyOptions {
  PlatformOptions platform;
  std::string out;
  bool json = false;
};

struct Network {
  std::string name;  ///< of its place in the platform, and of its files
  std::unique_ptr<fabric::Plan> plan;
  fabric::Measures measures;
};

std::string deadlock_text(const fabric::Plan& plan) {
  return plan.checked() ? "impossible: no cycle of dependent channels" : "impossible by construction";
}

/// The smallest buffer of a lane and the largest.
std::pair<Bytes, Bytes> buffers_of(const Network& network) {
  const std::vector<fabric::LinkConfig>& links = network.plan->topology().links;
  const auto [least, most] =
      std::minmax_element(links.begin(), links.end(), [](const auto& a, const auto& b) { return a.buffer < b.buffer; });
  return {least->buffer, most->buffer};
}

std::string buffer_text(const Network& network) {
  const auto text = [](Bytes size) { return short_bytes(static_cast<double>(size.count())); };
  const auto [least, most] = buffers_of(network);
  return (least == most ? text(least) : text(least) + " to " + text(most)) + " a lane";
}

ordered_json starved_to_json(const Network& network) {
  ordered_json all = ordered_json::array();
  for (const fabric::StarvedLinks& kind : find_starved(network.plan->topology(), network.plan->config())) {
    all.push_back({{"name", kind.name},
                   {"links", kind.count},
                   {"rate_gbps", static_cast<double>(kind.link.rate.count()) * 1e-9},
                   {"propagation_us", to_us(kind.link.propagation)},
                   {"buffer_bytes", kind.link.buffer.count()},
                   {"shared_bytes", kind.link.shared.count()},
                   {"share", kind.share},
                   {"needed_bytes", kind.needed.count()},
                   {"path", network.name + "." + kind.path}});
  }
  return all;
}

/// "plane3 down, from 1 ms on".
std::string fault_text(const fabric::Fault& fault) {
  std::vector<std::string> parts;
  if (fault.down && fault.links > 0) {
    parts.push_back(counted(fault.links, "link") + " down");
  } else if (fault.down) {
    parts.emplace_back("down");
  }
  if (fault.rate < 1 && fault.every == Time()) parts.push_back(fmt::format("{:.4g} % of the rate", 100 * fault.rate));
  if (fault.rate < 1 && fault.every > Time()) {
    parts.push_back(fmt::format("{:.4g} to 100 % of the rate", 100 * fault.rate));
  }
  if (fault.damages()) parts.emplace_back("loses packets");
  if (fault.jitter > Time()) parts.push_back("jitter of " + short_time(fault.jitter));
  std::string text = fault.link + " " + fmt::format("{}", fmt::join(parts, ", "));
  if (fault.from > Time()) text += ", from " + short_time(fault.from);
  if (fault.until > Time()) {
    text += (fault.from > Time() ? " to " : ", up to ") + short_time(fault.until);
  } else if (fault.from > Time()) {
    text += " on";
  }
  return text;
}

std::vector<std::string> faults_of(const Network& network) {
  std::vector<std::string> all;
  for (const fabric::Fault& fault : network.plan->config().faults) {
    if (!fault.is_nothing()) all.push_back(fault_text(fault));
  }
  return all;
}

ordered_json to_json(const Network& network) {
  const fabric::Measures& measures = network.measures;
  return {{"network", network.name},
          {"ends", measures.ends},
          {"switches", measures.switches},
          {"links", measures.links},
          {"diameter", measures.diameter},
          {"diameter_switches", measures.diameter == 0 ? 0 : measures.diameter - 1},
          {"average_hops", measures.average_hops},
          {"all_pairs", measures.all_pairs},
          {"bisection_gbps", static_cast<double>(measures.bisection.count()) * 1e-9},
          {"bisection_by", measures.bisection_by},
          {"lanes", network.plan->config().link.lanes},
          {"lanes_needed", network.plan->topology().lanes_needed},
          {"deadlock_checked", network.plan->checked()},
          {"least_buffer_bytes", buffers_of(network).first.count()},
          {"most_buffer_bytes", buffers_of(network).second.count()},
          {"planes", network.plan->config().planes},
          {"faults", faults_of(network)},
          {"starved", starved_to_json(network)}};
}

/// "18: plane0 to plane17, with 1 link of an end each".
std::string planes_text(const std::vector<int>& links) {
  const auto [least, most] = std::minmax_element(links.begin(), links.end());
  const std::string each = *least == *most ? std::to_string(*least) : fmt::format("{} to {}", *least, *most);
  return fmt::format("{}: plane0 to plane{}, with {} link{} of an end each", links.size(), links.size() - 1, each,
                     *most == 1 ? "" : "s");
}

std::string to_text(const Network& network) {
  const fabric::Measures& measures = network.measures;
  std::vector<std::vector<std::string>> lines = {
      {network.name, ""},
      {"  ends", std::to_string(measures.ends)},
      {"  switches", std::to_string(measures.switches)},
      {"  links between switches", std::to_string(measures.links)},
      {"  diameter",
       fmt::format("{} links, {} switches", measures.diameter, measures.diameter == 0 ? 0 : measures.diameter - 1)},
      {"  average path",
       fmt::format("{:.2f} links{}", measures.average_hops, measures.all_pairs ? "" : ", of a sample")},
      {"  bisection bandwidth",
       short_number(static_cast<double>(measures.bisection.count()) * 1e-9) + " Gb/s each way"},
      {"  by", measures.bisection_by},
      {"  lanes",
       fmt::format("{}, of which {} needed", network.plan->config().link.lanes, network.plan->topology().lanes_needed)},
      {"  input buffers", buffer_text(network)},
      {"  deadlock", deadlock_text(*network.plan)}};
  const std::vector<int>& planes = network.plan->config().planes;
  if (!planes.empty()) lines.push_back({"  planes", planes_text(planes)});
  // All above and the pictures are of the network as it was built.
  for (const std::string& fault : faults_of(network)) lines.push_back({"  at fault", fault});
  return in_columns(lines);
}

Network build(const std::string& name, const fabric::FabricConfig& config, int ends, std::int64_t seed) {
  Network network;
  network.name = name;
  network.plan = std::make_unique<fabric::Plan>(config, ends, name, static_cast<std::uint64_t>(seed));
  network.measures = measure(network.plan->topology());
  return network;
}

/// The names of the files that were written.
std::vector<std::string> write_pictures(const Network& network, const fs::path& folder) {
  const fabric::Topology& topology = network.plan->topology();
  const std::string dot = network.name + kGraphEnding;
  const std::string svg = network.name + kPictureEnding;
  write_file(folder / dot, to_dot(topology, network.name));
  write_file(folder / svg, to_svg(topology));
  return {dot, svg};
}

int run(const TopologyOptions& options) {
  if (is_analytical(options.platform)) {
    throw UsageError(options.platform.platform +
                     ": expected a machine of modules, whose networks weft topology draws, got an analytical network");
  }
  Platform platform(options.platform);
  platform.ignore_workload();
  platform.document().check_unused();
  const MachineConfig& machine = platform.machine();
  std::vector<Network> networks;
  platform.checked([&] {
    const BuildingLine building(fmt::format("the networks of {}", what_is_built(machine)));
    networks.push_back(build("fabric", machine.fabric, machine.accelerators, machine.seed));
    if (machine.per_node > 1) {
      fabric::FabricConfig node = machine.scale_up.fabric;
      for (fabric::Fault& fault : node.faults) fault = fault.in_node(0);
      networks.push_back(build("scale_up.fabric", node, machine.per_node, machine.seed));
    }
  });
  const fs::path out = options.out.empty() ? fs::path("out") / platform.name() : fs::path(options.out);
  ResultFiles files;
  std::vector<std::string> names;
  for (const Network& network : networks) {
    names.push_back(network.name + kGraphEnding);
    names.push_back(network.name + kPictureEnding);
  }
  std::vector<NamedResult> results;
  for (const std::string& name : names)
    results.push_back({name, name.ends_with(kGraphEnding) ? ResultKind::kGraph : ResultKind::kPicture});
  const fs::path folder = files.folder("--out", out, results);
  ordered_json json = ordered_json::array();
  std::string text;
  std::string wrote;
  for (const Network& network : networks) {
    json.push_back(to_json(network));
    text += to_text(network);
    for (const std::string& line : describe_starved(*network.plan)) text += line + "\n";
    text += "\n";
    for (const std::string& name : write_pictures(network, folder)) {
      json.back()["files"].push_back((out / name).string());
      wrote += "wrote " + (out / name).string() + "\n";
    }
  }
  files.keep();
  if (options.json) {
    print_json(ordered_json{{"platform", platform.name()}, {"networks", json}});
  } else {
    print(text + wrote);
  }
  return kDone;
}

}  // namespace

Command topology_command(const Arguments& parent) {
  auto options = std::make_shared<TopologyOptions>();
  const Arguments app = parent.add_subcommand("topology", "Measures and draws the networks of a platform");
  add_platform_options(app, options->platform);
  app.add_option("--out", options->out, "Folder of the pictures; out/NAME if it is left out").type_name("FOLDER");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::platforms
