// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "traces/files/temporary.h"

namespace weft::traces {

/// What a path leads to that is to be written.
struct WriteTarget {
  std::filesystem::path path;     ///< with links followed, the last of which may lead to nothing
  std::optional<int> descriptor;  ///< of this process: /dev/stdout, /dev/fd/63
  bool is_stream = false;         ///< nothing that can be replaced: a device, a pipe, a descriptor
  bool is_fifo = false;
  std::optional<unsigned> permissions;  ///< of a file that is there
};
/// Throws std::system_error if it is a folder or a block device, or must not be written.
WriteTarget find_target(const std::filesystem::path& file);

/// A file that appears when it is complete: what is written goes to a hidden file beside it, with a name of its own,
/// which close() renames and the destructor otherwise removes, as does a signal that ends the program
/// (remove_temporaries). Two that write one file at the same time each write all of it, and the one closed last stays.
/// A link is followed, and a file that is replaced keeps its permissions. Files that are to appear together are written
/// to a folder of their own first, as commands do.
///
/// What is no file, such as a terminal, a pipe, /dev/null or /dev/stdout, is never replaced: it is written to in its
/// place, block by block. A FIFO must get a reader within a second; a block device is refused.
///
/// Room for a long one is asked of the file system piece by piece ahead of what is written, the first piece when it is
/// opened, and it is written in blocks that begin at multiples of their size: both halve the time that the file system
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
  void close();
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  static constexpr std::int64_t kFirstRoom = 64 << 10;
  static constexpr std::int64_t kRoom = 64 << 20;

  void open_part();
  void open_stream();
  void store(std::string_view bytes);
  [[nodiscard]] bool reserve(std::int64_t room);
  [[noreturn]] void fail(int error) const;

  std::filesystem::path file_;
  WriteTarget target_;
  Temporary part_;  ///< of nothing where the target is a stream
  int descriptor_ = -1;
  std::vector<char> begun_;  ///< of a block
  std::int64_t stored_ = 0;
  std::int64_t reserved_ = 0;  ///< up to here it has room
};

}  // namespace weft::traces
