// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "hw/core/quantity.h"
#include "traces/chakra/host_times.h"

namespace weft::schedules {

/// Where a host is that launches a rank's nodes in the order of their ids, each behind the one before it, ahead of the
/// accelerator as far as it gets. Nodes may be asked for in another order: a communication finds the compute node that
/// it follows. Of what follows one that has ended, everything up to the next one's launch has been launched.
class HostClock {
 public:
  /// The host begins to launch at this time.
  void begin(Time at) { behind_ = {{0, at}}; }
  /// When it has come to a node that it launches so long after the compute node before.
  [[nodiscard]] Time comes_to(std::uint64_t node, Time before) const;
  /// It has launched a compute node by then.
  void launched(std::uint64_t node, Time at) { behind_[node + 1] = at; }
  /// A compute node has ended, for which the host may have waited.
  void ended(std::uint64_t node, bool waited, Time now);

 private:
  std::map<std::uint64_t, Time> behind_;  ///< when it was ready for nodes from that id on
};

}  // namespace weft::schedules
