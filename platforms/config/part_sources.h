// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/config/catalogue.h"

/// Where each field of a part comes from.
namespace weft::platforms {

/// What a source can be; docs/reference/models/README.md explains each.
inline constexpr std::array<std::string_view, 6> kSourceGrades = {"measured", "published", "fitted",
                                                                  "derived",  "recalled",  "assumed"};

/// A field that a part sets, or the part that it is derived from.
struct PartField {
  std::string path;  ///< "compute.clock"
  nlohmann::json value;
  std::string part;                     ///< the name of the part that sets it
  const FieldSource* source = nullptr;  ///< null: the part names none
};

/// Reads `sources` of a part's file, whose `fields` they are about. Throws InputError if they are malformed, name a
/// field that the part does not set, or name one twice.
std::vector<FieldSource> read_sources(const nlohmann::json& sources, const nlohmann::json& fields,
                                      const std::string& file);

/// All fields by path, those of parts that it is derived from included. The source of a field is the one that names it,
/// or else the one that names the object that it is in. Throws InputError for a part that does not exist.
std::vector<PartField> fields_of(Catalogue& catalogue, const Part& part);

/// "1980" and "MHz" of "1980MHz"; the value itself and no unit if it is no quantity.
struct UnitValue {
  nlohmann::json value;
  std::string unit;
};
UnitValue split_unit(const nlohmann::json& value);

}  // namespace weft::platforms
