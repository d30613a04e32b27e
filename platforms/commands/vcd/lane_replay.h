// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <systemc>
#include <vector>

#include "hw/core/dispatcher.h"
#include "hw/fabric/reduction/lane_waves.h"
#include "hw/fabric/reduction/modelled_lane.h"
#include "platforms/commands/vcd/lane_lines.h"
#include "traces/vcd/block_trace.h"

namespace weft::platforms {

/// The model of a lane, at whose pins a waveform comes again, cycle for cycle. An input offers a beat in the cycle in
/// which that of the waveform did, or right after the one before where the waveform's beat had to wait for that. The
/// output is taken when the waveform's was, or always where that is not known. Beats of other inputs or of another type
/// wait until the lane is empty.
class LaneReplay final : public sc_core::sc_module, public EventTarget {
 public:
  struct Counters {
    std::int64_t sums = 0;
    std::int64_t cycles = 0;
    std::int64_t blocked = 0;  ///< of these, with a beat at the output that was not taken
  };

  /// `trace` and `lines` outlive it. Cycle n of the waveform is the one before edge n + 1 of the clock.
  LaneReplay(sc_core::sc_module_name name, const fabric::ReductionEngine::Config& config, const vcd::BlockTrace& trace,
             const std::vector<LaneLine>& lines, Dispatcher& dispatcher);

  /// The lane's pins, under its own name. Before the run.
  void record(Waves& waves);
  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// The last edge.
  [[nodiscard]] Time end() const { return cycle_time(counters_.cycles, clock_); }

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;

 private:
  void start_of_simulation() override;
  void offer(std::size_t input);
  void edge();
  [[nodiscard]] bool in_group(const LaneLine& line) const {
    return line.children == inputs_.children && line.kind == inputs_.kind;
  }
  /// Of an input: the next line in which it takes part.
  [[nodiscard]] std::size_t next_line(std::size_t input, std::size_t from) const;

  const vcd::BlockTrace& trace_;
  const std::vector<LaneLine>& lines_;
  Dispatcher& dispatcher_;
  Frequency clock_;
  fabric::LaneShape shape_;
  fabric::ModelledLane lane_;
  std::optional<fabric::LaneWaves> waves_;
  bool data_known_ = true;
  fabric::LaneInputs inputs_;
  fabric::LaneOutputs outputs_;
  std::size_t given_ = 0;                     ///< lines that have left
  std::vector<std::size_t> next_;             ///< by input, the line that it offers or will offer
  std::vector<const vcd::Beat*> last_beats_;  ///< by input, that it has handed over
  Counters counters_;
};

}  // namespace weft::platforms
