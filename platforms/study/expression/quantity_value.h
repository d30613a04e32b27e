// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace weft::study {

/// A value of a platform as a number: a number itself, true and false as 1 and 0, and a quantity in its SI base unit,
/// which is a second, a byte, a bit per second, a hertz, an operation per second, a joule or a watt. None for others.
[[nodiscard]] std::optional<double> number_of(const nlohmann::json& value);

/// Whether two values can be the ends of a range: numbers, or quantities of one kind. A number of bytes may stand
/// beside a size.
[[nodiscard]] bool are_alike(const nlohmann::json& one, const nlohmann::json& other);

/// Whether it is a number of bytes with its unit.
[[nodiscard]] bool is_size(const nlohmann::json& value);

/// The number as a field would have it whose value is `example`: a quantity of the same kind, or a number, which is an
/// integer where it is whole.
[[nodiscard]] nlohmann::json value_like(const nlohmann::json& example, double number);

/// The same with a number that is easy to read: four digits or, of sizes, a multiple of 4 bytes with about three; the
/// nearest one, or one below.
[[nodiscard]] nlohmann::json round_like(const nlohmann::json& example, double number, bool down = false);

}  // namespace weft::study
