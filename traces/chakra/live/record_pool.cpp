// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/live/record_pool.h"

#include <google/protobuf/stubs/logging.h>

#include <cstring>
#include <functional>
#include <utility>

#include "traces/chakra/message.h"

namespace weft::chakra {

/// Keeps protobuf from writing to stderr about what we report ourselves.
struct RecordPool::Decoder {
  google::protobuf::LogSilencer silencer;
  ChakraProtoMsg::Node message;
};

RecordPool::RecordPool() : buckets_(kFewest, kNone), decoder_(std::make_unique<Decoder>()) {}

RecordPool::~RecordPool() = default;

std::uint32_t RecordPool::hash_of(std::string_view bytes) {
  const std::size_t hash = std::hash<std::string_view>()(bytes);
  return static_cast<std::uint32_t>(hash ^ hash >> 32U);
}

RecordPool::Record RecordPool::add(std::string_view bytes) {
  const std::uint32_t hash = hash_of(bytes);
  Record* bucket = &buckets_[hash & (buckets_.size() - 1)];
  for (Record at = *bucket; at != kNone; at = entries_[at].next) {
    Entry& entry = entries_[at];
    if (entry.hash != hash || std::string_view(entry.bytes.get(), entry.size) != bytes) continue;
    ++entry.count;
    return at;
  }
  if (held_ == buckets_.size()) {
    grow();
    bucket = &buckets_[hash & (buckets_.size() - 1)];
  }
  Record made = free_;
  if (made == kNone) {
    made = static_cast<Record>(entries_.size());
    entries_.emplace_back();
  } else {
    free_ = entries_[made].next;
  }
  Entry& entry = entries_[made];
  entry.bytes = std::make_unique<char[]>(bytes.size());
  std::memcpy(entry.bytes.get(), bytes.data(), bytes.size());
  entry.size = static_cast<std::uint32_t>(bytes.size());
  entry.count = 1;
  entry.hash = hash;
  entry.next = std::exchange(*bucket, made);
  ++held_;
  return made;
}

void RecordPool::release(Record record) {
  Entry& entry = entries_[record];
  if (--entry.count > 0) return;
  Record* at = &buckets_[entry.hash & (buckets_.size() - 1)];
  while (*at != record) at = &entries_[*at].next;
  *at = entry.next;
  entry.bytes.reset();
  if (entry.node != nullptr && spare_.size() < kMostSpare) spare_.push_back(std::move(entry.node));
  entry.node.reset();
  entry.next = std::exchange(free_, record);
  --held_;
}

const Node* RecordPool::node(Record record) {
  Entry& entry = entries_[record];
  if (entry.node != nullptr) return entry.node.get();
  std::unique_ptr<Node> node;
  if (spare_.empty()) {
    node = std::make_unique<Node>();
  } else {
    node = std::move(spare_.back());
    spare_.pop_back();
  }
  if (!decoder_->message.ParseFromArray(entry.bytes.get(), static_cast<int>(entry.size))) return nullptr;
  from_message(decoder_->message, *node);
  entry.node = std::move(node);
  return entry.node.get();
}

void RecordPool::grow() {
  buckets_.assign(2 * buckets_.size(), kNone);
  for (Record at = 0; at < entries_.size(); ++at) {
    Entry& entry = entries_[at];
    if (entry.count > 0) entry.next = std::exchange(buckets_[entry.hash & (buckets_.size() - 1)], at);
  }
}

}  // namespace weft::chakra
