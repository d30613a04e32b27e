// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace weft::platforms {

/// Anything wrong with what the user gave: a platform, a part, an override. The text is
/// "FILE: PATH: expected EXPECTED, got GOT"; the command line prints "weft: " before it and exits with 2.
class InputError : public std::runtime_error {
 public:
  /// `path` is the place within the file and may be empty, as may `got` when there is nothing to show.
  InputError(std::string file, std::string path, std::string expected, std::string got)
      : std::runtime_error(file + ": " + (path.empty() ? "" : path + ": ") + "expected " + expected +
                           (got.empty() ? "" : ", got " + got)),
        file_(std::move(file)),
        path_(std::move(path)),
        expected_(std::move(expected)),
        got_(std::move(got)) {}

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& expected() const { return expected_; }
  [[nodiscard]] const std::string& got() const { return got_; }

 private:
  std::string file_;
  std::string path_;
  std::string expected_;
  std::string got_;
};

/// A wrong option, or a combination of options that means nothing. The text is the whole message.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft::platforms
