// SPDX-License-Identifier: Apache-2.0
#include "sw/compression/pairs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "sw/compression/framework.h"
#include "sw/compression/selection.h"

namespace weft::compression {

std::int64_t target_of(const Message& message, const CompressionConfig& config) {
  return std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::ceil(config.ratio * static_cast<double>(message.elements))), 1,
      std::max<std::int64_t>(message.elements, 1));
}

namespace {

/// Values and indices are gathered and made one tensor; what comes is split, and scattered for each rank.
Plan framework_plan(const Message& message, const CompressionConfig& config, const PairsPlan& how) {
  const std::int64_t elements = message.elements;
  const std::int64_t target = target_of(message, config);
  const auto scatter = [elements, target](Kernels& kernels) {
    append(kernels, "decompress.split", 2 * target, {.unary = 1});
    for (const Kernel& kernel : scatter_kernels(elements, target)) kernels.push_back(kernel);
  };
  Plan::Round round;
  if (config.error_feedback) append_compensation(round.kernels, elements);
  round.kernels.insert(round.kernels.end(), how.choose.begin(), how.choose.end());
  round.kernels.push_back(pass("compress.gather", target, (kElement + kSector) * target, kElement * target, 0));
  append(round.kernels, "compress.concat", 2 * target, {.unary = 1});
  if (config.error_feedback) {
    scatter(round.kernels);
    append_residual(round.kernels, elements);
  }
  round.bytes = sizeof(Pair) * static_cast<std::uint64_t>(target);
  round.most = sizeof(Pair) * static_cast<std::uint64_t>(how.most > 0 ? how.most : target);
  return {.wire = Wire::kGathered,
          .rounds = {std::move(round)},
          .varies = how.estimates,
          .unit = sizeof(Pair),
          .after = [elements, scatter](int messages) {
            Kernels kernels;
            for (int i = 0; i < messages; ++i) scatter(kernels);
            append_aggregation(kernels, elements, messages);
            return kernels;
          }};
}

}  // namespace

Plan pairs_plan(const Message& message, const CompressionConfig& config, PairsPlan how) {
  const std::int64_t elements = message.elements;
  const std::int64_t target = target_of(message, config);
  if (config.by_framework()) return framework_plan(message, config, how);
  Plan::Round round;
  if (config.error_feedback) round.kernels.push_back(accumulate(elements));
  round.kernels.insert(round.kernels.end(), how.choose.begin(), how.choose.end());
  round.kernels.push_back(pack_pairs(elements, target, config.error_feedback));
  round.bytes = sizeof(Pair) * static_cast<std::uint64_t>(target);
  round.most = sizeof(Pair) * static_cast<std::uint64_t>(how.most > 0 ? how.most : target);
  return {.wire = Wire::kGathered,
          .rounds = {std::move(round)},
          .varies = how.estimates,
          .unit = sizeof(Pair),
          .after = [elements, target](int messages) { return scatter_kernels(elements, target * messages); }};
}

Codec::Sent PairsCodec::compress(std::span<const float> values, std::size_t /*round*/,
                                 std::span<const std::byte> /*came*/) {
  const std::vector<std::uint32_t> chosen = choose(values, most_);
  // Others read so much, be it chosen or not.
  if (chosen.size() > most_ || (!estimates_ && chosen.size() < std::min(most_, values.size()))) {
    throw std::logic_error("a compressor has chosen " + std::to_string(chosen.size()) + " of " +
                           std::to_string(values.size()) + " elements, of which " + std::to_string(most_) +
                           " are sent");
  }
  for (std::size_t i = 1; i < chosen.size(); ++i) {
    if (chosen[i] > chosen[i - 1]) continue;
    throw std::logic_error("a compressor has chosen position " + std::to_string(chosen[i]) + " behind " +
                           std::to_string(chosen[i - 1]) + ": expected ascending ones");
  }
  Sent sent(sizeof(Pair) * chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Pair pair{chosen[i], values[chosen[i]]};
    std::memcpy(sent.data() + sizeof(Pair) * i, &pair, sizeof pair);
  }
  return sent;
}

void PairsCodec::add(std::span<const std::byte> message, std::span<float> values) const {
  std::vector<Pair> pairs(message.size() / sizeof(Pair));
  if (!pairs.empty()) std::memcpy(pairs.data(), message.data(), pairs.size() * sizeof(Pair));
  compression::add(pairs, values);
}

}  // namespace weft::compression
