// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "hw/fabric/topology/plan.h"
#include "hw/nic/nic_config.h"
#include "platforms/machine/machine.h"

/// What fields of a machine ask of each other. All that is wrong is thrown as ConfigError.
namespace weft::platforms {

/// Before its networks are planned.
void check_machine(const MachineConfig& config);
/// Of interfaces on a network; `interface` is their place in the platform.
void check_interface(const fabric::Plan& plan, const nic::NicConfig& nic, const std::string& interface);

}  // namespace weft::platforms
