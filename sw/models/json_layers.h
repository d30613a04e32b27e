// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sw/models/json_row.h"

namespace weft::models {

/// A network's JSON file, read as traces::CsvTable reads a table: `network.h` says what it holds.
class JsonLayers {
 public:
  /// `text` is what `file` holds; `keys` are those that a layer may have. Throws traces::FormatError.
  JsonLayers(std::string_view text, const std::filesystem::path& file, const std::vector<std::string_view>& keys);
  ~JsonLayers();
  JsonLayers(const JsonLayers&) = delete;
  JsonLayers& operator=(const JsonLayers&) = delete;

  [[nodiscard]] std::size_t size() const;
  /// One layer; valid as long as its file.
  [[nodiscard]] JsonRow operator[](std::size_t index) const;
  /// The file's stem unless it says another.
  [[nodiscard]] std::string name() const;
  /// 1 unless it says another.
  [[nodiscard]] std::int64_t batch(std::int64_t most) const;

 private:
  [[nodiscard]] JsonRow root() const;

  std::filesystem::path file_;
  std::unique_ptr<nlohmann::json> root_;
};

}  // namespace weft::models
