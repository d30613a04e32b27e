// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/waves/wave_clocks.h"

#include <algorithm>

namespace weft::platforms {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;

}  // namespace

Waves::Clock WaveClocks::add(Frequency frequency, vcd::Writer::Id id) {
  const std::int64_t hertz = frequency.count();
  clocks_.push_back({frequency, ClockEdges(frequency), kSecond / hertz, kSecond % hertz, id});
  seek(clocks_.back(), 1);
  return {static_cast<std::uint32_t>(clocks_.size() - 1)};
}

std::optional<Waves::Clock> WaveClocks::find(Frequency frequency) const {
  for (std::uint32_t i = 0; i < clocks_.size(); ++i) {
    if (clocks_[i].frequency == frequency) return Waves::Clock{i};
  }
  return std::nullopt;
}

/// Interfaces that are busy at a time have spans that overlap, and lie at the end of those known.
void WaveClocks::run(Oscillator& clock, std::int64_t from, std::int64_t to) {
  std::vector<Span>& spans = clock.spans;
  auto at = spans.end();
  while (at != spans.begin() && (at - 1)->from > from) --at;
  if (at != spans.begin() && (at - 1)->to >= from) {
    --at;
    at->to = std::max(at->to, to);
  } else {
    at = spans.insert(at, {from, to});
  }
  auto next = at + 1;
  for (; next != spans.end() && next->from <= at->to; ++next) at->to = std::max(at->to, next->to);
  spans.erase(at + 1, next);
}

void WaveClocks::hold(Waves::Clock clock, Time from) {
  Oscillator& held = clocks_[clock.index];
  if (held.holders++ == 0) held.held_from = from.count();
}

void WaveClocks::release(Waves::Clock clock, Time to) {
  Oscillator& held = clocks_[clock.index];
  if (--held.holders == 0) run(held, held.held_from, to.count());
}

Time WaveClocks::end() const {
  std::int64_t end = 0;
  for (const Oscillator& clock : clocks_) {
    if (!clock.spans.empty()) end = std::max(end, clock.spans.back().to);
  }
  return Time(end);
}

void WaveClocks::seek(Oscillator& clock, std::int64_t edge) {
  const std::int64_t hertz = clock.frequency.count();
  clock.rise = clock.edges.at(edge).count();
  clock.early = static_cast<std::int64_t>((static_cast<__int128>(edge) * kSecond + hertz / 2) % hertz);
}

/// As seek() of the next edge, without a division.
void WaveClocks::step(Oscillator& clock) {
  clock.rise += clock.cycle;
  clock.early += clock.remainder;
  if (clock.early < clock.frequency.count()) return;
  clock.early -= clock.frequency.count();
  ++clock.rise;
}

void WaveClocks::begin(Time until) {
  next_ = INT64_MAX;
  until_ = until.count();
  for (Oscillator& clock : clocks_) {
    if (clock.holders > 0) {
      run(clock, clock.held_from, until.count() - 1);
      clock.held_from = until.count();
    }
    clock.at = 0;
    if (!clock.high) schedule(clock);
    next_ = std::min(next_, clock.due);
  }
}

/// Finds when a clock that is low rises next, within what it has to run. Not in spans that begin later than what may be
/// written: others can still be told before them.
void WaveClocks::schedule(Oscillator& clock) const {
  clock.due = INT64_MAX;
  for (; clock.at < clock.spans.size(); ++clock.at) {
    const Span& span = clock.spans[clock.at];
    if (span.from >= until_) return;
    if (clock.rise > span.to) continue;
    if (clock.rise < span.from) {
      seek(clock, clock.edges.from(Time(span.from)));
      if (clock.rise > span.to) continue;
    }
    clock.due = clock.rise;
    return;
  }
}

void WaveClocks::write_edges(std::int64_t until) {
  while (next_ < until) {
    Oscillator* first = clocks_.data();
    while (first->due != next_) ++first;
    // Alone up to where another one changes, which is after this one where both change at once.
    std::int64_t alone = until;
    for (const Oscillator& clock : clocks_) {
      if (&clock != first) alone = std::min(alone, clock.due);
    }
    run_alone(*first, std::max(alone, next_ + 1));
    next_ = INT64_MAX;
    for (const Oscillator& clock : clocks_) next_ = std::min(next_, clock.due);
  }
}

/// Writes its next edge, and those before `until` that follow at the pace of its cycles.
void WaveClocks::run_alone(Oscillator& clock, std::int64_t until) {
  const auto count = [](std::int64_t number) { return static_cast<std::uint64_t>(number); };
  if (clock.high) {
    writer_.toggle(clock.id, {.from = count(clock.due)});
    clock.high = false;
    return schedule(clock);
  }
  const std::int64_t last = std::min(clock.spans[clock.at].to, until - 1);
  const std::int64_t more = clock.remainder == 0 ? (last - clock.rise) / clock.cycle : 0;
  clock.rise += more * clock.cycle;
  const std::int64_t rise = clock.rise;
  step(clock);
  const std::int64_t fall = (rise + clock.rise) / 2;
  clock.high = fall >= until;
  writer_.toggle(clock.id, {.from = count(clock.due),
                            .count = count(2 * more + (clock.high ? 1 : 2)),
                            .gaps = {count(fall - rise), count(clock.rise - fall)}});
  if (!clock.high) return schedule(clock);
  clock.due = fall;
}

void WaveClocks::forget(Time until) {
  for (Oscillator& clock : clocks_) {
    const auto over = [&](const Span& span) { return span.to < until.count(); };
    clock.spans.erase(clock.spans.begin(), std::find_if_not(clock.spans.begin(), clock.spans.end(), over));
  }
}

}  // namespace weft::platforms
