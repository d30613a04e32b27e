// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/credit_loop.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <tuple>

#include "hw/fabric/topology/plan.h"

namespace weft::fabric {
namespace {

Bytes bytes_in(Time time, Rate rate) {
  constexpr __int128 kBitPs = 8'000'000'000'000;
  return Bytes(static_cast<std::int64_t>((static_cast<__int128>(time.count()) * rate.count() + kBitPs - 1) / kBitPs));
}

Bytes segment_on_wire(const FabricConfig& network) {
  return Bytes(network.wire_bytes(static_cast<std::uint32_t>(network.segment.count())));
}

/// What a packet takes of the link's buffer.
Bytes held_by(Bytes packet, const LinkConfig& link) {
  return link.most_held > Bytes() ? std::min(packet, link.most_held) : packet;
}

/// Calls `visit(link, switches, name)` for every link: its index, how many of its ends are switches, and a maker of its
/// name.
template <typename Visit>
void for_each_link(const Topology& topology, const Visit& visit) {
  for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
    const Topology::Node& node = topology.switches[s];
    for (std::uint16_t p = 0; p < node.ports.size(); ++p) {
      const Topology::Neighbour& to = node.ports[p];
      // The other end of a link between switches has it, too.
      if (!to.is_end && std::tuple(to.index, to.port) < std::tuple(s, p)) continue;
      visit(to.link, to.is_end ? 1 : 2, [&] {
        return to.is_end ? "end" + std::to_string(to.index) + " - " + node.name
                         : node.name + " - " + topology.switches[to.index].name;
      });
    }
  }
}

/// By link: what a router holds of its one end for its slower outputs, in which the end's own send queues are.
std::vector<Bytes> own_queues(const Topology& topology) {
  std::vector<Bytes> queues(topology.links.size());
  for (const Topology::Node& node : topology.switches) {
    const auto is_end = [](const Topology::Neighbour& port) { return port.is_end; };
    const auto end = std::find_if(node.ports.begin(), node.ports.end(), is_end);
    if (topology.grid == nullptr || std::count_if(node.ports.begin(), node.ports.end(), is_end) != 1) continue;
    const Rate rate = topology.link_of(*end).rate;
    const auto slower = std::count_if(node.ports.begin(), node.ports.end(), [&](const Topology::Neighbour& port) {
      return !port.is_end && topology.link_of(port).rate < rate;
    });
    queues[end->link] = std::max(queues[end->link], slower * LinkConfig::kSendQueue);
  }
  return queues;
}

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %%", share * 100);
  return text.data();
}

/// In KiB or MiB, rounded up: to_text of a size that nobody rounded is a long number of bytes.
std::string round_size(Bytes size) {
  const Bytes unit = size < Bytes(4 << 20) ? Bytes(1 << 10) : Bytes(1 << 20);
  return to_text((size + unit - Bytes(1)) / unit * unit);
}

}  // namespace

std::string path_of_link(std::uint32_t link, const FabricConfig& network) {
  const auto number = [link] { return std::to_string(link - 1); };
  if (link > 0 && network.topology == Shape::kGraph) return "edges." + number() + ".link";
  const bool is_dimension = network.topology == Shape::kDimensions && link <= network.dimensions.size();
  if (link > 0 && is_dimension) return "dimensions." + number() + ".link";
  return "link";
}

CreditLoop::CreditLoop(const FabricConfig& network, const LinkConfig& link, int switches)
    : packet(segment_on_wire(network)) {
  const Time length = transfer_time(packet, link.rate);
  away = switches * network.switch_config.total_latency() + 2 * link.propagation + length;
  if (link.flow_control == FlowControl::kPfc) away += link.pause_response;
  needed = bytes_in(away, link.rate) + 2 * packet;
  if (link.flow_control == FlowControl::kPfc) needed += network.switch_config.buffer.resume;
}

Bytes CreditLoop::held(const LinkConfig& link) const {
  constexpr int kSegments = 3;  // one arrives, one leaves, and one absorbs what their times differ by
  const Time length = transfer_time(packet, link.rate);
  const Bytes streaming = Bytes(scaled(packet.count(), (away - length).count(), away.count()));
  return std::max((link.buffer + link.shared) / kSegments, streaming);
}

double CreditLoop::share(const LinkConfig& link) const {
  if (link.flow_control != FlowControl::kCredits) return 1;
  const std::int64_t packets = (link.buffer + link.shared) / held_by(packet, link);
  // Of the link, which carries what rounding leaves of a packet to the next.
  const double sending = static_cast<double>(packets * packet.count()) * 8e12 / static_cast<double>(link.rate.count());
  return std::min(1.0, sending / static_cast<double>(away.count()));
}

void fit_buffers(Topology& topology, const FabricConfig& network) {
  std::vector<int> switches(topology.links.size(), 1);
  for_each_link(topology, [&](std::uint32_t link, int ends, const auto& /*name*/) {
    switches[link] = std::max(switches[link], ends);
  });
  const std::vector<Bytes> queues = own_queues(topology);
  for (std::size_t i = 0; i < topology.links.size(); ++i) {
    LinkConfig& link = topology.links[i];
    if (link.buffer == Bytes()) {
      link.buffer = std::max({LinkConfig::kLeastBuffer, CreditLoop(network, link, switches[i]).needed, queues[i]});
    }
    if (network.segment > network.mtu) link.most_held = CreditLoop(network, link, switches[i]).held(link);
  }
}

Bytes fitting_headroom(const FabricConfig& network, const std::vector<LinkConfig>& links) {
  Bytes most = SharedBuffer::kLeastHeadroom;
  for (const LinkConfig& link : links) {
    const Time round = 2 * link.propagation + link.pause_response + 2 * network.switch_config.total_latency();
    constexpr Bytes kFrame = Bytes(64);
    most = std::max(most, bytes_in(round, link.rate) + kFrame + 4 * segment_on_wire(network));
  }
  return most;
}

std::vector<StarvedLinks> find_starved(const Topology& topology, const FabricConfig& network) {
  using Kind = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, int>;
  std::map<std::pair<std::uint32_t, int>, double> shares;
  std::map<Kind, StarvedLinks> kinds;
  for_each_link(topology, [&](std::uint32_t index, int switches, const auto& name) {
    const LinkConfig& link = topology.links[index];
    const auto [found, added] = shares.try_emplace({index, switches}, 1);
    if (added) found->second = CreditLoop(network, link, switches).share(link);
    if (found->second >= 1) return;
    StarvedLinks& kind =
        kinds[{link.rate.count(), link.propagation.count(), link.buffer.count(), link.shared.count(), switches}];
    if (kind.count++ > 0) return;
    kind.name = name();
    kind.path = path_of_link(index, network) + ".buffer";
    kind.link = link;
    kind.share = found->second;
    kind.needed = CreditLoop(network, link, switches).needed;
  });
  std::vector<StarvedLinks> all;
  for (auto& [kind, links] : kinds) all.push_back(std::move(links));
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.share < b.share; });
  return all;
}

std::vector<std::string> describe_starved(const Plan& plan) {
  constexpr std::size_t kShown = 5;
  const std::vector<StarvedLinks> kinds = find_starved(plan.topology(), plan.config());
  std::vector<std::string> lines;
  for (const StarvedLinks& kind : kinds) {
    if (lines.size() == kShown) {
      lines.push_back(plan.path() + ": " + std::to_string(kinds.size() - kShown) +
                      " more kinds of links that their buffers cannot fill");
      break;
    }
    const std::string others = kind.count == 1 ? "" : " and " + std::to_string(kind.count - 1) + " more";
    const std::string shared = kind.link.shared > Bytes() ? " and " + to_text(kind.link.shared) + " shared" : "";
    lines.push_back(plan.path() + ": " + kind.name + others + ": a buffer of " + to_text(kind.link.buffer) + shared +
                    " fills " + percent(kind.share) + " of a link of " + to_text(kind.link.rate) + " and " +
                    to_text(kind.link.propagation) + "; it takes " + round_size(kind.needed) + " (" + plan.path() +
                    "." + kind.path + ")");
  }
  return lines;
}

}  // namespace weft::fabric
