// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string_view>

namespace weft::traces {

/// A path cannot be followed; the text begins with the path and says where it ended and what there was instead.
class PathError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Follows a path into a JSON value:
///
///     step.time_us                          members of objects
///     rows[3].busbw, rows[-1].busbw         the element of an array, counted from 0, or from the end
///     rows[bytes=1048576].time_us           the one element of an array of objects with that member
///     rows[op=all_reduce,bytes=1024]        ... with all of these members
///     links["leaf0.up[1]"].utilisation      a member whose name holds . or [
///
/// A selected member may be a string, a number or a bool; numbers compare as numbers. It is an error if several
/// elements match, because a metric must name one value.
const nlohmann::json& resolve(const nlohmann::json& root, std::string_view path);

/// As `resolve`, for a value that must be a number.
double resolve_number(const nlohmann::json& root, std::string_view path);

}  // namespace weft::traces
