// SPDX-License-Identifier: Apache-2.0
#include "platforms/machine/waves/wave_writer.h"

#include <algorithm>
#include <utility>

namespace weft::platforms {

void WaveWriter::run(const WaveOrder::Running& running) {
  switch (running.what) {
    case WaveOrder::Running::What::kRun:
      return clocks_.run(running.clock, running.from, running.to);
    case WaveOrder::Running::What::kHold:
      return clocks_.hold(running.clock, running.from);
    case WaveOrder::Running::What::kRelease:
      return clocks_.release(running.clock, running.to);
  }
}

void WaveWriter::write(const WaveOrder::Change& change, const std::vector<std::byte>& bytes) {
  const Net& net = nets_[change.pin];
  const auto time = static_cast<std::uint64_t>(change.time);
  switch (change.what) {
    case WaveOrder::What::kSet:
    case WaveOrder::What::kAdd:
      return writer_.change(time, net.id, net.value);
    case WaveOrder::What::kBytes:
      return writer_.change_bytes(time, net.id, {bytes.data() + change.value, change.count});
    case WaveOrder::What::kUnknown:
      return writer_.change_bits(time, net.id, "x");
  }
}

void WaveWriter::write(WaveOrder::Part& part) {
  sort_(part);
  for (const WaveOrder::Running& running : part.clocks) run(running);
  clocks_.begin(part.until);
  for (auto change = part.changes.begin(); change != part.changes.end(); ++change) {
    Net& net = nets_[change->pin];
    if (change->what == WaveOrder::What::kSet) net.value = change->value;
    if (change->what == WaveOrder::What::kAdd) net.value += change->value;
    const auto next = change + 1;
    if (next != part.changes.end() && next->time == change->time && next->pin == change->pin) continue;
    clocks_.write(Time(change->time + 1));
    write(*change, part.bytes);
  }
  clocks_.write(part.until);
  clocks_.forget(part.until);
}

void WaveWriter::finish(WaveOrder::Part& part, Time end) {
  for (const WaveOrder::Running& running : std::exchange(part.clocks, {})) run(running);
  part.until = std::max(end, clocks_.end()) + Time(1);
  for (const WaveOrder::Change& change : part.changes) part.until = std::max(part.until, Time(change.time + 1));
  write(part);
  // Clocks that are up come down.
  clocks_.write(kNever);
}

}  // namespace weft::platforms
