// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/writer.h"

#include <google/protobuf/stubs/logging.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "traces/chakra/message.h"

namespace weft::chakra {
namespace {

constexpr std::size_t kLongestMessage = std::size_t{1} << 31U;

}  // namespace

struct TraceWriter::Message {
  google::protobuf::LogSilencer silencer;
  ChakraProtoMsg::Node node;
};

TraceWriter::TraceWriter(std::filesystem::path file, const Metadata& metadata)
    : file_(std::move(file)), part_(file_), message_(std::make_unique<Message>()) {
  part_ += ".part";
  stream_.reset(std::fopen(part_.c_str(), "wb"));
  if (stream_ == nullptr) fail();
  ChakraProtoMsg::GlobalMetadata message;
  to_message(metadata, message);
  write_record(message);
}

TraceWriter::~TraceWriter() {
  if (stream_ == nullptr) return;
  stream_.reset();
  std::remove(part_.c_str());
}

void TraceWriter::write(const Node& node) {
  to_message(node, message_->node);
  write_record(message_->node);
}

template <typename M>
void TraceWriter::write_record(const M& message) {
  const std::size_t size = message.ByteSizeLong();
  if (size >= kLongestMessage)
    throw std::length_error("cannot write " + file_.string() + ": a record is 2 GiB or longer");
  record_.clear();
  for (std::size_t left = size;; left >>= 7U) {
    const bool more = left >= 0x80;
    record_.push_back(static_cast<char>((left & 0x7FU) | (more ? 0x80U : 0U)));
    if (!more) break;
  }
  message.AppendToString(&record_);
  if (std::fwrite(record_.data(), 1, record_.size(), stream_.get()) != record_.size()) fail();
}

void TraceWriter::close() {
  // Closing writes what the stream still buffers, and may fail as any write may.
  if (std::fclose(stream_.release()) != 0) {
    const int error = errno;
    std::remove(part_.c_str());
    errno = error;
    fail();
  }
  std::error_code error;
  std::filesystem::rename(part_, file_, error);
  if (error) {
    std::remove(part_.c_str());
    throw std::system_error(error, "cannot write " + file_.string());
  }
}

void TraceWriter::fail() const {
  throw std::system_error(errno, std::generic_category(), "cannot write " + file_.string());
}

}  // namespace weft::chakra
