// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/machine/machine.h"

namespace weft::platforms {

/// The part, of the folder that the command runs in, of WEFT_PATH's or of the catalogue, with its fields overridden by
/// "path=value"; none if there is no accelerator of that name. Throws InputError.
std::optional<AcceleratorPart> find_accelerator(const std::string& name,
                                                const std::vector<std::string>& overrides = {});

}  // namespace weft::platforms
