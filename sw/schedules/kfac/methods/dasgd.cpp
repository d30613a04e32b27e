// SPDX-License-Identifier: Apache-2.0
// DaSGD, local SGD with delayed averaging: each rank trains by its own gradients. Every `averaging_interval` steps the
// mean of all ranks' weights is begun in the background; `delay` steps later it takes the place of what the weights
// were, with what the rank has learnt since (Zhou et al., arXiv 2006.00441). Averagings that are under way at the end
// are not merged.
#include "sw/schedules/kfac/schedule.h"
#include "sw/schedules/kfac/step_builder.h"

namespace weft::schedules {
namespace {

class Dasgd final : public Trainer {
 public:
  using Trainer::Trainer;

  void check() const override {
    if (fewest_steps() <= KfacConfig::kMostSteps) return;
    throw ConfigError("workload.averaging_interval",
                      "expected at most " + std::to_string(KfacConfig::kMostSteps - config().delay) +
                          " with a delay of " + std::to_string(config().delay) + ", since no run has more than " +
                          std::to_string(KfacConfig::kMostSteps) + " steps, got " +
                          std::to_string(config().averaging_interval));
  }
  [[nodiscard]] int lag() const override { return config().delay; }
  [[nodiscard]] std::int64_t period() const override { return config().averaging_interval; }
  [[nodiscard]] int fewest_steps() const override { return config().delay + config().averaging_interval; }
  [[nodiscard]] int averagings() const override { return config().delay / config().averaging_interval + 1; }
  [[nodiscard]] KfacUpdates updates(int number) const override {
    return {.starts = slot(number), .joins = slot(number - config().delay)};
  }

  void step(StepBuilder& step, const KfacUpdates& updates) const override {
    for (std::size_t l = 0; l < step.layers(); ++l) step.forward(l);
    step.average_metrics();
    for (std::size_t l = step.layers(); l-- > 0;) step.backward(l);
    for (std::size_t l = 0; l < step.layers(); ++l) step.update(l, KfacGradient::kOwn);
    if (updates.starts >= 0) step.start_average(updates.starts);
    if (updates.joins >= 0) step.join_average(updates.joins);
  }

 private:
  /// That of the averaging which the step begins; -1: it begins none.
  [[nodiscard]] int slot(int step) const {
    const int interval = config().averaging_interval;
    return step >= 0 && (step + 1) % interval == 0 ? step / interval % averagings() : -1;
  }
};

}  // namespace

Schedule dasgd_schedule() {
  return {.name = "dasgd",
          .doc = "weights averaged in the background",
          .own_weights = true,
          .averages = true,
          .ignores = {"wait_free"},
          .make = [](const KfacConfig& config) { return std::make_unique<Dasgd>(config); }};
}

}  // namespace weft::schedules
