// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "platforms/config/document.h"

namespace weft::platforms {

/// A line that names the fields of `accelerator.compute` that nothing sets though others there are set, so that an
/// H100's, their defaults, stand beside those of another product; empty if there are none. Parts of the catalogue set
/// all of them.
[[nodiscard]] std::string borrowed_remark(const Document& document);

}  // namespace weft::platforms
