// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/vcd/lane_replay.h"

#include <algorithm>

namespace weft::platforms {

LaneReplay::LaneReplay(sc_core::sc_module_name name, const fabric::ReductionEngine::Config& config,
                       const vcd::BlockTrace& trace, const std::vector<LaneLine>& lines, Dispatcher& dispatcher)
    : sc_module(name),
      trace_(trace),
      lines_(lines),
      dispatcher_(dispatcher),
      clock_(config.clock),
      shape_{trace.inputs.size(), trace.data_bits / 8},
      lane_(config, shape_),
      next_(trace.inputs.size()),
      last_beats_(trace.inputs.size()) {
  dispatcher.attach(*this, this->name());
  inputs_.data.resize(shape_.children * shape_.bytes / 4);
  inputs_.id.resize(shape_.children);
  outputs_.data.resize(shape_.bytes / 4);
  for (std::size_t input = 0; input < next_.size(); ++input) next_[input] = next_line(input, 0);
  for (const LaneLine& line : lines) {
    for (std::size_t input = 0; input < shape_.children; ++input) {
      if ((line.adds >> input & 1) != 0) data_known_ = data_known_ && words_of(line.beats[input]->data).has_value();
    }
  }
}

void LaneReplay::record(Waves& waves) {
  if (waves.wants(name())) waves_.emplace(waves, name(), clock_, shape_);
}

std::size_t LaneReplay::next_line(std::size_t input, std::size_t from) const {
  while (from < lines_.size() && (lines_[from].children >> input & 1) == 0) ++from;
  return from;
}

void LaneReplay::start_of_simulation() {
  dispatcher_.post(cycle_time(1, clock_) / 2, *this, 0);
}

/// In the middle between two edges, the pins are set for the second one; then it comes.
void LaneReplay::on_event(Time now, std::uint32_t /*tag*/, std::uint64_t /*data*/) {
  const bool more = given_ < lines_.size();
  if (lane_.empty() && more && !in_group(lines_[given_])) {
    inputs_.children = lines_[given_].children;
    inputs_.kind = lines_[given_].kind;
  }
  for (std::size_t input = 0; input < shape_.children; ++input) {
    if ((inputs_.valid >> input & 1) == 0) offer(input);
  }
  const auto cycle = static_cast<std::uint64_t>(counters_.cycles);
  inputs_.out_ready = cycle >= trace_.ready.size() || trace_.ready[cycle];
  lane_.drive(inputs_);
  if (waves_) {
    lane_.sample(outputs_);
    waves_->show(now, false, inputs_, outputs_, data_known_);
  }
  edge();
  ++counters_.cycles;
  // One more after the last sum, which takes it off the pins.
  if (more) dispatcher_.post(now + cycle_time(1, clock_), *this, 0);
}

void LaneReplay::offer(std::size_t input) {
  const std::size_t next = next_[input];
  if (next == lines_.size() || !in_group(lines_[next])) return;
  // Not before those of another group, which wait for the lane to be empty.
  for (std::size_t line = given_; line < next; ++line) {
    if (!in_group(lines_[line])) return;
  }
  const LaneLine& line = lines_[next];
  const vcd::Beat* const beat = line.beats[input];
  const vcd::Beat* const before = last_beats_[input];
  const bool at_once = beat == nullptr || (before != nullptr && beat->offered <= before->taken + 1);
  if (!at_once && static_cast<std::uint64_t>(counters_.cycles) < beat->offered) return;
  const std::uint64_t bit = 1ULL << input;
  inputs_.valid |= bit;
  inputs_.last = line.last ? inputs_.last | bit : inputs_.last & ~bit;
  const bool adds = (line.adds & bit) != 0;
  inputs_.adds = adds ? inputs_.adds | bit : inputs_.adds & ~bit;
  inputs_.id[input] = line.id;
  const auto words = static_cast<std::ptrdiff_t>(shape_.bytes / 4);
  const auto pins = inputs_.data.begin() + static_cast<std::ptrdiff_t>(input) * words;
  std::fill(pins, pins + words, 0);
  if (!adds || !data_known_) return;
  const auto data = words_of(beat->data);
  std::copy(data->begin(), data->end(), pins);
}

void LaneReplay::edge() {
  lane_.edge(outputs_);
  for (std::size_t input = 0; input < shape_.children; ++input) {
    if ((outputs_.ready >> input & 1) == 0) continue;
    inputs_.valid &= ~(1ULL << input);
    const vcd::Beat* const beat = lines_[next_[input]].beats[input];
    if (beat != nullptr) last_beats_[input] = beat;
    next_[input] = next_line(input, next_[input] + 1);
  }
  if (!outputs_.valid) return;
  if (!inputs_.out_ready) {
    ++counters_.blocked;
    return;
  }
  if (outputs_.last) ++counters_.sums;
  ++given_;
}

}  // namespace weft::platforms
