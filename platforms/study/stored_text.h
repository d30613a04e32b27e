// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "platforms/results/format.h"

namespace weft::study {

/// On one line. Bytes that are no UTF-8, as the message of a library may have, are replaced.
[[nodiscard]] inline std::string dumped(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// FNV-1a in 64 bits, in hexadecimal.
[[nodiscard]] inline std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return platforms::to_hex(hash);
}

}  // namespace weft::study
