// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/congestion/dcqcn.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "hw/core/fields.h"
#include "hw/core/number_text.h"

namespace weft::nic {

RateControl::RateControl(const Config& config, Rate line)
    : config_(config), line_(line), current_(line), target_(line) {
  constexpr Time kByteRound = Time(2'000'000'000);  // 10 MB at 40 Gb/s
  if (config_.rate_ai == Rate()) config_.rate_ai = line / 1000;
  if (config_.rate_hai == Rate()) config_.rate_hai = line / 100;
  if (config_.minimum == Rate()) config_.minimum = line / 1000;
  if (config_.byte_counter == Bytes()) {
    config_.byte_counter = Bytes(scaled(line.count(), kByteRound.count(), 8'000'000'000'000));
  }
}

void RateControl::congested(Time now) {
  advance(now);
  if (!limited_) {
    limited_ = true;
    alpha_ = 1;
  }
  target_ = current_;
  const auto lower = std::llround(static_cast<double>(current_.count()) * (1 - alpha_ / 2));
  current_ = std::min(line_, std::max(config_.minimum, Rate(lower)));
  alpha_ = (1 - config_.g) * alpha_ + config_.g;
  timer_rounds_ = byte_rounds_ = 0;
  bytes_ = 0;
  timer_at_ = now + config_.timer;
  alpha_at_ = now + config_.alpha_timer;
}

void RateControl::sent(Time now, std::int64_t wire_bytes) {
  advance(now);
  if (!limited_) return;
  bytes_ += wire_bytes;
  while (bytes_ >= config_.byte_counter.count()) {
    bytes_ -= config_.byte_counter.count();
    ++byte_rounds_;
    increase();
  }
}

void RateControl::advance(Time now) {
  while (limited_ && std::min(alpha_at_, timer_at_) <= now) {
    if (alpha_at_ <= timer_at_) {
      alpha_ *= 1 - config_.g;
      alpha_at_ += config_.alpha_timer;
    } else {
      timer_at_ += config_.timer;
      ++timer_rounds_;
      increase();
    }
  }
}

void RateControl::increase() {
  const auto [fewer, more] = std::minmax(timer_rounds_, byte_rounds_);
  if (fewer > config_.fast_recovery) {
    target_ += config_.rate_hai;
  } else if (more >= config_.fast_recovery) {
    target_ += config_.rate_ai;
  }
  target_ = std::min(target_, line_);
  current_ = (current_ + target_) / 2;
  // Halves of what is missing never add up to all of it.
  if (line_ - current_ > config_.rate_ai) return;
  current_ = target_ = line_;
  limited_ = false;
}

CongestionScheme dcqcn_scheme() {
  CongestionScheme scheme;
  scheme.name = "dcqcn";
  scheme.doc = "a rate for each queue pair, which falls with packets that switches mark";
  scheme.config = RateControl::Config();
  scheme.config_doc = "Rate control of queue pairs through congested switches";
  scheme.check = [](const AnyConfig& own, const std::string& path) {
    const auto& config = own.as<RateControl::Config>();
    const auto check_least = [&path](const char* field, auto value, auto least) {
      if (value.count() == 0 || value >= least) return;
      throw ConfigError(path + field, "expected at least " + to_text(least) + ", or 0, got " + to_text(value));
    };
    check_least(".rate_ai", config.rate_ai, Rate(1'000));
    check_least(".rate_hai", config.rate_hai, Rate(1'000));
    check_least(".minimum", config.minimum, Rate(1'000'000));
    check_least(".byte_counter", config.byte_counter, Bytes(1'000));
  };
  scheme.notifies = [](const AnyConfig& own) { return own.as<RateControl::Config>().cnp_interval; };
  scheme.make = [](const CongestionSite& site) {
    return std::make_unique<RateControl>(site.config<RateControl::Config>(), site.line);
  };
  return scheme;
}

}  // namespace weft::nic
