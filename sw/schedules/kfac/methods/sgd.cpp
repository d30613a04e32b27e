// SPDX-License-Identifier: Apache-2.0
// S-SGD with wait-free backpropagation: gradients are summed over ranks while the backward pass goes on (Zhang et al.,
// Poseidon, USENIX ATC 2017, section 3.1), several in a message (Sergeev and Del Balso, Horovod, arXiv 1802.05799,
// Tensor Fusion). With `workload.compression` each rank sends the largest alone, and keeps the rest for the next step.
#include "sw/schedules/kfac/schedule.h"
#include "sw/schedules/kfac/step_builder.h"

namespace weft::schedules {
namespace {

class Sgd final : public Trainer {
 public:
  using Trainer::Trainer;

  void step(StepBuilder& step, const KfacUpdates& /*updates*/) const override {
    for (std::size_t l = 0; l < step.layers(); ++l) step.forward(l);
    step.average_metrics();
    for (std::size_t l = step.layers(); l-- > 0;) step.backward(l);
    step.send_gradients();
    step.await_gradients();
    for (std::size_t l = 0; l < step.layers(); ++l) step.update(l, KfacGradient::kMean);
  }
};

}  // namespace

Schedule sgd_schedule() {
  return {.name = "sgd", .doc = "no factors", .may_be_sparse = true, .make = [](const KfacConfig& config) {
            return std::make_unique<Sgd>(config);
          }};
}

}  // namespace weft::schedules
