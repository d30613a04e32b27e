// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Files of this folder and D3, which CMake puts into the program (WeftEmbed.cmake).
namespace weft::platforms::report {

extern const std::string_view kPage;
extern const std::string_view kStyle;
extern const std::string_view kScript;   ///< all of the folder's, in their order
extern const std::string_view kLibrary;  ///< d3.min.js
extern const std::string_view kLicence;  ///< of that

}  // namespace weft::platforms::report
