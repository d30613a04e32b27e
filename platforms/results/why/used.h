// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "platforms/machine/machine.h"

/// How long parts of a machine were in use, on the critical path or beside it.
namespace weft::platforms {

/// What an accelerator has used so far.
struct AcceleratorUse {
  Time busy;    ///< its array has had a kernel
  Time memory;  ///< its memory alone takes for what all have moved there
  Time launches;
  std::vector<Time> copying;   ///< each copy engine has copied
  std::vector<Time> firmware;  ///< each core has run threads
  struct Interface {
    Time groups;              ///< its engine to groups has passed bytes
    std::int64_t looped = 0;  ///< bytes that it has sent to itself
  };
  Interface nic;
  Interface port;  ///< within a node
};
/// All but what its firmware and its interfaces have.
[[nodiscard]] AcceleratorUse use_of(const MachineConfig& config, const accelerator::Accelerator::Counters& counters,
                                    const std::vector<memory::Memory::Traffic>& memory, Time busy);
/// Of each.
[[nodiscard]] std::vector<AcceleratorUse> used_so_far(Machine& machine, Time now);

/// What each host's firmware has spent: running threads, and letting time pass because its programs say so.
struct HostTimes {
  std::vector<Time> ran;
  std::vector<Time> slept;
};
[[nodiscard]] HostTimes hosts_so_far(Machine& machine);

/// What accelerators had used before a span, none: nothing, and by its end.
struct UsedSpan {
  Time from;
  Time until;
  const std::vector<AcceleratorUse>& before;
  const std::vector<AcceleratorUse>& now;
};
/// Of a network's links the most that one was busy, and that one of an end's would be that sends as much at the full
/// rate of links without one of their own, as shares of a span.
struct MostUsedLinks {
  double busy = 0;
  double sent = 0;
};
/// The longest that one of each resource was in use: why.json's `used_ps`.
[[nodiscard]] nlohmann::ordered_json longest_used(Machine& machine, const UsedSpan& span, const MostUsedLinks& fabric,
                                                  const MostUsedLinks& scale_up);

/// The same of each part of the accelerators alone, where a machine has `others`: of its `accelerator`, then of their
/// entries (why.json's `parts`). None where it has none.
[[nodiscard]] std::vector<nlohmann::ordered_json> longest_used_by_part(const MachineConfig& config,
                                                                       const UsedSpan& span);

/// Of the accelerator one of whose copy engines was in use for longest, how many engines it has and has used:
/// why.json's `copy_engines`. Those of a DMA engine of its own do not count.
[[nodiscard]] nlohmann::ordered_json copy_engines_used(const MachineConfig& config, const UsedSpan& span);

/// What bytes pass one behind the other on their way between ends of a network, with what each stage sustains, in bytes
/// per second: who widens one has the next in its way.
[[nodiscard]] nlohmann::ordered_json stages(Machine& machine);
/// Of a cap of power, what an array draws all the time; 0: there is no cap, or not so much below it.
[[nodiscard]] double idle_share(const accelerator::PowerConfig& power);

}  // namespace weft::platforms
