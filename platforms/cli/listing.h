// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platforms/cli/arguments.h"

/// Lists of what there is, for a terminal.
namespace weft::platforms {

/// How a command is asked that lists something.
struct ListingOptions {
  std::string name;  ///< of what is to be described
  bool names = false;
  bool json = false;

  /// `name` as well, where the command describes one; `value` is what it is called.
  void add_name_to(const Arguments& app, const std::string& doc, const std::string& value);
  void add_to(const Arguments& app);
};

/// Names alone, a line each.
void print_names(const std::vector<std::string>& names);

/// A line for each row: its cells in columns, and of the last one as much as fits, with "..." where that is not all.
std::string listed(const std::vector<std::vector<std::string>>& rows);

}  // namespace weft::platforms
