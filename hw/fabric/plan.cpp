// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/plan.h"

#include "hw/fabric/deadlock.h"

namespace weft::fabric {

Plan::Plan(const FabricConfig& config, int ends, const std::string& path, std::uint64_t seed)
    : config_(config),
      topology_(Topology::build(config, ends, path)),
      routes_(topology_.routes(config.routing, seed)),
      checked_(check_deadlock(topology_, routes_, config, path)),
      faulty_links_(find_faulty_links(topology_, config, path)),
      reroutings_(find_reroutings(topology_, config, faulty_links_, path, seed)) {
  for (std::uint32_t e = 0; e < topology_.ends.size(); ++e) {
    const std::uint32_t link = link_index(e);
    if (end_configs_.contains(link)) continue;
    FabricConfig& own = end_configs_[link] = config;
    own.link = topology_.links[link];
    own.dimensions.clear();
    own.edges.clear();
    own.faults.clear();
  }
}

const std::vector<Routes>& Plan::routes_at(Time at) const {
  const std::vector<Routes>* latest = &routes_;
  for (const Rerouting& rerouting : reroutings_) {
    if (rerouting.at <= at) latest = &rerouting.routes;
  }
  return *latest;
}

int Plan::first_loss() const {
  for (std::size_t f = 0; f < faulty_links_.size(); ++f) {
    if (!config_.faults[f].damages()) continue;
    for (const Direction& direction : faulty_links_[f]) {
      const auto [sw, port] =
          direction.from_end ? topology_.ends[direction.index] : std::pair(direction.index, direction.port);
      if (!topology_.link_of(topology_.switches[sw].ports[port]).replay) return static_cast<int>(f);
    }
  }
  return -1;
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
