// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/core/fields.h"
#include "hw/fabric/link.h"
#include "hw/fabric/switch/switch.h"

namespace weft::fabric {

enum class Shape { kSwitch, kRing, kFatTree, kDimensions, kTorus, kMesh, kHyperX, kDragonfly, kGraph };
inline EnumNames<Shape> enum_names(Shape /*tag*/) {
  return {{"switch", Shape::kSwitch},         {"ring", Shape::kRing},           {"fat-tree", Shape::kFatTree},
          {"dimensions", Shape::kDimensions}, {"torus", Shape::kTorus},         {"mesh", Shape::kMesh},
          {"hyperx", Shape::kHyperX},         {"dragonfly", Shape::kDragonfly}, {"graph", Shape::kGraph}};
}

/// How a switch picks among the equal choices that lead to a destination. Choices are equal shortest paths in trees,
/// rings and graphs. In networks with coordinates (dimensions, torus, mesh, hyperx) a packet goes one dimension after
/// the other whatever this says, and the choice is among parallel links and the two ways to the far side of a ring; in
/// a dragonfly it is among the shortest ways, local, global, local.
/// - `auto`: dimension-order where there are coordinates, else dmodk.
/// - `dmodk`: destination modulo the number of choices, which spreads the hosts of a leaf over its uplinks one to one
///   (Zahavi 2012); `dimension-order` is its name where there are coordinates.
/// - `ecmp`: a hash of source, destination and queue pair, each switch's own, modulo their number (RFC 2991).
/// - `adaptive`: the output with the fewest packets waiting and, among those, the one booked least far ahead, packet by
///   packet; the first of equals. Packets of a queue pair may overtake each other.
/// - `valiant`: each packet goes to a group of a dragonfly, or a router, drawn for it, and from there to its
///   destination (Valiant and Brebner 1981; Kim et al. 2008). Packets of a queue pair may overtake each other.
/// - `up-down`: up towards the root of a spanning tree and then down (Autonet; Schroeder et al. 1991): no deadlock in
///   any network, at the price of longer ways.
enum class Routing { kAuto, kDmodk, kEcmp, kAdaptive, kDimensionOrder, kValiant, kUpDown };
inline EnumNames<Routing> enum_names(Routing /*tag*/) {
  return {{"auto", Routing::kAuto},       {"dmodk", Routing::kDmodk},
          {"ecmp", Routing::kEcmp},       {"adaptive", Routing::kAdaptive},
          {"valiant", Routing::kValiant}, {"dimension-order", Routing::kDimensionOrder},
          {"up-down", Routing::kUpDown}};
}

/// One dimension of a network of routers with coordinates, as ASTRA-sim 2 composes them (Won et al. 2023).
struct DimensionConfig {
  static constexpr std::string_view kShorthand = "block";

  std::string block = "Ring(2)";
  LinkConfig link;
  int links = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("block", block, "Ring(N), Mesh(N), FullyConnected(N) or Switch(N): what joins N routers in a line");
    visit("link", link, "Its links; by default as `fabric.link`");
    visit("links", links, "Parallel links between neighbours", Range{1, 256});
  }
};

/// One edge of a network given as a graph.
struct EdgeConfig {
  static constexpr std::string_view kShorthand = "between";

  std::string between = "end0 - switch0";
  LinkConfig link;
  int links = 1;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("between", between,
          R"(The two that it joins, such as "end0 - leaf0"; ends are end0, end1, ..., other names are switches)");
    visit("link", link, "Its links; by default as `fabric.link`");
    visit("links", links, "Parallel links", Range{1, 256});
  }
};

/// A network: which topology, of which links and switches, and how packets are cut.
struct FabricConfig {
  Shape topology = Shape::kFatTree;
  int radix = 64;
  int hosts_per_leaf = 32;
  int uplinks = 0;
  int levels = 2;
  int leaves_per_pod = 0;
  int pod_uplinks = 0;
  int spines = 0;
  int rails = 1;
  std::vector<int> sizes;
  int hosts_per_router = 1;
  int groups = 0;
  int routers_per_group = 4;
  int global_links = 2;
  Routing routing = Routing::kAuto;
  LinkConfig link;
  Rate injection;
  std::vector<DimensionConfig> dimensions;
  std::vector<EdgeConfig> edges;
  Switch::Config switch_config;
  Bytes mtu = Bytes(4096);
  Bytes segment = Bytes(4096);
  Bytes header = Bytes(66);
  std::vector<int> planes;
  std::vector<Fault> faults;
  Time reroute_after;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("topology", topology,
          "switch: all ends on one switch; ring, torus, mesh, dimensions: a router per end; fat-tree: leaves, pods and "
          "spines; hyperx, dragonfly: routers with hosts; graph: any edges");
    visit("radix", radix, "Ports of a switch of a fat tree", Range{2, 1024});
    visit("hosts_per_leaf", hosts_per_leaf, "Ends on each leaf of a fat tree", Range{1, 512});
    visit("uplinks", uplinks, "Links of a leaf of a fat tree to the next level; 0: as many as hosts_per_leaf",
          Range{0, 1024});
    visit("levels", levels, "Levels of switches of a fat tree", Range{2, 3});
    visit("leaves_per_pod", leaves_per_pod, "Leaves of a pod of a three-level fat tree; 0: half of radix",
          Range{0, 1024});
    visit("pod_uplinks", pod_uplinks,
          "Links of each upper switch of a pod to the spines; 0: as many as it has to leaves", Range{0, 1024});
    visit("spines", spines, "Spines of a fat tree; 0: as few as the uplinks need", Range{0, 1 << 20});
    visit("rails", rails,
          "Rails of a fat tree: ends of a node, each on a leaf that only ends of its number share; 1: no rails",
          Range{1, 64});
    visit("sizes", sizes, "Routers in each dimension of a torus, mesh or hyperx, the fastest-varying first",
          Range{2, 65535});
    visit("hosts_per_router", hosts_per_router, "Ends on each router of a hyperx or dragonfly", Range{1, 512});
    visit("groups", groups, "Groups of a dragonfly; 0: as few as hold the ends", Range{0, 16384});
    visit("routers_per_group", routers_per_group, "Routers of a group of a dragonfly, all joined to each other",
          Range{1, 512});
    visit("global_links", global_links, "Links of each router of a dragonfly to other groups", Range{0, 512});
    visit("routing", routing, "Choice among equal paths; docs/architect/networks/routing.md explains each");
    visit("link", link, "Every link of the network");
    visit("injection", injection,
          "Rate of the link from an end to its own router; 0: the sum of the router's links (ring: link.rate)");
    visit("dimensions", dimensions, "Blocks that compose the network, the fastest-varying in an end's number first",
          DimensionConfig{{}, link, 1});
    visit("edges", edges, "Edges of a graph", EdgeConfig{{}, link, 1});
    visit("switch", switch_config, "Every switch of the network");
    visit("mtu", mtu, "Payload of one packet; each packet has a header", Range{64, 65536});
    visit("segment", segment, "Payload that moves as one transaction: the MTU is packet-accurate, larger is faster",
          Range{64, 1 << 20});
    visit("header", header, "Header and trailer bytes of each packet on the wire", Range{0, 4096});
    visit("planes", planes,
          "Links of an end to each of the parallel networks that this one stands for, such as [1, 1, 1, 1] for four "
          "switches; `link` is all of them together. Faults name planes; without faults they change nothing",
          Range{1, 1024});
    visit("faults", faults, "Faults of links, with their times", Fault());
    visit("reroute_after", reroute_after,
          "Time that a link must be down before routes avoid it, and up before they use it again; 0: routes never "
          "change, but "
          "avoid what is down for the whole run",
          Range{0, 1'000'000'000'000'000});
  }

  /// Bytes on the wire for `payload` bytes, with a header for each MTU; an empty payload is one packet.
  [[nodiscard]] std::uint32_t wire_bytes(std::uint32_t payload) const {
    const auto unit = static_cast<std::uint32_t>(mtu.count());
    const std::uint32_t packets = payload <= unit ? 1 : (payload + unit - 1) / unit;
    return payload + packets * static_cast<std::uint32_t>(header.count());
  }
  /// What a link carries of payload in whole packets.
  [[nodiscard]] Rate payload_rate() const {
    return link.rate / wire_bytes(static_cast<std::uint32_t>(mtu.count())) * mtu.count();
  }
};

}  // namespace weft::fabric
