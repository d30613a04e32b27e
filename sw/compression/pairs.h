// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sw/compression/compressor.h"

/// Compressors that send some elements as pairs of index and value, by an Allgather.
namespace weft::compression {

/// Elements of the message that the ratio comes to, at least one.
[[nodiscard]] std::int64_t target_of(const Message& message, const CompressionConfig& config);

struct PairsPlan {
  Kernels choose;          ///< what decides which are sent, before they are packed
  bool estimates = false;  ///< how many are sent is known only then
  std::int64_t most = 0;   ///< that can be sent; 0: the target
};
/// Adds what was left behind, chooses, packs, and adds up the pairs of all ranks.
[[nodiscard]] Plan pairs_plan(const Message& message, const CompressionConfig& config, PairsPlan how);

/// Chooses which elements are sent.
class PairsCodec : public Codec {
 public:
  /// `most` of them; of one that does not estimate, as many.
  PairsCodec(std::int64_t most, bool estimates) : most_(static_cast<std::size_t>(most)), estimates_(estimates) {}

  /// Positions of at most `most` elements, ascending.
  [[nodiscard]] virtual std::vector<std::uint32_t> choose(std::span<const float> values, std::size_t most) = 0;

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t round, std::span<const std::byte> came) final;
  void add(std::span<const std::byte> message, std::span<float> values) const final;

 private:
  std::size_t most_;
  bool estimates_;
};

}  // namespace weft::compression
