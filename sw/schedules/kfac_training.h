// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sw/compression/sidco.h"
#include "sw/schedules/kfac.h"

namespace weft::schedules {

/// How a network is trained; damping and decay as SPD-KFAC's experiments have them.
struct KfacTrainingConfig {
  float rate = 0.1F;
  float momentum = 0.9F;
  float damping = 0.003F;
  float decay = 0.95F;  ///< share of the old in a running average, which begins as the identity
};

/// The contents of a training run with data on: does the arithmetic of every stage in the memory of its rank at the
/// time when its kernels have ended, so that sums, inverses and gradients travel through the simulated collectives.
///
///     KfacTraining training(kfac, machine.ranks(), {.rate = 0.05F});
///     training.load(weights, inputs_of_rank, targets_of_rank);
///     kfac.set_arithmetic(training.arithmetic());
///
/// Networks of convolutions and linear layers, each rectified but the last; the loss is half the squared distance from
/// a target, the mean over a rank's batch. Every step sees the same batch. Momentum is a rank's own where its weights
/// are. Left out: norms, which are refused.
class KfacTraining {
 public:
  /// Throws ConfigError for a network with a norm, or with a layer that does not take what the one before gives, and
  /// std::invalid_argument if data is off.
  KfacTraining(const Kfac& kfac, std::vector<firmware::Rank*> ranks, const KfacTrainingConfig& config);

  using Floats = std::vector<float>;
  /// Weights by layer, the same on all ranks; inputs and targets by rank, a batch each.
  void load(const std::vector<Floats>& weights, const std::vector<Floats>& inputs, const std::vector<Floats>& targets);
  [[nodiscard]] Kfac::Arithmetic arithmetic();

  /// After the run: throws std::domain_error that names the first factor which could not be inverted. Its inverse was 0
  /// from then on, so that the layer stood still.
  void check() const;
  /// Of a rank.
  [[nodiscard]] Floats weights(int rank, std::size_t layer) const;
  /// Mean over ranks, of each step, before its update.
  [[nodiscard]] std::vector<double> losses() const;

 private:
  void run(firmware::Rank& rank, int member, const KfacStage& stage);
  void backward(firmware::Rank& rank, int member, std::size_t layer);
  void factor(firmware::Rank& rank, std::size_t factor);
  void invert(firmware::Rank& rank, std::size_t factor);
  /// Of what ranks have summed.
  [[nodiscard]] Floats mean_gradient(const firmware::Rank& rank, std::size_t layer) const;
  void compress(firmware::Rank& rank, int member, std::size_t message);
  void decompress(firmware::Rank& rank, std::size_t message);
  void snapshot(firmware::Rank& rank, std::size_t layer, const KfacLayout::Average& average);
  void merge(firmware::Rank& rank, std::size_t layer, const KfacLayout::Average& average);
  [[nodiscard]] std::uint64_t parameters(std::size_t layer) const;

  const KfacPlan& plan_;
  const KfacLayout& layout_;
  std::vector<firmware::Rank*> ranks_;
  KfacTrainingConfig config_;
  const KfacConfig& how_;
  std::vector<Floats> targets_;                                           ///< by rank
  std::vector<std::vector<compression::ThresholdEstimator>> estimators_;  ///< by rank and message of gradients
  std::string error_;                                                     ///< empty if there was none
  std::vector<double> divergences_;                                       ///< by rank, of this step so far
  std::vector<std::vector<double>> losses_;                               ///< by rank and step
};

}  // namespace weft::schedules
