// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/fabric/switch/arbiter_pins.h"

namespace weft::fabric {

/// The rule of hw/rtl/voq_arbiter.sv, cycle by cycle: a lane in turn, then an input of that lane in turn. The input is
/// chosen before its credit is looked at; a lane whose next input has none is passed over, and keeps its turn.
class ClockedArbiter final : public ArbiterPins {
 public:
  explicit ClockedArbiter(const ArbiterShape& shape) : shape_(shape), next_input_(shape.lanes) {}

  void drive(const ArbiterInputs& inputs) override { in_ = inputs; }
  void sample(ArbiterOutputs& outputs) const override;
  void edge(ArbiterOutputs& outputs) override;

 private:
  ArbiterShape shape_;
  ArbiterInputs in_;
  std::uint32_t next_lane_ = 0;
  std::vector<std::uint32_t> next_input_;  ///< by lane
};

}  // namespace weft::fabric
