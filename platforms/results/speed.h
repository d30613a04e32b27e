// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "platforms/machine/machine.h"
#include "platforms/results/format.h"

namespace weft::platforms {

/// What the user of a training step came for.
struct Speed {
  double step_s = 0;
  double tokens_per_s = 0;  ///< of one accelerator
  double tflops = 0;
  double mfu = 0;
};

/// Of an accelerator that works off so many tokens in a step; operations by the convention of published figures.
inline Speed speed_of(Time step, double tokens, double flops_per_token, const MachineConfig& machine) {
  Speed speed;
  speed.step_s = to_seconds(step);
  if (speed.step_s <= 0) return speed;
  speed.tokens_per_s = tokens / speed.step_s;
  const double flops = speed.tokens_per_s * flops_per_token;
  speed.tflops = flops * 1e-12;
  speed.mfu = flops / static_cast<double>(machine.accelerator.array.compute.tensor_16bit.count());
  return speed;
}

/// As summary.json has it.
inline nlohmann::ordered_json to_json(const Speed& speed) {
  return {{"tokens_per_s_per_gpu", speed.tokens_per_s},
          {"tflops_per_gpu", speed.tflops},
          {"mfu", speed.mfu},
          {"mfu_percent", speed.mfu * 100}};
}

}  // namespace weft::platforms
