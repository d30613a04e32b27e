// SPDX-License-Identifier: Apache-2.0
#include "sw/optimizers/elementwise.h"

#include <algorithm>

namespace weft::optimizers {

using models::Elementwise;
using models::Fusion;
using models::Kernel;

void add_clipping(std::vector<Kernel>& kernels, std::int64_t elements) {
  const std::int64_t bytes = elements * kFp32;
  kernels.push_back({"grad_norm", Elementwise{bytes, 0, 1}});
  kernels.push_back({"grad_clip", Elementwise{bytes, bytes, 1}});
}

void add_adam(std::vector<Kernel>& kernels, std::int64_t elements, Fusion fusion) {
  if (elements == 0) return;
  const std::int64_t bytes = elements * kFp32;
  // Fused: parameter, gradient and both moments in; all but the gradient out. Eager: decay of the parameter, the first
  // moment's mean, the second's decay and sum, its root, two corrections of that, and the step.
  const Elementwise adam = fusion == Fusion::kFused
                               ? Elementwise{4 * bytes, 3 * bytes, 1}
                               : Elementwise{(1 + 2 + 1 + 2 + 1 + 1 + 1 + 3) * bytes, 8 * bytes, 8};
  kernels.push_back({"adam", adam});
}

std::int64_t other_share(const Holding& holding) {
  std::int64_t others = 0;
  for (const Tensors& each : holding.tensors) {
    if (!each.is_hidden) others += each.count * each.elements();
  }
  return holding.sharing == Sharing::kWhole ? others : share_of(others, holding.ranks);
}

}  // namespace weft::optimizers
