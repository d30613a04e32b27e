// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace weft::platforms {

/// JSON Schemas (SchemaBuilder) of what users write: a platform, and a part of any kind that a platform can have. A
/// patch is a part of a platform, for which the first one serves as well. Names of parts that they give are those of
/// the catalogue, with a user's own. Throws InputError for what is wrong with WEFT_PATH.
nlohmann::ordered_json platform_schema();
nlohmann::ordered_json part_schema();

}  // namespace weft::platforms
