// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sw/compression/sidco.h"
#include "sw/schedules/kfac.h"

namespace weft::schedules {

/// The contents of a training run with data on: does the arithmetic of every stage in the memory of its rank at the
/// time when its kernels have ended, so that sums, inverses and gradients travel through the simulated collectives.
///
///     KfacTraining training(kfac, machine.ranks());
///     training.draw(machine.config().seed);
///     kfac.set_arithmetic(training.arithmetic());
///
/// Networks of convolutions and linear layers, each rectified but the last; the loss is half the squared distance from
/// a target, the mean over a rank's batch. Every step sees the same batch. Momentum is a rank's own where its weights
/// are. Left out: norms, which are refused.
class KfacTraining {
 public:
  /// As the schedule's `training` says. Throws ConfigError for a network with a norm, or with a layer that does not
  /// take what the one before gives, for products in bf16, for rates and shares out of range, and if data is off.
  KfacTraining(const Kfac& kfac, std::vector<firmware::Rank*> ranks);

  using Floats = std::vector<float>;
  /// Weights by layer, the same on all ranks; inputs and targets by rank, a batch each.
  void load(const std::vector<Floats>& weights, const std::vector<Floats>& inputs, const std::vector<Floats>& targets);
  /// Something to learn: weights, each rank's inputs, and as targets what the same network gives with other weights.
  void draw(std::int64_t seed);
  [[nodiscard]] Kfac::Arithmetic arithmetic();

  /// After the run: throws std::domain_error that names the first factor which could not be inverted, whose inverse was
  /// 0 from then on, so that the layer stood still; or the first step before which the loss was not finite.
  void check() const;
  /// Elements by which a rank's weights are not those of the first, which all but DaSGD's must be.
  [[nodiscard]] std::int64_t different_weights() const;
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
  const KfacConfig& how_;
  std::vector<Floats> targets_;                                           ///< by rank
  std::vector<std::vector<compression::ThresholdEstimator>> estimators_;  ///< by rank and message of gradients
  std::string error_;                                                     ///< empty if there was none
  std::vector<double> divergences_;                                       ///< by rank, of this step so far
  std::vector<std::vector<double>> losses_;                               ///< by rank and step
};

}  // namespace weft::schedules
