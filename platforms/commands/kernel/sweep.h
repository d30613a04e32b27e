// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platforms/commands/kernel/shapes.h"

namespace weft::platforms {

/// All combinations of what the dimensions of a kernel were given, the last one changing fastest: numbers, lists with
/// commas between, ranges such as 128:8192:x2. A dimension can have the name of another one for its value ("--n m").
/// Throws UsageError.
std::vector<KernelKind::Values> combinations(const KernelKind& kind, const std::map<std::string, std::string>& given);

}  // namespace weft::platforms
