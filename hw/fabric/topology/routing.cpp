// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/topology/routing.h"

#include <algorithm>

namespace weft::fabric {

void RoutingTable::set(std::uint32_t key, std::span<const std::uint16_t> ports) {
  if (ports.size() == 1) return set(key, ports.front());
  // Many keys share their choices: look for them before they are written again.
  const auto found = std::search(choices_.begin(), choices_.end(), ports.begin(), ports.end());
  const auto first = static_cast<std::uint32_t>(found - choices_.begin());
  if (found == choices_.end()) choices_.insert(choices_.end(), ports.begin(), ports.end());
  entries_[key] = {first & 0xfffff, static_cast<std::uint32_t>(ports.size()) & 0xfff};
}

Routes::Routes(const Grid& grid, std::vector<GridStep> steps, std::uint32_t router, Policy policy)
    : kind_(Kind::kGrid),
      policy_(policy),
      hosts_(grid.hosts),
      routers_(grid.routers),
      groups_(grid.dimensions),
      coordinates_(grid.coordinates.data()),
      steps_(std::move(steps)) {
  if (router < grid.routers) place_ = static_cast<std::uint16_t>(router);
}

Routes::Routes(const Dragonfly& dragonfly, RoutingTable table, std::uint32_t router, Policy policy)
    : kind_(Kind::kDragonfly),
      policy_(policy),
      place_(static_cast<std::uint16_t>(router / dragonfly.routers)),
      local_(static_cast<std::uint16_t>(router % dragonfly.routers)),
      table_(std::move(table)),
      hosts_(dragonfly.hosts),
      routers_(dragonfly.routers),
      groups_(dragonfly.groups) {}

void Routes::detour(std::uint64_t seed, std::uint8_t second_lane) {
  detours_ = true;
  decides_late_ = true;
  seed_ = seed;
  second_lane_ = second_lane;
}

std::uint16_t Routes::draw(const Packet& packet) const {
  const std::uint64_t h = mix(((seed_ + packet.psn) * 0x9e3779b97f4a7c15ULL) ^ flow_hash(packet));
  const std::uint32_t router = packet.destination / hosts_;
  const std::uint32_t goal = kind_ == Kind::kDragonfly ? router / routers_ : router;
  const auto via = static_cast<std::uint16_t>(h % (kind_ == Kind::kDragonfly ? groups_ : routers_));
  // What stays in its group or at its router does not take the long way, and neither does what draws its destination.
  return goal == place_ || via == goal ? Packet::kNowhere : via;
}

void Routes::arrive(Packet& packet, std::uint32_t input) const {
  if (ports_[input].group == PortLanes::kEnd) packet.via = draw(packet);
  forget(packet);
}

Choices Routes::grid_choices(const Packet& packet) const {
  const std::uint32_t router = packet.via != Packet::kNowhere ? packet.via
                               : hosts_ == 1                  ? packet.destination
                                                              : packet.destination / hosts_;
  const std::uint16_t* const to = coordinates_ + std::size_t{router} * groups_;
  for (const GridStep& step : steps_) {
    const std::uint32_t goal = to[step.dimension];
    if (goal == step.own) continue;
    const std::uint32_t links = step.links;
    const auto run = [links](std::uint32_t first) {
      return Choices{nullptr, links, static_cast<std::uint16_t>(first), 0, links};
    };
    switch (step.block) {
      case Block::kRing: {
        const std::uint32_t up = goal > step.own ? goal - step.own : goal + step.size - step.own;
        if (2 * up == step.size && step.plus != step.minus) return {nullptr, 2 * links, step.plus, step.minus, links};
        return run(2 * up <= step.size ? step.plus : step.minus);
      }
      case Block::kMesh:
        return run(goal > step.own ? step.plus : step.minus);
      case Block::kFullyConnected:
        return run(step.plus + (goal < step.own ? goal : goal - 1) * links);
      case Block::kSwitch:
        return run(step.plus);
      case Block::kHub:
        return run(step.plus + goal * links);
    }
  }
  return {nullptr, 1, static_cast<std::uint16_t>(packet.destination % hosts_), 0, 1};
}

Choices Routes::dragonfly_choices(const Packet& packet) const {
  const std::uint32_t router = packet.destination / hosts_;
  const std::uint32_t group = packet.via != Packet::kNowhere ? packet.via : router / routers_;
  if (group != place_) return table_.find(group);
  const std::uint32_t local = router % routers_;
  if (local != local_) return table_.find(groups_ + local);
  return {nullptr, 1, static_cast<std::uint16_t>(packet.destination % hosts_), 0, 1};
}

std::uint8_t Routes::changed_lane(const Packet& packet, std::uint32_t input, std::uint32_t output) const {
  const PortLanes in = ports_[input];
  const PortLanes out = ports_[output];
  if (out.group == PortLanes::kEnd) return packet.lane;
  // Where there is a second way, it has lanes of its own: a packet that begins it enters the dimension anew.
  const std::uint8_t begin = second_lane_ != 0 && packet.via == Packet::kNowhere ? second_lane_ : 0;
  const bool stays = in.group == out.group && (packet.lane >= second_lane_) == (begin >= second_lane_);
  const std::uint32_t lane = stays ? packet.lane : begin;
  return static_cast<std::uint8_t>(lane + in.shift_in + out.shift_out);
}

}  // namespace weft::fabric
