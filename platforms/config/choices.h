// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "hw/core/fields.h"

namespace weft::platforms {

/// An enumeration's names, for an option's OneOf.
template <typename E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& [name, value] : enum_names(E{})) names.emplace_back(name);
  return names;
}

/// The value of a name that OneOf has let pass.
template <typename E>
E value_of(const std::string& text) {
  for (const auto& [name, value] : enum_names(E{})) {
    if (name == text) return value;
  }
  return E{};
}

}  // namespace weft::platforms
