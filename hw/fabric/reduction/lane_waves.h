// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "hw/core/waves.h"
#include "hw/fabric/reduction/lane_pins.h"

namespace weft::fabric {

/// The pins of a lane in a waveform, under the names that they have in hw/rtl/reduction_lane.sv.
class LaneWaves {
 public:
  LaneWaves(Waves& waves, const std::string& scope, Frequency clock, const LaneShape& shape);

  /// Before an edge: what the pins are then. Data and ids of an output without a beat stay what they were.
  void show(Time now, bool reset, const LaneInputs& inputs, const LaneOutputs& outputs, bool data_known = true);
  void run(Time from, Time to) { waves_.run(clk_, from, to); }

 private:
  Waves& waves_;
  Waves::Clock clk_;
  Waves::Pin reset_, kind_, children_, in_valid_, in_ready_, in_data_, in_last_, in_adds_, in_id_;
  Waves::Pin out_valid_, out_ready_, out_data_, out_last_, out_adds_, out_id_, error_;
};

}  // namespace weft::fabric
