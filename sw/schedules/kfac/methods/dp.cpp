// SPDX-License-Identifier: Apache-2.0
// DP-KFAC: a layer's owner makes both factors of its own samples alone, inverts them, and broadcasts the gradient that
// it preconditioned. Neither factors nor inverses are sent, and only the owner keeps them (Zhang et al., "Scalable
// K-FAC Training for Deep Neural Networks With Distributed Preconditioning", IEEE Transactions on Cloud Computing 2022;
// as in kfac_preconditioner_inv_dp.py of github.com/lzhangbv/kfac_pytorch).
#include "sw/schedules/kfac/methods/second_order.h"

namespace weft::schedules {
namespace {

class Dp final : public SecondOrderTrainer {
 public:
  using SecondOrderTrainer::SecondOrderTrainer;

  [[nodiscard]] kfac::Placement place(std::span<const std::int64_t> sides, int ranks) const override {
    return kfac::place_dp(sides.size() / 2, ranks);
  }

 protected:
  void factor(StepBuilder& step, std::size_t layer, std::size_t which) const override {
    if (step.has_factors(layer)) step.factor(layer, which, Doers::of(step.owner(layer)));
  }
  [[nodiscard]] bool sends_factors() const override { return false; }
  void invert(StepBuilder& step) const override { step.invert(); }
  KfacGradient precondition(StepBuilder& step) const override {
    step.precondition_and_share();
    return KfacGradient::kOwners;
  }
};

}  // namespace

Schedule dp_schedule() {
  return {.name = "dp",
          .doc = "factors of the owner's samples only",
          .second_order = SecondOrder{.damping = DampingForm::kFactored, .local = true},
          .may_be_sparse = true,
          .make = [](const KfacConfig& config) { return std::make_unique<Dp>(config); }};
}

}  // namespace weft::schedules
