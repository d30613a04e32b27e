// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/wave_file.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

namespace weft::platforms {

WaveFile::WaveFile(std::filesystem::path file, std::vector<std::string> scopes, const Dispatcher& dispatcher,
                   bool free_clocks)
    : writer_(std::move(file)), scopes_(std::move(scopes)), dispatcher_(dispatcher), free_clocks_(free_clocks) {}

bool WaveFile::wants(const std::string& scope) {
  std::string kind;
  for (const char c : scope) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) kind += c;
    if (digit && (kind.empty() || kind.back() != '*')) kind += '*';
  }
  ++offered_[kind];
  bool wanted = false;
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    if (!vcd::matches(scopes_[i], scope) && !vcd::matches(scopes_[i] + ".*", scope)) continue;
    used_.insert(i);
    wanted = true;
  }
  return wanted;
}

std::string WaveFile::unused() const {
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    if (!used_.contains(i)) return scopes_[i];
  }
  return "";
}

std::vector<std::string> WaveFile::offered() const {
  std::vector<std::string> all;
  for (const auto& [kind, count] : offered_) all.push_back(kind + " (" + std::to_string(count) + ")");
  return all;
}

Waves::Pin WaveFile::pin(const std::string& name, int width) {
  nets_.push_back({writer_.bits(name, width)});
  const Pin pin{static_cast<std::uint32_t>(nets_.size() - 1)};
  set(Time(), pin, 0);
  return pin;
}

Waves::Pin WaveFile::bus(const std::string& name, std::size_t bytes) {
  nets_.push_back({writer_.bits(name, static_cast<int>(8 * bytes))});
  return {static_cast<std::uint32_t>(nets_.size() - 1)};
}

Waves::Clock WaveFile::clock(const std::string& name, Frequency frequency) {
  for (std::size_t i = 0; i < clocks_.size(); ++i) {
    if (clocks_[i].frequency != frequency) continue;
    writer_.alias(name, clocks_[i].id);
    return {static_cast<std::uint32_t>(i)};
  }
  clocks_.push_back({frequency, ClockEdges(frequency), writer_.bits(name)});
  // Up to the first edge it is low.
  nets_.push_back({clocks_.back().id});
  set(Time(), {static_cast<std::uint32_t>(nets_.size() - 1)}, 0);
  const Clock clock{static_cast<std::uint32_t>(clocks_.size() - 1)};
  if (free_clocks_) hold(clock, Time());
  return clock;
}

void WaveFile::tell(Change change) {
  change.order = order_++;
  changes_.push_back(change);
  if (changes_.size() >= limit_) drain(dispatcher_.now().count());
}

void WaveFile::set_bytes(Time at, Pin bus, const std::byte* bytes, std::size_t count) {
  if (bytes == nullptr) return tell({at.count(), bus.index, What::kUnknown, 0, 0});
  const std::size_t place = bytes_.size();
  bytes_.insert(bytes_.end(), bytes, bytes + count);
  tell({at.count(), bus.index, What::kBytes, static_cast<std::uint32_t>(count), place});
}

void WaveFile::run(Clock clock, Time from, Time to) {
  std::vector<Span>& spans = clocks_[clock.index].spans;
  // Mostly one follows the other, or lies beside it.
  if (!spans.empty() && from.count() <= spans.back().to && from.count() >= spans.back().from) {
    spans.back().to = std::max(spans.back().to, to.count());
    return;
  }
  spans.push_back({from.count(), to.count()});
}

void WaveFile::hold(Clock clock, Time from) {
  Oscillator& held = clocks_[clock.index];
  if (held.holders++ == 0) held.held_from = from.count();
}

void WaveFile::release(Clock clock, Time to) {
  Oscillator& held = clocks_[clock.index];
  if (--held.holders == 0) run(clock, Time(held.held_from), to);
}

void WaveFile::write(const Change& change) {
  Net& net = nets_[change.pin];
  const auto time = static_cast<std::uint64_t>(change.time);
  switch (change.what) {
    case What::kSet:
    case What::kAdd:
      return writer_.change(time, net.id, net.value);
    case What::kBytes:
      return writer_.change_bytes(time, net.id, {bytes_.data() + change.value, change.count});
    case What::kUnknown:
      return writer_.change_bits(time, net.id, "x");
  }
}

/// Writes everything that lies before `until`: nothing can be told of it any more.
void WaveFile::drain(std::int64_t until) {
  const auto later = std::partition(changes_.begin(), changes_.end(), [&](const Change& c) { return c.time < until; });
  std::sort(changes_.begin(), later, [](const Change& a, const Change& b) {
    return std::tie(a.time, a.pin, a.order) < std::tie(b.time, b.pin, b.order);
  });
  for (Oscillator& clock : clocks_) prepare(clock, until);
  for (auto change = changes_.begin(); change != later; ++change) {
    Net& net = nets_[change->pin];
    if (change->what == What::kSet) net.value = change->value;
    if (change->what == What::kAdd) net.value += change->value;
    const auto next = change + 1;
    if (next != later && next->time == change->time && next->pin == change->pin) continue;
    write_clocks(change->time + 1);
    write(*change);
  }
  write_clocks(until);

  changes_.erase(changes_.begin(), later);
  kept_bytes_.clear();
  for (Change& change : changes_) {
    if (change.what != What::kBytes) continue;
    const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(change.value);
    change.value = kept_bytes_.size();
    kept_bytes_.insert(kept_bytes_.end(), from, from + change.count);
  }
  bytes_.swap(kept_bytes_);
  limit_ = std::max(kLeast, 2 * changes_.size());
  for (Oscillator& clock : clocks_) {
    const auto over = [&](const Span& span) { return span.to < until; };
    clock.spans.erase(std::remove_if(clock.spans.begin(), clock.spans.end(), over), clock.spans.end());
  }
}

void WaveFile::prepare(Oscillator& clock, std::int64_t until) const {
  if (clock.holders > 0) {
    clock.spans.push_back({clock.held_from, until - 1});
    clock.held_from = until;
  }
  std::sort(clock.spans.begin(), clock.spans.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
  clock.at = 0;
  if (!clock.high) schedule(clock);
}

/// Finds when a clock that is low rises next, within what it has to run.
void WaveFile::schedule(Oscillator& clock) {
  const ClockEdges& edges = clock.edges;
  clock.due = INT64_MAX;
  for (std::int64_t next = edges.at(clock.next).count(); clock.at < clock.spans.size(); ++clock.at) {
    const Span& span = clock.spans[clock.at];
    if (next > span.to) continue;
    if (next < span.from) {
      clock.next = edges.from(Time(span.from));
      next = edges.at(clock.next).count();
      if (next > span.to) continue;
    }
    clock.due = next;
    return;
  }
}

void WaveFile::write_clocks(std::int64_t until) {
  for (;;) {
    Oscillator* first = nullptr;
    std::int64_t time = until;
    for (Oscillator& clock : clocks_) {
      if (clock.due >= time) continue;
      time = clock.due;
      first = &clock;
    }
    if (first == nullptr) return;
    first->high = !first->high;
    writer_.change(static_cast<std::uint64_t>(time), first->id, first->high ? 1 : 0);
    if (first->high) {
      first->due = (time + first->edges.at(++first->next).count()) / 2;
    } else {
      schedule(*first);
    }
  }
}

void WaveFile::close(Time until) {
  std::int64_t end = std::max(dispatcher_.now(), until).count() + 1;
  for (const Change& change : changes_) end = std::max(end, change.time + 1);
  for (const Oscillator& clock : clocks_) {
    for (const Span& span : clock.spans) end = std::max(end, span.to + 1);
  }
  drain(end);
  // Clocks that are up come down.
  write_clocks(INT64_MAX);
  writer_.close();
}

}  // namespace weft::platforms
