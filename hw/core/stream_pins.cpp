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
  for (const Field& field : fields) fields_.push_back({waves.pin(start + field.name, field.width)});
  if (beat_bytes != 0) data_ = waves.bus(start + "data", beat_bytes);
  waves.set(Time(), ready_, 1);
}

/// A beat is on the pins from an edge on.
void StreamPins::show(std::int64_t edge, const Transfer& transfer, std::int64_t beat) {
  const Time at = edges_.at(edge);
  if (beat_bytes_ != 0 && (transfer.data != nullptr || known_)) {
    const std::size_t from = std::min(static_cast<std::size_t>(beat) * beat_bytes_, transfer.bytes);
    const std::size_t count = std::min(beat_bytes_, transfer.bytes - from);
    known_ = transfer.data != nullptr && count > 0;
    waves_.set_bytes(at, data_, known_ ? transfer.data + from : nullptr, count);
  }
  if (beat + 1 == transfer.beats) waves_.set(at, last_, 1);
}

/// The beat after the edge `taken` is handed over at `edge`; whoever is late holds it up until then.
void StreamPins::hold_up(std::int64_t taken, std::int64_t edge, bool by_receiver) {
  const Waves::Pin pin = by_receiver ? ready_ : valid_;
  waves_.set(edges_.at(taken), pin, 0);
  waves_.set(edges_.at(edge - 1), pin, 1);
}

void StreamPins::show(std::int64_t edge, std::initializer_list<std::uint64_t> values) {
  waves_.set(edges_.at(edge), valid_, 1);
  auto field = fields_.begin();
  for (const std::uint64_t value : values) {
    if (value != field->value) waves_.set(edges_.at(edge), field->pin, value);
    field++->value = value;
  }
}

void StreamPins::offer(Time at, std::initializer_list<std::uint64_t> values) {
  offered_ = std::max(edges_.from(at), free_);
  show(offered_, values);
  waves_.set(edges_.at(offered_), last_, 1);
  waves_.set(edges_.at(offered_), ready_, 0);
  waves_.hold(clock_, edges_.at(offered_));
}

void StreamPins::take(Time at) {
  const std::int64_t edge = std::max(offered_, edges_.from(at)) + 1;
  waves_.set(edges_.at(edge - 1), ready_, 1);
  waves_.set(edges_.at(edge), valid_, 0);
  waves_.set(edges_.at(edge), last_, 0);
  waves_.release(clock_, edges_.at(edge));
  free_ = edge;
}

void StreamPins::transfer(const Transfer& transfer, std::initializer_list<std::uint64_t> values) {
  const std::int64_t start = std::max(edges_.from(transfer.offered), free_);
  show(start, values);
  const std::int64_t beats = transfer.beats;
  const std::int64_t first = std::max(start, edges_.from(transfer.from)) + 1;
  const std::int64_t last = std::max(first + beats - 1, edges_.from(transfer.to));
  show(start, transfer, 0);
  if (first > start + 1) hold_up(start, first, true);
  std::int64_t taken = first;
  const bool even = transfer.receiver_sets_pace && last - first >= beats;
  // Where nothing slows the receiver down, the beats after the first come together, at the end.
  if (!even && beats > 1 && last - first >= beats) {
    taken = last - beats + 1;
    hold_up(first, taken + 1, false);
  }
  for (std::int64_t beat = 1; beat < beats; ++beat) {
    const std::int64_t edge = even ? first + (last - first) * beat / (beats - 1) : taken + 1;
    // Without data all that follow one after the other look the same, but for the last.
    if (!even && transfer.data == nullptr && !known_ && beat + 1 < beats) {
      taken += beats - 1 - beat;
      beat = beats - 2;
      continue;
    }
    show(even ? taken : edge - 1, transfer, beat);
    if (edge > taken + 1) hold_up(taken, edge, true);
    taken = edge;
  }
  waves_.set(edges_.at(taken), valid_, 0);
  waves_.set(edges_.at(taken), last_, 0);
  waves_.run(clock_, edges_.at(start), edges_.at(taken));
  free_ = taken;
}

}  // namespace weft
