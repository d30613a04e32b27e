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

}  // namespace

Device Device::at_clock(Time clock) const {
  Device device = *this;
  Timing& t = device.timing;
  t.clock = clock;
  const std::int64_t before = timing.clock.count();
  const std::int64_t now = clock.count();
  for (int* each : {&t.cl, &t.cwl, &t.rcdrd, &t.rcdwr, &t.rp, &t.ras, &t.rc, &t.wr, &t.rtp, &t.rrds, &t.rrdl, &t.faw,
                    &t.wtrs, &t.wtrl, &t.rtw, &t.rfc, &t.rfcpb, &t.rrefd}) {
    *each = static_cast<int>((*each * before + now - 1) / now);
  }
  t.refi = static_cast<int>(t.refi * before / now);
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
  check_at_least(timing.refi, timing.rfc + timing.rc, t + "refi", "rfc + rc");
  const Clock often = refresh_interval();
  if (often < timing.rfc + timing.rc) {
    throw ConfigError(path + ".temperature", "one at which refreshes leave time for anything else: they come every " +
                                                 std::to_string(often) + " clocks");
  }
  if (often / geometry.all_banks() < timing.rrefd) {
    throw ConfigError(t + "rrefd", "at most tREFI over the number of banks, which is " +
                                       std::to_string(often / geometry.all_banks()));
  }
}

}  // namespace weft::dram
