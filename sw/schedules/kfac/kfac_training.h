// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sw/collectives/compressed/message.h"
#include "sw/kfac/arithmetic.h"
#include "sw/schedules/kfac/contents.h"
#include "sw/schedules/kfac/kfac.h"

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

  /// Weights by layer, the same on all ranks; inputs and targets by rank, a batch each.
  void load(const std::vector<Floats>& weights, const std::vector<Floats>& inputs, const std::vector<Floats>& targets);
  /// Something to learn: weights, each rank's inputs, and as targets what the same network gives with other weights.
  void draw(std::int64_t seed);
  /// Ends the run by std::domain_error where a factor cannot be inverted, which it names, or where the loss explodes:
  /// it is no number, or above `most_growth` times that before the first step.
  [[nodiscard]] Kfac::Arithmetic arithmetic();

  /// Elements by which a rank's weights are not those of the first, which they must be unless ranks have their own
  /// (Schedule::own_weights).
  [[nodiscard]] std::int64_t different_weights() const;
  /// Of a rank.
  [[nodiscard]] Floats weights(int rank, std::size_t layer) const;
  /// Mean over ranks, of each step, before its update.
  [[nodiscard]] std::vector<double> losses() const;

 private:
  void run(firmware::Rank& rank, int member, const KfacStage& stage);
  void backward(firmware::Rank& rank, int member, std::size_t layer);
  void factor(firmware::Rank& rank, std::size_t factor);
  void invert(firmware::Rank& rank, int member, std::size_t factor);
  /// What is added to its diagonal.
  double damping_of(const firmware::Rank& rank, int member, std::size_t factor);
  /// Of the loss before a step, when all ranks have it.
  void expect_no_explosion(std::size_t step) const;
  /// A matrix of this side into what is sent of it, and back, each element times `scale`.
  void pack(firmware::Rank& rank, std::int64_t side, std::uint64_t square, std::uint64_t sent,
            ElementType type = ElementType::kFp32);
  void unpack(firmware::Rank& rank, std::int64_t side, std::uint64_t sent, std::uint64_t square, float scale,
              ElementType type = ElementType::kFp32);
  [[nodiscard]] bool eigen() const { return how_.inverse == kfac::Inversion::kEigen; }
  /// Of what ranks have summed, for a stage of its layer.
  [[nodiscard]] Floats mean_gradient(const firmware::Rank& rank, int member, const KfacStage& stage) const;
  void compress_by(std::int64_t seed);
  void snapshot(firmware::Rank& rank, std::size_t layer, const KfacLayout::Average& average);
  void merge(firmware::Rank& rank, int member, const KfacStage& stage);
  [[nodiscard]] std::uint64_t parameters(std::size_t layer) const;

  const KfacPlan& plan_;
  const KfacLayout& layout_;
  const KfacDecisions& decisions_;
  std::vector<firmware::Rank*> ranks_;
  const KfacConfig& how_;
  std::vector<Floats> targets_;                                      ///< by rank
  std::optional<collectives::CompressedArithmetic> compression_;     ///< of gradients
  std::vector<std::vector<std::optional<kfac::Damping>>> dampings_;  ///< by rank and layer, between A and G
  std::vector<double> divergences_;                                  ///< by rank, of this step so far
  std::vector<std::vector<double>> losses_;                          ///< by rank and step
};

}  // namespace weft::schedules
