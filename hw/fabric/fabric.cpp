// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/fabric.h"

#include <algorithm>

namespace weft::fabric {

Fabric::Fabric(sc_core::sc_module_name name, const Config& config, int ends, Dispatcher& dispatcher,
               PacketPool& packets, const Stall::Config& stall, const std::string& path)
    : Fabric(name, std::make_shared<Plan>(config, ends, path, stall.seed), dispatcher, packets, stall) {}

Fabric::Fabric(sc_core::sc_module_name name, std::shared_ptr<const Plan> plan, Dispatcher& dispatcher,
               PacketPool& packets, const Stall::Config& stall)
    : sc_module(name), plan_(std::move(plan)) {
  const Topology& network = topology();
  std::vector<LinkConfig> links;
  for (std::size_t i = 0; i < network.switches.size(); ++i) {
    const Topology::Node& node = network.switches[i];
    links.clear();
    for (const Topology::Neighbour& port : node.ports) links.push_back(network.link_of(port));
    switches_.push_back(std::make_unique<Switch>(node.name.c_str(), config().switch_config, dispatcher, packets,
                                                 plan_->routes()[i], links, stall));
  }
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    for (std::size_t p = 0; p < network.switches[i].ports.size(); ++p) {
      const Topology::Neighbour& neighbour = network.switches[i].ports[p];
      if (neighbour.is_end) continue;
      switches_[i]->port(p).out.bind(switches_[neighbour.index]->port(neighbour.port).in);
    }
  }
}

Fabric::~Fabric() = default;

void Fabric::bind_end(std::uint32_t end, InitiatorSocket& out, TargetSocket& in) {
  const auto [index, port] = topology().ends[end];
  Switch::Port& mine = switches_[index]->port(port);
  out.bind(mine.in);
  mine.out.bind(in);
}

std::optional<std::uint32_t> Fabric::create_group(const std::vector<std::uint32_t>& ends, const GroupOptions& options) {
  const auto route = [this](std::uint32_t sw, std::uint32_t end) {
    Packet packet;
    packet.source = end;
    packet.destination = end;
    return plan_->routes()[sw].port(packet);
  };
  const auto empty =
      std::find_if(groups_.begin(), groups_.end(), [](const auto& tree) { return tree.branches.empty(); });
  const auto id = static_cast<std::uint32_t>(empty - groups_.begin());
  SpanningTree tree = SpanningTree::build(topology(), route, ends, id);
  for (auto at = tree.branches.begin(); at != tree.branches.end(); ++at) {
    const SpanningTree::Branch& branch = at->second;
    const Switch::Group group{branch.parent,   branch.children, branch.port_of_end,
                              options.reduces, options.window,  options.streaming};
    if (switches_[at->first]->join(id, group)) continue;
    for (auto done = tree.branches.begin(); done != at; ++done) switches_[done->first]->leave(id);
    return std::nullopt;
  }
  if (empty == groups_.end()) {
    groups_.push_back(std::move(tree));
  } else {
    *empty = std::move(tree);
  }
  return id;
}

void Fabric::destroy_group(std::uint32_t id) {
  for (const auto& [sw, branch] : groups_[id].branches) switches_[sw]->leave(id);
  groups_[id] = {};
}

std::vector<std::string> Fabric::left_over() {
  std::vector<std::string> lines;
  for (const auto& sw : switches_) {
    if (const auto waiting = sw->waiting(); waiting != 0) {
      lines.push_back(std::string(sw->name()) + ": " + std::to_string(waiting) + " packets wait for an output");
    }
    if (sw->engine() != nullptr && sw->engine()->open_chunks() != 0) {
      lines.push_back(std::string(sw->name()) + ": " + std::to_string(sw->engine()->open_chunks()) +
                      " chunks of reductions wait for operands");
    }
    for (std::size_t p = 0; p < sw->radix(); ++p) {
      if (sw->transmitter(p).down_at(kNever - Time(1))) {
        lines.push_back(std::string(sw->name()) + ".out" + std::to_string(p) + ": the link is down for good");
      }
      if (const auto missing = sw->transmitter(p).credit_missing(); missing != 0) {
        lines.push_back(std::string(sw->name()) + ".out" + std::to_string(p) + ": " + std::to_string(missing) +
                        " bytes of credit are missing");
      }
    }
  }
  return lines;
}

}  // namespace weft::fabric
