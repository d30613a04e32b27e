// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace weft::traces {

/// A file that appears when it is complete: what is written goes to `FILE.part`, which close() renames and the
/// destructor otherwise removes. Room for a long one is asked of the file system piece by piece ahead of what is
/// written, and it is written in blocks that begin at multiples of their size: both halve the time that the file system
/// takes for each page. Throws std::system_error.
class WholeFile {
 public:
  /// Whoever writes multiples of it saves a copy. Larger ones make some kernels look for memory in one piece, at three
  /// to six times the cost.
  static constexpr std::size_t kBlock = 1U << 17;

  explicit WholeFile(std::filesystem::path file);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(std::string_view bytes);
  /// All is written, and can still disappear: for several files that are to appear together.
  void finish();
  /// After finish().
  void appear();
  void close() {
    finish();
    appear();
  }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  static constexpr std::int64_t kRoom = 64 << 20;

  void store(std::string_view bytes);
  void reserve();
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  std::filesystem::path part_;
  int descriptor_;
  bool finished_ = false;
  std::vector<char> begun_;  ///< of a block
  std::int64_t stored_ = 0;
  std::int64_t reserved_ = 0;  ///< up to here it has room
};

}  // namespace weft::traces
