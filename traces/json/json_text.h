// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft::traces {

/// A text that is no JSON, or an object with one key twice.
class JsonError : public std::runtime_error {
 public:
  JsonError(const std::string& where, const std::string& expected, const std::string& got, bool is_syntax)
      : std::runtime_error((where.empty() ? "" : where + ": ") + "expected " + expected + ", got " + got),
        where_(where),
        expected_(expected),
        got_(got),
        is_syntax_(is_syntax) {}

  /// "line 3, column 5", or the path of a key: "network.link".
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const std::string& expected() const { return expected_; }
  [[nodiscard]] const std::string& got() const { return got_; }
  /// Whether where() is a line and column, not a path.
  [[nodiscard]] bool is_syntax() const { return is_syntax_; }

 private:
  std::string where_;
  std::string expected_;
  std::string got_;
  bool is_syntax_;
};

/// Whether it begins with { or [, comments aside, which no table does.
[[nodiscard]] bool begins_as_json(std::string_view text);

/// Where a text begins in its file; both count from 1.
struct JsonPlace {
  std::uint64_t line = 1;
  std::uint64_t column = 1;
};

/// Reads it in a time that grows with its length. Throws JsonError, for a text that nests deeper than json_depth.h
/// allows as well.
nlohmann::json parse_json(std::string_view text, JsonPlace begins = {});

/// The same of a file that people write for Weft: it may have comments, `//` and `/* */`, and at its top `$schema`, a
/// string for editors, which is not in what is returned.
nlohmann::json parse_own_json(std::string_view text);

}  // namespace weft::traces
