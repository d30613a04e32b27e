// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/fabric.h"

namespace weft::fabric {

Fabric::Fabric(sc_core::sc_module_name name, const Config& config, int ends, Dispatcher& dispatcher,
               const Stall::Config& stall, const std::string& path)
    : Fabric(name, std::make_shared<Plan>(config, ends, path, stall.seed), dispatcher, stall) {}

Fabric::Fabric(sc_core::sc_module_name name, std::shared_ptr<const Plan> plan, Dispatcher& dispatcher,
               const Stall::Config& stall)
    : sc_module(name), plan_(std::move(plan)) {
  const Topology& network = topology();
  std::vector<LinkConfig> links;
  for (std::size_t i = 0; i < network.switches.size(); ++i) {
    const Topology::Node& node = network.switches[i];
    links.clear();
    for (const Topology::Neighbour& port : node.ports) links.push_back(network.link_of(port));
    switches_.push_back(std::make_unique<Switch>(node.name.c_str(), config().switch_config, dispatcher,
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

std::vector<std::string> Fabric::left_over() {
  std::vector<std::string> lines;
  for (const auto& sw : switches_) {
    if (const auto waiting = sw->waiting(); waiting != 0) {
      lines.push_back(std::string(sw->name()) + ": " + std::to_string(waiting) + " packets wait for an output");
    }
    for (std::size_t p = 0; p < sw->radix(); ++p) {
      if (const auto missing = sw->transmitter(p).credit_missing(); missing != 0) {
        lines.push_back(std::string(sw->name()) + ".out" + std::to_string(p) + ": " + std::to_string(missing) +
                        " bytes of credit are missing");
      }
    }
  }
  return lines;
}

}  // namespace weft::fabric
