// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace weft::vcd {

/// Where the text of a waveform goes, in the format that the file's name ends in: `.fst` as vcd2fst of Debian's package
/// gtkwave converts it while it is written, `.gz` as gzip, else as it is. The file appears when it is closed;
/// a link is followed, and a file that is replaced keeps its permissions.
///
/// Throws std::system_error of what the disk refuses, and std::runtime_error of what vcd2fst does.
class Output {
 public:
  static std::unique_ptr<Output> open(const std::filesystem::path& file);
  /// The program that a file of this name needs and that is not installed, or nothing.
  static std::string_view missing_program(const std::filesystem::path& file);

  virtual ~Output() = default;
  virtual void write(std::string_view text) = 0;
  virtual void close() = 0;
};

}  // namespace weft::vcd
