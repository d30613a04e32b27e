// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/plan.h"

#include "hw/fabric/deadlock.h"

namespace weft::fabric {

Plan::Plan(const FabricConfig& config, int ends, const std::string& path, std::uint64_t seed)
    : config_(config),
      topology_(Topology::build(config, ends, path)),
      routes_(topology_.routes(config.routing, seed)),
      checked_(check_deadlock(topology_, routes_, config, path)) {
  for (std::uint32_t e = 0; e < topology_.ends.size(); ++e) {
    const std::uint32_t link = link_index(e);
    if (end_configs_.contains(link)) continue;
    FabricConfig& own = end_configs_[link] = config;
    own.link = topology_.links[link];
    own.dimensions.clear();
    own.edges.clear();
  }
}

std::uint32_t Plan::link_index(std::uint32_t end) const {
  const auto [sw, port] = topology_.ends[end];
  return topology_.switches[sw].ports[port].link;
}

const LinkConfig& Plan::end_link(std::uint32_t end) const {
  return topology_.links[link_index(end)];
}

const FabricConfig& Plan::end_config(std::uint32_t end) const {
  return end_configs_.at(link_index(end));
}

}  // namespace weft::fabric
