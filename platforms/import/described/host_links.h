// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platforms/import/described/lstopo.h"

namespace weft::platforms::described {

/// What the matrix of rates says of a host's accelerators. Rates are in GB/s, each way.
struct HostLinks {
  double rate = 0;           ///< from an accelerator to switches or, without any, to all others: of most accelerators
  double pair = 0;           ///< from one to another, of most pairs that have a link
  bool by_switches = false;  ///< NVSwitches are in the matrix
  std::string missing;       ///< a pair without a link; empty if each accelerator has one to each other
  std::vector<std::string> uneven;  ///< what differs from most, for people
};
HostLinks links_of(const Host& host, const std::vector<const PciDevice*>& accelerators);

}  // namespace weft::platforms::described
