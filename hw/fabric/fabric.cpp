// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/fabric.h"

namespace weft::fabric {

Fabric::Fabric(sc_core::sc_module_name name, const Config& config, int ends, Dispatcher& dispatcher,
               PacketPool& packets, const Stall::Config& stall, const std::string& path)
    : sc_module(name),
      config_(config),
      topology_(Topology::build(config, ends, path)),
      routes_(topology_.routes(config.routing)) {
  for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
    const Topology::Node& node = topology_.switches[i];
    const std::vector<LinkConfig> links(node.ports.size(), config_.link);
    switches_.push_back(std::make_unique<Switch>(node.name.c_str(), config_.switch_config, dispatcher, packets,
                                                 routes_[i], links, node.lane_shift, stall));
  }
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    for (std::size_t p = 0; p < topology_.switches[i].ports.size(); ++p) {
      const Topology::Neighbour& neighbour = topology_.switches[i].ports[p];
      if (neighbour.is_end) continue;
      switches_[i]->port(p).out.bind(switches_[neighbour.index]->port(neighbour.port).in);
    }
  }
}

Fabric::~Fabric() = default;

void Fabric::bind_end(std::uint32_t end, InitiatorSocket& out, TargetSocket& in) {
  const auto [index, port] = topology_.ends[end];
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
