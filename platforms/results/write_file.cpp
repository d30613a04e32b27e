// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/write_file.h"

#include <nlohmann/json.hpp>

#include "traces/files/whole_file.h"

namespace weft::platforms {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string to_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace) + "\n";
}

void write_file(const fs::path& file, const std::string& text) {
  traces::WholeFile whole(file);
  whole.write(text);
  whole.close();
}

void write_file(const fs::path& file, const nlohmann::ordered_json& json) {
  write_file(file, to_text(json));
}

}  // namespace weft::platforms
