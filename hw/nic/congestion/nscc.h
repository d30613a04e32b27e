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

/// The window of network-signalled congestion control (NSCC, Ultra Ethernet Specification 1.0, 3.6.13) for a queue
/// pair. Marks and the delay in queues say what to do:
///
/// | | delay below its target | delay above |
/// | --- | --- | --- |
/// | not marked | grow in proportion to what the delay leaves of its target | grow by a fixed step |
/// | marked | nothing, since other paths may be free | cut in proportion to what the mean delay has above its target |
///
/// While queues are empty for a window's worth of bytes it grows fast. A cut packet takes its bytes off the window, and
/// counts in the mean delay as one that has waited for a round trip of the network. One that others have overtaken
/// leaves the window as it is. Once in a base round trip and target, if packets were cut since the last time or delays
/// are long, and little has arrived, the window becomes what has arrived (quick adapt). Of what was under way then,
/// marks and cuts are passed over. A timeout takes a packet off, and says nothing of queues: a switch tells of what it
/// cuts.
///
/// Steps are given for a reference network of 100 Gb/s and 12 us and scale with what the link carries in a round trip.
/// Parameters and steps are those of htsim (github.com/ultraethernet/uet-htsim, htsim/sim/uec.cpp, August 2025). The
/// base is the shortest round trip that was seen, and no more than the network's longest idle one. Packets count from
/// when they are cut, so the largest window covers the shortest time of a packet in its sender as well: there, hosts
/// take no time.
///
/// Marks have to begin at a lower delay than trimming. Without marks nothing cuts a window in proportion to itself but
/// quick adapt, and flows keep what luck gave them.
class SignalWindow : public CongestionControl {
 public:
  struct Config {
    Time target;
    double most = 1.5;
    double proportional = 4;
    double fair = 5;
    double steady = 0.15;
    double fast = 0.25;
    double gamma = 0.8;
    double delay_weight = 0.0125;
    bool quick_adapt = true;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("target", target,
            "Target of the delay in queues; 0s: three quarters of the longest idle round trip of the network",
            Range{0, 1'000'000'000'000});
      visit("most", most, "Largest and first window, as a multiple of what the link carries in a base round trip",
            kAboveZero);
      visit("proportional", proportional, "Packets of growth in a round trip without delay, in the reference network");
      visit("fair", fair,
            "Packets of growth in a round trip of unmarked packets with a delay above the target, likewise");
      visit("steady", steady, "Packets of growth in a round trip, whatever is heard, likewise");
      visit("fast", fast, "Share of acknowledged bytes by which a window grows while queues are empty, likewise");
      visit("gamma", gamma, "Share of the mean delay beyond its target by which a window is cut", Range{0, 1});
      visit("delay_weight", delay_weight, "Weight of the newest delay in the mean", Range{0, 1});
      visit("quick_adapt", quick_adapt, "After cut packets the window becomes what has arrived in a round trip");
    }
  };

  explicit SignalWindow(const CongestionSite& site, const Config& config);

  void sent(Time /*now*/, std::int64_t wire_bytes) override { under_way_ += static_cast<double>(wire_bytes); }
  void congested(Time /*now*/) override {}
  void acknowledged(Time now, const Acknowledged& packets) override;
  void lost(Time now) override;
  void overtaken(Time /*now*/, std::int64_t wire_bytes, Time /*left*/) override {
    arrived(static_cast<double>(wire_bytes));
  }
  void timed_out(Time now, std::int64_t wire_bytes) override;
  [[nodiscard]] std::optional<Rate> rate(Time /*now*/) override { return std::nullopt; }
  [[nodiscard]] std::int64_t window(Time /*now*/) override { return static_cast<std::int64_t>(window_); }
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> own_counts() const override {
    return {{"window_cuts", cuts_}, {"quick_adapts", adapts_}};
  }
  [[nodiscard]] Time target() const { return target_; }

 private:
  void arrived(double bytes);
  void mean(double delay, bool marked);
  void learn_base(const Acknowledged& packets);
  /// `bad`: of a packet that was marked or cut.
  bool adapt(Time now, double delay, bool bad);
  bool grow_fast(double delay, double bytes);
  void apply(Time now);
  void keep_in_bounds();

  Config config_;
  double packet_;
  Time network_;  ///< its longest idle round trip
  Time base_;
  Time in_sender_ = kNever;  ///< the shortest
  Time target_;
  double carried_;  ///< by the link in that
  double most_;
  double window_;
  double scale_;  ///< of steps: what the link carries in a round trip, over the reference's
  double under_way_ = 0;
  double growth_ = 0;  ///< bytes times window, not yet applied
  double mean_delay_ = 0;
  Time cut_at_;
  Time applied_at_;
  Time steady_at_;
  double since_applied_ = 0;  ///< bytes
  Time adapt_until_;          ///< the interval in which `achieved_` is counted
  double achieved_ = 0;
  bool was_cut_ = false;  ///< packets were, since the latest quick adapt
  double ignore_ = 0;     ///< bytes that were under way at a quick adapt, and have not been heard of
  double idle_bytes_ = 0;
  bool is_fast_ = false;
  std::int64_t cuts_ = 0;
  std::int64_t adapts_ = 0;
};

/// `nscc` among the schemes; `rccc`, whose receivers give credits (hw/nic/uet/credits.cpp); `nscc-rccc`, which keeps
/// to both.
[[nodiscard]] CongestionScheme nscc_scheme();
[[nodiscard]] CongestionScheme rccc_scheme();
[[nodiscard]] CongestionScheme nscc_rccc_scheme();

}  // namespace weft::nic
