// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hw/core/random.h"
#include "hw/memory/dram/memory_system.h"
#include "platforms/config/document.h"

namespace weft::test {

inline const std::vector<std::string>& dram_parts() {
  static const std::vector<std::string> names = {"hbm2",  "hbm2-dramsys", "hbm2e", "hbm3",
                                                 "hbm3e", "hbm4",         "gddr6", "ddr4"};
  return names;
}

/// A number from `least` to `most`.
inline int draw(Random& random, int least, int most) {
  return least + static_cast<int>(random.next() % static_cast<std::uint64_t>(most - least + 1));
}

/// A memory with a device of the catalogue.
inline dram::MemoryConfig memory_of(const std::string& part) {
  const nlohmann::json text = {{"device", part}};
  platforms::Document document =
      platforms::Document::from_text(text.dump(), "test", {}, platforms::Catalogue(WEFT_SOURCE_DIR "/platforms/parts"));
  dram::MemoryConfig config;
  document.root().read(config);
  document.check_unused();
  return config;
}

}  // namespace weft::test
