// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/congestion/dctcp.h"

#include <algorithm>
#include <memory>

namespace weft::nic {

MarkWindow::MarkWindow(const CongestionSite& site)
    : g_(site.config<Config>().g), packet_(static_cast<double>(site.packet.count())) {
  const Bytes initial = site.config<Config>().initial;
  round_trip_ = site.round_trip;
  window_ = std::max(packet_, static_cast<double>(initial > Bytes() ? initial.count() : site.carried()));
}

void MarkWindow::acknowledged(Time now, const Acknowledged& packets) {
  round_trip_ = packets.round_trip;
  const Time left = now - packets.round_trip;
  const auto bytes = static_cast<double>(packets.wire_bytes);
  acknowledged_ += bytes;
  if (packets.marked) marked_ += bytes;
  if (round_from_ == kNever) round_from_ = now;
  if (left >= round_from_) {
    alpha_ = (1 - g_) * alpha_ + g_ * marked_ / acknowledged_;
    acknowledged_ = marked_ = 0;
    round_from_ = now;
  }
  if (!packets.marked) {
    if (packets.held) window_ += packet_ * bytes / window_;
  } else if (left >= cut_at_) {
    cut(now, alpha_ / 2);
  }
}

void MarkWindow::lost(Time now) {
  if (now - cut_at_ >= round_trip_) cut(now, 0.5);
}

void MarkWindow::cut(Time now, double share) {
  window_ = std::max(packet_, window_ * (1 - share));
  cut_at_ = now;
  ++cuts_;
}

CongestionScheme dctcp_scheme() {
  CongestionScheme scheme;
  scheme.name = "dctcp";
  scheme.doc = "a window for each queue pair, which is cut by the share of packets that switches mark";
  scheme.config = MarkWindow::Config();
  scheme.config_doc = "Window of queue pairs by marks of switches";
  scheme.acknowledges = true;
  scheme.needs_marks = true;
  scheme.make = [](const CongestionSite& site) { return std::make_unique<MarkWindow>(site); };
  return scheme;
}

}  // namespace weft::nic
