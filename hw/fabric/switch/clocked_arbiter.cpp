// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/switch/clocked_arbiter.h"

namespace weft::fabric {

void ClockedArbiter::sample(ArbiterOutputs& outputs) const {
  outputs.valid = false;
  if (in_.waiting.empty()) return;
  const auto lanes = static_cast<std::uint32_t>(shape_.lanes);
  const auto inputs = static_cast<std::uint32_t>(shape_.inputs);
  for (std::uint32_t l = 0; l < lanes; ++l) {
    const std::uint32_t lane = (next_lane_ + l) % lanes;
    for (std::uint32_t i = 0; i < inputs; ++i) {
      const std::uint32_t input = (next_input_[lane] + i) % inputs;
      const std::size_t queue = lane * shape_.inputs + input;
      if (!has(in_.waiting, queue)) continue;
      if (!has(in_.credit, queue)) break;
      outputs = {true, lane, input};
      return;
    }
  }
}

void ClockedArbiter::edge(ArbiterOutputs& outputs) {
  sample(outputs);
  if (!outputs.valid || !in_.take) return;
  next_lane_ = (outputs.lane + 1) % static_cast<std::uint32_t>(shape_.lanes);
  next_input_[outputs.lane] = (outputs.input + 1) % static_cast<std::uint32_t>(shape_.inputs);
}

}  // namespace weft::fabric
