// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/traffic.h"

namespace weft::platforms {
namespace {

void add_switches(NetworkTraffic& traffic, fabric::Fabric& network) {
  const fabric::Topology& topology = network.topology();
  for (std::size_t s = 0; s < network.switch_count(); ++s) {
    fabric::AnySwitch& sw = network.switch_at(s);
    const auto& ports = topology.switches[s].ports;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      (ports[p].is_end ? traffic.to_ends : traffic.between_switches) += sw.transmitter(p).counters().wire_bytes;
    }
  }
}

}  // namespace

MachineTraffic traffic_of(Machine& machine) {
  MachineTraffic traffic;
  add_switches(traffic.fabric, machine.network());
  for (std::size_t n = 0; n < machine.node_count(); ++n) add_switches(traffic.scale_up, machine.node_network(n));
  for (int r = 0; r < machine.size(); ++r) {
    traffic.fabric.from_ends += machine.nic(r).transmitter().counters().wire_bytes;
    if (nic::AnyNic* port = machine.scale_up_port(r)) {
      traffic.scale_up.from_ends += port->transmitter().counters().wire_bytes;
    }
  }
  return traffic;
}

}  // namespace weft::platforms
