// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <vector>

#include "hw/core/element.h"

/// The pins of a lane that adds beats up, whatever is behind them: hw/rtl/reduction_lane.sv, or a model of it.
namespace weft::fabric {

/// Parameters that a reduction lane was built with.
struct LaneShape {
  std::size_t children = 0;  ///< operands that it adds, at most 64
  std::size_t bytes = 0;     ///< of a beat, a multiple of 4
};

/// What is on the input pins of a lane. Of sets of children, child i is bit i.
struct LaneInputs {
  ElementType kind = ElementType::kFp32;
  std::uint64_t children = 0;  ///< which take part; this and `kind` change only when no beat is inside
  std::uint64_t valid = 0;
  std::uint64_t last = 0;
  std::uint64_t adds = 0;
  std::vector<std::uint32_t> data;  ///< words, one child after the other
  std::vector<std::uint32_t> id;    ///< by child
  bool out_ready = true;            ///< the output's beat is taken at the next edge
};

/// What is on its output pins.
struct LaneOutputs {
  std::uint64_t ready = 0;
  bool valid = false;
  bool last = false;
  bool adds = false;
  bool error = false;
  std::uint32_t id = 0;
  std::vector<std::uint32_t> data;  ///< words
};

class LanePins {
 public:
  LanePins(const LanePins&) = delete;
  LanePins& operator=(const LanePins&) = delete;
  virtual ~LanePins() = default;

  virtual void drive(const LaneInputs& inputs) = 0;
  /// Between two rising edges, when what the last one changed is there.
  virtual void sample(LaneOutputs& outputs) const = 0;
  /// At a rising edge: what the pins were before it. Afterwards a lane that has no process of its own has moved on.
  virtual void edge(LaneOutputs& outputs) { sample(outputs); }

 protected:
  LanePins() = default;
};

/// Builds the module and binds its clock and reset.
using PinsMaker =
    std::function<std::unique_ptr<LanePins>(sc_core::sc_signal<bool>& clk, sc_core::sc_signal<bool>& reset)>;

}  // namespace weft::fabric
