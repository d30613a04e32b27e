// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "hw/memory/dram/device.h"

namespace weft::dram {

/// What happened, of one pseudo channel or summed over several.
struct Counters {
  std::int64_t reads = 0;          ///< bursts read, without those forwarded
  std::int64_t writes = 0;         ///< bursts written
  std::int64_t forwarded = 0;      ///< reads answered from the write queue
  std::int64_t row_hits = 0;       ///< requests whose row was open
  std::int64_t row_closed = 0;     ///< requests whose bank was closed
  std::int64_t row_conflicts = 0;  ///< requests for which another row had to be closed
  std::int64_t activates = 0;
  std::int64_t precharges = 0;       ///< by command
  std::int64_t auto_precharges = 0;  ///< with a read or write
  std::int64_t refreshes = 0;        ///< all-bank
  std::int64_t bank_refreshes = 0;
  std::int64_t turnarounds = 0;   ///< from reads to writes or back
  std::int64_t same_group = 0;    ///< reads and writes right behind another one of their bank group
  std::int64_t check_reads = 0;   ///< of `reads`, those of inline check bits
  std::int64_t check_writes = 0;  ///< of `writes`, those of inline check bits
  std::int64_t modified = 0;      ///< of `reads`, those of bursts that a write changed in part

  Counters& operator+=(const Counters& other);
};

/// Picojoules by command.
struct EnergyUse {
  double activate = 0;
  double read = 0;
  double write = 0;
  double io = 0;
  double refresh = 0;
  double background = 0;
  /// For what was read and written.
  [[nodiscard]] double commands() const { return activate + read + write + io; }
  [[nodiscard]] double total() const { return commands() + refresh + background; }

  EnergyUse& operator+=(const EnergyUse& other);
};

/// Of all that was counted in `elapsed`.
EnergyUse energy_of(const Counters& counters, const Device& device, Time elapsed, int stacks = 1);

/// Latencies, exact below 2048 ps and to 1 part in 1024 above; the mean is exact.
class LatencyHistogram {
 public:
  void add(Time latency) {
    const auto value = static_cast<std::uint64_t>(latency.count());
    ++counts_[bucket(value)];
    ++count_;
    sum_ += value;
    max_ = value > max_ ? value : max_;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double mean_ps() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
  }
  [[nodiscard]] Time max() const { return Time(static_cast<std::int64_t>(max_)); }
  /// The latency that the share of all, in 0 to 1, does not exceed.
  [[nodiscard]] Time percentile(double share) const;

 private:
  static constexpr int kFineBits = 10;
  static constexpr std::size_t bucket(std::uint64_t value) {
    const int shift = value < (2U << kFineBits) ? 0 : std::bit_width(value) - kFineBits - 1;
    return (static_cast<std::size_t>(shift) << kFineBits) + static_cast<std::size_t>(value >> shift);
  }

  std::array<std::int64_t, 44U << kFineBits> counts_{};
  std::int64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace weft::dram
