// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft::study {

/// A function of a module, which is a library of Weft's own that is loaded where it is needed: loading pagmo takes a
/// program four times as long as all else at its start. Null if Weft was built without the module. It is looked for
/// beside the program (study/), where it is installed (../lib/weft), and where it was built.
[[nodiscard]] void* find_in_module(const std::string& module, const char* function);

}  // namespace weft::study
