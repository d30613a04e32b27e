// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/round_trip.h"

#include <algorithm>
#include <cmath>

#include "hw/nic/nic.h"

namespace weft::platforms {
namespace {

bool repeats(const nic::NicConfig& config) {
  return config.recovers();
}

/// Rounded up to whole units that people write.
std::string round_time(Time time) {
  const Time unit = time < Time(10'000'000) ? Time(100'000) : Time(1'000'000);
  return to_text((time + unit - Time(1)) / unit * unit);
}

/// The end that takes longest to reach, and how long.
std::pair<std::uint32_t, Time> farthest_from(const fabric::Plan& plan, std::uint32_t from) {
  std::pair<std::uint32_t, Time> farthest{from, Time()};
  for (std::uint32_t to = 0; to < plan.topology().ends.size(); ++to) {
    if (to == from) continue;
    if (const Time time = Way(plan, from, to).time; time > farthest.second) farthest = {to, time};
  }
  return farthest;
}

}  // namespace

Way::Way(const fabric::Plan& plan, std::uint32_t from, std::uint32_t to) {
  const fabric::Topology& topology = plan.topology();
  const auto pass = [this](const fabric::LinkConfig& link) {
    time += link.propagation;
    rate = std::min(rate, link.rate);
    full += transfer_time(link.buffer, link.rate);
  };
  pass(plan.end_link(from));
  Packet packet;
  packet.destination = to;
  std::uint32_t at = topology.ends[from].first;
  for (std::size_t hop = 0; hop <= topology.switches.size(); ++hop) {
    const std::uint16_t port = plan.routes()[at].choices(packet)[0];
    if (port == Packet::kNowhere) break;
    const fabric::Topology::Neighbour& next = topology.switches[at].ports[port];
    time += plan.config().switch_config.total_latency();
    pass(topology.link_of(next));
    if (next.is_end) break;
    at = next.index;
  }
}

RoundTrip::RoundTrip(const fabric::Plan& plan) {
  if (plan.topology().ends.size() < 2) return;
  const std::uint32_t one = farthest_from(plan, 0).first;
  const std::uint32_t other = farthest_from(plan, one).first;
  const Way there(plan, one, other);
  const Way back(plan, other, one);
  const Bytes segment(plan.config().wire_bytes(static_cast<std::uint32_t>(plan.config().segment.count())));
  idle = there.time + transfer_time(segment, there.rate) + back.time;
  full = idle + there.full + back.full;
}

void fit_congestion(nic::NicConfig& config, fabric::Plan& plan, Time memory) {
  const nic::CongestionScheme& scheme = config.scheme();
  if (scheme.make == nullptr) return;
  config.round_trip = RoundTrip(plan).idle + config.read_latency + memory + config.packet_cost +
                      transfer_time(plan.config().mtu, config.dma_rate);
  if (scheme.needs_load) plan.measure_load(config.round_trip);
}

void check_ack_timeout(const nic::NicConfig& config, const fabric::Plan& plan, const std::string& interface) {
  if (!repeats(config)) return;
  const Time round = RoundTrip(plan).idle;
  // Each timeout is longer by a random part of it.
  const double waits = (config.retry_limit + 1) * (1 + config.retry_jitter);
  if (static_cast<double>(config.ack_timeout.count()) * waits >= static_cast<double>(round.count())) return;
  const Time least(static_cast<std::int64_t>(static_cast<double>(round.count()) / waits));
  throw ConfigError(interface + ".ack_timeout", "expected at least " + round_time(least) + ", better " +
                                                    round_time(round) + ", which an answer from the farthest end of " +
                                                    plan.path() + " takes when nothing else is under way, got " +
                                                    to_text(config.ack_timeout) + ": all repeats that " + interface +
                                                    ".retry_limit allows would be over before it is here");
}

std::vector<std::string> describe_hasty_repeats(const nic::NicConfig& config, const fabric::Plan& plan,
                                                const std::string& interface) {
  if (!repeats(config)) return {};
  const RoundTrip round(plan);
  if (config.ack_timeout >= round.idle) return {};
  return {interface + ".ack_timeout: " + to_text(config.ack_timeout) + " are over before an answer from the farthest " +
          "end of " + plan.path() + " can be here, and what is still on its way is sent again; it takes " +
          round_time(round.idle) + " at the least, and " + round_time(round.full) + " behind full buffers"};
}

bool has_lossy_links(const fabric::Plan& plan) {
  const fabric::Topology& topology = plan.topology();
  return std::any_of(topology.switches.begin(), topology.switches.end(), [&](const auto& node) {
    return std::any_of(node.ports.begin(), node.ports.end(), [&](const auto& port) {
      return topology.link_of(port).flow_control == fabric::FlowControl::kLossy;
    });
  });
}

Bytes fitting_reorder(const nic::NicConfig& config, const fabric::Plan& plan) {
  const Time away = 3 * config.reorder_wait + 2 * RoundTrip(plan).idle;
  const double bytes =
      static_cast<double>(plan.end_link(0).rate.count()) / 8 * static_cast<double>(away.count()) * 1e-12;
  constexpr std::int64_t kUnit = 64 << 10;
  return Bytes((static_cast<std::int64_t>(bytes) / kUnit + 1) * kUnit);
}

std::vector<std::string> describe_short_reorder(const nic::NicConfig& config, const fabric::Plan& plan,
                                                std::int64_t dropped, const std::string& interface) {
  if (config.transport == nic::Transport::kUet || config.reorder == Bytes() || dropped == 0) return {};
  const Bytes enough = fitting_reorder(config, plan);
  if (config.reorder >= enough) return {};
  return {interface + ".reorder: " + to_text(config.reorder) + " had no place for " + std::to_string(dropped) +
          " packets that came ahead of their turn, each of which was waited for and sent again by itself. That takes " +
          "longer than 0B, which goes back to a gap and sends again all that follows. In " + interface +
          ".reorder_wait of " + to_text(config.reorder_wait) + ", three times, and two round trips " + to_text(enough) +
          " come: expected at least that, or a shorter wait"};
}

void post_stores(const std::vector<std::unique_ptr<nic::AnyNic>>& ports, const fabric::Plan& plan) {
  if (!plan.config().faults.empty()) return;
  std::vector<nic::Nic*> modelled;
  for (const auto& port : ports) {
    modelled.push_back(dynamic_cast<nic::Nic*>(port.get()));
    if (modelled.back() == nullptr) return;  // only Weft's own knows how
  }
  const auto ends = static_cast<std::uint32_t>(plan.topology().ends.size());
  const Bytes header(plan.config().wire_bytes(0));
  for (std::uint32_t from = 0; from < ends; ++from) {
    std::vector<Time> times(ends);
    for (std::uint32_t to = 0; to < ends; ++to) {
      if (to == from) continue;
      const Way way(plan, from, to);
      times[to] = way.time + transfer_time(header, way.rate);
    }
    for (std::size_t first = 0; first < ports.size(); first += ends) {
      std::vector<nic::Nic::Neighbour> neighbours;
      for (std::uint32_t to = 0; to < ends; ++to) neighbours.push_back({modelled[first + to], times[to]});
      modelled[first + from]->post_stores(std::move(neighbours));
    }
  }
}

std::string longer_ack_timeout(const nic::NicConfig& config, const fabric::Plan& plan) {
  const RoundTrip round(plan);
  return "expected more than " + to_text(config.ack_timeout) +
         ": no packet was lost, but answers came later than all repeats; one from the farthest end of " + plan.path() +
         " takes " + round_time(round.idle) + " when nothing else is under way, and " + round_time(round.full) +
         " behind full buffers";
}

}  // namespace weft::platforms
