// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "platforms/machine/machine.h"
#include "platforms/results/link_summary.h"
#include "platforms/results/why/used.h"

namespace weft::platforms {

/// What of a run the critical path is told of.
struct WhySpan {
  Time from;
  Time until;
  std::vector<Time> steps;              ///< ends of training steps; none where there are none
  const LinkBaseline* since = nullptr;  ///< what links had carried before
  std::vector<AcceleratorUse> used;     ///< and accelerators had used; none: nothing
  HostTimes hosts;                      ///< and each host run; none: not at all
};

/// The critical path of a run, which the machine has kept, from a time on to another, in pieces: what each is about,
/// its kind, its place and how long it is, the longest first. Their sum is the time between. Beside it the links that
/// it crosses, what each accelerator's streams waited for, and what members of groups did in their collectives.
/// docs/architect/why.md has the keys. They come behind those of `head`, an object.
nlohmann::ordered_json why_summary(Machine& machine, const WhySpan& span,
                                   nlohmann::ordered_json head = nlohmann::ordered_json::object());

}  // namespace weft::platforms
