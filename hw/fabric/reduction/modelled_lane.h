// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "hw/fabric/reduction/lane_pins.h"
#include "hw/fabric/reduction/reduction_engine.h"
#include "traces/vcd/block_model.h"

namespace weft::fabric {

/// A lane that adds, cycle by cycle: the pins of hw/rtl/reduction_lane.sv, the times of the BlockModel that `weft vcd
/// calibrate` finds in a waveform, and the sums of weft::add. Its latency, bytes a cycle and `pipeline` are those of
/// the engine's configuration, in whole cycles of its clock and whole beats.
class ModelledLane final : public LanePins {
 public:
  /// A beat is as wide as the most bytes that an adder takes in a cycle.
  static LaneShape shape_of(const ReductionEngine::Config& config);

  ModelledLane(const ReductionEngine::Config& config, const LaneShape& shape);

  void drive(const LaneInputs& inputs) override;
  void sample(LaneOutputs& outputs) const override;
  void edge(LaneOutputs& outputs) override;
  /// Whether no beat is inside, so that `children` and `kind` may change.
  [[nodiscard]] bool empty() const { return inside_ == 0; }

 private:
  struct Beat {
    bool last = false;
    bool adds = false;
    std::uint32_t id = 0;
    std::vector<std::uint32_t> data;
  };

  [[nodiscard]] std::vector<vcd::BlockModel::Offer> offers() const;
  void step(vcd::BlockModel& block, LaneOutputs& outputs) const;
  void add_up(LaneOutputs& outputs) const;

  LaneShape shape_;
  vcd::BlockModel::Config config_;
  std::vector<std::uint64_t> intervals_;  ///< by ElementType
  LaneInputs in_;
  std::optional<vcd::BlockModel> block_;  ///< for the children that take part
  std::vector<std::size_t> active_;       ///< these
  std::vector<std::deque<Beat>> beats_;   ///< by child, inside
  std::size_t inside_ = 0;                ///< beats, of all children
};

}  // namespace weft::fabric
