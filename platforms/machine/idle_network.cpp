// SPDX-License-Identifier: Apache-2.0
// Which fields of networks and their interfaces change nothing.
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "hw/core/random.h"
#include "hw/fabric/switch/switch_model.h"
#include "hw/nic/nic_model.h"
#include "platforms/config/other_values.h"
#include "platforms/machine/idle_collector.h"

namespace weft::platforms {
namespace {

using fabric::Shape;

/// Larger networks are not built anew to see what a field of theirs does.
constexpr int kMostEnds = 1024;
constexpr std::size_t kMostRoutes = 1 << 20;

/// Equal for equal wiring, links and routes.
std::uint64_t wiring(const fabric::FabricConfig& network, int ends) {
  const fabric::Topology topology = fabric::Topology::build(network, ends, "");
  if (topology.switches.size() * topology.ends.size() > kMostRoutes) throw ConfigError("", "a smaller network");
  std::uint64_t sum = 0;
  const auto add = [&sum](auto value) { sum = mix(sum ^ static_cast<std::uint64_t>(value)); };
  add(topology.dmodk_stride);
  add(topology.lanes_needed);
  std::vector<std::size_t> links;
  for (const fabric::LinkConfig& link : topology.links)
    links.push_back(std::hash<std::string>()(config_to_json(link).dump()));
  const std::vector<fabric::Routes> routes = topology.routes(network.routing);
  for (std::size_t s = 0; s < topology.switches.size(); ++s) {
    for (const auto& port : topology.switches[s].ports) {
      for (const std::uint32_t value : {std::uint32_t{port.is_end}, port.index, std::uint32_t{port.port}}) add(value);
      add(links[port.link]);
    }
    add(routes[s].detours());
    Packet packet;
    for (std::uint32_t end = 0; end < topology.ends.size(); ++end) {
      packet.destination = end;
      const fabric::Choices choices = routes[s].choices(packet);
      for (std::uint32_t i = 0; i < choices.count; ++i) add(choices[i]);
      if (choices.count > 1) add(network.routing);
    }
  }
  return sum;
}

/// Others say how many switches there are, and always count where they are used at all.
bool is_of_wiring(std::string_view field) {
  constexpr std::string_view kFields[] = {"radix", "uplinks",        "levels",      "spines",
                                          "rails", "leaves_per_pod", "pod_uplinks", "routing"};
  return std::find(std::begin(kFields), std::end(kFields), field) != std::end(kFields);
}

/// Whether all edges of a graph, or all of a network's dimensions, have a field of links of their own.
bool all_give(const fabric::FabricConfig& network, const InterfaceUse& use, const std::string& path,
              std::string_view field) {
  const bool is_graph = network.topology == Shape::kGraph;
  const std::size_t count = is_graph ? network.edges.size() : network.dimensions.size();
  if (!use.gives || !(is_graph || network.topology == Shape::kDimensions)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string element = path + (is_graph ? ".edges." : ".dimensions.") + std::to_string(i);
    if (!use.gives(element + ".link." + std::string(field))) return false;
  }
  return true;
}

void add_faults(IdleCollector& idle, const fabric::FabricConfig& network, const InterfaceUse& use,
                const std::string& path) {
  bool damages = false;
  bool goes_down = false;
  for (std::size_t i = 0; i < network.faults.size(); ++i) {
    const fabric::Fault& fault = network.faults[i];
    const std::string here = path + ".faults." + std::to_string(i);
    const bool late = fault.from > use.until;
    idle.add(late, here, "it begins after the end of the run", {"from"});
    const bool slows = fault.rate < 1 || fault.jitter > Time();
    idle.add(!fault.damages() && !fault.down && !slows, here, here + " does nothing",
             {"loss", "bit_errors", "rate", "jitter", "down"});
    idle.add(fault.rate >= 1, here + ".every", here + ".rate is 1");
    damages = damages || fault.damages();
    goes_down = goes_down || fault.down;
  }
  const bool names_plane = std::any_of(network.faults.begin(), network.faults.end(), [](const fabric::Fault& fault) {
    return fault.link.find("plane") != std::string::npos;
  });
  idle.add(!network.planes.empty() && !names_plane, path + ".planes", "nothing of " + path + ".faults names a plane");
  idle.add(!goes_down, path + ".reroute_after", "no link of " + path + ".faults goes down");
  idle.add(damages && !network.link.replay, path + ".link.replay_unit", path + ".link.replay is false");
  if (damages) return;
  const std::string why = "nothing of " + path + ".faults damages packets";
  for (const char* field : {".link.replay", ".link.replay_unit"}) idle.add(true, path + field, why);
  for (std::size_t i = 0; i < network.dimensions.size(); ++i) {
    for (const char* field : {".link.replay", ".link.replay_unit"})
      idle.add(true, path + ".dimensions." + std::to_string(i) + field, why);
  }
  for (std::size_t i = 0; i < network.edges.size(); ++i) {
    for (const char* field : {".link.replay", ".link.replay_unit"})
      idle.add(true, path + ".edges." + std::to_string(i) + field, why);
  }
}

void add_reduction(IdleCollector& idle, const fabric::Switch::Config& sw, const InterfaceUse& use,
                   const std::string& path) {
  const std::string reduction = path + ".switch.reduction";
  idle.add(sw.reduction.trees == 0, reduction, reduction + ".trees is 0", {"trees"});
  idle.add(sw.reduction.trees > 0 && !use.sums, reduction, "switches of " + path + " added nothing up in this run",
           {"trees"});
  const bool bounded = sw.reduction.operand_buffer > Bytes() || sw.reduction.sum_buffer > Bytes();
  idle.add(!bounded, reduction + ".pipeline", reduction + ".operand_buffer and sum_buffer are 0B");
}

}  // namespace

void add_interface(IdleCollector& idle, const nic::NicConfig& nic, const fabric::FabricConfig& network,
                   const InterfaceUse& use, const std::string& path, const std::string& network_path) {
  const bool recovers = nic.recovers();
  const bool sprays = nic.transport == nic::Transport::kUet;
  const std::string transport_is = path + ".transport is " + std::string(name_of(nic.transport));
  const std::string posted = path + ".posted";
  const std::string congestion_is = path + ".congestion is " + nic.congestion.text();
  if (path == "nic") {
    idle.add(true, posted, "only links within a node carry acknowledgements with data");
  } else {
    idle.add(recovers, posted, "it repeats what is lost");
    idle.add(nic.scheme().make != nullptr, posted, congestion_is);
    idle.add(nic.context_cache.entries > 0, posted, path + ".context_cache.entries is not 0");
    idle.add(!network.faults.empty(), posted, network_path + ".faults are given");
  }
  for (const char* field : {".ack_timeout", ".retry_jitter", ".retry_limit"}) {
    idle.add(!recovers, path + field, path + ".recovery is false");
  }
  for (const char* field : {".rnr_timer", ".rnr_limit"}) {
    idle.add(!use.refuses, path + field, "every message found a receive posted");
  }
  idle.add(!sprays && nic.reorder == Bytes(), path + ".reorder_wait", path + ".reorder is 0B");
  idle.add(!sprays, path + ".uet", transport_is);
  for (const char* field : {".recovery", ".reorder"}) idle.add(sprays, path + field, transport_is);
  for (const char* field : {".spray", ".paths"}) {
    idle.add(sprays && network.routing != fabric::Routing::kEcmp, path + ".uet" + field,
             network_path + ".routing is " + std::string(name_of(network.routing)) + ", which follows no entropy");
  }
  idle.add(!use.ahead, path + ".reorder_wait", "no packet came ahead of its turn");
  idle.add(!use.groups, path + ".group_rate", "nothing was multicast or added up in " + network_path);
  const nic::CongestionScheme& scheme = nic.scheme();
  // A switch of a user's own may mark by rules of its own: whether it did is what counts.
  const bool own_marks = !model_of(network.switch_config).follows_marking();
  const bool marks = own_marks ? use.notified : network.switch_config.marking.min > Bytes();
  const bool unheard = scheme.notifies && !scheme.acknowledges && !marks;
  const std::string unmarked = own_marks
                                   ? network_path + ".switch.implementation is " +
                                         network.switch_config.implementation.text() + ", and no packet came marked"
                                   : network_path + ".switch.marking.min is 0B";
  idle.add(unheard, path + ".congestion", unmarked);
  const std::string implementation_is = path + ".implementation is " + nic.implementation.text();
  for (const std::string& field : model_of(nic).ignores) idle.add(true, path + "." + field, implementation_is);
  for (const Section& section : nic.of_implementations) {
    idle.add(section.name != nic.implementation.text(), path + "." + section.key, implementation_is);
  }
  for (const Section& section : nic.sections) {
    idle.add(section.name != scheme.name, path + "." + section.key, congestion_is);
    idle.add(unheard, path + "." + section.key, unmarked);
  }
  idle.add(nic.pcie.generation == 0, path + ".pcie", path + ".pcie.generation is 0", {"generation"});
  idle.add(nic.context_cache.entries == 0, path + ".context_cache.context", path + ".context_cache.entries is 0");
  idle.add(use.read_ahead > Bytes() && nic.read_ahead > use.read_ahead, path + ".read_ahead",
           "no more than " + to_text(use.read_ahead) + " is read ahead, as 0B sets it, since that keeps the link busy");
  idle.add(!use.fetches, path + ".work_queue.fetch", "no work request was fetched from memory");
}

void add_network(IdleCollector& idle, const fabric::FabricConfig& network, int ends, const InterfaceUse& use,
                 const std::string& path) {
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
  if (ends <= kMostEnds) {
    auto tried = std::make_shared<fabric::FabricConfig>(network);
    idle.add_tried(
        path, "with another value " + path + " is wired and routed as it is", [tried, ends](std::string_view field) {
          return is_of_wiring(field) && is_indifferent([&](FieldVisitor& visitor) { tried->fields(visitor); }, field,
                                                       [&] { return wiring(*tried, ends); }, Extremes::kLeftOut);
        });
  }
  if (ends <= kMostEnds && use.gives) {
    auto tried = std::make_shared<fabric::FabricConfig>(network);
    idle.add_tried(path + ".link", "every one of its links has a value of its own",
                   [tried, ends, &use, path](std::string_view field) {
                     return all_give(*tried, use, path, field) &&
                            is_indifferent([&](FieldVisitor& visitor) { tried->link.fields(visitor); }, field,
                                           [&] { return wiring(*tried, ends); }, Extremes::kLeftOut);
                   });
  }
  std::vector<fabric::LinkConfig> links = {network.link};
  for (const auto& dimension : network.dimensions) links.push_back(dimension.link);
  for (const auto& edge : network.edges) links.push_back(edge.link);
  const auto all_have = [&](fabric::FlowControl kind) {
    return std::all_of(links.begin(), links.end(),
                       [&](const fabric::LinkConfig& link) { return link.flow_control == kind; });
  };
  const bool credits = all_have(fabric::FlowControl::kCredits);
  for (const char* field : {".switch.buffer", ".link.pause_response"}) {
    idle.add(credits, path + field, path + ".link.flow_control is credits");
  }
  const bool lossy = all_have(fabric::FlowControl::kLossy);
  for (const char* field : {".switch.buffer.headroom", ".switch.buffer.resume", ".link.pause_response"}) {
    idle.add(lossy, path + field, path + ".link.flow_control is lossy");
  }
  idle.add(!lossy, path + ".switch.buffer.trim", "links drop nothing");
  const bool shares = std::any_of(links.begin(), links.end(), [](const auto& link) { return link.shared > Bytes(); });
  const fabric::Switch::Config& sw = network.switch_config;
  const std::string implementation_is = path + ".switch.implementation is " + sw.implementation.text();
  for (const std::string& field : model_of(sw).ignores) idle.add(true, path + ".switch." + field, implementation_is);
  for (const Section& section : sw.sections) {
    idle.add(section.name != sw.implementation.text(), path + ".switch." + section.key, implementation_is);
  }
  const auto needs_lanes = [&] {
    return ends > kMostEnds || fabric::Topology::build(network, ends, path).lanes_needed > 1;
  };
  idle.add(credits && !shares && !use.groups && sw.weights.empty() && !needs_lanes(), path + ".link.lanes",
           "packets have lanes of their own only by routing, which has what it needs");
  idle.add(!sw.arbiter.has_pins(), path + ".switch.arbiter", path + ".switch.arbiter.implementation is model",
           {"implementation"});
  idle.add(sw.arbiter.has_pins() && sw.arbiter.switches.empty(), path + ".switch.arbitration",
           path + ".switch.arbiter has a clock");
  add_reduction(idle, sw, use, path);
  add_faults(idle, network, use, path);
  idle.add(sw.marking.min == Bytes(), path + ".switch.marking", path + ".switch.marking.min is 0B", {"min"});
}

}  // namespace weft::platforms
