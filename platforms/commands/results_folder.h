// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platforms/results/why/compare.h"

namespace weft::platforms {

/// What `weft run` has left in a folder. Throws UsageError where it is none, or InputError for a file that is not as
/// Weft writes it. Without why.json `why` is null.
[[nodiscard]] RunResults read_results(const std::string& folder);

}  // namespace weft::platforms
