// SPDX-License-Identifier: Apache-2.0
// Any bytes as each of the files of ASTRA-sim and its packet simulators, beside good ones: a platform comes of them
// that is read as any other, or they are refused. The first byte says which file it is.
#include <nlohmann/json.hpp>

#include "hw/fabric/topology/plan.h"
#include "platforms/config/field_visitor.h"
#include "platforms/import/astra_groups.h"
#include "platforms/import/astra_machine.h"
#include "platforms/import/astra_sim.h"
#include "platforms/import/wired_network.h"
#include "platforms/machine/machine.h"
#include "tests/fuzz/fuzz.h"

using namespace weft;                    // NOLINT(google-build-using-namespace)
using namespace weft::platforms::astra;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::string_view kNetwork =
    "topology: [ Ring, Switch ]\nnpus_count: [ 2, 4 ]\nbandwidth: [ 50.0, 25.0 ]\nlatency: [ 500.0, 1.0 ]\n";
constexpr std::string_view kSystem = R"({"scheduling-policy": "LIFO", "preferred-dataset-splits": 4,
  "local-mem-bw": 50, "all-reduce-implementation": ["ring", "halvingDoubling"]})";
constexpr std::string_view kCustom = R"({"preferred-dataset-splits": 4, "local-mem-bw": 50,
  "per-node-custom-implementation": "input"})";
constexpr std::string_view kLogical = R"({"logical-dims": ["2", "2"]})";
constexpr std::uint32_t kEnds = 8;
/// Of networks that are planned: larger ones take longer than a fuzzer has.
constexpr std::uint32_t kMostEnds = 64;

std::filesystem::path good(std::string_view text, const char* name) {
  return fuzz::file_of(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), name);
}

/// As `weft run` reads it.
template <typename Config>
Config read(const nlohmann::ordered_json& json) {
  platforms::Document document = platforms::Document::from_text(json.dump(), "imported.json");
  Config config;
  document.root().read(config);
  document.check_unused();
  return config;
}

void plan(const nlohmann::ordered_json& machine) {
  const auto config = read<platforms::MachineConfig>(machine);
  if (config.accelerators > static_cast<int>(kMostEnds)) return;
  const fabric::Plan network(config.fabric, config.accelerators, "fabric");
  fuzz::expect(!network.routes().empty());
}

void make(const std::filesystem::path& network, const std::filesystem::path& file) {
  System system = read_system(network, file);
  static_cast<void>(ends_of(system, network));
  const nlohmann::ordered_json arithmetic = platforms::config_to_json(system.config);
  const auto again = read<analytical::AnalyticalConfig>(arithmetic);
  fuzz::expect(platforms::config_to_json(again) == arithmetic);
  if (!system.has_links) return;
  plan(machine_of(system, false));
}

void wire(const WiredNetwork& network) {
  System system = read_system(good(kLogical, "logical.json"), good(kSystem, "system.json"));
  const std::uint32_t ends = ends_of(system, "logical.json");
  if (network.ends < ends) return;
  nlohmann::ordered_json machine = machine_of(system, false);
  rewire(machine, system, network);
  plan(machine);
  if (network.ends <= kMostEnds) static_cast<void>(fabric_of(network, network.ends).dump());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return -1;
  const std::filesystem::path file = fuzz::file_of(data + 1, size - 1, "input");
  fuzz::accepted([&] {
    System system;
    switch (data[0] % 8) {
      case 0:
        return make(file, good(kSystem, "system.json"));
      case 1:
        return make(good(kNetwork, "network.yml"), file);
      case 2:
        return read_memory(file, system, kEnds);
      case 3:
        for (const auto& [name, ranks] : read_groups(file, kEnds))
          fuzz::expect(!ranks.empty() && ranks.size() <= kEnds);
        return;
      case 4:
        return wire(read_ns3_topology(file));
      case 5:
        return static_cast<void>(read_ns3_config(file));
      case 6:
        return wire(read_htsim_topology(file));
      default:
        return static_cast<void>(
            read_system(good(kNetwork, "network.yml"), good(kCustom, "system.json")).custom_nodes.size());
    }
  });
  return 0;
}
