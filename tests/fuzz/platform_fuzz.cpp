// SPDX-License-Identifier: Apache-2.0
// Any bytes as a platform and as a patch of one: a machine's or an analytical network's configuration comes of them,
// with its networks and its workload planned as a run would, or they are refused. What was read can be written and read
// again.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hw/fabric/credit_loop.h"
#include "hw/fabric/topology/measures.h"
#include "hw/fabric/topology/plan.h"
#include "platforms/config/document.h"
#include "platforms/config/field_visitor.h"
#include "platforms/import/astra_groups.h"
#include "platforms/machine/machine.h"
#include "platforms/machine/machine_checks.h"
#include "platforms/machine/starvation.h"
#include "sw/analytical/config.h"
#include "sw/models/network.h"
#include "sw/schedules/fsdp_plan.h"
#include "sw/schedules/graph/graph.h"
#include "sw/schedules/kernel_work.h"
#include "sw/schedules/kfac/kfac_layout.h"
#include "sw/schedules/kfac/kfac_plan.h"
#include "sw/workloads/options.h"
#include "sw/workloads/workload.h"
#include "tests/fuzz/fuzz.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

namespace {

/// Of networks that are planned: larger ones take longer than a fuzzer has.
constexpr int kMostEnds = 64;

/// Of steps of training that are planned: longer ones likewise.
constexpr int kMostBlocks = 8;

/// Null for a network that is too large.
std::unique_ptr<const fabric::Plan> plan(const fabric::FabricConfig& config, int ends, const std::string& path) {
  if (ends > kMostEnds || config.spines > kMostEnds || config.uplinks > kMostEnds || config.pod_uplinks > kMostEnds)
    return nullptr;
  auto network = std::make_unique<const fabric::Plan>(config, ends, path);
  fuzz::expect(network->topology().ends.size() == static_cast<std::size_t>(ends));
  static_cast<void>(fabric::measure(network->topology()));
  static_cast<void>(fabric::find_starved(network->topology(), network->config()));
  return network;
}

/// As a machine begins.
void plan(platforms::MachineConfig machine) {
  platforms::check_machine(machine);
  machine.accelerator.hbm.capacity = machine.accelerator.hbm.usable();
  machine.accelerator.array.compute = machine.accelerator.compute();
  const auto network = plan(machine.fabric, machine.accelerators, "fabric");
  const auto node = machine.per_node > 1 ? plan(machine.scale_up.fabric, machine.per_node, "scale_up.fabric") : nullptr;
  if (network) platforms::check_interface(*network, machine.nic, "nic");
  if (node) platforms::check_interface(*node, machine.scale_up.port, "scale_up.port");
  static_cast<void>(machine.accelerator.hbm.model());
  static_cast<void>(machine.accelerator.hbm.warnings("accelerator.hbm"));
  if (!network || (machine.per_node > 1 && !node)) return;
  static_cast<void>(platforms::describe_starved_reads(machine.nic, *network, Time(500'000), "nic"));
  static_cast<void>(platforms::describe_starved_rings(machine, *network, node.get(), {}));
}

template <typename Action>
void as_config_error(const char* path, const Action& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {  // a name that no table has, or degrees that do not fit
    throw ConfigError(path, error.what());
  } catch (const std::length_error& error) {  // a memory that is too small
    throw ConfigError(path, error.what());
  }
}

void plan_kfac(const platforms::Node& workload, const platforms::MachineConfig& machine) {
  schedules::KfacConfig config;
  workload.read(config);
  // Files beside the platform are other fuzzers'.
  if (models::is_network_file(config.network)) return;
  models::Network network = models::find_network(config.network);
  if (config.batch != 0) network.batch = config.batch;
  if (network.layers.size() > kMostBlocks) network.layers.resize(kMostBlocks);
  firmware::Rank rank;
  rank.memory = firmware::MemoryMap(machine.accelerator.hbm.capacity, "accelerator.hbm.capacity");
  const schedules::KfacLayout layout({&rank}, network, config);
  const schedules::KfacPlan planned(network, config, machine.accelerator.array.compute, machine.accelerators, layout);
  static_cast<void>(planned.step(planned.unmeasured(), {.factors = config.second_order(), .inverses = false}));
}

void plan_fsdp(const platforms::Node& workload, const platforms::MachineConfig& machine) {
  schedules::FsdpConfig config;
  workload.read(config);
  if (config.layers == 0 || config.layers > kMostBlocks) config.layers = kMostBlocks;
  const int shards = config.shards == 0 ? machine.accelerators : config.shards;
  const schedules::FsdpPlan planned(config, machine.accelerator.array.compute, shards);
  fuzz::expect(planned.operations >= 0);
}

void plan_step(const platforms::Node& workload) {
  workloads::StepOptions options;
  workload.read(options);
  workloads::WorkloadConfig config = options.config(find_decoder(models::load_transformers(), options.model));
  const bool is_small = config.parallel.ranks() <= kMostEnds && config.model.layers <= kMostEnds &&
                        config.microbatches <= kMostEnds && config.steps <= kMostBlocks;
  if (!is_small) return config.check();
  const workloads::TransformerWorkload planned(std::move(config));
  static_cast<void>(planned.groups());
  const workloads::RankSums sums = planned.generate(0, [](const chakra::Node&) {});
  fuzz::expect(sums.operations >= 0 && sums.state_bytes >= 0 && sums.activation_bytes >= 0 && sums.gathered_bytes >= 0);
}

void plan_workload(platforms::Document& document, const platforms::MachineConfig& machine) {
  const platforms::Node workload = document.root().child("workload");
  if (!workload.exists()) return;
  const auto kind = workload.get<std::string>("kind", "");
  as_config_error("workload", [&] {
    if (kind == "kfac") return plan_kfac(workload, machine);
    if (kind == "fsdp") return plan_fsdp(workload, machine);
    if (kind == "transformer") return plan_step(workload);
  });
  static_cast<void>(platforms::astra::groups_of(workload.child("groups"), static_cast<std::uint32_t>(kMostEnds)));
  schedules::GraphConfig graph;
  if (kind == "transformer" || kind == "chakra") workload.read(graph);
}

/// What is written of a configuration is read as the same one.
template <typename Config>
void write_and_read(const Config& config) {
  const nlohmann::ordered_json json = platforms::config_to_json(config);
  fuzz::expect_accepted([&] {
    platforms::Document document = platforms::Document::from_text(json.dump(), "written.json");
    Config again;
    document.root().read(again);
    document.check_unused();
    fuzz::expect(platforms::config_to_json(again) == json);
  });
}

void read(platforms::Document& document) {
  const platforms::Node root = document.root();
  for (const char* name : {"name", "description", "network"}) static_cast<void>(root.child(name).raw());
  if (root.has("analytical")) {
    analytical::AnalyticalConfig arithmetic;
    root.read("analytical", arithmetic);
    static_cast<void>(root.child("workload").raw());
    document.check_unused();
    static_cast<void>(arithmetic.network());
    static_cast<void>(arithmetic.whole_collectives());
    write_and_read(arithmetic);
  } else {
    platforms::MachineConfig machine;
    root.read(machine);
    const bool works = fuzz::accepted([&] { plan_workload(document, machine); });
    if (!works) static_cast<void>(root.child("workload").raw());
    document.check_unused();
    write_and_read(machine);
    plan(machine);
  }
  static_cast<void>(document.effective().dump());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path file = fuzz::file_of(data, size, "platform.json");
  fuzz::accepted([&] {
    platforms::Document document(file);
    read(document);
  });
  fuzz::accepted([&] {
    const std::vector<std::string> patches = {file};
    platforms::Document document = platforms::Document::from_text(R"({"accelerators": 4, "per_node": 1,
          "fabric": {"topology": "graph", "link": {"rate": "400Gbps"}, "edges": ["end0 - a", "end1 - a", "end2 - a",
          "end3 - a"]}})",
                                                                  "patched", {}, platforms::Catalogue(), patches);
    read(document);
  });
  return 0;
}
