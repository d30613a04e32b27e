// SPDX-License-Identifier: Apache-2.0
#include "hw/core/stream_pins.h"

#include <algorithm>

namespace weft {

StreamPins::StreamPins(Waves& waves, const std::string& name, const std::string& prefix, Waves::Clock clock,
                       Frequency frequency, std::size_t beat_bytes, std::span<const Field> fields)
    : waves_(waves), edges_(frequency), clock_(clock), beat_bytes_(beat_bytes) {
  const std::string start = name + "." + prefix;
  valid_ = waves.pin(start + "valid");
  ready_ = waves.pin(start + "ready");
  last_ = waves.pin(start + "last");
  for (const Field& field : fields) fields_.push_back(waves.pin(start + field.name, field.width));
  if (beat_bytes != 0) data_ = waves.bus(start + "data", beat_bytes);
  waves.set(Time(), ready_, 1);
}

/// A beat is on the pins from an edge on.
void StreamPins::show(std::int64_t edge, const Transfer& transfer, std::int64_t beat) {
  const Time at = edges_.at(edge);
  if (beat_bytes_ != 0) {
    const std::size_t from = std::min(static_cast<std::size_t>(beat) * beat_bytes_, transfer.bytes);
    const std::size_t count = std::min(beat_bytes_, transfer.bytes - from);
    const bool known = transfer.data != nullptr && count > 0;
    waves_.set_bytes(at, data_, known ? transfer.data + from : nullptr, count);
  }
  if (beat + 1 == transfer.beats) waves_.set(at, last_, 1);
}

void StreamPins::transfer(const Transfer& transfer, std::initializer_list<std::uint64_t> values) {
  const std::int64_t start = std::max(edges_.from(transfer.offered), free_);
  waves_.set(edges_.at(start), valid_, 1);
  std::size_t field = 0;
  for (const std::uint64_t value : values) waves_.set(edges_.at(start), fields_[field++], value);
  // Of beats at an even pace, edges are counted instead of picoseconds: this runs for each beat.
  const std::int64_t from = edges_.from(transfer.from) + 1;
  const std::int64_t span = edges_.from(transfer.to) + 1 - from;
  const std::int64_t beats = transfer.beats;
  std::int64_t taken = start;
  for (std::int64_t beat = 0; beat < beats; ++beat) {
    const std::int64_t edge = std::max(taken + 1, from + span * beat / beats);
    const bool waits = edge > taken + 1;
    if (waits && beat > 0 && !transfer.receiver_sets_pace) {
      waves_.set(edges_.at(taken), valid_, 0);
      show(edge - 1, transfer, beat);
      waves_.set(edges_.at(edge - 1), valid_, 1);
    } else {
      show(taken, transfer, beat);
      if (waits) {
        waves_.set(edges_.at(taken), ready_, 0);
        waves_.set(edges_.at(edge - 1), ready_, 1);
      }
    }
    taken = edge;
    if (beat == 0 && beat_bytes_ == 0 && beats > 2 && span <= beats) {
      // All that follow one after the other look the same, but for the last.
      beat = beats - 2;
      taken += beats - 2;
    }
  }
  waves_.set(edges_.at(taken), valid_, 0);
  waves_.set(edges_.at(taken), last_, 0);
  waves_.run(clock_, edges_.at(start), edges_.at(taken));
  free_ = taken;
}

}  // namespace weft
