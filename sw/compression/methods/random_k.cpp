// SPDX-License-Identifier: Apache-2.0
// Coordinates at random, the same on all ranks, so that their values are summed as they are and no index travels (Stich
// et al., NeurIPS 2018; Wangni et al., NeurIPS 2018). Unscaled: with error feedback nothing else is wanted; without it
// a sum is `ratio` of the whole one on the mean.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "sw/compression/framework.h"
#include "sw/compression/pairs.h"
#include "sw/compression/random.h"

namespace weft::compression {
namespace {

/// Threads that draw one number each, by a counter, need no pass over memory but that for the indices.
constexpr double kDrawOperations = 20;

class RandomK final : public Codec {
 public:
  explicit RandomK(const Site& site)
      : random_(shared_random(site)), positions_(static_cast<std::size_t>(target_of(site.message, site.config))) {
    order_.resize(static_cast<std::size_t>(site.message.elements));
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
  }

  [[nodiscard]] Sent compress(std::span<const float> values, std::size_t /*round*/,
                              std::span<const std::byte> /*came*/) override {
    Sent sent(kElement * positions_.size());
    for (std::size_t i = 0; i < std::min(positions_.size(), values.size()); ++i) {
      std::swap(order_[i], order_[i + random_.next() % (order_.size() - i)]);
      positions_[i] = order_[i];
      std::memcpy(sent.data() + kElement * i, &values[positions_[i]], kElement);
    }
    return sent;
  }

  void add(std::span<const std::byte> message, std::span<float> values) const override {
    for (std::size_t i = 0; i < std::min(message.size() / kElement, values.size()); ++i) {
      float value = 0;
      std::memcpy(&value, message.data() + kElement * i, kElement);
      values[positions_[i]] += value;
    }
  }

 private:
  Random random_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> positions_;  ///< of the latest message
};

Plan random_k_plan(const Message& message, const CompressionConfig& config) {
  const std::int64_t elements = message.elements;
  const std::int64_t target = target_of(message, config);
  Plan::Round round;
  if (config.error_feedback) round.kernels.push_back(accumulate(elements));
  if (config.error_feedback && config.by_framework()) {
    // Decompressed, and taken off by operations of their own.
    append(round.kernels, "compress.restore", elements, {.unary = 1});
    append_residual(round.kernels, elements);
  }
  round.kernels.push_back(pass("compress.draw", target, 0, kElement * target, kDrawOperations));
  // Values lie apart: a sector of memory for each, and what stays has a hole in its place.
  round.kernels.push_back(pass("compress.gather", target, kElement * target + kSector * target,
                               kElement * target + (config.error_feedback ? kSector * target : 0), 0));
  round.bytes = static_cast<std::uint64_t>(kElement * target);
  return {.wire = Wire::kSummed, .rounds = {std::move(round)}, .after = [elements, target](int /*messages*/) {
            return Kernels{pass("decompress.clear", elements, 0, kElement * elements, 0),
                           pass("decompress.scatter", target, 2 * kElement * target, kSector * target, 0)};
          }};
}

}  // namespace

Compressor random_k_compressor() {
  return {.name = "random-k",
          .doc = "coordinates at random, the same on all ranks, whose values are summed",
          .plan = random_k_plan,
          .make = [](const Site& site) { return std::make_unique<RandomK>(site); }};
}

}  // namespace weft::compression
