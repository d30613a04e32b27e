// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sw/schedules/kfac/schedule.h"
#include "sw/schedules/kfac/step_builder.h"

namespace weft::schedules {

/// What schedules with Kronecker factors share (K-FAC: Martens and Grosse, ICML 2015, arXiv 1503.05671): factors are
/// means over all ranks' samples; each is inverted by its owner, who broadcasts the inverse; every rank preconditions
/// all gradients. Factors and inverses are renewed every so many steps.
class SecondOrderTrainer : public Trainer {
 public:
  using Trainer::Trainer;

  void step(StepBuilder& step, const KfacUpdates& updates) const override;
  [[nodiscard]] KfacUpdates updates(int number) const override;
  [[nodiscard]] std::int64_t period() const override;

 protected:
  /// Whether the step computes factors, and does so while the network computes.
  [[nodiscard]] bool pipelines(const KfacUpdates& updates) const { return updates.factors && config().pipelined(); }
  [[nodiscard]] bool computes_late(const KfacUpdates& updates) const {
    return updates.factors && !config().pipelined();
  }
  /// Forward and backward pass, with A before its layer and G behind it where the step pipelines.
  void passes(StepBuilder& step, const KfacUpdates& updates) const;
  /// All factors, behind the passes.
  void late_factors(StepBuilder& step) const;
  /// A factor, and what makes it ready to be sent.
  virtual void factor(StepBuilder& step, std::size_t layer, std::size_t which) const;
  /// Whether factors are sent.
  [[nodiscard]] virtual bool sends_factors() const { return true; }
  /// All inverses, and who is sent them.
  virtual void invert(StepBuilder& step) const { step.invert_and_share(); }
  /// Gives by what layers with factors are updated.
  virtual KfacGradient precondition(StepBuilder& step) const {
    step.precondition();
    return KfacGradient::kPreconditioned;
  }
};

}  // namespace weft::schedules
