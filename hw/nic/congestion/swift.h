// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "hw/nic/congestion/congestion_control.h"

namespace weft::nic {

/// The window of Swift (Kumar et al., SIGCOMM 2020, section 3 and algorithm 1) for a queue pair: it grows by `additive`
/// packets in a round trip while delay is below its target, and is cut in proportion to what delay has above it, at
/// most once in a round trip. Delay is measured twice, and the smaller window counts: in the fabric, from when a packet
/// leaves until its acknowledgement is here, and at the endpoint, which is what the receiver says of its host link.
/// Below one packet the window is a rate: one packet each round trip over the window.
///
/// The target of the fabric is the longest idle round trip of the network, in place of the paper's base and of its part
/// for each hop, plus `queueing`, plus the paper's part for flows, which smaller windows have more of.
///
/// It begins with what the link carries in a round trip, and grows only if it has held a packet back. Left out: the
/// local interface's own time to receive, which is 0 here for an acknowledgement, and the paper's reset to the smallest
/// window after several timeouts.
class DelayWindow final : public CongestionControl {
 public:
  /// Numbers of packets are of the longest one, a transaction of the fabric. `additive`, `beta`, `most_cut` and the
  /// ends of `flow_scaling` are those of htsim (github.com/Broadcom/csg-htsim, sim/swift.cpp), after the paper.
  struct Config {
    Time queueing;
    double flow_scaling = 5;
    Time endpoint;
    double additive = 1;
    double beta = 0.8;
    double most_cut = 0.5;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("queueing", queueing,
            "Target of the delay in the fabric beyond the longest idle round trip; 0s: eight packets on the link, at "
            "least half of that round trip",
            Range{0, 1'000'000'000'000});
      visit("flow_scaling", flow_scaling,
            "By how much at most the target is longer for a small window, as a multiple of it; 0: it is not",
            Range{0, 100});
      visit("endpoint", endpoint, "Target of the delay in the receiver; 0s: as queueing", Range{0, 1'000'000'000'000});
      visit("additive", additive, "Packets by which a window grows in a round trip", Range{0, 1000, true});
      visit("beta", beta, "Share of the delay beyond its target by which a window is cut", Range{0, 1});
      visit("most_cut", most_cut, "Largest share by which a window is cut at a time, and is by a loss", kShareBelowOne);
    }
  };

  explicit DelayWindow(const CongestionSite& site);

  void sent(Time /*now*/, std::int64_t /*wire_bytes*/) override {}
  void congested(Time /*now*/) override {}
  void acknowledged(Time now, const Acknowledged& packets) override;
  void lost(Time now) override;
  /// As one fast recovery of the paper, which cuts once: what left before the latest cut belongs to it (`_recoverq` of
  /// htsim/sim/swift.cpp).
  void overtaken(Time now, std::int64_t /*wire_bytes*/, Time left) override {
    if (left >= fabric_.cut_at) cut(fabric_, now, config_.most_cut);
  }
  [[nodiscard]] std::optional<Rate> rate(Time now) override;
  [[nodiscard]] std::int64_t window(Time now) override;
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> own_counts() const override {
    return {{"window_cuts", cuts_}};
  }

  /// In packets.
  [[nodiscard]] double packets() const;
  /// Of the delay in the fabric, for its window as it is.
  [[nodiscard]] Time target() const;

 private:
  struct Part {
    double window = 1;  ///< in packets
    Time cut_at;
  };
  void follow(Part& part, Time now, const Acknowledged& packets, Time delay, Time target);
  void cut(Part& part, Time now, double share);

  Config config_;  ///< no time in it is 0
  double packet_;
  Time base_;
  double flow_slope_;  ///< of the part of the target for flows, by 1 / sqrt(window)
  Part fabric_;
  Part endpoint_;
  Time round_trip_;  ///< the latest
  std::int64_t cuts_ = 0;
};

/// `swift` among the schemes.
[[nodiscard]] CongestionScheme swift_scheme();

}  // namespace weft::nic
