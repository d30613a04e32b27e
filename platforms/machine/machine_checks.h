// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hw/fabric/topology/plan.h"
#include "hw/nic/nic_config.h"
#include "platforms/machine/machine.h"

/// What fields of a machine ask of each other. All that is wrong is thrown as ConfigError.
namespace weft::platforms {

/// Before its networks are planned.
void check_machine(const MachineConfig& config);
/// Of interfaces on a network; `interface` is their place in the platform.
void check_interface(const fabric::Plan& plan, const nic::NicConfig& nic, const std::string& interface);

using Processors = std::vector<std::unique_ptr<firmware::Processor>>;
/// After a run: threads that wait for each other because some of them poll.
void check_starved(const Processors& processors, const std::string& path);
/// After a run, which goes on where a completion queue is too full, so that its end knows how many places it takes.
void check_completion_queues(const Processors& processors, const std::string& path);

}  // namespace weft::platforms
