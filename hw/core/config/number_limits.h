// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "hw/core/config/field_visitor.h"

/// Limits of fields that are doubles: in words, and checked where no platform was read.
namespace weft {

/// "0 to 1", "at least 1", "more than 0 and at most 1".
[[nodiscard]] std::string number_limits(Range range);
/// "a number from 0 to 1", "a number, at least 1", "a number, more than 0 and at most 1".
[[nodiscard]] std::string number_within(Range range);

void check_numbers(const std::function<void(FieldVisitor&)>& fields, const std::string& path);
/// For a Config that C++ has filled in. Throws ConfigError, with `path` before the name, for the first double outside
/// its Range, in the words that a platform with this value gets.
template <ConfigStruct Config>
void check_numbers(Config config, const std::string& path) {
  check_numbers([&config](FieldVisitor& visitor) { config.fields(visitor); }, path);
}

}  // namespace weft
