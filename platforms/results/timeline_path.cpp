// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/timeline_path.h"

#include <string>

namespace weft::platforms {

void draw_path(Probe& probe, const Causes& names, const std::vector<Causes::Step>& path) {
  const int row = probe.add_phases("critical path", "critical path");
  Time from;
  for (std::size_t i = 0; i < path.size();) {
    const std::uint32_t context = path[i].context;
    const std::string& about = names.context_of(context).name;
    probe.begin(row, about.empty() ? "the start" : about, from);
    while (i < path.size() && path[i].context == context) {
      const Causes::Step& step = path[i];
      probe.begin(row, std::string(name_of(step.kind)) + ", " + names.place_name(step.place), from);
      from = Time(step.until);
      probe.end(row, from);
      ++i;
    }
    probe.end(row, from);
  }
}

}  // namespace weft::platforms
