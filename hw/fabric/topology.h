// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/core/fields.h"
#include "hw/fabric/link.h"
#include "hw/fabric/switch.h"

namespace weft::fabric {

enum class Shape { kSwitch, kRing, kFatTree };
inline EnumNames<Shape> enum_names(Shape /*tag*/) {
  return {{"switch", Shape::kSwitch}, {"ring", Shape::kRing}, {"fat-tree", Shape::kFatTree}};
}

/// How a switch picks among equal shortest paths. `dmodk`: destination modulo the number of choices, which spreads the
/// hosts of a leaf over its uplinks one to one (Zahavi 2012). `ecmp`: a hash of source, destination and queue pair.
enum class Routing { kDmodk, kEcmp };
inline EnumNames<Routing> enum_names(Routing /*tag*/) {
  return {{"dmodk", Routing::kDmodk}, {"ecmp", Routing::kEcmp}};
}

/// A network: which topology, of which links and switches, and how packets are cut.
struct FabricConfig {
  Shape topology = Shape::kFatTree;
  int radix = 64;
  int hosts_per_leaf = 32;
  int spines = 0;
  Routing routing = Routing::kDmodk;
  LinkConfig link;
  Switch::Config switch_config;
  Bytes mtu = Bytes(4096);
  Bytes segment = Bytes(4096);
  Bytes header = Bytes(66);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("topology", topology, "switch: all ends on one switch; ring: a router per end; fat-tree: leaves and spines");
    visit("radix", radix, "Ports of a switch of a fat tree", Range{2, 1024});
    visit("hosts_per_leaf", hosts_per_leaf, "Ends on each leaf of a fat tree; it has as many uplinks", Range{1, 512});
    visit("spines", spines, "Spines of a fat tree; 0: as few as close it", Range{0, 1024});
    visit("routing", routing, "Choice among equal shortest paths");
    visit("link", link, "Every link of the network");
    visit("switch", switch_config, "Every switch of the network");
    visit("mtu", mtu, "Payload of one packet, which is what a header is paid for", Range{64, 65536});
    visit("segment", segment, "Payload that moves as one transaction: the MTU is packet-accurate, larger is faster",
          Range{64, 1 << 20});
    visit("header", header, "Header and trailer bytes of each packet on the wire", Range{0, 4096});
  }

  /// Bytes on the wire for `payload` bytes, with a header for each MTU; an empty payload is one packet.
  [[nodiscard]] std::uint32_t wire_bytes(std::uint32_t payload) const {
    const auto unit = static_cast<std::uint32_t>(mtu.count());
    const std::uint32_t packets = payload <= unit ? 1 : (payload + unit - 1) / unit;
    return payload + packets * static_cast<std::uint32_t>(header.count());
  }
};

/// A graph of switches with ends attached, and the ports by which each switch reaches each end.
struct Topology {
  struct Neighbour {
    bool is_end;          ///< else a switch
    std::uint32_t index;  ///< of the end or the switch
    std::uint16_t port;   ///< of that switch; 0 for an end
  };
  struct Node {
    std::string name;
    std::vector<Neighbour> ports;
    std::vector<std::uint8_t> lane_shift;  ///< per port; empty for none
  };

  std::vector<Node> switches;
  std::vector<std::pair<std::uint32_t, std::uint16_t>> ends;  ///< switch and port of each end

  /// Builds the topology that `config` asks for. Throws ConfigError when it does not close, with a path below `path`.
  static Topology build(const FabricConfig& config, int ends, const std::string& path);

  /// Shortest-path routes of every switch (breadth-first search over Boost.Graph), in the order of `switches`.
  [[nodiscard]] std::vector<RoutingTable> routes(Routing routing) const;

 private:
  void attach_end(std::uint32_t sw);
  void connect(std::uint32_t a, std::uint32_t b);
  static Topology single_switch(int ends);
  static Topology ring(int ends, const FabricConfig& config, const std::string& path);
  static Topology fat_tree(int ends, const FabricConfig& config, const std::string& path);
};

}  // namespace weft::fabric
