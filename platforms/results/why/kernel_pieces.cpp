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
  if (pieces.capped == 0 || pieces.computing == 0) return alone + pieces.capped / factors.compute;
  const double clock = pieces.computing / (pieces.computing + pieces.capped);
  if (!power.is_capped) return alone / std::min(1.0, clock * factors.cap);
  if (std::isinf(factors.cap)) return alone;
  const double lowest = power.lowest_voltage;
  if (std::isinf(factors.compute))
    return (pieces.computing + pieces.capped) * std::min(1.0, lowest * lowest / (clock * clock));
  return alone / clock_at(clock, power_at(factors.cap, power) / factors.compute, power);
}

}  // namespace

double KernelPieces::with(const KernelFactors& factors, const ArrayPower& power) const {
  const double array = on_array(*this, factors, power);
  if (waiting <= computing + capped) return array + waiting / factors.memory;
  return std::max(array, (computing + capped + waiting) / factors.memory);
}

double KernelPieces::at_least(const KernelFactors& factors, const ArrayPower& power) const {
  const double array = factors.cap > 1 ? computing / factors.compute : on_array(*this, factors, power);
  return std::min(array + waiting / factors.memory, std::max(array, (computing + capped + waiting) / factors.memory));
}

double KernelPieces::at_most(const KernelFactors& factors, const ArrayPower& power) const {
  double array = on_array(*this, factors, power);
  const double power_left = power_at(factors.cap, power) / factors.compute;
  if (capped == 0 && power.is_capped && power_left < 1) {
    array = computing / factors.compute / clock_at(1, power_left, power);
  }
  const double always = std::max(array, (computing + capped + waiting) / factors.memory);
  return waiting == 0 ? array : std::max(array + waiting / factors.memory, always);
}

}  // namespace weft::platforms
