// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Files of page/, which CMake puts into the program (WeftEmbed.cmake).
namespace weft::study::page {

extern const std::string_view kPage;
extern const std::string_view kStyle;
extern const std::string_view kScript;  ///< all of the folder's, in their order

}  // namespace weft::study::page
