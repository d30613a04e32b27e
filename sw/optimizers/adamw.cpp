// SPDX-License-Identifier: Apache-2.0
// AdamW (Loshchilov and Hutter, ICLR 2019): element by element, on whatever part of the parameters a rank has.
#include "sw/optimizers/elementwise.h"

namespace weft::optimizers {
namespace {

class AdamW final : public Optimizer {
 public:
  [[nodiscard]] std::vector<Task> update(const Problem& problem, std::int64_t /*step*/) const override {
    Piece piece{"adam", {}, {}};
    add_clipping(piece.kernels, problem.share());
    add_adam(piece.kernels, problem.share(), problem.fusion);
    return {Task{{std::move(piece)}}};
  }
  [[nodiscard]] Kept kept(const Problem& problem) const override {
    return {problem.share(), {{"two moments in 32 bits", streamed_bytes() * problem.share()}}};
  }
  [[nodiscard]] std::int64_t streamed_bytes() const override { return 2 * kFp32; }
};

}  // namespace

Method adamw_method() {
  return {.name = "adamw",
          .doc = "AdamW, element by element on what a rank has of the parameters",
          .make = [](const AnyConfig& /*config*/) { return std::make_unique<AdamW>(); }};
}

}  // namespace weft::optimizers
