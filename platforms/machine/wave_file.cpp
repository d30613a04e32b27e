// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/wave_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <optional>
#include <utility>

namespace weft::platforms {
namespace {

/// Of the keys of a radix sort.
constexpr int kDigitBits = 10;
constexpr std::size_t kDigit = (1U << kDigitBits) - 1;

}  // namespace

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
  if (const std::optional<Clock> known = clocks_.find(frequency)) {
    writer_.alias(name, clocks_.id(*known));
    return *known;
  }
  const Clock clock = clocks_.add(frequency, writer_.bits(name));
  // Up to the first edge it is low.
  nets_.push_back({clocks_.id(clock)});
  set(Time(), {static_cast<std::uint32_t>(nets_.size() - 1)}, 0);
  if (free_clocks_) hold(clock, Time());
  return clock;
}

void WaveFile::set_bytes(Time at, Pin bus, const std::byte* bytes, std::size_t count) {
  if (bytes == nullptr) return tell(Change{at.count(), 0, bus.index, 0, What::kUnknown});
  const std::size_t place = bytes_.size();
  bytes_.insert(bytes_.end(), bytes, bytes + count);
  tell(Change{at.count(), place, bus.index, static_cast<std::uint32_t>(count), What::kBytes});
}

void WaveFile::write(const Change& change) {
  const Net& net = nets_[change.pin];
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

void WaveFile::take_due(std::int64_t until) {
  due_.clear();
  auto later = changes_.begin();
  for (const Change& change : changes_) {
    if (change.time < until) {
      due_.push_back(change);
    } else {
      *later++ = change;
    }
  }
  changes_.erase(later, changes_.end());
}

/// By time, then by pin, then as they were told. A radix sort: a few passes over neighbours in memory, where comparing
/// would cost more than all else that is done with a change.
void WaveFile::sort_due() {
  const auto pass = [&](auto&& digit_of) {
    std::array<std::uint32_t, kDigit + 1> places{};
    for (const Change& change : due_) ++places[digit_of(change)];
    std::exclusive_scan(places.begin(), places.end(), places.begin(), 0U);
    sorted_.resize(due_.size());
    for (const Change& change : due_) sorted_[places[digit_of(change)]++] = change;
    due_.swap(sorted_);
  };
  std::int64_t first = INT64_MAX;
  std::int64_t last = 0;
  for (const Change& change : due_) {
    first = std::min(first, change.time);
    last = std::max(last, change.time);
  }
  for (int shift = 0; nets_.size() >> shift != 0; shift += kDigitBits) {
    pass([&](const Change& change) { return change.pin >> shift & kDigit; });
  }
  for (int shift = 0; first < last && (last - first) >> shift != 0; shift += kDigitBits) {
    pass([&](const Change& change) { return static_cast<std::size_t>((change.time - first) >> shift) & kDigit; });
  }
}

/// Writes everything that lies before `until`: nothing can be told of it any more.
void WaveFile::drain(Time until) {
  take_due(until.count());
  sort_due();
  clocks_.begin(until);
  for (auto change = due_.begin(); change != due_.end(); ++change) {
    Net& net = nets_[change->pin];
    if (change->what == What::kSet) net.value = change->value;
    if (change->what == What::kAdd) net.value += change->value;
    const auto next = change + 1;
    if (next != due_.end() && next->time == change->time && next->pin == change->pin) continue;
    clocks_.write(Time(change->time + 1));
    write(*change);
  }
  clocks_.write(until);
  clocks_.forget(until);
  keep_bytes();
  limit_ = std::max(kLeast, 2 * changes_.size());
}

/// Only those of changes that still wait.
void WaveFile::keep_bytes() {
  kept_bytes_.clear();
  for (Change& change : changes_) {
    if (change.what != What::kBytes) continue;
    const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(change.value);
    change.value = kept_bytes_.size();
    kept_bytes_.insert(kept_bytes_.end(), from, from + change.count);
  }
  bytes_.swap(kept_bytes_);
}

void WaveFile::close(Time until) {
  Time end = std::max({dispatcher_.now(), until, clocks_.end()});
  for (const Change& change : changes_) end = std::max(end, Time(change.time));
  drain(end + Time(1));
  // Clocks that are up come down.
  clocks_.write(kNever);
  writer_.close();
}

}  // namespace weft::platforms
