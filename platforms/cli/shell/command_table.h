// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// What a command line takes, as its commands have said it: what completions and the manual page are made of.
namespace weft::platforms {

struct OptionTable {
  std::vector<std::string> names;  ///< "--set"; of a position what it is called, without dashes
  std::string doc;
  std::string value;                 ///< what the value is called; empty for a flag
  std::vector<std::string> choices;  ///< values that it can have; empty if these are not listed
  std::string usual;                 ///< the value that help names as the default
  bool is_position = false;
  bool is_required = false;
  bool may_stand_alone = false;  ///< the value may be left out
  bool takes_many = false;       ///< values, one after the other
};

struct CommandTable {
  std::string name;
  std::string doc;
  std::vector<OptionTable> options;
  std::vector<CommandTable> commands;
  bool needs_command = false;  ///< one of `commands` must follow
};

}  // namespace weft::platforms
