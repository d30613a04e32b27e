// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platforms/cli/arguments.h"
#include "platforms/machine/platform.h"

namespace weft::platforms {

/// Adds those that every command has which builds a machine. `options` has to live until the command line is parsed.
void add_platform_options(const Arguments& app, PlatformOptions& options);

}  // namespace weft::platforms
