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
  bool together = false;            ///< its fields are told of as one, by its path
};

/// What a command asks of the machine.
struct MachineUse {
  bool by_algorithm = true;  ///< its collectives run by `collectives.algorithm` alone
  bool kernels = true;       ///< products and the like run, and what is drawn is counted
  bool network = true;       ///< something passed the network that joins the NICs
};

/// Which of a machine's fields change nothing, because others switch off what they describe, or because they are not
/// used.
std::vector<IdleFields> idle_fields(const MachineConfig& config, const MachineUse& use);

/// Of `set`, paths of fields, those that change nothing, sorted, each with the reason.
std::vector<std::pair<std::string, std::string>> idle_among(const std::vector<std::string>& set,
                                                            const std::vector<IdleFields>& idle);

}  // namespace weft::platforms
