// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "traces/files/input_file.h"

namespace weft::traces {

/// A trace of memory requests, a line each:
///
///     R 0x1f40
///     W 8000 12.5
///     M 8040
///
/// R, W, or M for a write of part of a burst, whose other bytes are masked; the address in decimal or with 0x, and
/// maybe the time in nanoseconds, at least that of the line before. Empty lines and those that begin with # are
/// skipped. The file is read as it is consumed, whatever its size.
class MemoryTrace {
 public:
  struct Entry {
    bool write = false;
    bool partial = false;
    bool timed = false;
    std::uint64_t address = 0;
    std::int64_t time_ps = 0;
  };

  /// "-" is standard input; a gzip file is read as its content. Throws FormatError if the file cannot be read.
  /// Addresses must be below `capacity`.
  MemoryTrace(std::string file, std::uint64_t capacity);

  /// False at the end. Throws FormatError that names the line.
  bool next(Entry& entry);
  /// Of the entry that was read last.
  [[nodiscard]] int line() const { return line_; }

 private:
  /// Takes a line of the plainest form, in small letters and without a time, if there is one; else nothing happens.
  bool next_plain(Entry& entry);
  /// The next line without its end; false at the end of the file.
  bool next_line(std::string_view& line);
  [[noreturn]] void fail(std::string_view line, const std::string& expected) const;

  std::string file_;
  std::uint64_t capacity_;
  std::unique_ptr<InputFile> input_;
  std::vector<char> buffer_;
  std::size_t from_ = 0;  ///< what is read and not consumed
  std::size_t to_ = 0;
  int line_ = 0;
  std::int64_t last_ps_ = 0;
};

}  // namespace weft::traces
