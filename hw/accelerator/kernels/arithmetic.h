// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "hw/accelerator/kernel_work.h"

/// What the kernels' sources share. They compute in seconds, bytes and operations, in double.
namespace weft::accelerator {

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
inline double seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}
inline double bytes_per_second(Rate rate) {
  return static_cast<double>(rate.count()) / 8;
}
inline double per_second(Compute rate) {
  return static_cast<double>(rate.count());
}
/// Throws KernelOverflow: a kernel is too long for simulated time, or moves more than 8 EiB.
[[noreturn]] void too_long(double s);
[[noreturn]] void too_large(double bytes);

inline Time to_time(double s) {
  constexpr double kLongest = 9.2e6;
  if (!(std::abs(s) < kLongest)) [[unlikely]]
    too_long(s);
  return Time(std::llround(s * 1e12));
}
inline Bytes to_bytes(double bytes) {
  constexpr double kMost = 9.2e18;
  if (!(std::abs(bytes) < kMost)) [[unlikely]]
    too_large(bytes);
  return Bytes(std::llround(bytes));
}
/// Bytes of an element, with its share of a scale.
double size_of(DataType type);

/// Throws std::invalid_argument that names the shape.
void require_not_negative(const char* shape, std::initializer_list<std::int64_t> dimensions);

/// Of the whole array, in a main loop that waits for nothing.
double sustained_rate(const ComputeConfig& config, DataType type);
/// Joules of `flops` operations on the units that `type` runs on.
double operations_energy(const ComputeConfig& config, DataType type, double flops);
/// Which units these are.
Cost units_of(const ComputeConfig& config, DataType type);

/// Seconds by Cost.
using Seconds = std::array<double, kCosts>;
inline double& at(Seconds& parts, Cost cost) {
  return parts[static_cast<std::size_t>(cost)];
}

/// Bytes from HBM of what SMs read together: `shared` if the last-level cache holds the `at_once` bytes that they are
/// at, so that one reads for all, `alone` if each reads for itself.
inline double with_sharing(const ComputeConfig& config, double shared, double alone, double at_once) {
  const double held = std::min(1.0, static_cast<double>(config.l2_size.count()) / at_once);
  return shared + (1 - held) * std::max(0.0, alone - shared);
}

/// Adds the energy of bytes of HBM, and of their way to the array and back at the clock that the work has.
void count_bytes(const PowerConfig& power, KernelWork& work, double bytes);

/// Completes the work of one kernel of which times, bytes and `array_energy` are known: its parts, so that they add up
/// to `compute`; HBM's energy; and the caps of clock and power.
void settle(const ComputeConfig& config, KernelWork& work, const Seconds& parts);

/// One kernel after another.
void append(KernelWork& work, const KernelWork& next);

/// A kernel that streams through memory and does `flops` on the vector units meanwhile, and `doubles` in 64 bits, each
/// with the energy of two. `again`: bytes that it reads once more and finds in the last-level cache.
KernelWork streaming_work(const ComputeConfig& config, double read, double written, double flops, int launches = 1,
                          double again = 0, double doubles = 0);

}  // namespace weft::accelerator
