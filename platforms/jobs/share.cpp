// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/share.h"

#include <map>

namespace weft::platforms {
namespace {

/// How many ranks each node has, if all have as many and those of each follow each other; else 1.
int per_node_of(const std::vector<int>& places, int of_machine) {
  std::map<int, std::size_t> of_node;
  for (const int place : places) ++of_node[place / of_machine];
  const std::size_t count = of_node.begin()->second;
  for (const auto& [node, have] : of_node) {
    if (have != count) return 1;
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] / of_machine != places[i - i % count] / of_machine) return 1;
  }
  return static_cast<int>(count);
}

}  // namespace

MachineConfig config_of_share(const MachineConfig& machine, const std::vector<int>& places) {
  MachineConfig config = machine;
  config.accelerators = static_cast<int>(places.size());
  config.accelerator = machine.part_at(places.front());
  config.others.clear();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (machine.other_at(places[i]) == machine.other_at(places.front())) continue;
    config.others.push_back({static_cast<int>(i), 1, machine.part_at(places[i])});
  }
  config.per_node = per_node_of(places, machine.per_node);
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
