// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "sw/collectives/compressed/blocks.h"
#include "sw/compression/scopes.h"

namespace weft::collectives {

/// One way of compressing what ranks send to each other: a block each.
class CompressedSends {
 public:
  CompressedSends(const compression::CompressionConfig& config, ElementType type);

  [[nodiscard]] std::int64_t elements(std::uint64_t bytes) const {
    return static_cast<std::int64_t>(bytes / size_of(type_));
  }
  /// At most, of a message. What does not fill an element goes behind the block as it is.
  [[nodiscard]] std::uint64_t room(std::uint64_t bytes) const;
  [[nodiscard]] compression::Kernels compress(std::uint64_t bytes) const { return blocks_.compress(elements(bytes)); }
  [[nodiscard]] compression::Kernels decompress(std::uint64_t bytes) const {
    return blocks_.decompress(elements(bytes));
  }
  /// When the kernels have ended: the bytes at `to`.
  [[nodiscard]] std::uint64_t pack(firmware::Rank& rank, std::uint64_t from, std::uint64_t bytes, std::uint64_t to);
  void unpack(const firmware::Rank& rank, std::uint64_t from, std::uint64_t to, std::uint64_t bytes);

 private:
  [[nodiscard]] compression::Codec& codec(std::int64_t elements, int rank);

  compression::CompressionConfig config_;
  ElementType type_;
  compression::Blocks blocks_;
  std::map<std::pair<std::int64_t, int>, std::unique_ptr<compression::Codec>> codecs_;  ///< by elements and rank
};

/// Those of a run, by traffic and type.
class SendScopes {
 public:
  explicit SendScopes(const compression::MessageCompression& config) : config_(config) {}

  /// Null: messages travel as they are.
  [[nodiscard]] std::shared_ptr<CompressedSends> of(compression::Traffic traffic, std::optional<ElementType> type);

 private:
  compression::MessageCompression config_;
  std::map<std::pair<compression::Traffic, ElementType>, std::shared_ptr<CompressedSends>> known_;
};

}  // namespace weft::collectives
