// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "traces/files/input_file.h"

namespace weft::chakra {

/// JSON taken value by value, of which only one is held. Throws traces::FormatError, which names line and column where
/// it is no JSON.
class JsonStream {
 public:
  explicit JsonStream(traces::InputFile& file) : file_(file) {}

  /// Whether nothing but blanks follows.
  bool at_end();
  /// The next character that is no blank, which stays; 0 at the end, where a file may have one as well.
  char peek();
  /// Takes the character if it comes next.
  bool take(char c);
  /// Takes it or fails.
  void expect(char c, const std::string& what);
  void expect_end();
  /// A member's name and the colon behind it.
  std::string key();
  /// The text of the next value, whole; valid until the next call. Whether it is JSON, parse() tells.
  std::string_view value();
  /// What value() gave last, as text and parsed (traces::parse_json: an object has each key once).
  [[nodiscard]] std::string_view value_text() const { return value_; }
  [[nodiscard]] nlohmann::json parse() const;

  /// Where the value that was taken last begins.
  [[nodiscard]] std::uint64_t line() const { return value_line_; }
  [[nodiscard]] std::uint64_t offset() const { return value_at_; }

 private:
  static constexpr std::size_t kChunk = 64 << 10;
  static constexpr std::size_t kLongest = std::size_t{1} << 28;

  /// Makes the character at an index of the buffer be there; false at the end of the file.
  bool has(std::size_t index);
  void skip_blanks();
  void skip(std::size_t count);
  std::size_t end_of_string(std::size_t begin);
  std::size_t end_of_value();
  [[noreturn]] void fail(const std::string& message) const;

  traces::InputFile& file_;
  std::string buffer_;
  std::size_t at_ = 0;        ///< of the buffer, what is taken
  std::uint64_t before_ = 0;  ///< bytes of the file before the buffer
  std::uint64_t line_ = 1;    ///< at at_
  std::uint64_t column_ = 1;  ///< at at_
  std::string_view value_;
  std::uint64_t value_at_ = 0;
  std::uint64_t value_line_ = 1;
  std::uint64_t value_column_ = 1;
};

}  // namespace weft::chakra
