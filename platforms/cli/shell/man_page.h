// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platforms/cli/shell/command_table.h"

namespace weft::platforms {

/// The manual page weft(1), for man. `version` stands at its foot.
std::string man_page(const CommandTable& program, const std::string& version);

}  // namespace weft::platforms
