// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sw/models/network.h"
#include "sw/schedules/recommender/recommender_config.h"

/// What a recommender computes, in float32. Plain arithmetic: one rank's share between two exchanges.
namespace weft::schedules {

using Numbers = std::vector<float>;

/// Sizes that follow from a configuration and the number of ranks. Throws ConfigError.
struct DlrmShape {
  DlrmShape(const RecommenderConfig& config, int ranks);

  RecommenderConfig config;
  std::int64_t ranks;
  std::int64_t own_tables;      ///< of a rank
  std::int64_t vector_numbers;  ///< of a sample, of all tables of a rank
  std::int64_t kept;            ///< of those, what travels
  std::int64_t vectors;         ///< that interact: one of each table, and the bottom perceptron's
  std::int64_t interactions;    ///< pairs of them
  std::vector<models::Layer> bottom;
  std::vector<models::Layer> top;
  std::int64_t parameters;  ///< of the perceptrons

  [[nodiscard]] bool whole() const { return config.exchanged >= 1; }
  /// Of a sample, between a rank with tables and the rank that has the sample.
  [[nodiscard]] std::uint64_t sample_bytes() const;
  /// Of an AllToAll, of all parts of a rank.
  [[nodiscard]] std::uint64_t exchange_bytes() const {
    return sample_bytes() * static_cast<std::uint64_t>(config.batch * ranks);
  }
  [[nodiscard]] std::int64_t table_numbers() const { return own_tables * config.rows * config.width; }
};

/// What is drawn from a seed: the same for all who ask.
class DlrmData {
 public:
  DlrmData(const DlrmShape& shape, std::int64_t seed) : shape_(shape), seed_(seed) {}

  [[nodiscard]] Numbers weights() const;
  [[nodiscard]] Numbers tables(std::int64_t rank) const;
  [[nodiscard]] Numbers dense(std::int64_t rank) const;
  [[nodiscard]] Numbers targets(std::int64_t rank) const;
  /// Of a sample of all ranks' batches.
  [[nodiscard]] std::int64_t row(std::int64_t table, std::int64_t sample, std::int64_t lookup) const;

 private:
  const DlrmShape& shape_;
  std::int64_t seed_;
};

/// Vectors of all samples of all ranks, sample by sample, of this rank's tables.
[[nodiscard]] Numbers look_up(const DlrmShape& shape, const DlrmData& data, std::int64_t rank,
                              std::span<const float> tables);
/// Takes what gradients of these vectors say off the rows.
void update_tables(const DlrmShape& shape, const DlrmData& data, std::int64_t rank, std::span<const float> gradients,
                   std::span<float> tables);

/// What travels of samples' vectors, and what it stands for.
[[nodiscard]] std::vector<std::byte> exchanged(const DlrmShape& shape, std::span<const float> vectors);
[[nodiscard]] Numbers restored(const DlrmShape& shape, std::span<const std::byte> message);

struct DlrmPass {
  Numbers weight_gradients;
  Numbers vector_gradients;  ///< by rank with tables, then as vectors are
  double loss = 0;           ///< a rank's part of it: half the squared distance, over all samples
};
/// Forward and backward through the perceptrons and interactions, of this rank's samples.
[[nodiscard]] DlrmPass pass_through(const DlrmShape& shape, std::span<const float> weights,
                                    std::span<const float> dense, std::span<const float> vectors,
                                    std::span<const float> targets);

}  // namespace weft::schedules
