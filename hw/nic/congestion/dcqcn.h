// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "hw/nic/congestion/congestion_control.h"

namespace weft::nic {

/// The reaction point of DCQCN (Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section
/// 3.1 and figure 7): the rate of one queue pair that congestion notifications cut, and that time and bytes sent raise
/// again, by fast recovery, then additive, then hyper increase.
///
/// Its timers are worked out when somebody asks: they cost no event, and nothing goes on after the last packet. Rates
/// are whole bits per second; only alpha is a double, in an order that is fixed.
///
/// A queue pair whose rate has come back to that of the link is free: its limiter is given back, and the next
/// notification begins with alpha at 1. Left out: what the paper leaves to QCN, a random jitter of the timer.
class RateControl final : public CongestionControl {
 public:
  /// Defaults are the paper's, whose links have 40 Gb/s. What is 0 follows the rate of the link, so that a queue pair
  /// comes back in as many increases at any rate; HPCC's simulator scales both rates so (github.com/alibaba-edu/
  /// High-Precision-Congestion-Control, simulation/run.py). At 40 Gb/s all have the paper's values.
  struct Config {
    Time cnp_interval = Time(50'000'000);
    double g = 1.0 / 256;
    Rate rate_ai;
    Rate rate_hai;
    Rate minimum;
    Time timer = Time(55'000'000);
    Time alpha_timer = Time(55'000'000);
    Bytes byte_counter;
    int fast_recovery = 5;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("cnp_interval", cnp_interval, "A queue pair notifies its sender at most this often",
            Range{1'000, 1'000'000'000'000});
      visit("g", g, "Weight of the newest notification in alpha, the estimate of congestion", Range{0, 1});
      visit("rate_ai", rate_ai, "Additive increase of the target rate; 0bps: a thousandth of the link's rate",
            Range{0, 1'000'000'000'000});
      visit("rate_hai", rate_hai, "Hyper increase of the target rate; 0bps: a hundredth of the link's rate",
            Range{0, 1'000'000'000'000});
      visit("minimum", minimum, "Lowest rate; 0bps: a thousandth of the link's rate", Range{0, 1'000'000'000'000});
      visit("timer", timer, "Time from one increase to the next", Range{1'000'000, 1'000'000'000'000});
      visit("alpha_timer", alpha_timer, "Time without notification after which alpha decays",
            Range{1'000'000, 1'000'000'000'000});
      visit("byte_counter", byte_counter, "Bytes sent from one increase to the next; 0B: what the link carries in 2 ms",
            Range{0, 1LL << 40});
      visit("fast_recovery", fast_recovery, "Increases half way to the target before the target itself is raised",
            Range{1, 1'000});
    }
  };

  RateControl(const Config& config, Rate line);

  void congested(Time now) override;
  void sent(Time now, std::int64_t wire_bytes) override;
  [[nodiscard]] std::optional<Rate> rate(Time now) override {
    advance(now);
    return limited_ ? std::optional(current_) : std::nullopt;
  }

  /// What the timers have made of it by `now`; times never go back.
  void advance(Time now);
  /// Below the rate of the link.
  [[nodiscard]] bool limited() const { return limited_; }
  [[nodiscard]] Rate rate() const { return current_; }
  [[nodiscard]] Rate target() const { return target_; }
  [[nodiscard]] double alpha() const { return alpha_; }

 private:
  void increase();

  Config config_;  ///< nothing in it is 0
  Rate line_;
  Rate current_;
  Rate target_;
  double alpha_ = 1;
  bool limited_ = false;
  int timer_rounds_ = 0;  ///< since the latest notification
  int byte_rounds_ = 0;
  std::int64_t bytes_ = 0;  ///< of the current round
  Time timer_at_;
  Time alpha_at_;
};

/// `dcqcn` among the schemes.
[[nodiscard]] CongestionScheme dcqcn_scheme();

}  // namespace weft::nic
