// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/waves/wave_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "traces/nearest_names.h"

namespace weft::platforms {
WaveFile::WaveFile(std::filesystem::path file, std::vector<std::string> scopes, const Dispatcher& dispatcher,
                   bool free_clocks)
    : writer_(std::move(file)), scopes_(std::move(scopes)), dispatcher_(dispatcher), free_clocks_(free_clocks) {}

bool WaveFile::wants(const std::string& scope) {
  ++offered_[traces::without_numbers(scope)];
  bool wanted = false;
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    if (!vcd::matches(scopes_[i], scope) && !vcd::matches(scopes_[i] + ".*", scope)) continue;
    used_.insert(i);
    wanted = true;
  }
  return wanted;
}

std::optional<std::string> WaveFile::unused() const {
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    if (!used_.contains(i)) return scopes_[i];
  }
  return std::nullopt;
}

std::vector<std::string> WaveFile::offered() const {
  std::vector<std::string> all;
  for (const auto& [kind, count] : offered_) all.push_back(kind + " (" + std::to_string(count) + ")");
  return all;
}

std::string WaveFile::nearest(const std::string& scope) const {
  traces::NearestNames nearest(traces::without_numbers(scope));
  for (const auto& [kind, count] : offered_) nearest.look_at(kind);
  return nearest.question();
}

/// What the thread writes is declared while it stands.
Waves::Pin WaveFile::declare(vcd::Writer::Id id) {
  lines_.add(id);
  return {static_cast<std::uint32_t>(lines_.pins() - 1)};
}

Waves::Pin WaveFile::pin(const std::string& name, int width) {
  background_.wait();
  const Pin pin = declare(writer_.bits(name, width));
  set(Time(), pin, 0);
  return pin;
}

Waves::Pin WaveFile::bus(const std::string& name, std::size_t bytes) {
  background_.wait();
  return declare(writer_.bits(name, static_cast<int>(8 * bytes)));
}

Waves::Clock WaveFile::clock(const std::string& name, Frequency frequency) {
  background_.wait();
  WaveClocks& clocks = lines_.clocks();
  if (const std::optional<Clock> known = clocks.find(frequency)) {
    writer_.alias(name, clocks.id(*known));
    return *known;
  }
  const vcd::Writer::Id id = writer_.bits(name);
  const Clock clock = clocks.add(frequency, id);
  // Up to the first edge it is low.
  set(Time(), declare(id), 0);
  if (free_clocks_) hold(clock, Time());
  return clock;
}

void WaveFile::hand_over() {
  order_.take(dispatcher_.now(), part_);
  if (background_.behind()) sort_(part_);
  background_.give(part_);
}

void WaveFile::close(Time end) {
  background_.wait();
  order_.take(kNever, part_);
  lines_.finish(part_, std::max(dispatcher_.now(), end));
  writer_.close();
}

}  // namespace weft::platforms
