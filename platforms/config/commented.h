// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::platforms {

/// JSON as people write it: above each member a comment that says what it is and what else it could be, as its schema
/// (SchemaBuilder) has it. Of lists that holds for the first element. Weft reads the text as it reads the value.
std::string commented(const nlohmann::ordered_json& value, const nlohmann::ordered_json& schema);

}  // namespace weft::platforms
