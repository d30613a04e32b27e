// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hw/core/packet.h"
#include "hw/core/random.h"

namespace weft::fabric {

/// The outputs of a switch that lead on equally well: a list, or up to two runs of neighbouring ports.
struct Choices {
  const std::uint16_t* list = nullptr;  ///< null: runs
  std::uint32_t count = 1;
  std::uint16_t first = 0;   ///< where the first run begins
  std::uint16_t second = 0;  ///< where the second one begins
  std::uint32_t split = 1;   ///< length of the first one

  [[nodiscard]] std::uint16_t operator[](std::uint32_t i) const {
    if (list != nullptr) return list[i];
    return static_cast<std::uint16_t>(i < split ? first + i : second + (i - split));
  }
};

/// Ports by a small number: of an end, of a group, of a router in its group.
class RoutingTable {
 public:
  explicit RoutingTable(std::size_t keys = 0) : entries_(keys) {}

  /// `ports` are the equal choices for `key`.
  void set(std::uint32_t key, std::span<const std::uint16_t> ports);
  void set(std::uint32_t key, std::uint16_t port) { entries_[key] = {port, 1}; }
  /// The same choices as another key has.
  void copy(std::uint32_t key, std::uint32_t from) { entries_[key] = entries_[from]; }

  [[nodiscard]] bool is_single(std::uint32_t key) const { return entries_[key].count == 1; }
  [[nodiscard]] std::uint16_t single(std::uint32_t key) const {
    return static_cast<std::uint16_t>(entries_[key].first);
  }
  [[nodiscard]] Choices find(std::uint32_t key) const {
    const Entry entry = entries_[key];
    if (entry.count == 1) return {nullptr, 1, static_cast<std::uint16_t>(entry.first), 0, 1};
    return {&choices_[entry.first], entry.count, 0, 0, 0};
  }

 private:
  struct Entry {
    std::uint32_t first : 20;  // the port, or where the choices begin
    std::uint32_t count : 12;
  };
  std::vector<Entry> entries_;
  std::vector<std::uint16_t> choices_;
};

/// How routers with the same coordinates but one are joined.
enum class Block : std::uint8_t { kRing, kMesh, kFullyConnected, kSwitch, kHub };

/// The ports of one router in one dimension of a grid. `kHub` is the switch in the middle of a `kSwitch`.
struct GridStep {
  Block block;
  std::uint8_t dimension;
  std::uint16_t size;
  std::uint16_t own;    ///< the router's coordinate; for a hub no coordinate
  std::uint16_t links;  ///< parallel ones
  std::uint16_t plus;   ///< first port towards higher coordinates; for other blocks, first port of all
  std::uint16_t minus;  ///< first port towards lower coordinates
};

/// Where the ends of a network with coordinates are.
struct Grid {
  std::uint32_t routers = 0;
  std::uint32_t hosts = 1;  ///< ends on each router
  std::uint32_t dimensions = 0;
  std::vector<std::uint16_t> coordinates;  ///< by router, then dimension
};

/// Where the ends of a dragonfly are.
struct Dragonfly {
  std::uint32_t groups = 0;
  std::uint32_t routers = 0;  ///< in each group
  std::uint32_t hosts = 0;    ///< on each router
};

/// What a lane becomes between an input and an output. Lanes count from 0 again when a packet comes from an end or
/// enters another group of ports (a dimension); within it they are kept and the shifts added. A packet that leaves to
/// an end keeps its lane.
struct PortLanes {
  static constexpr std::uint8_t kEnd = 0xff;
  std::uint8_t group = 0;
  std::uint8_t shift_in = 0;   ///< added when a packet has come by this port: dragonfly, after a global link
  std::uint8_t shift_out = 0;  ///< added when a packet leaves by this port: dateline of a ring (Dally and Seitz 1987)
};

enum class Policy : std::uint8_t { kDmodk, kEcmp, kAdaptive };

/// The routes of one switch: by which port a packet leaves and on which lane. Asked at every hop, so there is no
/// virtual call: a table by destination, or a computation from coordinates that needs no entry for each destination. A
/// table's part lies in one cache line.
class alignas(64) Routes {
 public:
  Routes() = default;
  /// By destination. With `policy` deciding where the table has more than one choice.
  explicit Routes(RoutingTable table, Policy policy = Policy::kEcmp) : policy_(policy), table_(std::move(table)) {}
  /// In dimension order (Sullivan and Bashkow 1977). `router` is the switch's number in the grid, of no meaning for a
  /// hub.
  Routes(const Grid& grid, std::vector<GridStep> steps, std::uint32_t router, Policy policy);
  /// In a dragonfly. `table` has the ports towards each group, and then towards each router of this one.
  Routes(const Dragonfly& dragonfly, RoutingTable table, std::uint32_t router, Policy policy);

  /// Lanes that change from hop to hop; without it a packet keeps the lane that it was sent on.
  void change_lanes(std::vector<PortLanes> ports) { ports_ = std::move(ports), lanes_change_ = true; }
  /// Sends each packet through a place drawn from `seed`, its flow and its number. In a grid the path there has lanes
  /// from 0 and the path from there has lanes from `second_lane`; a dragonfly tells them apart by its global links.
  void detour(std::uint64_t seed, std::uint8_t second_lane);
  /// Chooses by a hash of its own among equal paths (`ecmp`): were it the next switch's as well, flows that share a
  /// link would share the next one, and others never meet. `seed` is not that of detours, of which there are none then.
  void hash_by(std::uint64_t seed) { seed_ = seed; }

  [[nodiscard]] bool adaptive() const { return policy_ == Policy::kAdaptive; }
  [[nodiscard]] bool detours() const { return detours_; }
  /// Whether more than the packet decides on its port, or something is drawn for it.
  [[nodiscard]] bool decides_late() const { return decides_late_; }

  /// For a packet that has come in: draws where it goes first if it comes from an end, and forgets that when it is
  /// there. Only where `detours`.
  void arrive(Packet& packet, std::uint32_t input) const;
  /// Forgets where a packet goes first if it is there.
  void forget(Packet& packet) const {
    if (packet.via == place_) packet.via = Packet::kNowhere;
  }

  /// All equal choices for a packet.
  [[nodiscard]] Choices choices(const Packet& packet) const {
    if (kind_ == Kind::kTable) [[likely]]
      return table_.find(packet.destination);
    return kind_ == Kind::kGrid ? grid_choices(packet) : dragonfly_choices(packet);
  }
  /// The choice for a packet; where it is adaptive, any.
  [[nodiscard]] std::uint16_t port(const Packet& packet) const {
    if (kind_ == Kind::kTable && table_.is_single(packet.destination)) [[likely]]
      return table_.single(packet.destination);
    const Choices all = choices(packet);
    if (all.count == 1) [[likely]]
      return all[0];
    return all[(policy_ == Policy::kDmodk ? packet.destination : own_hash(packet)) % all.count];
  }

  /// What tells flows apart: source, destination and queue pair. What sums of a tree were last added from is no source:
  /// they keep their order.
  static std::uint32_t flow_hash(const Packet& packet) {
    const bool sums = packet.opcode == Opcode::kReduce || packet.opcode == Opcode::kResult;
    const std::uint32_t source = sums ? 0 : packet.source;
    std::uint64_t h = source * 0x9e3779b97f4a7c15ULL ^ packet.destination * 0xc2b2ae3d27d4eb4fULL;
    h = (h ^ packet.queue_pair) * 0xff51afd7ed558ccdULL;
    return static_cast<std::uint32_t>(h >> 32);
  }

  /// The lane on which a packet that came by `input` leaves by `output`.
  [[nodiscard]] std::uint8_t lane(const Packet& packet, std::uint32_t input, std::uint32_t output) const {
    return lanes_change_ ? changed_lane(packet, input, output) : packet.lane;
  }

 private:
  enum class Kind : std::uint8_t { kTable, kGrid, kDragonfly };

  [[nodiscard]] Choices grid_choices(const Packet& packet) const;
  [[nodiscard]] Choices dragonfly_choices(const Packet& packet) const;
  [[nodiscard]] std::uint8_t changed_lane(const Packet& packet, std::uint32_t input, std::uint32_t output) const;
  [[nodiscard]] std::uint16_t draw(const Packet& packet) const;
  [[nodiscard]] std::uint32_t own_hash(const Packet& packet) const {
    return static_cast<std::uint32_t>(mix(flow_hash(packet) + seed_) >> 32);
  }

  Kind kind_ = Kind::kTable;
  Policy policy_ = Policy::kDmodk;
  bool lanes_change_ = false;
  bool detours_ = false;
  bool decides_late_ = policy_ == Policy::kAdaptive;
  std::uint8_t second_lane_ = 0;
  std::uint16_t place_ = Packet::kNowhere - 1;  // the router or group that this is, as in Packet::via
  std::uint16_t local_ = 0;                     // the router's number in its group
  RoutingTable table_;
  std::uint32_t hosts_ = 1;
  std::uint32_t routers_ = 0;  // of a group, or in all
  std::uint32_t groups_ = 0;   // or dimensions
  const std::uint16_t* coordinates_ = nullptr;
  std::vector<GridStep> steps_;
  std::vector<PortLanes> ports_;
  std::uint64_t seed_ = 0;
};

}  // namespace weft::fabric
