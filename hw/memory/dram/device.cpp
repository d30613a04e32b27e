// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/dram/device.h"

#include <algorithm>
#include <bit>
#include <string>

namespace weft::dram {
namespace {

void check_power_of_two(std::int64_t value, const std::string& path) {
  if (!std::has_single_bit(static_cast<std::uint64_t>(value))) {
    throw ConfigError(path, "a power of two");
  }
}

void check_at_least(int value, int least, const std::string& path, const char* name) {
  if (value < least) {
    throw ConfigError(path, std::string("at least ") + name + ", which is " + std::to_string(least));
  }
}

/// Of a time at another clock: sums of some do not overflow, and no device has so many.
constexpr std::int64_t kMostClocks = 1 << 28;

}  // namespace

Device Device::at_clock(Time clock) const {
  Device device = *this;
  Timing& t = device.timing;
  t.clock = clock;
  const std::int64_t before = timing.clock.count();
  const std::int64_t now = clock.count();
  for (int* each : {&t.cl, &t.cwl, &t.rcdrd, &t.rcdwr, &t.rp, &t.ras, &t.rc, &t.wr, &t.rtp, &t.rrds, &t.rrdl, &t.faw,
                    &t.wtrs, &t.wtrl, &t.rtw, &t.rfc, &t.rfcpb, &t.rrefd}) {
    *each = static_cast<int>(std::min((*each * before + now - 1) / now, kMostClocks));
  }
  t.refi = static_cast<int>(std::min(t.refi * before / now, kMostClocks));
  t.rtw = std::max(t.rtw, t.cl + t.bl - t.cwl);  // rounding must not let data collide
  return device;
}

Clock Device::refresh_interval() const {
  const int times = temperature > 95 ? 4 : temperature > 85 ? 2 : 1;
  return std::max(1, timing.refi / times);
}

double Device::peak_bytes_per_second() const {
  const int apart = std::max({timing.bl, timing.ccds, geometry.pseudo_channels * timing.column_slots});
  return static_cast<double>(geometry.burst.count()) * geometry.pseudo_channels * geometry.channels /
         (static_cast<double>(timing.clock.count()) * apart * 1e-12);
}

void Device::check(const std::string& path) const {
  const std::string g = path + ".geometry.";
  check_power_of_two(geometry.channels, g + "channels");
  check_power_of_two(geometry.pseudo_channels, g + "pseudo_channels");
  check_power_of_two(geometry.stack_ids, g + "stack_ids");
  check_power_of_two(geometry.bank_groups, g + "bank_groups");
  check_power_of_two(geometry.banks, g + "banks");
  check_power_of_two(geometry.rows, g + "rows");
  check_power_of_two(geometry.columns, g + "columns");
  check_power_of_two(geometry.burst.count(), g + "burst");
  if (geometry.all_banks() > kMaxBanks) {
    throw ConfigError(g + "banks", "at most " + std::to_string(kMaxBanks) +
                                       " banks in a pseudo channel, over all stack ids and bank groups");
  }
  const std::string t = path + ".timing.";
  check_at_least(timing.ccds, timing.bl, t + "ccds", "bl");
  check_at_least(timing.ccdl, timing.ccds, t + "ccdl", "ccds");
  check_at_least(timing.ccdr, timing.bl, t + "ccdr", "bl");
  check_at_least(timing.rrdl, timing.rrds, t + "rrdl", "rrds");
  check_at_least(timing.wtrl, timing.wtrs, t + "wtrl", "wtrs");
  check_at_least(timing.rtw, timing.cl + timing.bl - timing.cwl, t + "rtw", "cl + bl - cwl");
}

void Device::check_refresh(RefreshPolicy policy, const std::string& path) const {
  if (policy == RefreshPolicy::kOff) return;
  const std::string t = path + ".timing.";
  const int banks = geometry.all_banks();
  // Clocks of the row bus, which the pseudo channels share: of a refresh in each, and of a row closed and one opened.
  const int refreshes = geometry.pseudo_channels * timing.precharge_slots;
  const int rows = geometry.pseudo_channels * (timing.precharge_slots + timing.activate_slots);
  const int row = std::max(timing.rc, refreshes + rows);
  const std::string cycle = row == timing.rc ? "rc" : "commands of all pseudo channels on the row bus";
  // A refresh that is due goes before all activates, and between two of them each pseudo channel has its turn.
  const bool by_bank = policy == RefreshPolicy::kPerBank;
  const int busy = by_bank ? timing.rfcpb : timing.rfc;
  const int apart = std::max(timing.rrefd, refreshes) + rows;
  const auto leaves_time = [&](Clock interval) {
    return interval >= busy + row && (!by_bank || interval / banks >= apart);
  };
  if (leaves_time(timing.refi)) {
    const Clock often = refresh_interval();
    if (leaves_time(often)) return;
    throw ConfigError(path + ".temperature", "one at which refreshes leave time for anything else: they come every " +
                                                 std::to_string(often) + " clocks");
  }
  if (!by_bank) {
    throw ConfigError(t + "refi", "at least rfc + " + cycle + ", which is " + std::to_string(busy + row) +
                                      ", so that rows can be opened between two refreshes");
  }
  if (timing.refi <= row) {
    throw ConfigError(t + "refi", "more than " + cycle + ", which is " + std::to_string(row) +
                                      ", so that rows of a bank can be opened between two of its refreshes");
  }
  if (timing.refi < busy + row) {
    throw ConfigError(t + "rfcpb", "at most refi - " + cycle + ", which is " + std::to_string(timing.refi - row) +
                                       ", so that rows of a bank can be opened between two of its refreshes");
  }
  const std::string of_banks = "with controller.refresh per-bank, whose " + std::to_string(banks) +
                               " banks are refreshed one after the other within refi, so that rows can be opened "
                               "between two refreshes";
  if (timing.rrefd > refreshes && timing.refi / banks >= refreshes + rows) {
    throw ConfigError(t + "rrefd", "at most " + std::to_string(timing.refi / banks - rows) + " " + of_banks);
  }
  throw ConfigError(t + "refi", "at least " + std::to_string(apart * banks) + " " + of_banks);
}

}  // namespace weft::dram
