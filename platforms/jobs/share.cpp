// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/share.h"

#include <map>

namespace weft::platforms {

MachineConfig config_of_share(const MachineConfig& machine, const std::vector<int>& places) {
  MachineConfig config = machine;
  config.accelerators = static_cast<int>(places.size());
  config.accelerator = machine.part_at(places.front());
  config.others.clear();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (machine.other_at(places[i]) == machine.other_at(places.front())) continue;
    config.others.push_back({static_cast<int>(i), 1, machine.part_at(places[i])});
  }
  std::map<int, int> of_node;
  for (const int place : places) ++of_node[place / machine.per_node];
  config.per_node = of_node.begin()->second;
  for (const auto& [node, count] : of_node) {
    if (count != config.per_node) config.per_node = 1;
  }
  return config;
}

Share::Share(Machine& machine) : machine_(machine), config_(machine.config()), ranks_(machine.ranks()) {}

Share::Share(Machine& machine, const std::vector<int>& places, const std::string& owner)
    : machine_(machine), config_(config_of_share(machine.config(), places)) {
  for (const int place : places) {
    firmware::Rank& rank = machine.rank(place);
    rank.index = size();
    rank.processor->set_owner(owner);
    ranks_.push_back(&rank);
  }
}

}  // namespace weft::platforms
