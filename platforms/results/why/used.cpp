// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/used.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "hw/memory/remote/remote_memory.h"
#include "hw/nic/host_link.h"
#include "hw/nic/nic.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// Bytes per second.
struct Stages {
  double link = 0;
  double interface = 0;
};
Stages stages_of(const fabric::FabricConfig& network, const nic::NicConfig& nic) {
  const Time passage = nic::HostLink::passage(nic.host_link(), network.segment);
  return {static_cast<double>(network.payload_rate().count()) / 8,
          static_cast<double>(network.segment.count()) / (static_cast<double>(passage.count()) * 1e-12)};
}
/// The most that one of them has grown by.
Time most_grown(const std::vector<Time>& before, const std::vector<Time>& now) {
  Time most;
  for (std::size_t i = 0; i < now.size(); ++i) most = std::max(most, now[i] - (i < before.size() ? before[i] : Time()));
  return most;
}

/// 0: `accelerator`; else behind the entry of `others` that has it: later ones go before earlier ones.
std::size_t entry_of(const MachineConfig& config, int accelerator) {
  for (std::size_t i = config.others.size(); i > 0; --i) {
    const OtherAccelerators& other = config.others[i - 1];
    if (accelerator >= other.first && accelerator - other.first < other.count) return i;
  }
  return 0;
}

/// None of one that is not Weft's own.
AcceleratorUse::Interface use_of(const nic::AnyNic& any, const nic::NicConfig& config) {
  const auto* const interface = dynamic_cast<const nic::Nic*>(&any);
  if (interface == nullptr) return {};
  return {ByteTime(config.group_rate)(interface->group_bytes()), interface->loop_bytes()};
}
/// The most of both since `before`.
void grow(AcceleratorUse::Interface& most, const AcceleratorUse::Interface& before,
          const AcceleratorUse::Interface& now) {
  most.groups = std::max(most.groups, now.groups - before.groups);
  most.looped = std::max(most.looped, now.looped - before.looped);
}

/// Of memories beyond the accelerators' own, and of what is between.
Time busiest_of(const memory::RemoteMemory& remote, int accelerators) {
  using memory::RemoteMemory;
  Time most;
  for (std::size_t m = 0; m < remote.memories(); ++m) most = std::max(most, remote.memory(m).busy);
  if (!remote.has_links()) return most;
  for (const auto direction : {RemoteMemory::kLoad, RemoteMemory::kStore}) {
    for (int s = 0; s < remote.config().hierarchy.switches; ++s) {
      for (int n = 0; n < remote.nodes(); ++n) most = std::max(most, remote.link(direction, s, n).busy);
    }
    for (int i = 0; i < accelerators; ++i)
      most = std::max(most, remote.port(direction, static_cast<std::size_t>(i)).busy);
  }
  return most;
}

}  // namespace

AcceleratorUse use_of(const MachineConfig& config, const accelerator::Accelerator::Counters& counters,
                      const std::vector<memory::Memory::Traffic>& memory, Time busy) {
  AcceleratorUse use;
  use.busy = busy;
  for (const memory::Memory::Traffic& traffic : memory) use.memory += traffic.busy;
  // Kernels and copies, which come first, share a rate of their own.
  if (const Rate cores = config.accelerator.hbm.core_rate; cores > Rate()) {
    constexpr std::size_t kOfCores = 2;
    std::int64_t bytes = 0;
    for (std::size_t m = 0; m < std::min(kOfCores, memory.size()); ++m)
      bytes += memory[m].read_bytes + memory[m].written_bytes;
    use.memory = std::max(use.memory, ByteTime(cores)(bytes));
  }
  use.launches = config.accelerator.array.compute.launch * counters.kernels;
  use.copying = counters.copying;
  return use;
}

std::vector<AcceleratorUse> used_so_far(Machine& machine, Time now) {
  std::vector<AcceleratorUse> used;
  for (int i = 0; i < machine.config().accelerators; ++i) {
    std::vector<memory::Memory::Traffic> traffic;
    for (std::size_t m = 0; m < machine.memory(i).masters(); ++m) traffic.push_back(machine.memory(i).traffic(m));
    accelerator::Accelerator& its = machine.accelerator(i);
    used.push_back(use_of(machine.config(), its.counters(), traffic, its.busy(now)));
    const firmware::Processor& processor = *machine.rank(i).processor;
    const int threads = std::max(1, processor.config().threads);
    for (int core = 0; core < processor.config().cores; ++core)
      used.back().firmware.push_back(Time(processor.busy(static_cast<std::size_t>(core)).count() / threads));
    used.back().nic = use_of(machine.nic(i), machine.config().nic);
    if (const nic::AnyNic* const port = machine.scale_up_port(i))
      used.back().port = use_of(*port, machine.config().scale_up.port);
  }
  return used;
}

HostTimes hosts_so_far(Machine& machine) {
  HostTimes times;
  for (const firmware::Rank* rank : machine.ranks()) {
    times.ran.push_back(rank->processor->busy());
    times.slept.push_back(rank->processor->slept());
  }
  return times;
}

ordered_json stages(Machine& machine) {
  const MachineConfig& config = machine.config();
  const Stages fabric = stages_of(config.fabric, config.nic);
  ordered_json json = {{"fabric", {{"link", fabric.link}, {"nic", fabric.interface}}}};
  if (machine.node_count() == 0) return json;
  const Stages node = stages_of(config.scale_up.fabric, config.scale_up.port);
  json["scale_up"] = {{"scale-up-link", node.link}, {"port", node.interface}};
  return json;
}

double idle_share(const accelerator::PowerConfig& power) {
  if (power.cap <= power.idle) return 0;
  return static_cast<double>(power.idle.count()) / static_cast<double>(power.cap.count());
}

ordered_json copy_engines_used(const MachineConfig& config, const UsedSpan& span) {
  Time longest;
  std::size_t engines = 0;
  std::size_t used = 0;
  for (std::size_t i = 0; i < span.now.size(); ++i) {
    const std::vector<Time>& now = span.now[i].copying;
    const std::vector<Time> before = span.before.empty() ? std::vector<Time>() : span.before[i].copying;
    const auto all = static_cast<std::size_t>(config.part_at(static_cast<int>(i)).array.copy_engines);
    Time its;
    std::size_t its_used = 0;
    for (std::size_t e = 0; e < std::min(all, now.size()); ++e) {
      const Time copied = now[e] - (e < before.size() ? before[e] : Time());
      its = std::max(its, copied);
      if (copied > Time()) ++its_used;
    }
    if (its <= longest) continue;
    longest = its;
    engines = all;
    used = its_used;
  }
  return {{"of", engines}, {"used", used}};
}

std::vector<ordered_json> longest_used_by_part(const MachineConfig& config, const UsedSpan& span) {
  if (config.others.empty()) return {};
  std::vector<ordered_json> parts(config.others.size() + 1, ordered_json::object());
  for (std::size_t i = 0; i < span.now.size(); ++i) {
    const AcceleratorUse& now = span.now[i];
    const AcceleratorUse before = span.before.empty() ? AcceleratorUse() : span.before[i];
    ordered_json& part = parts[entry_of(config, static_cast<int>(i))];
    const auto take = [&part](const char* resource, Time its) {
      part[resource] = std::max(part.value(resource, std::int64_t{0}), its.count());
    };
    take("compute", now.busy - before.busy);
    take("hbm", now.memory - before.memory);
    take("launch", now.launches - before.launches);
    take("copy", most_grown(before.copying, now.copying));
  }
  return parts;
}

ordered_json longest_used(Machine& machine, const UsedSpan& span, const MostUsedLinks& fabric,
                          const MostUsedLinks& scale_up) {
  AcceleratorUse most;
  Time copying;
  Time firmware;
  for (std::size_t i = 0; i < span.now.size(); ++i) {
    const AcceleratorUse& now = span.now[i];
    const AcceleratorUse before = span.before.empty() ? AcceleratorUse() : span.before[i];
    most.memory = std::max(most.memory, now.memory - before.memory);
    most.launches = std::max(most.launches, now.launches - before.launches);
    copying = std::max(copying, most_grown(before.copying, now.copying));
    firmware = std::max(firmware, most_grown(before.firmware, now.firmware));
    grow(most.nic, before.nic, now.nic);
    grow(most.port, before.port, now.port);
  }
  const Time whole = span.until - span.from;
  ordered_json json = {{"hbm", most.memory.count()},
                       {"launch", most.launches.count()},
                       {"copy", copying.count()},
                       {"firmware", std::min(firmware, whole).count()}};
  if (const auto* remote = dynamic_cast<const memory::RemoteMemory*>(machine.remote_memory());
      remote != nullptr && span.from == Time()) {
    json["remote-memory"] = std::min(busiest_of(*remote, machine.size()), whole).count();
  }
  // Of what use_of() alone has told before, nothing is known of interfaces.
  const bool knows_interfaces = span.before.empty() || !span.before.front().firmware.empty();
  if (!knows_interfaces) most.nic = most.port = {};
  // Those that no group used need no line.
  if (most.nic.groups > Time()) json["nic-group"] = std::min(most.nic.groups, whole).count();
  if (most.port.groups > Time()) json["port-group"] = std::min(most.port.groups, whole).count();
  const auto add = [&](const MostUsedLinks& used, const AcceleratorUse::Interface& most_of, const char* link,
                       const char* interface, const Stages& stages) {
    json[link] = std::llround(used.busy * static_cast<double>(whole.count()));
    json[interface] = std::llround(used.sent * static_cast<double>(whole.count()) * stages.link / stages.interface +
                                   static_cast<double>(most_of.looped) / stages.interface * 1e12);
  };
  add(fabric, most.nic, "link", "nic", stages_of(machine.config().fabric, machine.config().nic));
  if (machine.node_count() == 0) return json;
  add(scale_up, most.port, "scale-up-link", "port",
      stages_of(machine.config().scale_up.fabric, machine.config().scale_up.port));
  return json;
}

}  // namespace weft::platforms
