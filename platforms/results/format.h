// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hw/core/quantity.h"

/// Figures as people and JSON have them.
namespace weft::platforms {

/// Cells in columns, two blanks apart: the first one left-aligned, the others right-aligned, but for those from
/// `texts` on, which are left-aligned.
std::string in_columns(const std::vector<std::vector<std::string>>& lines, std::size_t texts = SIZE_MAX);

/// In lines of at most a terminal's width, those that follow indented by `indent`.
std::string wrapped(const std::string& text, std::size_t indent);

/// "a", "a and b", "a, b and c"
std::string and_list(const std::vector<std::string>& words);
/// "a, b, c, d and 5 others"
std::string few(const std::vector<std::string>& words);

/// Three significant decimals, for people.
std::string short_number(double value);
/// The time with a unit that suits it: "1.24 ms".
std::string short_time(Time time);

/// In the unit, decimal or binary, that shows it exactly with at most one decimal in the fewest characters: 2 MB is
/// "2 MB", and 2 MiB is "2 MiB". What takes more than four digits so: in bytes, and from a MiB on in MiB, rounded to a
/// decimal if that is shorter.
std::string short_bytes(double bytes);

/// Microseconds, for JSON.
inline double to_us(Time time) {
  return static_cast<double>(time.count()) * 1e-6;
}
nlohmann::ordered_json to_us(const std::vector<Time>& times);
inline double to_seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}
std::string to_hex(std::uint64_t value);

}  // namespace weft::platforms
