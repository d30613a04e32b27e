// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hw/core/packet.h"
#include "hw/fabric/outage.h"

namespace weft::fabric {

/// What a Fault names of the planes of a network: "plane3" all links to that plane, whose switches are then gone,
/// "end5-plane3" those of one end, "end5>plane3" and "plane3>end5" one direction of them, until routes avoid them: a
/// link that is down one way is not used the other way either.
struct PlaneLinks {
  std::size_t plane = 0;
  std::vector<std::uint32_t> ends;
  std::vector<Direction> directions;  ///< of the links of these ends, of all planes
};
/// Nothing if no plane or no end of the network is called so.
std::optional<PlaneLinks> find_plane_links(const Topology& topology, const FabricConfig& config,
                                           const std::string& name);

/// Which links to planes are gone, and when.
struct PlaneOutage {
  std::string name;  ///< as the Fault has it
  PlaneLinks links;
  int count = 0;             ///< of the links of each end to the plane
  Time from;                 ///< when routes avoid them
  Time until;                ///< and use them again
  std::optional<Fault> gap;  ///< while they are down and routes still use them
};

/// The outages of a configuration, by fault; nothing for faults that name no plane. Throws ConfigError for what no
/// plane can have, and if two ends are left without a plane in common.
std::vector<std::optional<PlaneOutage>> find_plane_outages(const Topology& topology, const FabricConfig& config,
                                                           const std::string& path);

/// The planes of a network: equal copies of it that each end is joined to by links of its own, such as the 18 NVSwitch
/// chips of an NVL72. `FabricConfig::planes` are the links of an end to each of them, and a link of the network is all
/// of these links together.
///
/// Packets are spread over the planes in the proportion of the links that both ends have there, as a hash of addresses
/// spreads them. So what is down in one plane leaves the packets between two ends the share of the rate of all links
/// that the links left are. In groups it is what all members have: a sum is made of the operands of all, in one switch.
/// That is exact as long as one plane carries packets of all pairs: it is then the busiest one.
///
/// Before routes avoid what has gone down, packets that are spread over all planes wait for it.
class Planes {
 public:
  /// Of a network of so many ends.
  Planes(const std::vector<int>& links, std::size_t ends, const std::vector<std::optional<PlaneOutage>>& outages);

  /// Links of all planes together.
  [[nodiscard]] int whole() const { return whole_; }
  /// Of these, those that packets between two ends, or of a group, can take at a time.
  [[nodiscard]] int left(std::uint32_t source, std::uint32_t destination, Time at) const;

  /// How long what takes `length` on all links takes on those left to this packet.
  [[nodiscard]] Time stretched(const Packet& packet, Time at, Time length) const;
  /// Which outages that is due to: a bit for each, the last one for all further ones.
  [[nodiscard]] std::uint64_t causes(const Packet& packet, Time at) const;
  static constexpr std::size_t kCauses = 64;

  /// The ends of a group. False if they have no plane in common, now or later.
  bool set_group(std::uint32_t group, const std::vector<std::uint32_t>& ends, Time now);

  /// The first pair of ends that has no plane in common, and since when.
  struct Parted {
    std::uint32_t a;
    std::uint32_t b;
    Time at;
  };
  [[nodiscard]] std::optional<Parted> parted() const;

 private:
  /// From a time on.
  struct Epoch {
    Time from;
    std::vector<int> left;              ///< by end, then plane
    std::vector<std::uint64_t> causes;  ///< by end
    std::map<std::uint32_t, int> groups;
    std::map<std::uint32_t, std::uint64_t> group_causes;
    bool whole = true;  ///< nothing is down
  };

  [[nodiscard]] const Epoch& epoch(Time at) const;
  [[nodiscard]] int left_in(const Epoch& epoch, std::uint32_t source, std::uint32_t destination) const;
  [[nodiscard]] const int* of_end(const Epoch& epoch, std::uint32_t end) const { return &epoch.left[end * planes_]; }

  std::size_t planes_;
  int whole_ = 0;
  std::vector<Epoch> epochs_;  ///< in order of time; the first begins at 0
};

}  // namespace weft::fabric
