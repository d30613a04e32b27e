// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "platforms/config/field_visitor.h"

/// Whether a result follows a field, found by trying.
namespace weft::platforms {

/// Whether large values are tried, up to the field's limits.
enum class Extremes : bool { kLeftOut, kTried };

/// Whether `result`, which reads the Config that `fields` visits, is the same whatever the field at `path` is. What
/// `result` refuses by an exception is left out; false if nothing is left, if
/// there is no such field, and for strings. Between the values that are tried a result may not follow the field and
/// come back: none does that grows or falls with it. The Config is as before when this returns.
[[nodiscard]] bool is_indifferent(const std::function<void(FieldVisitor&)>& fields, std::string_view path,
                                  const std::function<std::uint64_t()>& result, Extremes extremes);

/// Makes the number at `path` a thousand times as large or as small, as far as its limits allow; 0 becomes 1. Nothing
/// if there is no such number.
void move_far(const std::function<void(FieldVisitor&)>& fields, std::string_view path, bool up);

}  // namespace weft::platforms
