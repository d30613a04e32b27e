// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/wired_network.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

namespace weft::platforms::astra {
namespace {

using nlohmann::ordered_json;

ordered_json link_of(const Wire& wire) {
  return {{"rate", std::to_string(std::llround(wire.bits_per_second)) + "bps"},
          {"propagation", std::to_string(std::llround(wire.nanoseconds * 1000)) + "ps"}};
}

/// Whether it is an end that the machine does not have.
bool is_beyond(const std::string& name, std::uint32_t ends) {
  constexpr std::string_view kEnd = "end";
  return name.starts_with(kEnd) && std::stoul(name.substr(kEnd.size())) >= ends;
}

}  // namespace

ordered_json fabric_of(const WiredNetwork& network, std::uint32_t ends) {
  const ordered_json usual = link_of(network.wires.front());
  ordered_json edges = ordered_json::array();
  ordered_json faults = ordered_json::array();
  for (const Wire& wire : network.wires) {
    if (is_beyond(wire.from, ends) || is_beyond(wire.to, ends)) continue;
    ordered_json edge = {{"between", wire.from + " - " + wire.to}};
    if (link_of(wire) != usual) edge["link"] = link_of(wire);
    if (wire.links > 1) edge["links"] = wire.links;
    if (edge.size() == 1) edge = edge["between"];
    edges.push_back(edge);
    if (wire.loss > 0) faults.push_back({{"link", wire.from + "-" + wire.to}, {"loss", wire.loss}});
  }
  ordered_json fabric = {
      {"topology", "graph"},
      {"link", usual},
      {"switch", {{"latency", std::to_string(std::llround(network.switch_nanoseconds * 1000)) + "ps"}}},
      {"edges", edges}};
  if (!faults.empty()) fabric["faults"] = faults;
  return fabric;
}

}  // namespace weft::platforms::astra
