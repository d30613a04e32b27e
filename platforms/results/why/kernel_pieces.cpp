// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/kernel_pieces.h"

#include <algorithm>
#include <cmath>

namespace weft::platforms {
namespace {

/// Power of the array where the cap is so many times as high. Not nothing: arrays pause then.
double power_at(double cap, const ArrayPower& power) {
  constexpr double kLeast = 0.01;
  return std::max(kLeast * cap, (cap - power.idle_share) / (1 - power.idle_share));
}

/// Of the full clock, where power may be `times` what it is at `clock`.
double clock_at(double clock, double times, const ArrayPower& power) {
  const double lowest = power.lowest_voltage;
  const double voltage = std::max(clock, lowest);
  const double drawn = times * clock * voltage * voltage;
  return std::min(1.0, drawn > lowest * lowest * lowest ? std::cbrt(drawn) : drawn / (lowest * lowest));
}

double on_array(const KernelPieces& pieces, const KernelFactors& factors, const ArrayPower& power) {
  const double alone = pieces.computing / factors.compute;
  if (pieces.capped == 0 || std::isinf(factors.cap)) return alone;
  const double whole = pieces.computing + pieces.capped + pieces.waiting;
  if (pieces.computing == 0) return whole / (power.is_capped ? power_at(factors.cap, power) : factors.cap);
  const double clock = pieces.computing / whole;
  if (!power.is_capped) return alone / std::min(1.0, clock * factors.cap);
  const double lowest = power.lowest_voltage;
  if (std::isinf(factors.compute)) return whole * std::min(1.0, lowest * lowest / (clock * clock));
  return alone / clock_at(clock, power_at(factors.cap, power) / factors.compute, power);
}

/// What memory takes for the bytes of a kernel that a cap slows down. Where nothing waits, it hides.
double in_memory(const KernelPieces& pieces, const KernelFactors& factors) {
  return pieces.waiting > 0 ? (pieces.computing + pieces.waiting) / factors.memory : 0;
}

}  // namespace

double KernelPieces::with(const KernelFactors& factors, const ArrayPower& power) const {
  const double array = on_array(*this, factors, power);
  if (capped > 0) return std::max(array, in_memory(*this, factors));
  if (waiting <= computing) return array + waiting / factors.memory;
  return std::max(array, (computing + waiting) / factors.memory);
}

double KernelPieces::at_least(const KernelFactors& factors, const ArrayPower& power) const {
  const double array = factors.cap > 1 ? computing / factors.compute : on_array(*this, factors, power);
  if (capped > 0) return std::max(array, in_memory(*this, factors));
  return std::min(array + waiting / factors.memory, std::max(array, (computing + waiting) / factors.memory));
}

double KernelPieces::at_most(const KernelFactors& factors, const ArrayPower& power) const {
  double array = on_array(*this, factors, power);
  if (capped > 0) return std::max(array, in_memory(*this, factors));
  const double power_left = power_at(factors.cap, power) / factors.compute;
  if (power.is_capped && power_left < 1) {
    array = computing / factors.compute / clock_at(1, power_left, power);
  }
  const double always = std::max(array, (computing + waiting) / factors.memory);
  return waiting == 0 ? array : std::max(array + waiting / factors.memory, always);
}

}  // namespace weft::platforms
