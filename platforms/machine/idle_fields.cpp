// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/idle_fields.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::platforms {
namespace {

using collectives::Algorithm;
using fabric::Shape;

class Collector {
 public:
  void add(bool idle, std::string path, std::string why, std::vector<std::string> except = {}) {
    if (!idle) return;
    for (std::string& field : except) field = path + "." + field;
    all_.push_back({std::move(path), std::move(except), std::move(why), false});
  }
  void add_together(std::string path, std::string why) { all_.push_back({std::move(path), {}, std::move(why), true}); }
  std::vector<IdleFields> take() { return std::move(all_); }

 private:
  std::vector<IdleFields> all_;
};

void add_memory(Collector& idle, const memory::HbmConfig& hbm) {
  const std::string path = "accelerator.hbm";
  const bool stacks = hbm.has_stacks();
  for (const char* field : {".efficiency", ".latency"}) {
    idle.add(stacks, path + field, path + ".stacks say it");
  }
  idle.add(!stacks, path + ".stacks", path + ".stacks.count is 0", {"count"});
  idle.add(!stacks, path + ".interconnect", path + ".stacks.count is 0");
  idle.add(stacks && hbm.detail == memory::HbmDetail::kStream, path + ".stacks.outstanding",
           path + ".detail is stream");
  const dram::ControllerConfig& controller = hbm.stacks.controller;
  idle.add(controller.ecc.mode == dram::EccMode::kOff, path + ".stacks.controller.ecc",
           path + ".stacks.controller.ecc.mode is off", {"mode"});
  const auto refresh = controller.refresh;
  const std::string refresh_is = path + ".stacks.controller.refresh is " + std::string(name_of(refresh));
  const std::string timing = path + ".stacks.device.timing.";
  idle.add(refresh != dram::RefreshPolicy::kPerBank, timing + "rfcpb", refresh_is);
  idle.add(refresh != dram::RefreshPolicy::kAllBank, timing + "rfc", refresh_is);
  idle.add(refresh == dram::RefreshPolicy::kOff, timing + "refi", refresh_is);
}

void add_kernels(Collector& idle) {
  for (const char* field : {"accelerator.compute", "accelerator.speed_spread"}) idle.add(true, field, "no kernel runs");
  for (const char* field :
       {"accelerator.hbm.stacks.device.energy", "nic.power", "fabric.link.power", "fabric.switch.power",
        "scale_up.port.power", "scale_up.fabric.link.power", "scale_up.fabric.switch.power"}) {
    idle.add(true, field, "energy is counted by weft run");
  }
}

void add_interface(Collector& idle, const nic::Nic::Config& nic, const fabric::FabricConfig& network,
                   const std::string& path, const std::string& network_path) {
  const bool recovers = nic.recovery || nic.reorder > Bytes();
  for (const char* field : {".ack_timeout", ".retry_jitter", ".retry_limit"}) {
    idle.add(!recovers, path + field, path + ".recovery is false");
  }
  idle.add(nic.reorder == Bytes(), path + ".reorder_wait", path + ".reorder is 0B");
  const bool marks = network.switch_config.marking.min > Bytes();
  idle.add(!nic.dcqcn.enabled, path + ".dcqcn", path + ".dcqcn.enabled is false", {"enabled"});
  idle.add(nic.dcqcn.enabled && !marks, path + ".dcqcn", network_path + ".switch.marking.min is 0B");
  idle.add(nic.pcie.generation == 0, path + ".pcie", path + ".pcie.generation is 0", {"generation"});
  idle.add(nic.context_cache.entries == 0, path + ".context_cache.context", path + ".context_cache.entries is 0");
}

void add_network(Collector& idle, const fabric::FabricConfig& network, const std::string& path) {
  const Shape shape = network.topology;
  const std::string why = path + ".topology is " + std::string(name_of(shape));
  const auto only = [&](std::initializer_list<Shape> shapes, std::initializer_list<const char*> fields) {
    const bool used = std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
    for (const char* field : fields) idle.add(!used, path + "." + field, why);
  };
  only({Shape::kFatTree},
       {"radix", "hosts_per_leaf", "uplinks", "levels", "spines", "rails", "leaves_per_pod", "pod_uplinks"});
  only({Shape::kTorus, Shape::kMesh, Shape::kHyperX}, {"sizes"});
  only({Shape::kHyperX, Shape::kDragonfly}, {"hosts_per_router"});
  only({Shape::kDragonfly}, {"groups", "routers_per_group", "global_links"});
  only({Shape::kDimensions}, {"dimensions"});
  only({Shape::kGraph}, {"edges"});
  only({Shape::kRing, Shape::kTorus, Shape::kMesh, Shape::kHyperX, Shape::kDimensions}, {"injection"});
  for (const char* field : {".leaves_per_pod", ".pod_uplinks"}) {
    idle.add(shape == Shape::kFatTree && network.levels == 2, path + field, path + ".levels is 2");
  }
  std::vector<fabric::LinkConfig> links = {network.link};
  for (const auto& dimension : network.dimensions) links.push_back(dimension.link);
  for (const auto& edge : network.edges) links.push_back(edge.link);
  const bool credits = std::all_of(links.begin(), links.end(), [](const fabric::LinkConfig& link) {
    return link.flow_control == fabric::FlowControl::kCredits;
  });
  for (const char* field : {".switch.buffer", ".link.pause_response"}) {
    idle.add(credits, path + field, path + ".link.flow_control is credits");
  }
  const fabric::Switch::Config& sw = network.switch_config;
  idle.add(!sw.arbiter.has_pins(), path + ".switch.arbiter", path + ".switch.arbiter.implementation is model",
           {"implementation"});
  idle.add(sw.arbiter.has_pins() && sw.arbiter.switches.empty(), path + ".switch.arbitration",
           path + ".switch.arbiter has a clock");
  idle.add(sw.reduction.trees == 0, path + ".switch.reduction", path + ".switch.reduction.trees is 0", {"trees"});
  const bool goes_down =
      std::any_of(network.faults.begin(), network.faults.end(), [](const auto& f) { return f.down; });
  idle.add(!goes_down, path + ".reroute_after", "no link of " + path + ".faults goes down");
  idle.add(sw.marking.min == Bytes(), path + ".switch.marking", path + ".switch.marking.min is 0B", {"min"});
}

void add_collectives(Collector& idle, const collectives::Communicator::Config& config) {
  const std::string path = "collectives";
  const std::string why = path + ".algorithm is " + std::string(name_of(config.algorithm));
  const Algorithm algorithm = config.algorithm;
  const bool sums =
      algorithm == Algorithm::kMulticast && config.multicast.sums == collectives::MulticastSums::kInNetwork;
  const bool in_network = algorithm == Algorithm::kInNetwork || sums;
  idle.add(!in_network, path + ".in_network", why);
  idle.add(in_network && config.in_network.staging.channels == 0, path + ".in_network.staging",
           path + ".in_network.staging.channels is 0", {"channels"});
  idle.add(algorithm != Algorithm::kMulticast, path + ".multicast", why);
  idle.add(algorithm != Algorithm::kDimensions, path + ".dimensions", why);
  for (const char* field : {".piece", ".pieces"}) idle.add(!in_network, path + field, why);
  // The others run in rings, or fall back to them.
  for (const char* field : {".channels", ".chunk", ".slots", ".queue_pairs", ".order", ".protocol"}) {
    idle.add(algorithm == Algorithm::kDimensions, path + field, why);
  }
}

bool is_within(const std::string& field, const std::string& path) {
  return field.starts_with(path) && (field.size() == path.size() || field[path.size()] == '.');
}

}  // namespace

std::vector<IdleFields> idle_fields(const MachineConfig& config, const MachineUse& use) {
  Collector idle;
  const bool alone = config.per_node == 1;
  idle.add(alone, "scale_up", "per_node is 1");
  idle.add(!config.remote_memory.exists(), "remote_memory", "remote_memory.kind is none", {"kind"});
  const memory::RemoteKind kind = config.remote_memory.memory.kind;
  const std::string kind_is = "remote_memory.kind is " + std::string(name_of(kind));
  idle.add(config.remote_memory.exists() && kind != memory::RemoteKind::kCxl, "remote_memory.cxl", kind_is);
  idle.add(config.remote_memory.exists() && kind != memory::RemoteKind::kHierarchical, "remote_memory.hierarchical",
           kind_is);
  idle.add(config.dpa.cores == 0, "dpa", "dpa.cores is 0", {"cores"});
  add_memory(idle, config.accelerator.hbm);
  add_interface(idle, config.nic, config.fabric, "nic", "fabric");
  add_network(idle, config.fabric, "fabric");
  if (!alone) {
    add_interface(idle, config.scale_up.port, config.scale_up.fabric, "scale_up.port", "scale_up.fabric");
    add_network(idle, config.scale_up.fabric, "scale_up.fabric");
  }
  if (!use.kernels) add_kernels(idle);
  if (!use.network) {
    for (const char* part : {"fabric", "nic"}) idle.add_together(part, "nothing passed the network in this run");
  }
  if (!use.by_algorithm) return idle.take();
  const bool offloads = config.collectives.algorithm == Algorithm::kMulticast &&
                        config.collectives.multicast.placement == collectives::MulticastPlacement::kDpa;
  idle.add(config.dpa.cores > 0 && !offloads, "dpa",
           "collectives run on the host: collectives.algorithm is not multicast with multicast.placement dpa");
  add_collectives(idle, config.collectives);
  return idle.take();
}

std::vector<std::pair<std::string, std::string>> idle_among(const std::vector<std::string>& set,
                                                            const std::vector<IdleFields>& idle) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& field : set) {
    const auto by = std::find_if(idle.begin(), idle.end(), [&](const IdleFields& fields) {
      return is_within(field, fields.path) &&
             std::none_of(fields.except.begin(), fields.except.end(),
                          [&](const std::string& counts) { return is_within(field, counts); });
    });
    if (by != idle.end()) found.emplace_back(by->together ? by->path : field, by->why);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace weft::platforms
