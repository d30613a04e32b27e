// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "traces/chakra/node.h"

namespace weft::chakra {

/// Encoded nodes, each held once however many windows have it: ranks that do the same have the same records. Its node
/// is made of it when somebody asks, once for all.
class RecordPool {
 public:
  using Record = std::uint32_t;

  RecordPool();
  ~RecordPool();
  RecordPool(const RecordPool&) = delete;
  RecordPool& operator=(const RecordPool&) = delete;

  /// The record with these bytes, for as long as it is not released as often as it was added.
  Record add(std::string_view bytes);
  void release(Record record);
  /// Null if the record is damaged. The node lasts as long as the record.
  const Node* node(Record record);

  /// Different records that are held.
  [[nodiscard]] std::size_t size() const { return held_; }

 private:
  static constexpr Record kNone = UINT32_MAX;
  static constexpr std::size_t kFewest = 1024;
  static constexpr std::size_t kMostSpare = 1024;

  struct Entry {
    std::unique_ptr<char[]> bytes;
    std::unique_ptr<Node> node;
    std::uint32_t size = 0;
    std::uint32_t count = 0;
    std::uint32_t hash = 0;
    Record next = kNone;  ///< of its bucket, or of those that are free
  };

  struct Decoder;

  static std::uint32_t hash_of(std::string_view bytes);
  void grow();

  std::vector<Entry> entries_;
  std::vector<Record> buckets_;  ///< the first of each; as many as a power of two
  Record free_ = kNone;
  std::size_t held_ = 0;
  std::vector<std::unique_ptr<Node>> spare_;  ///< used again, with the memory that they hold
  std::unique_ptr<Decoder> decoder_;          ///< one for all, so that it stays in the cache
};

}  // namespace weft::chakra
