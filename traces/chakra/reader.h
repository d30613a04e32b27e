// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "traces/chakra/node.h"
#include "traces/files/format_error.h"
#include "traces/files/input_file.h"

namespace weft::chakra {

class JsonTrace;

/// Reads one rank's file record by record, in file order, and never holds more than a record and a small buffer. It
/// keeps no file open between reads, so that a process can have a reader for each of many thousand ranks.
///
/// The file may be protobuf or JSON (JsonTrace has its dialects), plain or in gzip; which, its first bytes tell. Of any
/// other file the error says what it is (traces::refuse).
///
/// A damaged file is a traces::FormatError that names the file and the byte at which the bad record begins. A file that
/// was cut between two records looks like a shorter one: the format has neither a count nor a checksum, and only a
/// dependency on a missing node shows it (TraceWindow, check).
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
  /// The same as an encoded message of the schema, which lasts until the next call; decode() makes the node of it.
  bool next_encoded(std::string_view& message);
  /// False if the message is damaged.
  bool decode(std::string_view message, Node& node);
  /// Of the message that was read last: throws FormatError if it is damaged.
  void decode_or_fail(std::string_view message, Node& node);
  /// At the end of the file: members of its JSON that no node and no metadata has a place for, the first of them.
  [[nodiscard]] std::vector<std::string> left_out() const;
  /// Where the record that was read last begins, in bytes, unpacked.
  [[nodiscard]] std::uint64_t offset() const;
  /// Of the file as it lies on the disk, in bytes.
  [[nodiscard]] std::uint64_t size() const { return input_->size(); }

  /// Throws FormatError for the record that was read last.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  struct Message;

  void read_metadata();
  /// The bytes of the next record; false at the end of the file. They are valid until the next call.
  bool next_record(std::string_view& record);
  /// Makes the next `count` bytes, or all that are left if these are fewer, lie in the buffer.
  void fill(std::size_t count);
  [[nodiscard]] std::size_t buffered() const { return buffer_.size() - begin_; }

  std::filesystem::path file_;
  std::unique_ptr<traces::InputFile> input_;
  std::unique_ptr<JsonTrace> json_;  ///< null for protobuf
  std::string buffer_;
  std::size_t begin_ = 0;  ///< of what is not yet taken out of the buffer
  bool at_end_ = false;    ///< nothing follows the buffer
  std::uint64_t record_at_ = 0;
  bool has_metadata_ = false;  ///< which alone may be empty
  Metadata metadata_;
  std::unique_ptr<Message> message_;
};

}  // namespace weft::chakra
