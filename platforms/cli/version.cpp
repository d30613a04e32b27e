// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/version.h"

#include <nlohmann/json.hpp>

#include "weft_version.h"  // that cmake/WeftVersion.cmake writes

namespace weft::platforms {

std::string version_text() {
  return "weft " WEFT_VERSION " (" WEFT_COMMIT ")";
}

nlohmann::ordered_json version_json() {
  return {{"version", WEFT_VERSION}, {"commit", WEFT_COMMIT}, {"schema", kSchema}};
}

}  // namespace weft::platforms
