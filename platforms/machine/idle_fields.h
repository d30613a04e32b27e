// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/machine.h"

namespace weft::platforms {

/// Fields of a machine that change nothing as it is configured.
struct IdleFields {
  std::string path;                 ///< one field, or an object with all that is in it: "nic.dcqcn"
  std::vector<std::string> except;  ///< of such an object: what counts all the same
  std::string why;                  ///< "nic.dcqcn.enabled is false"
};

/// Which of a machine's fields change nothing, because others switch off what they describe. `collectives`: the
/// workload runs its collectives by `collectives.algorithm` alone.
std::vector<IdleFields> idle_fields(const MachineConfig& config, bool collectives);

/// Of `set`, paths of fields, those that change nothing, sorted, each with the reason.
std::vector<std::pair<std::string, std::string>> idle_among(const std::vector<std::string>& set,
                                                            const std::vector<IdleFields>& idle);

}  // namespace weft::platforms
