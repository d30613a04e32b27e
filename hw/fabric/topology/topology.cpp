// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/topology/topology.h"

#include <algorithm>

#include "hw/fabric/credit_loop.h"

namespace weft::fabric {
namespace {

/// Ports are 16 bits with one value to spare, and routing tables count choices in 12.
constexpr std::size_t kMaxRadix = 4095;

Topology single_switch(int ends) {
  Topology topology;
  topology.add_switch("switch0");
  for (int i = 0; i < ends; ++i) topology.attach_end(0);
  return topology;
}

void check_link(const LinkConfig& link, const FabricConfig& config, const std::string& path) {
  const std::int64_t largest = config.wire_bytes(static_cast<std::uint32_t>(config.segment.count()));
  if (link.buffer > Bytes() && link.buffer.count() < largest) {
    throw ConfigError(path + ".buffer", "expected room for at least one segment with its headers, " +
                                            std::to_string(largest) + " bytes, got " + to_text(link.buffer));
  }
  if (link.shared != Bytes() && link.flow_control != FlowControl::kCredits) {
    throw ConfigError(path + ".shared",
                      "expected 0B where flow_control is not credits; what such a switch shares is "
                      "switch.buffer.shared");
  }
  if (link.flow_control != config.link.flow_control) {
    throw ConfigError(path + ".flow_control",
                      "expected " + std::string(name_of(config.link.flow_control)) +
                          " as fabric.link has, since a switch has one kind of buffer for all of its ports; got " +
                          std::string(name_of(link.flow_control)));
  }
  if (link.lanes != config.link.lanes) {
    throw ConfigError(path + ".lanes", "expected " + std::to_string(config.link.lanes) +
                                           " lanes as fabric.link has, since a switch has as many on each port; got " +
                                           std::to_string(link.lanes));
  }
}

Topology build_shape(const FabricConfig& config, int ends, const std::string& path) {
  switch (config.topology) {
    case Shape::kSwitch:
      return single_switch(ends);
    case Shape::kRing:
      return build_ring(ends, config, path);
    case Shape::kFatTree:
      return build_fat_tree(ends, config, path);
    case Shape::kDragonfly:
      return build_dragonfly(ends, config, path);
    case Shape::kGraph:
      return build_graph(ends, config, path);
    default:
      return build_grid(ends, config, path);
  }
}

/// Why a network of a shape needs more than one lane.
std::string reason(const Topology& topology, const FabricConfig& config) {
  if (config.topology == Shape::kRing) return "packets change lane at a ring's dateline so that they cannot deadlock";
  const std::string detours = config.routing == Routing::kValiant ? ", and again half-way with valiant" : "";
  if (topology.dragonfly) return "packets change lane after a global link so that they cannot deadlock";
  if (topology.second_lane == 1) return "packets change lane half-way with valiant so that they cannot deadlock";
  return "packets change lane at the dateline of a ring" + detours + " so that they cannot deadlock";
}

void check_lanes(const Topology& topology, const FabricConfig& config, const std::string& path) {
  if (config.link.lanes >= topology.lanes_needed) return;
  throw ConfigError(path + ".link.lanes", "expected at least " + std::to_string(topology.lanes_needed) + ", got " +
                                              std::to_string(config.link.lanes) + ": " + reason(topology, config));
}

void check_adders(const ReductionEngine::Config& config, Bytes segment, const std::string& path) {
  if (config.trees == 0) return;
  const std::pair<const char*, int> adders[] = {{"fp32", config.fp32},
                                                {"fp16", config.fp16},
                                                {"bf16", config.bf16},
                                                {"int32", config.int32},
                                                {"low_latency_bytes", config.low_latency_bytes}};
  for (const auto& [name, bytes] : adders) {
    const Time time = transfer_time(segment, Rate(config.clock.count() * bytes * 8));
    if (time <= kLongestPassage) continue;
    throw ConfigError(path + "." + name, "expected more, or a faster clock or a smaller segment: " + to_text(segment) +
                                             " take " + to_text(time) + " to pass an adder, and a packet can hold " +
                                             to_text(kLongestPassage) + " at the most");
  }
}

void check_switch(const Switch::Config& config, Bytes segment, const std::string& path) {
  check_adders(config.reduction, segment, path + ".reduction");
  if (config.flow_queues == 0 || !(config.speedup > 0)) return;
  throw ConfigError(path + ".flow_queues",
                    "expected 0 with a speedup, which passes one packet of an input at a time, "
                    "or a speedup of 0; got " +
                        std::to_string(config.flow_queues));
}

void check_radix(const Topology& topology, const std::string& path) {
  for (const Topology::Node& node : topology.switches) {
    if (node.ports.size() <= kMaxRadix) continue;
    throw ConfigError(path + ".topology", "expected at most " + std::to_string(kMaxRadix) + " ports on a switch; " +
                                              node.name + " would have " + std::to_string(node.ports.size()));
  }
}

void check_routing(const Topology& topology, const FabricConfig& config, const std::string& path) {
  const bool grid = topology.grid != nullptr;
  if (config.routing == Routing::kValiant && !grid && topology.dragonfly == nullptr) {
    throw ConfigError(
        path + ".routing",
        "expected auto, dmodk, ecmp, adaptive or up-down, got valiant: it needs a dragonfly, or a network "
        "with coordinates (torus, mesh, dimensions, hyperx)");
  }
  if (config.routing == Routing::kDimensionOrder && !grid) {
    throw ConfigError(path + ".routing",
                      "expected auto, dmodk, ecmp, adaptive or up-down, got dimension-order: it needs a network with "
                      "coordinates (torus, mesh, dimensions, hyperx)");
  }
}

}  // namespace

std::uint32_t Topology::add_switch(std::string name, int level) {
  switches.push_back({std::move(name), {}, level, {}});
  return static_cast<std::uint32_t>(switches.size() - 1);
}

std::uint32_t Topology::add_link(const LinkConfig& link) {
  links.push_back(link);
  return static_cast<std::uint32_t>(links.size() - 1);
}

void Topology::attach_end(std::uint32_t sw, std::uint32_t link) {
  const auto end = static_cast<std::uint32_t>(ends.size());
  ends.emplace_back(sw, static_cast<std::uint16_t>(switches[sw].ports.size()));
  switches[sw].ports.push_back({true, end, 0, link, {PortLanes::kEnd, 0, 0}});
}

std::pair<std::uint16_t, std::uint16_t> Topology::connect(std::uint32_t a, std::uint32_t b, std::uint32_t link,
                                                          int count) {
  std::vector<Neighbour>& at_a = switches[a].ports;
  std::vector<Neighbour>& at_b = switches[b].ports;
  const std::pair first{static_cast<std::uint16_t>(at_a.size()), static_cast<std::uint16_t>(at_b.size())};
  for (int i = 0; i < count; ++i) {
    const auto port_a = static_cast<std::uint16_t>(at_a.size());
    const auto port_b = static_cast<std::uint16_t>(at_b.size());
    at_a.push_back({false, b, port_b, link, {}});
    at_b.push_back({false, a, port_a, link, {}});
  }
  return first;
}

Topology Topology::build(const FabricConfig& config, int ends, const std::string& path) {
  if (config.segment < config.mtu && config.segment.count() != 0) {
    throw ConfigError(path + ".segment",
                      "expected at least the mtu of " + to_text(config.mtu) + ", got " + to_text(config.segment));
  }
  check_switch(config.switch_config, config.segment, path + ".switch");
  check_link(config.link, config, path + ".link");
  if (config.topology == Shape::kDimensions) {
    for (std::size_t i = 0; i < config.dimensions.size(); ++i) {
      check_link(config.dimensions[i].link, config, path + ".dimensions." + std::to_string(i) + ".link");
    }
  }
  if (config.topology == Shape::kGraph) {
    for (std::size_t i = 0; i < config.edges.size(); ++i) {
      check_link(config.edges[i].link, config, path + ".edges." + std::to_string(i) + ".link");
    }
  }
  Topology topology = build_shape(config, ends, path);
  // Builders that need links of their own begin with this one, too.
  if (topology.links.empty()) topology.links.push_back(config.link);
  fit_buffers(topology, config);
  if (config.routing == Routing::kUpDown) {
    // A tree needs no other lanes, whatever the network is.
    topology.lanes_change = false;
    topology.lanes_needed = 1;
  }
  check_routing(topology, config, path);
  check_lanes(topology, config, path);
  check_radix(topology, path);
  return topology;
}

}  // namespace weft::fabric
