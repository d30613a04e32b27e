// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/congestion/swift.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace weft::nic {
namespace {

constexpr double kLeastPackets = 0.01;
constexpr double kMostPackets = 1e9;
// Windows for which the part of the target for flows is longest, and none.
constexpr double kScaledFrom = 0.1;
constexpr double kScaledTo = 100;

}  // namespace

DelayWindow::DelayWindow(const CongestionSite& site)
    : config_(site.config<Config>()), packet_(static_cast<double>(site.packet.count())), round_trip_(site.round_trip) {
  constexpr std::int64_t kQueued = 8;
  if (config_.queueing == Time()) {
    config_.queueing = std::max(kQueued * transfer_time(site.packet, site.line), site.round_trip / 2);
  }
  if (config_.endpoint == Time()) config_.endpoint = config_.queueing;
  base_ = site.round_trip + config_.queueing;
  flow_slope_ = config_.flow_scaling * static_cast<double>(base_.count()) /
                (1 / std::sqrt(kScaledFrom) - 1 / std::sqrt(kScaledTo));
  fabric_.window = endpoint_.window = static_cast<double>(site.carried()) / packet_;
}

double DelayWindow::packets() const {
  return std::min(fabric_.window, endpoint_.window);
}

Time DelayWindow::target() const {
  const double longest = config_.flow_scaling * static_cast<double>(base_.count());
  const double scaling = flow_slope_ * (1 / std::sqrt(fabric_.window) - 1 / std::sqrt(kScaledTo));
  return base_ + Time(std::llround(std::clamp(scaling, 0.0, longest)));
}

void DelayWindow::acknowledged(Time now, const Acknowledged& packets) {
  round_trip_ = packets.round_trip;
  follow(fabric_, now, packets, packets.round_trip, target());
  follow(endpoint_, now, packets, packets.endpoint, config_.endpoint);
}

void DelayWindow::follow(Part& part, Time now, const Acknowledged& packets, Time delay, Time target) {
  if (delay < target) {
    // The other part may be what holds packets back: this one is never more than a packet ahead of it then.
    if (!packets.held || part.window > this->packets() + 1) return;
    const double grown = config_.additive * static_cast<double>(packets.wire_bytes) / packet_;
    part.window = std::min(kMostPackets, part.window + grown / std::max(1.0, part.window));
    return;
  }
  if (now - part.cut_at < packets.round_trip) return;
  const double beyond = static_cast<double>((delay - target).count()) / static_cast<double>(delay.count());
  cut(part, now, std::min(config_.beta * beyond, config_.most_cut));
}

void DelayWindow::lost(Time now) {
  if (now - fabric_.cut_at >= round_trip_) cut(fabric_, now, config_.most_cut);
}

void DelayWindow::cut(Part& part, Time now, double share) {
  if (share == 0) return;
  part.window = std::max(kLeastPackets, part.window * (1 - share));
  part.cut_at = now;
  ++cuts_;
}

std::optional<Rate> DelayWindow::rate(Time /*now*/) {
  const double share = packets();
  if (share >= 1 || round_trip_ == Time()) return std::nullopt;
  constexpr double kBitPicoseconds = 8e12;
  const double rate = share * packet_ * kBitPicoseconds / static_cast<double>(round_trip_.count());
  return Rate(std::max<std::int64_t>(1, std::llround(rate)));
}

std::int64_t DelayWindow::window(Time /*now*/) {
  return std::llround(std::max(1.0, packets()) * packet_);
}

CongestionScheme swift_scheme() {
  CongestionScheme scheme;
  scheme.name = "swift";
  scheme.doc = "a window for each queue pair, which keeps the delay in the fabric and at the endpoint at a target";
  scheme.config = DelayWindow::Config();
  scheme.config_doc = "Window of queue pairs by delay";
  scheme.acknowledges = true;
  scheme.make = [](const CongestionSite& site) { return std::make_unique<DelayWindow>(site); };
  return scheme;
}

}  // namespace weft::nic
