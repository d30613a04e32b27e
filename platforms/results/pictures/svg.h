// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// What pictures in SVG have in common.
namespace weft::platforms {

/// The text as it stands between tags: names of modules and nodes are a user's.
std::string svg_text(std::string_view text);

/// The tag that begins a picture on white, of this size in pixels, with further attributes such as `font-size="11"`.
std::string svg_beginning(double left, double top, double width, double height, std::string_view attributes);

}  // namespace weft::platforms
