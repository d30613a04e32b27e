// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/kernel_pieces.h"

#include <algorithm>
#include <cmath>

namespace weft::platforms {
namespace {

/// Memory's share of a kernel is known this well: in steps, and of a memory that nothing else uses.
constexpr double kMargin = 0.05;

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

/// The highest clock that its cap leaves.
double highest(const ArrayPower& power, double factor) {
  return std::min(1.0, power.clock_cap * factor);
}

/// Of the full clock, what the array has: the cap's, where that holds it and is known.
double clock_of(const KernelPieces& pieces, const ArrayPower& power) {
  const double least = pieces.computing / pieces.whole();
  return pieces.is_by_clock() && std::isfinite(power.clock_cap) ? std::max(least, highest(power, 1)) : least;
}

/// What the array takes at the clock's cap. What the cap adds to cores that collectives have is in the cap's piece,
/// too.
double at_clock_cap(const KernelPieces& pieces, const ArrayPower& power) {
  return std::max(pieces.computing / clock_of(pieces, power), pieces.computing + pieces.capped + pieces.clock_capped);
}

double on_array(const KernelPieces& pieces, const KernelFactors& factors, const ArrayPower& power) {
  const double alone = pieces.computing / factors.compute;
  const double now = highest(power, 1);
  const double most = highest(power, factors.clock_cap);
  if (pieces.capped + pieces.clock_capped == 0) {
    // A lower clock slows them down. What memory binds hides that the clock is low already.
    return pieces.memory_share >= 1 ? alone / most : alone * std::max(1.0, now / most);
  }
  const double whole = pieces.whole();
  if (pieces.is_by_clock()) {
    if (pieces.computing == 0) return whole / factors.clock_cap;
    // What memory binds at the full clock, and the cap slows down, the array binds now: its time at the full clock is
    // hidden, and is more than the path has of it.
    if (pieces.memory_share >= 1) {
      return whole / factors.compute / std::min(factors.clock_cap, 1 / clock_of(pieces, power));
    }
    return at_clock_cap(pieces, power) / factors.compute / std::min(factors.clock_cap, 1 / clock_of(pieces, power));
  }
  if (std::isinf(factors.cap)) return alone / most;
  if (pieces.computing == 0) return whole / power_at(factors.cap, power);
  const double clock = clock_of(pieces, power);
  const double lowest = power.lowest_voltage;
  if (std::isinf(factors.compute)) return whole * std::min(1.0, lowest * lowest / (clock * clock));
  return alone / std::min(most, clock_at(clock, power_at(factors.cap, power) / factors.compute, power));
}

}  // namespace

bool KernelPieces::is_memory_bound() const {
  return memory_share == kUnknown ? waiting > computing || (capped + clock_capped > 0 && waiting > 0)
                                  : memory_share >= 1;
}

double KernelPieces::in_memory() const {
  if (memory_share == kUnknown) return waiting > 0 ? whole() : 0;
  return waiting + (is_memory_bound() ? computing : memory_share * computing);
}

double KernelPieces::not_hidden(const ArrayPower& power) const {
  if (!is_by_clock() || !std::isfinite(power.clock_cap) || computing == 0) return waiting;
  return std::min(waiting, whole() - at_clock_cap(*this, power));
}

double KernelPieces::beside(double array, double faster_memory, const ArrayPower& power) const {
  if (is_memory_bound()) return std::max(array, (computing + waiting) / faster_memory);
  return std::max(array, std::max(0.0, memory_share) * computing / faster_memory) + not_hidden(power) / faster_memory;
}

double KernelPieces::with(const KernelFactors& factors, const ArrayPower& power) const {
  return beside(on_array(*this, factors, power), factors.memory, power);
}

double KernelPieces::at_least(const KernelFactors& factors, const ArrayPower& power) const {
  const double array = factors.cap > 1 && !is_by_clock()
                           ? computing / factors.compute / highest(power, factors.clock_cap)
                           : on_array(*this, factors, power);
  const double usual = beside(array, factors.memory, power);
  if (memory_share != kUnknown) return std::min(usual, with_share(1 - kMargin).beside(array, factors.memory, power));
  if (capped + clock_capped > 0) return usual;
  return std::min(array + waiting / factors.memory, std::max(array, (computing + waiting) / factors.memory));
}

double KernelPieces::at_most(const KernelFactors& factors, const ArrayPower& power) const {
  double array = on_array(*this, factors, power);
  const double power_left = power_at(factors.cap, power) / factors.compute;
  if (is_by_clock() && power.is_capped && computing > 0) {
    array = std::max(array, computing / factors.compute / clock_at(clock_of(*this, power), power_left, power));
  } else if (capped == 0 && power.is_capped && power_left < 1) {
    array = std::max(array, computing / factors.compute / clock_at(1, power_left, power));
  }
  const double usual = beside(array, factors.memory, power);
  if (memory_share != kUnknown) return std::max(usual, with_share(1 + kMargin).beside(array, factors.memory, power));
  if (capped + clock_capped > 0 || waiting == 0) return usual;
  return std::max(array + waiting / factors.memory, std::max(array, (computing + waiting) / factors.memory));
}

KernelPieces KernelPieces::with_share(double times) const {
  KernelPieces other = *this;
  other.memory_share *= times;
  return other;
}

}  // namespace weft::platforms
