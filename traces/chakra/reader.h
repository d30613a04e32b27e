// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "traces/chakra/node.h"
#include "traces/format_error.h"

namespace weft::chakra {

/// Reads one rank's file record by record, in file order, and never holds more than a record and a small buffer. It
/// keeps no file open between reads, so that a process can have a reader for each of many thousand ranks.
///
/// A damaged file is a traces::FormatError that names the file and the byte at which the bad record begins. A file that
/// was cut between two records looks like a shorter one: the format has neither a count nor a checksum, and only a
/// dependency on a missing node shows it (TraceWindow, check_file).
class TraceReader {
 public:
  /// Reads the metadata.
  explicit TraceReader(std::filesystem::path file);
  ~TraceReader();
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  /// The next node into `node`, whose memory is used again; false at the end of the file.
  bool next(Node& node);
  /// Where the record that was read last begins, in bytes.
  [[nodiscard]] std::uint64_t offset() const { return record_at_; }
  /// Of the file, in bytes.
  [[nodiscard]] std::uint64_t size() const { return identity_.size; }

  /// Throws FormatError for the record that was read last.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  /// Of the file when it was opened first: a file that changes while it is read is an error.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_nanos = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Message;

  /// The bytes of the next record; false at the end of the file. They are valid until the next call.
  bool next_record(std::string_view& record);
  /// Makes the next `count` bytes, or all that are left if these are fewer, lie in the buffer.
  void fill(std::size_t count);
  [[nodiscard]] std::size_t buffered() const { return buffer_.size() - begin_; }

  std::filesystem::path file_;
  Identity identity_;
  std::string buffer_;
  std::size_t begin_ = 0;      ///< of what is not yet taken out of the buffer
  std::uint64_t read_to_ = 0;  ///< the offset in the file of the buffer's end
  std::uint64_t record_at_ = 0;
  Metadata metadata_;
  std::unique_ptr<Message> message_;
};

}  // namespace weft::chakra
