// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/methods/second_order.h"

#include <numeric>

namespace weft::schedules {

KfacUpdates SecondOrderTrainer::updates(int number) const {
  KfacUpdates updates;
  updates.factors = number % config().factor_interval == 0;
  updates.inverses = number % config().inverse_interval == 0;
  return updates;
}

std::int64_t SecondOrderTrainer::period() const {
  return std::lcm(std::int64_t{config().factor_interval}, std::int64_t{config().inverse_interval});
}

void SecondOrderTrainer::step(StepBuilder& step, const KfacUpdates& updates) const {
  passes(step, updates);
  step.send_gradients();
  if (pipelines(updates) && sends_factors()) step.send_factors();
  step.await_gradients();
  if (computes_late(updates)) {
    late_factors(step);
    if (sends_factors()) step.send_factors();
  }
  if (updates.factors && sends_factors()) step.receive_factors();
  if (updates.inverses) invert(step);
  const KfacGradient gradient = precondition(step);
  step.clip();
  for (std::size_t l = 0; l < step.layers(); ++l) {
    step.update(l, step.has_factors(l) ? gradient : KfacGradient::kMean);
  }
}

void SecondOrderTrainer::passes(StepBuilder& step, const KfacUpdates& updates) const {
  const bool with_factors = pipelines(updates);
  for (std::size_t l = 0; l < step.layers(); ++l) {
    if (with_factors) factor(step, l, 0);
    step.forward(l);
  }
  step.average_metrics(with_factors && sends_factors());
  for (std::size_t l = step.layers(); l-- > 0;) {
    step.backward(l);
    if (with_factors) factor(step, l, 1);
  }
}

void SecondOrderTrainer::late_factors(StepBuilder& step) const {
  for (std::size_t l = 0; l < step.layers(); ++l) {
    if (step.has_factors(l)) step.restore(l);
    factor(step, l, 0);
    factor(step, l, 1);
  }
}

void SecondOrderTrainer::factor(StepBuilder& step, std::size_t layer, std::size_t which) const {
  step.factor(layer, which);
  step.pack_factor(layer, which);
}

}  // namespace weft::schedules
