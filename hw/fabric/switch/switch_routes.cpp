// SPDX-License-Identifier: Apache-2.0
// Routes that change while a switch runs. It looks at them when it has to decide: only for a packet that waits for an
// output that is down is there an event.
#include <algorithm>

#include "hw/fabric/switch/switch.h"
#include "hw/fabric/switch/switch_tags.h"

namespace weft::fabric {

void Switch::change_routes(Time at, const Routes& routes) {
  changes_.push_back({at, &routes});
  careful_from_ = changes_.front().at;
}

void Switch::take_changed_routes(Time now) {
  const std::size_t before = changed_;
  while (changed_ < changes_.size() && changes_[changed_].at <= now) routes_ = changes_[changed_++].routes;
  if (changed_ == before) return;
  for (std::uint32_t output = 0; output < outputs_.size(); ++output) {
    if (outputs_[output].waiting != 0 && transmitters_[output].down_at(now)) route_again(now, output);
  }
}

/// Takes everything out of the queues of an output and starts over with it.
void Switch::route_again(Time now, std::uint32_t index) {
  Output& output = outputs_[index];
  if (output.blocked_since != kNever) {
    port_counters_[index].blocked += std::max(Time(), now - output.blocked_since);
    output.blocked_since = kNever;
  }
  std::vector<Packet*> packets;
  std::vector<Packet*> copies;  // of groups, as long as these keep their trees
  std::vector<std::uint32_t> lanes;
  for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
    for (std::uint32_t input = 0; is_made(lane) && input < sources_; ++input) {
      while (queue(index, lane, input).head != nullptr) {
        Packet* packet = dequeue(index, lane, input);
        const bool is_copy = packet->destination >= Packet::kFirstGroup;
        if (is_copy && group_trees_ != nullptr && group_trees_->left_behind(*packet, now)) {
          drop_copy(now, *packet);
          continue;
        }
        (is_copy ? copies : packets).push_back(packet);
        if (is_copy) lanes.push_back(lane);
      }
    }
  }
  for (std::size_t i = 0; i < copies.size(); ++i) let_wait(index, lanes[i], *copies[i]);
  if (!copies.empty()) arm(now, index);
  for (Packet* packet : packets) {
    packet->tail_lag_ps = static_cast<std::uint32_t>(inputs_[packet->ingress].missing(now, *packet).count());
    dispatch(now, *packet);
  }
}

/// Whether an output that stands still until `at` because it is down has to look for another way before: when routes
/// change.
bool Switch::waits_for_routes(Time now, std::uint32_t index, Time at) {
  const Time change = std::max(now, changes_[changed_].at);
  if (change >= at || !transmitters_[index].down_at(now)) return false;
  if (change_posted_ != change) dispatcher_.post(change, *this, kReroute);
  change_posted_ = change;
  return true;
}

}  // namespace weft::fabric
