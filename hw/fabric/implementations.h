// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hw/core/quantity.h"

/// What may take a model's place, by the names that a platform gives it as `implementation`: entries of a Registry
/// (hw/core/config/registry.h). RTL is provided by whoever links it, before the platform is built.
namespace weft::fabric {

/// Throws ConfigError, with `path`, for a name that is not among `known`.
void check_implementation(const std::vector<std::string>& known, const std::string& name, const std::string& path);

/// Ends the simulation: a block of this name does what it must not.
[[noreturn]] void fail_block(const std::string& name, Time now, const std::string& what);

/// Whether a switch has what is chosen for `switches`, of which none stands for all.
bool is_chosen(const std::vector<std::string>& switches, const std::string& name);

}  // namespace weft::fabric
