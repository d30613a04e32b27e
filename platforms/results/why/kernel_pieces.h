// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::platforms {

/// What power a machine's arrays may draw.
struct ArrayPower {
  bool is_capped = false;        ///< by power; else at most by clock
  double lowest_voltage = 0.75;  ///< as accelerator.compute.power.lowest_voltage
  double idle_share = 0;         ///< of the cap, what is drawn all the time
};

/// So many times as much, of what kernels follow.
struct KernelFactors {
  double compute = 1;
  double cap = 1;
  double memory = 1;
};

/// Pieces of kernels of one name, in ps: computing at the full clock, waiting for memory beyond that, and what a cap
/// adds to both.
struct KernelPieces {
  double computing = 0;
  double capped = 0;
  double waiting = 0;

  /// What they take with a change. A kernel that waits longer than it computes moves bytes all the time, so that a
  /// faster array gains nothing there, and a faster memory until the array is the slower one. A kernel at a cap of
  /// power takes its energy at that power: per operation that goes with the square of the clock, down to the lowest
  /// voltage (hw/accelerator/compute_config.h). Memory binds it only where it is the slower one then.
  [[nodiscard]] double with(const KernelFactors& factors, const ArrayPower& power) const;
  /// At least: of both readings of the waiting the shorter one; more power lifts the cap.
  [[nodiscard]] double at_least(const KernelFactors& factors, const ArrayPower& power) const;
  /// At most, but for memory that hides behind computing: a kernel that a cap does not slow down may be just below it.
  [[nodiscard]] double at_most(const KernelFactors& factors, const ArrayPower& power) const;
};

}  // namespace weft::platforms
