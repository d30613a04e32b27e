// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/dram/counters.h"

#include <algorithm>
#include <cmath>

namespace weft::dram {

Counters& Counters::operator+=(const Counters& other) {
  reads += other.reads;
  writes += other.writes;
  forwarded += other.forwarded;
  row_hits += other.row_hits;
  row_closed += other.row_closed;
  row_conflicts += other.row_conflicts;
  activates += other.activates;
  precharges += other.precharges;
  auto_precharges += other.auto_precharges;
  refreshes += other.refreshes;
  bank_refreshes += other.bank_refreshes;
  turnarounds += other.turnarounds;
  same_group += other.same_group;
  check_reads += other.check_reads;
  check_writes += other.check_writes;
  modified += other.modified;
  return *this;
}

EnergyUse& EnergyUse::operator+=(const EnergyUse& other) {
  activate += other.activate;
  read += other.read;
  write += other.write;
  io += other.io;
  refresh += other.refresh;
  background += other.background;
  return *this;
}

EnergyUse energy_of(const Counters& counters, const Device& device, Time elapsed, int stacks) {
  const CommandEnergy& energy = device.energy;
  const double bits = static_cast<double>(device.geometry.burst.count()) * 8;
  // Of fJ, in pJ.
  const auto times = [](std::int64_t count, Energy each) {
    return static_cast<double>(count) * static_cast<double>(each.count()) * 1e-3;
  };
  EnergyUse use;
  use.activate = times(counters.activates, energy.activate);
  use.read = times(counters.reads, energy.read);
  use.write = times(counters.writes, energy.write);
  use.io = bits * times(counters.reads + counters.writes, energy.io_per_bit);
  use.refresh = times(counters.refreshes, energy.refresh) + times(counters.bank_refreshes, energy.refresh_bank);
  // mW times ps are 1e-15 J.
  use.background = static_cast<double>(energy.background.count()) * static_cast<double>(elapsed.count()) * 1e-3 *
                   device.geometry.pseudo_channels * device.geometry.channels * stacks;
  return use;
}

Time LatencyHistogram::percentile(double share) const {
  const auto wanted = std::max<std::int64_t>(1, std::llround(std::ceil(share * static_cast<double>(count_))));
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen < wanted) continue;
    // The middle of the bucket, which is the value itself where buckets hold one.
    const std::size_t shift = i < (2U << kFineBits) ? 0 : (i >> kFineBits) - 1;
    const std::uint64_t low = (static_cast<std::uint64_t>(i) - (shift << kFineBits)) << shift;
    return std::min(max(), Time(static_cast<std::int64_t>(low + ((1ULL << shift) >> 1))));
  }
  return max();
}

}  // namespace weft::dram
