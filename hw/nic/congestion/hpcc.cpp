// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/congestion/hpcc.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace weft::nic {

LoadWindow::LoadWindow(const CongestionSite& site)
    : config_(site.config<Config>()),
      round_trip_(site.round_trip),
      whole_(static_cast<double>(site.carried())),
      increase_(whole_ * (1 - config_.target) / config_.flows),
      window_(whole_),
      reference_(whole_) {}

void LoadWindow::acknowledged(Time now, const Acknowledged& packets) {
  const bool round = now - packets.round_trip >= updated_;
  const bool follows = packets.load >= config_.target || stage_ >= config_.most_stages;
  double window = reference_ + increase_;
  // Nothing on its way is loaded: as far as it goes.
  if (follows) window = packets.load > 0 ? reference_ * config_.target / packets.load + increase_ : whole_;
  window_ = std::clamp(window, std::max(1.0, increase_), whole_);
  if (!round) return;
  stage_ = follows ? 0 : stage_ + 1;
  reference_ = window_;
  updated_ = now;
}

std::optional<Rate> LoadWindow::rate(Time /*now*/) {
  if (window_ >= whole_) return std::nullopt;
  constexpr double kBitPicoseconds = 8e12;
  const double rate = window_ * kBitPicoseconds / static_cast<double>(round_trip_.count());
  return Rate(std::max<std::int64_t>(1, std::llround(rate)));
}

CongestionScheme hpcc_scheme() {
  CongestionScheme scheme;
  scheme.name = "hpcc";
  scheme.doc = "a window and a rate for each queue pair, by the load of links that switches write into packets";
  scheme.config = LoadWindow::Config();
  scheme.config_doc = "Window and rate of queue pairs by the load of links";
  scheme.acknowledges = true;
  scheme.needs_load = true;
  scheme.make = [](const CongestionSite& site) { return std::make_unique<LoadWindow>(site); };
  return scheme;
}

}  // namespace weft::nic
