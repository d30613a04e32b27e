// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "traces/files/format_error.h"

namespace weft::models {

/// A network's JSON file, read as traces::CsvTable reads a table: `network.h` says what it holds. Anything else is a
/// FormatError that names the file, the path within it and what was expected.
class JsonLayers {
 public:
  /// One layer; valid as long as its file. A member that is left out is an empty field.
  class Row {
   public:
    Row(const JsonLayers& layers, std::size_t index) : layers_(&layers), index_(index) {}

    [[nodiscard]] std::string text(std::string_view key) const;
    [[nodiscard]] std::string required(std::string_view key) const;
    [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max) const;
    [[nodiscard]] bool boolean(std::string_view key) const;
    /// Throws `FILE: layers[INDEX].KEY: expected EXPECTED, got VALUE`.
    [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

   private:
    const JsonLayers* layers_;
    std::size_t index_;
  };

  /// `text` is what `file` holds; `keys` are those that a layer may have.
  JsonLayers(std::string_view text, const std::filesystem::path& file, const std::vector<std::string_view>& keys);
  ~JsonLayers();
  JsonLayers(const JsonLayers&) = delete;
  JsonLayers& operator=(const JsonLayers&) = delete;

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Row operator[](std::size_t index) const { return {*this, index}; }
  /// The file's stem unless it says another.
  [[nodiscard]] std::string name() const;
  /// 1 unless it says another.
  [[nodiscard]] std::int64_t batch(std::int64_t most) const;

 private:
  [[noreturn]] void fail(const std::string& path, std::string_view expected, const nlohmann::json* value) const;

  std::filesystem::path file_;
  std::unique_ptr<nlohmann::json> root_;
};

}  // namespace weft::models
