// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/config/field_visitor.h"

/// What is done with the fields of a Config, whatever its type: they are printed, stored and documented.
namespace weft::platforms {

/// What a user calls the type: "rate", "integer", "one of ring, tree".
std::string type_text(const Scalar& scalar);
/// The limits in the field's unit, "1 to 8" or "at least 1ns"; empty where nothing is excluded.
std::string limits_text(const Scalar& scalar, Range range);
/// A noun phrase for errors: `a rate with its unit, such as "400Gbps"`, `an integer from 1 to 8`.
std::string expectation(const Scalar& scalar, Range range);
/// The same of a value that was refused: one too large for any limit is told of the largest.
std::string expectation(const Scalar& scalar, Range range, const nlohmann::json& got);
/// Of a quantity, else empty: a regular expression of the texts that it is read from (text_pattern), and one of them.
std::string pattern_of(const Scalar& scalar);
std::string example_of(const Scalar& scalar);
/// The member's value as the user would write it.
nlohmann::json value_of(const Scalar& scalar);
/// What the member does for times and sizes, in units of what is common of its kind (1 us, 1 KiB, 1 Gb/s, 1 GHz,
/// 1 TFLOPS, 1 W): how long, large or many it is, or how slow or weak; of a share, and of a number above 1, which may
/// be either, how far it is from 1. 0 for what is off or is no amount.
double weight_of(const Scalar& scalar);
/// Stores `value` in the member; false, and the member untouched, if it is not what `expectation` says.
bool assign(const Scalar& scalar, Range range, const nlohmann::json& value);

/// The text of the value that is nearest to `text` within the limits, as the user would write it: `text` itself if it
/// is within them, or is no number.
std::string within_limits(const Scalar& scalar, Range range, const std::string& text);
/// How much a text is, in the least unit of the member's quantity ("1us": 1,000,000), or as a number; nothing if it is
/// none.
std::optional<double> amount_in(const Scalar& scalar, const std::string& text);

/// One row of the configuration reference.
struct FieldDoc {
  std::string path;
  std::string type;          ///< "object" for a nested Config, whose members follow.
  std::string part_kind;     ///< For an object: the kind of part whose name can stand for it.
  std::string default_text;  ///< As it would be written in JSON.
  std::string limits;
  std::string doc;
};

std::vector<FieldDoc> describe_fields(const std::function<void(FieldVisitor&)>& fields, std::string_view prefix);

/// All fields of a Config in the order it lists them, with the values it holds as defaults. `prefix` is where it stands
/// in a platform ("fabric.link").
template <ConfigStruct C>
std::vector<FieldDoc> describe(C config, std::string_view prefix = {}) {
  return describe_fields([&config](FieldVisitor& visitor) { config.fields(visitor); }, prefix);
}

nlohmann::ordered_json fields_to_json(const std::function<void(FieldVisitor&)>& fields);

/// A Config with all its values, as a platform would have it.
template <ConfigStruct C>
auto config_to_json(C config) {
  return fields_to_json([&config](FieldVisitor& visitor) { config.fields(visitor); });
}

}  // namespace weft::platforms
