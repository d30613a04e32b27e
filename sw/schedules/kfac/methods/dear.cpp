// SPDX-License-Identifier: Apache-2.0
// DeAR: an AllReduce is decoupled into a ReduceScatter, which runs beside the backward pass, and an Allgather, which
// runs beside the forward pass of the next step; each layer is updated when its gradients are there, before it is
// computed (Zhang et al., ICDCS 2023, arXiv 2302.12445).
#include "sw/schedules/kfac/schedule.h"
#include "sw/schedules/kfac/step_builder.h"

namespace weft::schedules {
namespace {

class Dear final : public Trainer {
 public:
  using Trainer::Trainer;

  [[nodiscard]] int lag() const override { return 1; }
  /// But for the first step there are gradients of the one before.
  [[nodiscard]] KfacUpdates updates(int number) const override { return {.joins = number > 0 ? 0 : -1}; }

  void step(StepBuilder& step, const KfacUpdates& updates) const override {
    for (std::size_t l = 0; l < step.layers(); ++l) {
      if (updates.joins >= 0) learn(step, l);
      step.forward(l);
    }
    step.average_metrics();
    for (std::size_t l = step.layers(); l-- > 0;) step.backward(l);
    step.reduce_scatter_gradients();
    step.gather_gradients();
  }
  void rest(StepBuilder& step) const override {
    for (std::size_t l = 0; l < step.layers(); ++l) learn(step, l);
  }

 private:
  static void learn(StepBuilder& step, std::size_t layer) {
    step.await_gathered(layer);
    step.update(layer, KfacGradient::kMean);
  }
};

}  // namespace

Schedule dear_schedule() {
  return {.name = "dear",
          .doc = "gradients gathered in the next step's forward pass",
          .row = "reduce-scatter, allgather",
          .make = [](const KfacConfig& config) { return std::make_unique<Dear>(config); }};
}

}  // namespace weft::schedules
