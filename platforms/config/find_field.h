// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "platforms/config/field_visitor.h"

namespace weft::platforms {

/// A field that has a value, and its limits.
struct FoundField {
  Scalar scalar;
  Range range;
};

/// The one at `path` of the Config that `fields` visits; nothing if there is none. Elements of lists are none.
[[nodiscard]] std::optional<FoundField> find_field(const std::function<void(FieldVisitor&)>& fields,
                                                   std::string_view path);

}  // namespace weft::platforms
