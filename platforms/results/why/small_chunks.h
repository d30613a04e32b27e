// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/results/why/field_values.h"

namespace weft::platforms {

/// A sentence where collectives of rings, trees or PAT mostly spend what each of their chunks takes whatever its size,
/// beside their bytes, and have chunks enough for larger ones; else empty.
[[nodiscard]] std::string small_chunks_text(const nlohmann::ordered_json& why, const FieldValues& values);

}  // namespace weft::platforms
