// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "platforms/machine/machine.h"

namespace weft::platforms {

/// Bytes that links of a network have sent, each direction for itself, as counters of ports have them: with headers and
/// with what else is sent (acknowledgements, requests, credits that firmware gives).
struct NetworkTraffic {
  std::int64_t from_ends = 0;
  std::int64_t to_ends = 0;
  std::int64_t between_switches = 0;

  [[nodiscard]] std::int64_t all() const { return from_ends + to_ends + between_switches; }
  [[nodiscard]] NetworkTraffic since(const NetworkTraffic& before) const {
    return {from_ends - before.from_ends, to_ends - before.to_ends, between_switches - before.between_switches};
  }
};

/// So far: in the network that joins the nodes, and within all nodes together.
struct MachineTraffic {
  NetworkTraffic fabric;
  NetworkTraffic scale_up;

  [[nodiscard]] MachineTraffic since(const MachineTraffic& before) const {
    return {fabric.since(before.fabric), scale_up.since(before.scale_up)};
  }
};
[[nodiscard]] MachineTraffic traffic_of(Machine& machine);

}  // namespace weft::platforms
