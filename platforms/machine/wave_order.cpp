// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/wave_order.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weft::platforms {

void WaveOrder::run_clocks(const std::vector<Running>& clocks) {
  for (const Running& running : clocks) {
    switch (running.what) {
      case Running::What::kRun:
        clocks_.run(running.clock, running.from, running.to);
        break;
      case Running::What::kHold:
        clocks_.hold(running.clock, running.from);
        break;
      case Running::What::kRelease:
        clocks_.release(running.clock, running.to);
        break;
    }
  }
}

/// Into those that are due and those that wait on.
void WaveOrder::sort_out(const std::vector<Change>& changes, const std::vector<std::byte>& bytes, std::int64_t until) {
  auto told = static_cast<std::uint32_t>(due_.size() + later_.changes.size());
  for (const Change& change : changes) {
    if (change.time < until) {
      due_.push_back({change.time, change.pin, told++});
      continue;
    }
    ++told;
    later_.changes.push_back(change);
    if (change.what != What::kBytes) continue;
    later_.changes.back().value = later_.bytes.size();
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(change.value);
    later_.bytes.insert(later_.bytes.end(), from, from + change.count);
  }
}

/// First into spans of time, a few changes each, which leaves all near their places, then step by step.
void WaveOrder::sort() {
  if (due_.empty()) return;
  std::int64_t first = INT64_MAX;
  std::int64_t last = 0;
  for (const Place& place : due_) {
    first = std::min(first, place.time);
    last = std::max(last, place.time);
  }
  const auto length = static_cast<std::uint64_t>(last - first);
  const int shift =
      std::max(0, static_cast<int>(std::bit_width(length)) - static_cast<int>(std::bit_width(due_.size())) + 2);
  const auto span_of = [&](const Place& place) { return static_cast<std::size_t>((place.time - first) >> shift); };
  ends_.assign((length >> shift) + 1, 0);
  for (const Place& place : due_) ++ends_[span_of(place)];
  std::uint32_t before = 0;
  for (std::uint32_t& end : ends_) end = std::exchange(before, before + end);
  sorted_.resize(due_.size());
  for (const Place& place : due_) sorted_[ends_[span_of(place)]++] = place;
  due_.swap(sorted_);
  constexpr std::uint32_t kMany = 64;
  std::uint32_t begin = 0;
  for (const std::uint32_t end : ends_) {
    if (end - begin > kMany) std::sort(due_.begin() + begin, due_.begin() + end);
    begin = end;
  }
  for (std::size_t i = 1; i < due_.size(); ++i) {
    const Place place = due_[i];
    std::size_t at = i;
    for (; at > 0 && place < due_[at - 1]; --at) due_[at] = due_[at - 1];
    due_[at] = place;
  }
}

void WaveOrder::write(const Change& change, const std::vector<std::byte>& bytes) {
  const Net& net = nets_[change.pin];
  const auto time = static_cast<std::uint64_t>(change.time);
  switch (change.what) {
    case What::kSet:
    case What::kAdd:
      return writer_.change(time, net.id, net.value);
    case What::kBytes:
      return writer_.change_bytes(time, net.id, {bytes.data() + change.value, change.count});
    case What::kUnknown:
      return writer_.change_bits(time, net.id, "x");
  }
}

void WaveOrder::write(Told& told) {
  run_clocks(told.clocks);
  due_.clear();
  later_.changes.clear();
  later_.bytes.clear();
  sort_out(waiting_.changes, waiting_.bytes, told.until.count());
  sort_out(told.changes, told.bytes, told.until.count());
  sort();
  clocks_.begin(told.until);
  const std::size_t old = waiting_.changes.size();
  for (auto place = due_.begin(); place != due_.end(); ++place) {
    const bool waited = place->told < old;
    const Change& change = waited ? waiting_.changes[place->told] : told.changes[place->told - old];
    Net& net = nets_[change.pin];
    if (change.what == What::kSet) net.value = change.value;
    if (change.what == What::kAdd) net.value += change.value;
    const auto next = place + 1;
    if (next != due_.end() && next->time == place->time && next->pin == place->pin) continue;
    clocks_.write(Time(change.time + 1));
    write(change, waited ? waiting_.bytes : told.bytes);
  }
  clocks_.write(told.until);
  clocks_.forget(told.until);
  std::swap(waiting_, later_);
  told.changes.clear();
  told.bytes.clear();
  told.clocks.clear();
  told.limit = std::max(kLeast, waiting_.changes.size());
}

void WaveOrder::finish(Time end) {
  Told rest;
  rest.until = std::max(end, clocks_.end()) + Time(1);
  for (const Change& change : waiting_.changes) rest.until = std::max(rest.until, Time(change.time + 1));
  write(rest);
  // Clocks that are up come down.
  clocks_.write(kNever);
}

}  // namespace weft::platforms
