// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/starvation.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace weft::platforms {
namespace {

constexpr double kEnough = 0.95;

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %%", share * 100);
  return text.data();
}

/// From one end to another, as the first of the ways that routes allow leads.
struct Way {
  Time time;
  Rate rate = Rate(INT64_MAX);
};

Way way_between(const fabric::Plan& plan, std::uint32_t from, std::uint32_t to) {
  const fabric::Topology& topology = plan.topology();
  Way way;
  const auto pass = [&way](const fabric::LinkConfig& link) {
    way.time += link.propagation;
    way.rate = std::min(way.rate, link.rate);
  };
  pass(plan.end_link(from));
  Packet packet;
  packet.destination = to;
  std::uint32_t at = topology.ends[from].first;
  for (std::size_t hop = 0; hop <= topology.switches.size(); ++hop) {
    const std::uint16_t port = plan.routes()[at].choices(packet)[0];
    if (port == Packet::kNowhere) break;
    const fabric::Topology::Neighbour& next = topology.switches[at].ports[port];
    way.time += plan.config().switch_config.total_latency();
    pass(topology.link_of(next));
    if (next.is_end) break;
    at = next.index;
  }
  return way;
}

}  // namespace

std::vector<std::string> describe_starved_reads(const nic::NicConfig& config, const fabric::Plan& plan, Time memory,
                                                const std::string& interface) {
  const Bytes segment = plan.config().segment;
  const Bytes ahead = std::max(2 * segment, (config.read_ahead + segment - Bytes(1)) / segment * segment);
  double share = 1;
  Bytes needed;
  Rate rate;
  for (std::uint32_t e = 0; e < plan.topology().ends.size(); ++e) {
    const Rate link = plan.end_link(e).rate;
    const Bytes fitting = config.fitting_read_ahead(link, memory, plan.config().mtu);
    if (fitting <= needed) continue;
    needed = fitting;
    rate = link;
    share = std::min(1.0, static_cast<double>(ahead.count()) / static_cast<double>(fitting.count()));
  }
  // The estimate is within some 10 %.
  constexpr double kSurely = 0.85;
  if (share >= kSurely) return {};
  const Bytes unit(1 << 10);
  return {interface + ".read_ahead: payload of " + to_text(ahead) + " on its way from memory fills about " +
          percent(share) + " of a link of " + to_text(rate) + "; it takes about " +
          to_text((needed + unit - Bytes(1)) / unit * unit) + ", and 0B sets it so"};
}

RingWindow::RingWindow(const collectives::Communicator::Config& config, const fabric::Plan& network,
                       const fabric::Plan* node, int members, int per_node)
    : rate(INT64_MAX), path(network.path()) {
  const int channels = config.channels != 0 ? config.channels : per_node > 1 ? 8 : 4;
  const bool leaves = members > per_node || node == nullptr;
  // Rings take turns with the interfaces of a node, and all pass every port within it.
  const int of_interface = !leaves ? channels : (channels + per_node - 1) / per_node;
  if (!leaves) path = node->path();
  window = config.chunk * config.slots * of_interface;
  std::vector<Time> times;
  for (int m = 0; m < members; ++m) {
    const int next = (m + 1) % members;
    const bool inside = node != nullptr && m / per_node == next / per_node;
    const fabric::Plan& plan = inside ? *node : network;
    // Within a node positions count; between nodes the interfaces of both ends.
    const auto from = static_cast<std::uint32_t>(inside ? m % per_node : m);
    const auto to = static_cast<std::uint32_t>(inside ? next % per_node : next);
    const Way way = way_between(plan, from, to);
    times.push_back(way.time);
    if (inside != leaves) rate = std::min(rate, way.rate);
  }
  Time sum;
  Time longest;
  for (std::size_t m = 0; m < times.size(); ++m) {
    sum += times[m];
    longest = std::max(longest, times[m]);
    away = std::max(away, times[m] + times[(m + 1) % times.size()]);
  }
  away = std::max(away, 3 * sum / members);
  if (members < 3) away = longest;
  const double step = static_cast<double>(transfer_time(config.chunk * of_interface, rate).count()) *
                      static_cast<double>(config.slots / 2);
  const double wait = static_cast<double>(away.count());
  share = (members - 1) * step /
          ((members - 2) * std::max(wait, step) + std::max(static_cast<double>(longest.count()), step));
  const auto chunk_time = transfer_time(config.chunk * of_interface, rate);
  slots = static_cast<int>(std::min<std::int64_t>(1 << 30, 2 * ((away + chunk_time - Time(1)) / chunk_time)));
}

std::vector<std::string> describe_starved_rings(const collectives::Communicator::Config& config,
                                                const fabric::Plan& network, const fabric::Plan* node, int members,
                                                int per_node) {
  using collectives::Algorithm;
  using collectives::Protocol;
  const bool rings = config.algorithm == Algorithm::kRing || config.algorithm == Algorithm::kNccl;
  const bool plain = config.protocol == Protocol::kSimple || config.protocol == Protocol::kAutomatic;
  if (!rings || !plain || !config.order.empty() || members < 2) return {};
  const RingWindow ring(config, network, node, members, per_node);
  if (ring.share >= kEnough) return {};
  constexpr int kMostSlots = 1024;
  const std::string more = ring.slots <= kMostSlots
                               ? "it takes collectives.slots=" + std::to_string(ring.slots) + " at the least"
                               : "a larger collectives.chunk fills more of them";
  return {ring.path + ": collectives.slots of " + std::to_string(config.slots) + " and collectives.chunk of " +
          to_text(config.chunk) + " let a large ReduceScatter by rings fill at most " + percent(ring.share) +
          " of links of " + to_text(ring.rate) + ", since slots come back late; " + more};
}

}  // namespace weft::platforms
