// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platforms/cli/shell/command_table.h"

namespace weft::platforms {

/// The reference of the command line, in Markdown: docs/reference/commands.md.
std::string command_page(const CommandTable& program);

}  // namespace weft::platforms
