// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/writer.h"

#include <google/protobuf/stubs/logging.h>

#include <stdexcept>

#include "traces/chakra/message.h"

namespace weft::chakra {
namespace {

constexpr std::size_t kTooLong = std::size_t{1} << 31U;

}  // namespace

struct TraceWriter::Message {
  google::protobuf::LogSilencer silencer;
  ChakraProtoMsg::Node node;
};

TraceWriter::TraceWriter(const std::filesystem::path& file, const Metadata& metadata)
    : file_(file), name_(file.string()), message_(std::make_unique<Message>()) {
  ChakraProtoMsg::GlobalMetadata message;
  to_message(metadata, message);
  write_record(message);
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::write(const Node& node) {
  to_message(node, message_->node);
  write_record(message_->node);
}

template <typename M>
void TraceWriter::write_record(const M& message) {
  const std::size_t size = message.ByteSizeLong();
  if (size >= kTooLong) throw std::length_error("cannot write " + name_ + ": a record is 2 GiB or longer");
  record_.clear();
  for (std::size_t left = size;; left >>= 7U) {
    const bool more = left >= 0x80;
    record_.push_back(static_cast<char>((left & 0x7FU) | (more ? 0x80U : 0U)));
    if (!more) break;
  }
  message.AppendToString(&record_);
  file_.write(record_);
}

}  // namespace weft::chakra
