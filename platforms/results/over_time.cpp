// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/over_time.h"

#include <fmt/format.h>

#include <algorithm>

#include "platforms/results/energy.h"
#include "platforms/results/format.h"
#include "platforms/results/usage.h"

namespace weft::platforms {

UseOverTime::UseOverTime(Machine& machine) : machine_(machine) {
  const int columns = std::min(machine.size(), kColumns);
  for (int i = 0; i < columns; ++i)
    shown_.push_back(static_cast<int>(static_cast<std::int64_t>(i) * machine.size() / columns));
}

void UseOverTime::look() {
  if (looks_++ % stride_ != 0) return;
  const Time now = machine_.dispatcher().now();
  if (!samples_.empty() && samples_.back().at == now) return;
  samples_.push_back(sample(now));
  if (samples_.size() < kMost) return;
  for (std::size_t i = 1; 2 * i < samples_.size(); ++i) samples_[i] = std::move(samples_[2 * i]);
  samples_.resize(samples_.size() / 2);
  stride_ *= 2;
}

UseOverTime::Sample UseOverTime::sample(Time at) const {
  Sample sample;
  sample.at = at;
  for (std::size_t e = 0; e < machine_.network().topology().ends.size(); ++e)
    sample.fabric += machine_.nic(static_cast<int>(e)).transmitter().counters().wire_bytes;
  for (int i = 0; i < machine_.size(); ++i) {
    if (machine_.node_count() > 0) sample.scale_up += machine_.scale_up_port(i)->transmitter().counters().wire_bytes;
    const memory::Memory& memory = machine_.memory(i);
    for (std::size_t m = 0; m < memory.masters(); ++m) {
      const memory::Memory::Traffic traffic = memory.traffic(m);
      sample.memory += traffic.read_bytes + traffic.written_bytes;
    }
    sample.computing += machine_.accelerator(i).busy(at);
  }
  for (const int i : shown_) sample.of_accelerators.push_back(machine_.accelerator(i).busy(at));
  sample.energy = account_energy(machine_, at).total();
  return sample;
}

std::string UseOverTime::table(Time end) {
  while (!samples_.empty() && samples_.back().at >= end) samples_.pop_back();
  samples_.push_back(sample(end));
  const bool has_nodes = machine_.node_count() > 0;
  std::string text =
      fmt::format("until_us,computing,fabric_gb_per_s,{}hbm_gb_per_s,power_w", has_nodes ? "scale_up_gb_per_s," : "");
  for (const int i : shown_) text += fmt::format(",computing_{}", i);
  text += '\n';
  Sample before;
  before.of_accelerators.resize(shown_.size());
  for (const Sample& sample : samples_) {
    const Time span = sample.at - before.at;
    if (span <= Time()) continue;
    const double seconds = static_cast<double>(span.count()) * 1e-12;
    const auto rate = [seconds](std::int64_t now, std::int64_t then) {
      return fmt::format(",{:.6g}", static_cast<double>(now - then) * 1e-9 / seconds);
    };
    text +=
        fmt::format("{},{:.4g}", to_us(sample.at), share(sample.computing - before.computing, span * machine_.size()));
    text += rate(sample.fabric, before.fabric);
    if (has_nodes) text += rate(sample.scale_up, before.scale_up);
    text += rate(sample.memory, before.memory);
    text += fmt::format(",{:.6g}", (sample.energy - before.energy) / seconds);
    for (std::size_t i = 0; i < shown_.size(); ++i)
      text += fmt::format(",{:.4g}", share(sample.of_accelerators[i] - before.of_accelerators[i], span));
    text += '\n';
    before = sample;
  }
  return text;
}

}  // namespace weft::platforms
