// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hw/core/fields.h"
#include "hw/core/quantity.h"

namespace weft::dram {

/// When a row is closed that no request in the queues needs. `adaptive` remembers of each bank whether closing would
/// have helped.
enum class PagePolicy : std::uint8_t { kOpen, kClosed, kAdaptive };
inline EnumNames<PagePolicy> enum_names(PagePolicy) {
  return {{"open", PagePolicy::kOpen}, {"closed", PagePolicy::kClosed}, {"adaptive", PagePolicy::kAdaptive}};
}

enum class RefreshPolicy : std::uint8_t { kAllBank, kPerBank, kOff };
inline EnumNames<RefreshPolicy> enum_names(RefreshPolicy) {
  return {{"all-bank", RefreshPolicy::kAllBank}, {"per-bank", RefreshPolicy::kPerBank}, {"off", RefreshPolicy::kOff}};
}

/// How requests become commands. Sizes are of one pseudo channel.
struct ControllerConfig {
  int read_queue = 128;
  int write_queue = 32;
  int write_high = 80;
  int write_low = 20;
  int hit_cap = 16;
  PagePolicy page = PagePolicy::kOpen;
  RefreshPolicy refresh = RefreshPolicy::kAllBank;
  int refresh_postpone = 0;
  bool refresh_stagger = false;
  Time latency = Time(1'000);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("read_queue", read_queue, "Reads that wait in a pseudo channel", Range{1, 16384});
    visit("write_queue", write_queue, "Writes that wait in a pseudo channel", Range{1, 16384});
    visit("write_high", write_high, "Percent of the write queue at which writes go before reads", Range{1, 100});
    visit("write_low", write_low, "Percent of the write queue at which reads go before writes again", Range{0, 99});
    visit("hit_cap", hit_cap, "Row hits that may pass over an older request of their bank", Range{1, 1 << 20});
    visit("page", page, "When a row is closed that no waiting request needs");
    visit("refresh", refresh, "All banks of a pseudo channel at once, one after the other, or none");
    visit("refresh_postpone", refresh_postpone, "All-bank refreshes that may wait for a pause", Range{0, 8});
    visit("refresh_stagger", refresh_stagger, "Whether pseudo channels refresh at different times");
    visit("latency", latency, "What the controller adds to a request", Range{0, 1'000'000});
  }
  /// Throws ConfigError; `path` is where the controller stands.
  void check(const std::string& path = "controller") const {
    if (write_low >= write_high) {
      throw ConfigError(path + ".write_low", "less than write_high, which is " + std::to_string(write_high));
    }
  }
};

}  // namespace weft::dram
