// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>

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

/// Where check bits lie. Sideband: beside the data, on pins or in arrays of their own, as in HBM. Inline: among the
/// data, as in GPUs with GDDR memory.
enum class EccMode : std::uint8_t { kOff, kSideband, kInline };
inline EnumNames<EccMode> enum_names(EccMode) {
  return {{"off", EccMode::kOff}, {"sideband", EccMode::kSideband}, {"inline", EccMode::kInline}};
}

/// Error correction of whole bursts (see EccStage). Defaults: NVIDIA's GPUs with GDDR memory reserve 6.25 % of it (CUDA
/// C++ Best Practices Guide), which is a burst of check bits for 15 of data. How many the controller keeps is assumed.
struct EccConfig {
  EccMode mode = EccMode::kOff;
  int covers = 15;
  int cache = 32;
  Time latency{};

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("mode", mode,
          "off; sideband: check bits have pins or arrays of their own; inline: they are bursts among the data");
    visit("covers", covers, "inline: bursts of data for each burst of check bits; 1 below a power of two",
          Range{1, 63});
    visit("cache", cache, "inline: bursts of check bits that a pseudo channel's controller keeps", Range{1, 1024});
    visit("latency", latency, "Time from a burst to its corrected data, beyond the device's latency",
          Range{0, 1'000'000});
  }
};
/// What correction adds to a read, in clocks.
inline std::int64_t clocks_of(const EccConfig& ecc, Time clock) {
  return ecc.mode == EccMode::kOff ? 0 : (ecc.latency.count() + clock.count() - 1) / clock.count();
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
  EccConfig ecc;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("read_queue", read_queue, "Reads that wait in a pseudo channel", Range{1, 16384});
    visit("write_queue", write_queue, "Writes that wait in a pseudo channel", Range{1, 16384});
    visit("write_high", write_high, "Percent of the write queue at which writes go before reads", Range{1, 100});
    visit("write_low", write_low, "Percent of the write queue at which reads go before writes again", Range{0, 99});
    visit("hit_cap", hit_cap, "Row hits that may pass over an older request of their bank", Range{1, 1 << 20});
    visit("page", page, "When to close a row that no waiting request needs");
    visit("refresh", refresh,
          "How to refresh: all banks of a pseudo channel at once, one bank after the other, or none");
    visit("refresh_postpone", refresh_postpone, "All-bank refreshes that may wait for a pause", Range{0, 8});
    visit("refresh_stagger", refresh_stagger, "Whether pseudo channels refresh at different times");
    visit("latency", latency, "Time that the controller adds to a request", Range{0, 1'000'000});
    visit("ecc", ecc, "Error correction");
  }
  /// Throws ConfigError; `path` is where the controller stands.
  void check(const std::string& path = "controller") const {
    if (write_low >= write_high) {
      throw ConfigError(path + ".write_low", "less than write_high, which is " + std::to_string(write_high));
    }
    if (ecc.mode != EccMode::kInline) return;
    if (!std::has_single_bit(static_cast<unsigned>(ecc.covers) + 1)) {
      throw ConfigError(path + ".ecc.covers", "1 below a power of two, such as 7 or 15");
    }
    // A request may need a burst of check bits as well.
    if (read_queue < 2) throw ConfigError(path + ".read_queue", "at least 2 with ecc inline");
    if (write_queue < 2) throw ConfigError(path + ".write_queue", "at least 2 with ecc inline");
  }
  /// Bursts of data to one of check bits that lies among them; 0: none do.
  [[nodiscard]] int inline_covers() const { return ecc.mode == EccMode::kInline ? ecc.covers : 0; }
};

}  // namespace weft::dram
