// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hw/core/probe.h"

namespace weft::schedules {

/// Draws which phases a rank goes through, such as steps, passes in them and layers in these. A phase lasts from the
/// end of the one before it, waiting included.
class PhaseRow {
 public:
  PhaseRow(Probe& probe, const std::string& process) : probe_(probe), row_(probe.add_phases(process, "phases")) {}

  /// What lasted until `to` was in these phases, the outermost first.
  void went(std::span<const std::string> phases, Time to);
  /// The last one has ended.
  void finish();

 private:
  Probe& probe_;
  int row_;
  Time last_;
  std::vector<std::string> open_;
};

}  // namespace weft::schedules
