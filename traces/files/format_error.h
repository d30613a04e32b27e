// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace weft::traces {

/// A file that was read is not what it should be. The text is `FILE:LINE: what is wrong and what was expected`,
/// complete for a person to act upon; the command line exits with 2.
class FormatError : public std::runtime_error {
 public:
  /// Line 0 means the file as a whole: the text then is `FILE: ...`.
  FormatError(const std::string& file, int line, const std::string& message)
      : std::runtime_error(file + (line > 0 ? ":" + std::to_string(line) : "") + ": " + message),
        file_(file),
        line_(line) {}

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] int line() const { return line_; }

 private:
  std::string file_;
  int line_;
};

}  // namespace weft::traces
