// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with momentum and decay (torch.optim.SGD), element by element.
#include "sw/optimizers/elementwise.h"

namespace weft::optimizers {
namespace {

using models::Elementwise;
using models::Fusion;

class Sgd final : public Optimizer {
 public:
  [[nodiscard]] std::vector<Task> update(const Problem& problem, std::int64_t /*step*/) const override {
    Piece piece{"sgd", {}, {}};
    add_clipping(piece.kernels, problem.share());
    const std::int64_t bytes = problem.share() * kFp32;
    // Fused: gradient, momentum and parameter in, the last two out. By operator: the decay, the momentum's decay and
    // sum, and the step.
    piece.kernels.push_back({"sgd", problem.fusion == Fusion::kFused
                                        ? Elementwise{3 * bytes, 2 * bytes, 1}
                                        : Elementwise{(2 + 1 + 2 + 2) * bytes, 4 * bytes, 4}});
    return {Task{{std::move(piece)}}};
  }
  [[nodiscard]] Kept kept(const Problem& problem) const override {
    return {problem.share(), {{"momentum in 32 bits", streamed_bytes() * problem.share()}}};
  }
  [[nodiscard]] std::int64_t streamed_bytes() const override { return kFp32; }
};

}  // namespace

Method sgd_method() {
  return {.name = "sgd", .doc = "stochastic gradient descent with momentum", .make = [](const AnyConfig& /*config*/) {
            return std::make_unique<Sgd>();
          }};
}

}  // namespace weft::optimizers
