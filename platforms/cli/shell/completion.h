// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platforms/cli/shell/command_table.h"

/// Scripts with which a shell completes command lines of a program, which is called as its table is. They know
/// commands, options and their choices; names of platforms, parts, models and fields they ask the program for.
namespace weft::platforms {

std::string bash_completion(const CommandTable& program);
std::string zsh_completion(const CommandTable& program);
std::string fish_completion(const CommandTable& program);

}  // namespace weft::platforms
