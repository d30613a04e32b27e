// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/waves/wave_order.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weft::platforms {

void WaveOrder::tell(Time at, Waves::Pin bus, const std::byte* bytes, std::size_t count) {
  if (bytes == nullptr) return tell(at, bus, What::kUnknown, 0);
  tell(at, bus, What::kBytes, bytes_.size(), count);
  bytes_.insert(bytes_.end(), bytes, bytes + count);
}

/// Interfaces of a switch are mostly busy together.
void WaveOrder::tell(const Running& running) {
  if (running.what == Running::What::kRun && !clocks_.empty() && clocks_.back().covers(running.clock, running.from)) {
    clocks_.back().to = std::max(clocks_.back().to, running.to);
    return;
  }
  clocks_.push_back(running);
}

void WaveOrder::take(Time until, Part& part) {
  part.changes.clear();
  part.bytes.swap(bytes_);
  bytes_.clear();
  std::size_t kept = 0;
  for (const Change& change : changes_) {
    if (change.time < until.count()) {
      part.changes.push_back(change);
      continue;
    }
    Change& later = changes_[kept++] = change;
    if (later.what != What::kBytes) continue;
    const auto from = part.bytes.begin() + static_cast<std::ptrdiff_t>(std::exchange(later.value, bytes_.size()));
    bytes_.insert(bytes_.end(), from, from + later.count);
  }
  changes_.resize(kept);
  limit_ = kept + std::max(kLeast, kept);
  part.clocks.swap(clocks_);
  clocks_.clear();
  part.until = until;
  part.sorted = false;
}

void WaveSort::operator()(WaveOrder::Part& part) {
  if (std::exchange(part.sorted, true)) return;
  places_.clear();
  for (const WaveOrder::Change& change : part.changes) {
    places_.push_back({change.time, change.pin, static_cast<std::uint32_t>(places_.size())});
  }
  sort();
  sorted_.resize(places_.size());
  std::transform(places_.begin(), places_.end(), sorted_.begin(),
                 [&](const Place& place) { return part.changes[place.told]; });
  part.changes.swap(sorted_);
}

/// First into spans of time, a few changes each, which leaves all near their places, then step by step.
void WaveSort::sort() {
  if (places_.empty()) return;
  std::int64_t first = INT64_MAX;
  std::int64_t last = 0;
  for (const Place& place : places_) {
    first = std::min(first, place.time);
    last = std::max(last, place.time);
  }
  const auto length = static_cast<std::uint64_t>(last - first);
  const int shift =
      std::max(0, static_cast<int>(std::bit_width(length)) - static_cast<int>(std::bit_width(places_.size())) + 1);
  const auto span_of = [&](const Place& place) { return static_cast<std::size_t>((place.time - first) >> shift); };
  ends_.assign((length >> shift) + 1, 0);
  for (const Place& place : places_) ++ends_[span_of(place)];
  std::uint32_t before = 0;
  for (std::uint32_t& end : ends_) end = std::exchange(before, before + end);
  spread_.resize(places_.size());
  for (const Place& place : places_) spread_[ends_[span_of(place)]++] = place;
  places_.swap(spread_);
  constexpr std::uint32_t kMany = 64;
  std::uint32_t begin = 0;
  for (const std::uint32_t end : ends_) {
    if (end - begin > kMany) std::sort(places_.begin() + begin, places_.begin() + end);
    begin = end;
  }
  for (std::size_t i = 1; i < places_.size(); ++i) {
    const Place place = places_[i];
    std::size_t at = i;
    for (; at > 0 && place < places_[at - 1]; --at) places_[at] = places_[at - 1];
    places_[at] = place;
  }
}

}  // namespace weft::platforms
