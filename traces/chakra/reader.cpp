// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/reader.h"

#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "traces/chakra/message.h"

namespace weft::chakra {
namespace {

/// Of a file at a time: some hundred nodes, and little for one of many thousand readers.
constexpr std::size_t kChunk = 32 << 10;
/// What ASTRA-sim's reader takes; five groups of seven bits hold more than a message may be long.
constexpr int kLongestLength = 5;
constexpr std::uint64_t kLongestMessage = std::numeric_limits<std::int32_t>::max();
/// Numbers that Node uses; GlobalMetadata uses 1 and 2.
constexpr int kNodeFields = 10;

/// A file that is open while this lives.
class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& file) : descriptor_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0)
      throw traces::FormatError(file.string(), 0, std::string("cannot open: ") + std::strerror(errno));
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Whether a message read as metadata has fields that only a Node has: then the file lacks its metadata.
bool looks_like_node(const ChakraProtoMsg::GlobalMetadata& metadata) {
  const google::protobuf::UnknownFieldSet& unknown = metadata.GetReflection()->GetUnknownFields(metadata);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() <= kNodeFields) return true;
  }
  return false;
}

}  // namespace

/// What is reused from record to record, and keeps protobuf from writing to stderr about what we report ourselves.
struct TraceReader::Message {
  google::protobuf::LogSilencer silencer;
  ChakraProtoMsg::Node node;
};

TraceReader::TraceReader(std::filesystem::path file) : file_(std::move(file)), message_(std::make_unique<Message>()) {
  fill(1);
  if (identity_.size == 0) {
    throw traces::FormatError(file_.string(), 0, "is empty: expected a Chakra trace, which begins with its metadata");
  }
  std::string_view record;
  next_record(record);
  ChakraProtoMsg::GlobalMetadata metadata;
  if (!metadata.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
    fail("expected the metadata of a Chakra trace, got " + std::to_string(record.size()) +
         " bytes that are no such message");
  }
  if (looks_like_node(metadata)) {
    fail("expected the metadata of a Chakra trace, got a node: the metadata is missing");
  }
  from_message(metadata, metadata_);
}

TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;

bool TraceReader::next(Node& node) {
  std::string_view record;
  if (!next_record(record)) return false;
  if (!message_->node.ParseFromArray(record.data(), static_cast<int>(record.size()))) {
    // What was read of it before the error may tell which one it is.
    const std::uint64_t id = message_->node.id();
    fail("expected a node, got " + std::to_string(record.size()) + " bytes that are no such message" +
         (id != 0 ? " (its id may be " + std::to_string(id) + ")" : ""));
  }
  from_message(message_->node, node);
  return true;
}

void TraceReader::fail(const std::string& message) const {
  throw traces::FormatError(file_.string(), 0, "byte " + std::to_string(record_at_) + ": " + message);
}

bool TraceReader::next_record(std::string_view& record) {
  const std::uint64_t at = read_to_ - buffered();
  fill(kLongestLength);
  if (buffered() == 0) {
    buffer_ = std::string();
    begin_ = 0;
    return false;
  }
  record_at_ = at;
  std::uint64_t length = 0;
  int groups = 0;
  for (bool more = true; more; ++groups) {
    if (groups == kLongestLength) fail("expected the length of a record, got a number of more than 5 bytes");
    if (buffered() == static_cast<std::size_t>(groups))
      fail("the file ends within the length of a record: it is truncated");
    const auto byte = static_cast<std::uint8_t>(buffer_[begin_ + static_cast<std::size_t>(groups)]);
    length |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * groups);
    more = (byte & 0x80U) != 0;
  }
  begin_ += static_cast<std::size_t>(groups);
  const std::uint64_t left = identity_.size - (read_to_ - buffered());
  if (length > left) {
    fail("the record is " + std::to_string(length) + " bytes long and the file has only " + std::to_string(left) +
         " more: it is truncated, or no Chakra trace");
  }
  if (length > kLongestMessage) {
    fail("the record is " + std::to_string(length) + " bytes long, expected at most " +
         std::to_string(kLongestMessage));
  }
  fill(length);
  record = std::string_view(buffer_).substr(begin_, length);
  begin_ += length;
  return true;
}

void TraceReader::fill(std::size_t count) {
  const bool first = identity_ == Identity();
  if (!first && (buffered() >= count || read_to_ == identity_.size)) return;
  const OpenFile file(file_);
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw traces::FormatError(file_.string(), 0, "expected a file");
  }
  const Identity identity = {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                             status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
  if (first) {
    identity_ = identity;
  } else if (identity != identity_) {
    throw traces::FormatError(file_.string(), 0, "was changed while it was read");
  }
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t held = buffer_.size();
  const std::uint64_t wanted = std::max(count, kChunk) - held;
  const auto size = static_cast<std::size_t>(std::min(wanted, identity_.size - read_to_));
  buffer_.resize(held + size);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got =
        pread(file.descriptor(), buffer_.data() + held + done, size - done, static_cast<off_t>(read_to_ + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw traces::FormatError(file_.string(), 0, std::string("cannot read: ") + std::strerror(errno));
    if (got == 0) throw traces::FormatError(file_.string(), 0, "was changed while it was read");
    done += static_cast<std::size_t>(got);
  }
  read_to_ += size;
}

}  // namespace weft::chakra
