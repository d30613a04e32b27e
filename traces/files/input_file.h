// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/files/format_error.h"

namespace weft::traces {

class PipedInput;

/// Whether something to read is there that is no folder: a file, a pipe or a device.
[[nodiscard]] bool is_file(const std::filesystem::path& path);

/// A file that is read from start to end; of a gzip file, what was packed into it. Which of the two it is, its first
/// bytes tell, not its name.
///
///     InputFile file("w.0.et.gz");
///     for (std::size_t got = 0; (got = file.read(buffer, sizeof buffer)) > 0;) ...
///
/// Beside what peek() gave and read() has not, it holds nothing of a plain file and some sixty kilobytes of a gzip
/// file, however long they are. Of a pipe, too, each InputFile gives all from the beginning (PipedInput), so that who
/// looks at a file before it is read need not know what it is. Throws FormatError: for a file that cannot be opened or
/// read, that changes while it is read, for a pipe of more than PipedInput keeps that is read again, and for a gzip
/// file that is truncated or damaged.
class InputFile {
 public:
  /// "-" is standard input.
  explicit InputFile(std::filesystem::path file);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// As people know it: the path, or "standard input".
  [[nodiscard]] std::string name() const;

  /// Up to `most` bytes; fewer only at the end, where it gives 0.
  std::size_t read(char* to, std::size_t most);
  /// The next bytes, up to `most`, which read() will give as well: to see what the file is. Call it before read().
  std::string_view peek(std::size_t most);
  /// Closes the file until the next read, so that a process can have many thousand of them. A pipe stays open.
  void park();

  [[nodiscard]] bool is_gzip() const { return inflater_ != nullptr; }
  /// A pipe, a device or standard input, which another program cannot open anew.
  [[nodiscard]] bool is_piped() const { return piped_ != nullptr; }
  /// Of the file as it lies on the disk; 0 of a pipe.
  [[nodiscard]] std::uint64_t size() const { return identity_.size; }
  /// Bytes that read() has given.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// How many bytes read() will still give; none where that is not known, of a gzip file or a pipe.
  [[nodiscard]] std::optional<std::uint64_t> rest() const;

 private:
  /// Of the file when it was opened first.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_nanos = 0;
    bool operator==(const Identity&) const = default;
  };
  class Inflater;

  [[noreturn]] void fail(const std::string& message) const;
  void open();
  /// From the file as it lies there.
  std::size_t read_stored(char* to, std::size_t most);
  std::size_t read_piped(char* to, std::size_t most);
  std::size_t read_some(char* to, std::size_t most);

  std::filesystem::path file_;
  int descriptor_ = -1;
  bool opened_ = false;                ///< once, so that its identity is known
  std::shared_ptr<PipedInput> piped_;  ///< null of a regular file
  Identity identity_;
  std::uint64_t stored_at_ = 0;  ///< of the file as it lies there, bytes taken
  std::string begun_;            ///< the first bytes, read to see whether it is gzip
  std::size_t begun_at_ = 0;
  std::string peeked_;
  std::size_t peeked_at_ = 0;
  std::uint64_t position_ = 0;
  std::unique_ptr<Inflater> inflater_;
};

/// More than any document has, and less than a machine's memory: an endless device, or a gzip file made to unpack to
/// more than anybody's disk, ends here.
inline constexpr std::uint64_t kLongestDocument = std::uint64_t{1} << 30;

}  // namespace weft::traces
