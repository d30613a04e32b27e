// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/congestion/nscc.h"

#include <algorithm>
#include <memory>

namespace weft::nic {
namespace {

constexpr double kReferenceCarried = 150'000;  // bytes: 100 Gb/s for 12 us
constexpr Time kReferenceTrip = Time(12'000'000);
constexpr double kLongestDelay = 4;      // targets, beyond which quick adapt looks
constexpr double kLittle = 8;            // of the largest window: less than a part has arrived
constexpr double kApplyPackets = 8;      // after which growth is applied
constexpr double kShortest = 12;         // of the base: delays below a part are none
constexpr double kUnmarkedDelay = 0.25;  // of the base, that a long delay without a mark counts as
constexpr double kMostCut = 0.5;

double seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}

}  // namespace

SignalWindow::SignalWindow(const CongestionSite& site, const Config& config)
    : config_(config),
      packet_(static_cast<double>(site.packet.count())),
      network_(site.round_trip),
      base_(site.round_trip),
      target_(config.target > Time() ? config.target : site.round_trip * 3 / 4),
      carried_(static_cast<double>(site.carried())),
      most_(std::max(packet_, config.most * carried_)),
      window_(most_),
      scale_(carried_ / kReferenceCarried) {}

void SignalWindow::learn_base(const Acknowledged& packets) {
  const Time trip = packets.round_trip;
  if (trip <= Time() || (trip >= base_ && packets.in_sender >= in_sender_)) return;
  base_ = std::min(base_, trip);
  in_sender_ = std::min(in_sender_, packets.in_sender);
  // The network's covers the time in the sender.
  const Time away = std::min(base_ + in_sender_, network_);
  most_ = std::max(packet_, config_.most * carried_ * seconds(away) / seconds(network_));
}

void SignalWindow::keep_in_bounds() {
  window_ = std::clamp(window_, packet_, most_);
}

void SignalWindow::arrived(double bytes) {
  under_way_ = std::max(0.0, under_way_ - bytes);
  ignore_ = std::max(0.0, ignore_ - bytes);
}

void SignalWindow::mean(double delay, bool marked) {
  if (!marked && delay > seconds(target_)) delay = kUnmarkedDelay * seconds(base_);
  mean_delay_ += config_.delay_weight * (delay - mean_delay_);
}

bool SignalWindow::adapt(Time now, double delay, bool bad) {
  if (!config_.quick_adapt) return false;
  bool done = bad && ignore_ > 0;
  if (!done && now > adapt_until_) {
    const bool counted = adapt_until_ != Time();
    done = counted && (was_cut_ || delay > kLongestDelay * seconds(target_)) && achieved_ < most_ / kLittle;
    if (done) {
      window_ = achieved_;
      keep_in_bounds();
      ignore_ = under_way_;
      was_cut_ = false;
      ++adapts_;
    }
    achieved_ = 0;
    adapt_until_ = now + base_ + target_;
  }
  if (done) growth_ = since_applied_ = 0;
  return done;
}

bool SignalWindow::grow_fast(double delay, double bytes) {
  if (delay * kShortest >= seconds(base_)) {
    is_fast_ = false;
    idle_bytes_ = 0;
    return false;
  }
  idle_bytes_ += bytes;
  if (!is_fast_ && idle_bytes_ < window_) return false;
  is_fast_ = true;
  window_ += bytes * config_.fast * scale_;
  return true;
}

void SignalWindow::apply(Time now) {
  if (since_applied_ < kApplyPackets * packet_ && now - applied_at_ < base_) return;
  window_ += growth_ / window_;
  if (now - steady_at_ >= base_) {
    window_ += config_.steady * packet_ * scale_;
    steady_at_ = now;
  }
  growth_ = 0;
  since_applied_ = 0;
  applied_at_ = now;
}

void SignalWindow::acknowledged(Time now, const Acknowledged& packets) {
  const auto bytes = static_cast<double>(packets.wire_bytes);
  const Time trip = packets.round_trip;
  learn_base(packets);
  const double delay = seconds(trip - base_);
  arrived(bytes);
  achieved_ += bytes;
  mean(delay, packets.marked);
  if (adapt(now, delay, packets.marked)) return;
  since_applied_ += bytes;
  const double target = seconds(target_);
  if (!packets.marked) {
    const double scaled_target = target / seconds(kReferenceTrip);
    if (delay >= target) {
      growth_ += config_.fair * packet_ * scale_ * bytes;
    } else if (!grow_fast(delay, bytes)) {
      growth_ += config_.proportional * packet_ * scale_ * scaled_target * bytes * (target - delay) / target;
    }
  } else {
    is_fast_ = false;
    idle_bytes_ = 0;
    if (delay >= target && mean_delay_ > target && now - cut_at_ > base_) {
      window_ *= std::max(1 - config_.gamma * (mean_delay_ - target) / mean_delay_, kMostCut);
      cut_at_ = now;
      ++cuts_;
    }
  }
  keep_in_bounds();
  apply(now);
  keep_in_bounds();
}

void SignalWindow::lost(Time now) {
  was_cut_ = true;
  arrived(packet_);
  // A full queue has cut it, whose delay nobody has measured.
  mean(seconds(network_), true);
  if (adapt(now, 0, true)) return;
  window_ -= packet_;
  keep_in_bounds();
}

void SignalWindow::timed_out(Time /*now*/, std::int64_t wire_bytes) {
  arrived(static_cast<double>(wire_bytes));
  window_ -= packet_;
  keep_in_bounds();
}

namespace {

/// Credits alone: no more is under way than NSCC would let go without congestion.
class CreditWindow final : public CongestionControl {
 public:
  explicit CreditWindow(const CongestionSite& site)
      : window_(static_cast<std::int64_t>(SignalWindow::Config().most * static_cast<double>(site.carried()))) {}

  void sent(Time /*now*/, std::int64_t /*wire_bytes*/) override {}
  void congested(Time /*now*/) override {}
  [[nodiscard]] std::optional<Rate> rate(Time /*now*/) override { return std::nullopt; }
  [[nodiscard]] std::int64_t window(Time /*now*/) override { return window_; }

 private:
  std::int64_t window_;
};

CongestionScheme signal_scheme() {
  CongestionScheme scheme;
  scheme.acknowledges = true;
  scheme.needs_marks = true;
  return scheme;
}

}  // namespace

CongestionScheme nscc_scheme() {
  CongestionScheme scheme = signal_scheme();
  scheme.name = "nscc";
  scheme.doc = "Ultra Ethernet's window of the sender, by marks and delay";
  scheme.config = SignalWindow::Config();
  scheme.config_doc = "Window of queue pairs by marks and delay";
  scheme.make = [](const CongestionSite& site) {
    return std::make_unique<SignalWindow>(site, site.config<SignalWindow::Config>());
  };
  return scheme;
}

CongestionScheme rccc_scheme() {
  CongestionScheme scheme;
  scheme.name = "rccc";
  scheme.doc = "Ultra Ethernet's credits, which a receiver gives at the rate of its link";
  scheme.acknowledges = true;
  scheme.grants = true;
  scheme.make = [](const CongestionSite& site) { return std::make_unique<CreditWindow>(site); };
  return scheme;
}

CongestionScheme nscc_rccc_scheme() {
  CongestionScheme scheme = signal_scheme();
  scheme.name = "nscc-rccc";
  scheme.doc = "both of these, with the defaults of nscc";
  scheme.grants = true;
  scheme.make = [](const CongestionSite& site) { return std::make_unique<SignalWindow>(site, SignalWindow::Config()); };
  return scheme;
}

}  // namespace weft::nic
