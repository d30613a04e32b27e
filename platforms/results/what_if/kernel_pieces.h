// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

namespace weft::platforms {

/// What power a machine's arrays may draw.
struct ArrayPower {
  bool is_capped = false;                                      ///< by power; else at most by clock
  double lowest_voltage = 0.75;                                ///< as accelerator.compute.power.lowest_voltage
  double idle_share = 0;                                       ///< of the cap, what is drawn all the time
  double clock_cap = std::numeric_limits<double>::infinity();  ///< as a share of the full clock
};

/// So many times as much, of what kernels follow.
struct KernelFactors {
  double compute = 1;
  double cap = 1;  ///< of power
  double memory = 1;
  double clock_cap = 1;
};

/// Pieces of kernels of one name, in ps: computing at the full clock, waiting for memory beyond that, and what a cap of
/// power or of the clock adds to both.
struct KernelPieces {
  static constexpr double kUnknown = -1;

  double computing = 0;
  double capped = 0;
  double waiting = 0;
  /// What memory alone takes for their bytes, over what they compute at the full clock (MemoryShare). kUnknown, as in
  /// results of earlier versions: memory binds those that wait for longer than they compute, and no others.
  double memory_share = kUnknown;
  double clock_capped = 0;  ///< what the cap of the clock adds; `capped` is what power does

  /// All of them.
  [[nodiscard]] double whole() const { return computing + capped + clock_capped + waiting; }
  /// Whether the clock's cap holds them: then power would leave more.
  [[nodiscard]] bool is_by_clock() const { return clock_capped > capped; }

  /// What they take with a change. A kernel that memory binds moves bytes all the time, so that a faster array gains
  /// nothing there, and a faster memory until the array is the slower one. Of others a slower memory is hidden until it
  /// binds, and what they wait is where nothing hides it: at the beginning, or behind what others move. A kernel at a
  /// cap of power takes its energy at that power: per operation that goes with the square of the clock, down to the
  /// lowest voltage (hw/accelerator/compute_config.h), and its clock is below the clock's cap. A kernel at the clock's
  /// cap follows that, and gains from a faster array as without a cap. Memory binds it only where it is the slower one
  /// then.
  [[nodiscard]] double with(const KernelFactors& factors, const ArrayPower& power) const;
  /// At least, where memory binds somewhat later than its share says; more power lifts the cap.
  [[nodiscard]] double at_least(const KernelFactors& factors, const ArrayPower& power) const;
  /// At most, where it binds somewhat earlier; a kernel that the cap of power does not slow down may be just below it.
  [[nodiscard]] double at_most(const KernelFactors& factors, const ArrayPower& power) const;
  /// What memory alone takes for their bytes, as far as known.
  [[nodiscard]] double in_memory() const;

 private:
  [[nodiscard]] bool is_memory_bound() const;
  [[nodiscard]] KernelPieces with_share(double times) const;
  /// Of `waiting`, what is beside the array's time. A slow clock hides the rest: it was told as waiting since the
  /// kernel would have waited at the full clock.
  [[nodiscard]] double not_hidden(const ArrayPower& power) const;
  /// On an array that takes so long.
  [[nodiscard]] double beside(double array, double faster_memory, const ArrayPower& power) const;
};

}  // namespace weft::platforms
