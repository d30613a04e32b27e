// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::traces {

/// What the beginning of a JSON text, which may be cut anywhere, tells about the whole.
struct JsonBeginning {
  bool is_list = false;
  std::size_t documents = 0;         ///< one after another, as far as they begin here
  std::vector<std::string> members;  ///< of the outermost object, or of a list's first object; the first hundred
  bool has_objects_within = false;   ///< of the outermost object, or of a list's first object: some with members
  bool has_lists_of_numbers = true;  ///< all members of the outermost object are

  [[nodiscard]] bool has(std::string_view member) const {
    return std::find(members.begin(), members.end(), member) != members.end();
  }
};

/// Of a text that begins with { or [, and may have comments.
JsonBeginning json_beginning(std::string_view text);

}  // namespace weft::traces
