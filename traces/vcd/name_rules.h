// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace weft::vcd {

/// A name of the first file becomes one of the second: in both patterns * stands for the same characters. A reset that
/// becomes an empty name is not in the second file.
struct NameRule {
  std::string from;
  std::string to;
};

/// By the first rule whose pattern fits; unchanged if none does.
std::string map_name(const std::vector<NameRule>& rules, const std::string& name);

/// A remark for each rule that maps none of the names.
std::vector<std::string> remarks_of_idle(const std::vector<NameRule>& rules, const std::vector<std::string>& names);

}  // namespace weft::vcd
