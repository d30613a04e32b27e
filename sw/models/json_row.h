// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/files/format_error.h"

namespace weft::models {

/// An object of JSON, read as traces::CsvTable reads a row: a member that is left out is an empty field. Valid as long
/// as what it is made of. Anything else is a FormatError that names the file, the path within it and what was expected.
class JsonRow {
 public:
  /// `path` is where the object stands in the file: "layers[2]", or nothing.
  JsonRow(const nlohmann::json& object, const std::filesystem::path& file, std::string path = {})
      : object_(&object), file_(&file), path_(std::move(path)) {}

  /// Throws for what is no object, or has members with other names.
  void expect_object(std::string_view what) const;
  void expect_keys(const std::vector<std::string_view>& keys) const;

  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::string required(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max) const;
  [[nodiscard]] std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t min,
                                        std::int64_t max) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
  /// Throws `FILE: PATH.KEY: expected EXPECTED, got VALUE`.
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

 private:
  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, std::string_view expected, const nlohmann::json* value) const;

  const nlohmann::json* object_;
  const std::filesystem::path* file_;
  std::string path_;
};

/// JSON of Weft's own (traces::parse_own_json), with what is wrong with it as a FormatError of the file.
nlohmann::json parse_model(std::string_view text, const std::filesystem::path& file);

}  // namespace weft::models
