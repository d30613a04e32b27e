// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/version.h"

#include <nlohmann/json.hpp>

#include "weft_version.h"  // that cmake/WeftVersion.cmake writes

namespace weft::platforms {

std::string version_text() {
  return "weft " WEFT_VERSION " (" WEFT_COMMIT ")";
}

nlohmann::ordered_json version_json() {
  return {{"version", WEFT_VERSION}, {"commit", WEFT_COMMIT}, {"schema", kSchema}};
}

nlohmann::ordered_json configuration(const Document& document) {
  nlohmann::ordered_json all = {{"weft", version_json()}};
  all.update(nlohmann::ordered_json(document.configuration()));
  return all;
}

}  // namespace weft::platforms
