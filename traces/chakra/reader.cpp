// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/reader.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "traces/chakra/json/trace.h"
#include "traces/chakra/message.h"
#include "traces/files/kind/file_kind.h"

namespace weft::chakra {
namespace {

using traces::FileKind;

/// Of a file at a time: some hundred nodes, and little for one of many thousand readers.
constexpr std::size_t kChunk = 32 << 10;
/// What ASTRA-sim's reader takes; five groups of seven bits hold more than a message may be long.
constexpr int kLongestLength = 5;
constexpr std::uint64_t kLongestMessage = std::numeric_limits<std::int32_t>::max();
/// In a gzip file, which may unpack to a thousand times its size: no node has so much to say.
constexpr std::uint64_t kLongestPacked = std::uint64_t{1} << 28;
/// Numbers that Node uses; GlobalMetadata uses 1 and 2.
constexpr int kNodeFields = 10;

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

TraceReader::TraceReader(std::filesystem::path file)
    : file_(std::move(file)),
      input_(std::make_unique<traces::InputFile>(file_)),
      message_(std::make_unique<Message>()) {
  const traces::FileGuess guess = traces::guess(*input_);
  if (guess.kind == FileKind::kEmpty) {
    throw traces::FormatError(file_.string(), 0, "is empty: expected a Chakra trace, which begins with its metadata");
  }
  if (traces::is_trace_json(guess.kind)) {
    json_ = std::make_unique<JsonTrace>(*input_, guess.kind);
    metadata_ = json_->metadata();
    input_->park();
    return;
  }
  // What nothing else is known by may be a damaged trace: then its first record tells more.
  if (guess.kind != FileKind::kChakra && guess.kind != FileKind::kBinary)
    traces::refuse(file_, "a Chakra trace", guess);
  read_metadata();
}

void TraceReader::read_metadata() {
  std::string_view record;
  next_record(record);
  has_metadata_ = true;
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
  if (json_ != nullptr) {
    const bool found = json_->next(node);
    input_->park();
    return found;
  }
  std::string_view record;
  if (!next_record(record)) return false;
  decode_or_fail(record, node);
  return true;
}

bool TraceReader::next_encoded(std::string_view& message) {
  if (json_ == nullptr) return next_record(message);
  Node node;
  if (!next(node)) return false;
  to_message(node, message_->node);
  message_->node.SerializeToString(&buffer_);
  message = buffer_;
  return true;
}

bool TraceReader::decode(std::string_view message, Node& node) {
  if (!message_->node.ParseFromArray(message.data(), static_cast<int>(message.size()))) return false;
  from_message(message_->node, node);
  return true;
}

void TraceReader::decode_or_fail(std::string_view message, Node& node) {
  if (decode(message, node)) return;
  // What was read of it before the error may tell which one it is.
  const std::uint64_t id = message_->node.id();
  fail("expected a node, got " + std::to_string(message.size()) + " bytes that are no such message" +
       (id != 0 ? " (its id may be " + std::to_string(id) + ")" : ""));
}

std::vector<std::string> TraceReader::left_out() const {
  return json_ != nullptr ? json_->left_out() : std::vector<std::string>();
}

std::uint64_t TraceReader::offset() const {
  return json_ != nullptr ? json_->offset() : record_at_;
}

void TraceReader::fail(const std::string& message) const {
  if (json_ != nullptr) throw traces::FormatError(file_.string(), static_cast<int>(json_->line()), message);
  throw traces::FormatError(file_.string(), 0, "byte " + std::to_string(record_at_) + ": " + message);
}

bool TraceReader::next_record(std::string_view& record) {
  fill(kLongestLength);
  const std::uint64_t at = input_->position() - buffered();
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
  const auto fail_short = [&](std::uint64_t left) {
    fail("the record is " + std::to_string(length) + " bytes long and the file has only " + std::to_string(left) +
         " more: it is truncated, or no Chakra trace");
  };
  const std::optional<std::uint64_t> rest = input_->rest();
  if (rest && length > buffered() + *rest) fail_short(buffered() + *rest);
  if (length == 0 && has_metadata_) {
    if (record_at_ <= 1)
      fail("expected a Chakra trace, got zeros from the first byte on: a copy that lost its contents");
    const std::string begin = std::to_string(record_at_);
    fail("expected a node, got a record of no bytes, as where zeros follow a trace: " +
         (input_->is_gzip() ? "gzip -dc FILE | head -c " + begin : "head -c " + begin + " FILE") +
         " keeps what is before it");
  }
  const std::uint64_t most = input_->is_gzip() ? kLongestPacked : kLongestMessage;
  if (length > most) {
    fail("the record is " + std::to_string(length) + " bytes long, expected at most " + std::to_string(most));
  }
  fill(length);
  if (buffered() < length) fail_short(buffered());
  record = std::string_view(buffer_).substr(begin_, length);
  begin_ += length;
  return true;
}

void TraceReader::fill(std::size_t count) {
  if (buffered() >= count || at_end_) return;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t wanted = std::max(count, kChunk);
  // Where it is not known how much is left, memory grows with what comes.
  constexpr std::size_t kStep = 1 << 20;
  while (buffer_.size() < wanted && !at_end_) {
    const std::size_t held = buffer_.size();
    const std::size_t step = input_->rest() ? wanted - held : std::min(wanted - held, kStep);
    buffer_.resize(held + step);
    const std::size_t got = input_->read(buffer_.data() + held, step);
    buffer_.resize(held + got);
    at_end_ = got < step;
  }
  input_->park();
}

}  // namespace weft::chakra
