// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/summary.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "hw/memory/bank_hbm.h"
#include "hw/memory/remote/cxl_pool.h"
#include "hw/memory/remote/remote_memory.h"
#include "platforms/results/energy.h"
#include "platforms/results/format.h"
#include "platforms/results/stopwatch.h"
#include "platforms/results/usage.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

ordered_json list_of(const std::vector<Used>& all) {
  ordered_json list = ordered_json::array();
  for (const Used& used : all) {
    list.push_back({{"name", used.name}, {"utilisation", used.utilisation}, {"bytes", used.bytes}});
  }
  return list;
}

/// Of all engines of a network; `most_open` is the largest of any.
void add(fabric::ReductionEngine::Counters& sum, fabric::Fabric& network) {
  for (std::size_t s = 0; s < network.switch_count(); ++s) {
    const fabric::ReductionEngine* engine = network.switch_at(s).engine();
    if (engine == nullptr) continue;
    const fabric::ReductionEngine::Counters& counters = engine->counters();
    sum.operands += counters.operands;
    sum.operand_bytes += counters.operand_bytes;
    sum.most_open = std::max(sum.most_open, counters.most_open);
    sum.cycles += counters.cycles;
    sum.blocked += counters.blocked;
    sum.held += counters.held;
  }
}

void add(ordered_json& json, const nic::NicCounters& counters) {
  const auto sum = [&json](const char* key, std::int64_t value) {
    json[key] = json.contains(key) ? json[key].get<std::int64_t>() + value : value;
  };
  sum("messages_sent", counters.messages_sent);
  sum("messages_repeated", counters.messages_repeated);
  sum("messages_received", counters.messages_received);
  sum("bytes_sent", counters.bytes_sent);
  sum("bytes_received", counters.bytes_received);
  sum("packets_sent", counters.packets_sent);
  sum("packets_received", counters.packets_received);
  sum("not_ready", counters.not_ready);
  sum("damaged", counters.damaged);
  sum("dropped", counters.dropped);
  sum("held", counters.held);
  sum("duplicates", counters.duplicates);
  sum("naks", counters.naks);
  sum("timeouts", counters.timeouts);
  sum("retransmitted_packets", counters.retransmitted_packets);
  sum("retransmitted_bytes", counters.retransmitted_bytes);
  sum("notifications", counters.notifications);
  sum("rate_cuts", counters.rate_cuts);
}

/// Counts of a user's own.
template <typename Module>
void add_own(ordered_json& sums, const Module& module) {
  for (const auto& [name, count] : module.own_counts()) {
    if (sums.is_null()) sums = ordered_json::object();
    sums[name] = sums.value(name, std::int64_t{0}) + count;
  }
}

/// Those of all switches of a network.
void add_own_of_switches(ordered_json& sums, fabric::Fabric& network) {
  for (std::size_t s = 0; s < network.switch_count(); ++s) add_own(sums, network.switch_at(s));
}

Used used(const memory::RemoteMemory::Counters& counters, Time span) {
  return {"", share(counters.busy, span), counters.bytes};
}

/// What is between remote memory and the accelerators, and itself.
ordered_json remote_summary(Machine& machine, const memory::RemoteMemory& remote, Time span) {
  using memory::RemoteMemory;
  std::vector<Used> memories;
  for (std::size_t m = 0; m < remote.memories(); ++m) memories.push_back(used(remote.memory(m), span));
  ordered_json json = {{"memories", aggregate(memories)}};
  for (const auto& [name, direction] : {std::pair("load", RemoteMemory::kLoad), {"store", RemoteMemory::kStore}}) {
    if (!remote.has_links()) break;
    std::vector<Used> links;
    std::vector<Used> ports;
    ports.reserve(static_cast<std::size_t>(machine.size()));
    for (int s = 0; s < remote.config().hierarchy.switches; ++s) {
      for (int n = 0; n < remote.nodes(); ++n) links.push_back(used(remote.link(direction, s, n), span));
    }
    for (int i = 0; i < machine.size(); ++i) {
      ports.push_back(used(remote.port(direction, static_cast<std::size_t>(i)), span));
    }
    json[std::string("out_node_") + name] = aggregate(links);
    json[std::string("in_node_") + name] = aggregate(ports);
  }
  const RemoteMemory::Totals& totals = remote.totals();
  json["loads"] = totals.loads;
  json["stores"] = totals.stores;
  json["loaded_bytes"] = totals.loaded_bytes;
  json["stored_bytes"] = totals.stored_bytes;
  json["gathered_chunks"] = totals.gathers;
  json["reduced_chunks"] = totals.reductions;
  return json;
}

/// Pools behind CXL links: their links and devices, and how much of them is allocated.
ordered_json pool_summary(Machine& machine, const memory::CxlPool& pool, Time span) {
  using memory::CxlLink;
  std::array<std::vector<Used>, CxlLink::kDirections> links;
  std::array<std::vector<Used>, CxlLink::kDirections> device_links;
  const auto add = [span](auto& list, const CxlLink& link) {
    for (const auto direction : {CxlLink::kDown, CxlLink::kUp}) {
      list[direction].push_back(
          {"", share(link.counters().busy[direction], span), link.counters().wire_bytes[direction]});
    }
  };
  std::int64_t waited = 0;
  std::vector<std::uint64_t> allocated(pool.spaces());
  for (int i = 0; i < machine.size(); ++i) {
    const auto end = static_cast<std::size_t>(i);
    add(links, pool.link(end));
    waited += pool.link(end).counters().waited;
    allocated[pool.space_of(end)] += machine.rank(i).remote.own.used();
  }
  for (const auto& link : pool.device_links()) add(device_links, *link);
  std::vector<Used> devices;
  for (const auto& device : pool.devices()) {
    const memory::MemoryExpander::Counters& counters = device->counters();
    devices.push_back({"", share(counters.busy, span), counters.read_bytes + counters.written_bytes});
  }
  ordered_json json = {{"pools", pool.spaces()},
                       {"capacity_bytes", pool.capacity().count()},
                       {"allocated_bytes_max", *std::max_element(allocated.begin(), allocated.end())},
                       {"devices", aggregate(devices)},
                       {"links_down", aggregate(links[CxlLink::kDown])},
                       {"links_up", aggregate(links[CxlLink::kUp])},
                       {"requests_that_waited", waited}};
  if (device_links[CxlLink::kDown].empty()) return json;
  json["device_links_down"] = aggregate(device_links[CxlLink::kDown]);
  json["device_links_up"] = aggregate(device_links[CxlLink::kUp]);
  return json;
}

/// Of memories to the bank, all accelerators together: where their masters waited, and what the rows did.
ordered_json bank_summary(Machine& machine, Time span) {
  using memory::BankHbm;
  std::vector<BankHbm::Counters> masters;
  dram::Counters rows;
  dram::EnergyUse energy;
  const BankHbm* first = nullptr;
  for (int i = 0; i < machine.size(); ++i) {
    auto& banks = dynamic_cast<BankHbm&>(machine.memory(i));
    first = first == nullptr ? &banks : first;
    masters.resize(banks.masters());
    rows += banks.dram_counters();
    energy += energy_of(banks.dram_counters(), banks.config().device, span, banks.config().stacks);
    for (std::size_t m = 0; m < masters.size(); ++m) {
      const BankHbm::Counters& counters = banks.counters(m);
      masters[m].reads += counters.reads;
      masters[m].writes += counters.writes;
      masters[m].bursts += counters.bursts;
      masters[m].held += counters.held;
      masters[m].crossing += counters.crossing;
      masters[m].waited += counters.waited;
      masters[m].read_latency += counters.read_latency;
      masters[m].write_latency += counters.write_latency;
    }
  }
  const auto ns = [](Time time) { return static_cast<double>(time.count()) * 1e-3; };
  ordered_json by_master;
  for (std::size_t m = 0; m < masters.size(); ++m) {
    const BankHbm::Counters& counters = masters[m];
    const std::int64_t requests = std::max<std::int64_t>(1, counters.reads + counters.writes);
    by_master[first->master_name(m)] = {
        {"bursts", counters.bursts},
        {"mean_read_latency_ns", ns(counters.mean_read_latency())},
        {"mean_write_latency_ns", ns(counters.mean_write_latency())},
        {"held_ns_per_request", ns(counters.held / requests)},
        {"crossing_ns_per_burst", ns(counters.crossing / std::max<std::int64_t>(1, counters.bursts))},
        {"waited_ns_per_burst", ns(counters.waited / std::max<std::int64_t>(1, counters.bursts))}};
  }
  const std::int64_t all = std::max<std::int64_t>(1, rows.row_hits + rows.row_closed + rows.row_conflicts);
  return {{"row_hit_rate", static_cast<double>(rows.row_hits) / static_cast<double>(all)},
          {"activates", rows.activates},
          {"refreshes", rows.refreshes + rows.bank_refreshes},
          {"energy_j",
           {{"commands", energy.commands() * 1e-12},
            {"refresh", energy.refresh * 1e-12},
            {"background", energy.background * 1e-12}}},
          {"by_master", by_master}};
}

/// Of all accelerators together.
ordered_json own_counts(Machine& machine) {
  ordered_json counts = ordered_json::object();
  for (int i = 0; i < machine.size(); ++i) add_own(counts, machine.memory(i));
  return counts;
}

/// Of accelerator `i` and a master.
memory::Memory::Traffic traffic_of(Machine& machine, int i, std::size_t master, const Baseline* since) {
  memory::Memory::Traffic traffic = machine.memory(i).traffic(master);
  if (since == nullptr) return traffic;
  const memory::Memory::Traffic& before = since->memory[static_cast<std::size_t>(i)][master];
  traffic.reads -= before.reads;
  traffic.writes -= before.writes;
  traffic.read_bytes -= before.read_bytes;
  traffic.written_bytes -= before.written_bytes;
  traffic.busy = traffic.busy - before.busy;
  traffic.waited = traffic.waited - before.waited;
  return traffic;
}

accelerator::Accelerator::Counters counters_of(Machine& machine, int i, const Baseline* since) {
  accelerator::Accelerator::Counters counters = machine.accelerator(i).counters();
  if (since == nullptr) return counters;
  const accelerator::Accelerator::Counters& before = since->accelerators[static_cast<std::size_t>(i)];
  counters.kernels -= before.kernels;
  counters.busy = counters.busy - before.busy;
  counters.cached_bytes -= before.cached_bytes;
  counters.missed_bytes -= before.missed_bytes;
  counters.copies -= before.copies;
  counters.copied_bytes -= before.copied_bytes;
  return counters;
}

/// Counters in groups.
void subtract(ordered_json& counters, const ordered_json& before) {
  for (auto& [key, value] : counters.items()) {
    if (!before.contains(key) || key.starts_with("most_")) continue;
    if (value.is_object()) {
      subtract(value, before.at(key));
    } else {
      value = value.get<std::int64_t>() - before.at(key).get<std::int64_t>();
    }
  }
}

void add(ordered_json& counters, const ordered_json& other, int times) {
  for (auto& [key, value] : counters.items()) {
    if (!other.contains(key) || key.starts_with("most_")) continue;
    if (value.is_object()) {
      add(value, other.at(key), times);
    } else {
      value = value.get<std::int64_t>() + times * other.at(key).get<std::int64_t>();
    }
  }
}

}  // namespace

void Baseline::add(const Baseline& other, int times) {
  at += other.at * times;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    for (std::size_t m = 0; m < memory[i].size(); ++m) {
      memory::Memory::Traffic& traffic = memory[i][m];
      const memory::Memory::Traffic& more = other.memory[i][m];
      traffic.reads += times * more.reads;
      traffic.writes += times * more.writes;
      traffic.read_bytes += times * more.read_bytes;
      traffic.written_bytes += times * more.written_bytes;
      traffic.busy += more.busy * times;
      traffic.waited += more.waited * times;
    }
    accelerator::Accelerator::Counters& counters = accelerators[i];
    const accelerator::Accelerator::Counters& more = other.accelerators[i];
    counters.kernels += times * more.kernels;
    counters.taken += more.taken * times;
    counters.calculated += more.calculated * times;
    counters.of_kind.resize(std::max(counters.of_kind.size(), more.of_kind.size()));
    counters.taken_of_kind.resize(counters.of_kind.size());
    for (std::size_t kind = 0; kind < more.of_kind.size(); ++kind) {
      counters.of_kind[kind] += times * more.of_kind[kind];
      counters.taken_of_kind[kind] += more.taken_of_kind[kind] * times;
    }
    counters.of_no_kind += times * more.of_no_kind;
    counters.busy += more.busy * times;
    counters.cached_bytes += times * more.cached_bytes;
    counters.missed_bytes += times * more.missed_bytes;
    counters.copies += times * more.copies;
    counters.copied_bytes += times * more.copied_bytes;
  }
  platforms::add(interfaces, other.interfaces, times);
  links = with_links_added(*links, *other.links, times);
  energy.add(other.energy, times);
}

Baseline take_baseline(Machine& machine, Time now) {
  Baseline baseline;
  baseline.at = now;
  for (int i = 0; i < machine.size(); ++i) {
    std::vector<memory::Memory::Traffic>& masters = baseline.memory.emplace_back();
    for (std::size_t m = 0; m < machine.memory(i).masters(); ++m) masters.push_back(machine.memory(i).traffic(m));
    baseline.accelerators.push_back(machine.accelerator(i).counters());
  }
  baseline.interfaces = interface_summary(machine);
  baseline.links = link_baseline(machine);
  baseline.energy = account_energy(machine, now);
  return baseline;
}

ordered_json memory_summary(Machine& machine, Time span, const Baseline* since) {
  ordered_json masters;
  std::vector<Used> totals;
  for (int i = 0; i < machine.size(); ++i) {
    const memory::Memory& hbm = machine.memory(i);
    Time busy;
    std::int64_t bytes = 0;
    for (std::size_t m = 0; m < hbm.masters(); ++m) {
      const memory::Memory::Traffic traffic = traffic_of(machine, i, m, since);
      busy += traffic.busy;
      bytes += traffic.read_bytes + traffic.written_bytes;
    }
    totals.push_back({"hbm" + std::to_string(i), share(busy, span), bytes});
  }
  const memory::Memory& first = machine.memory(0);
  for (std::size_t m = 0; m < first.masters(); ++m) {
    std::vector<Used> all;
    for (int i = 0; i < machine.size(); ++i) {
      const memory::Memory::Traffic traffic = traffic_of(machine, i, m, since);
      all.push_back({"", share(traffic.busy, span), traffic.read_bytes + traffic.written_bytes});
    }
    ordered_json& master = masters[first.master_name(m)] = aggregate(all);
    std::int64_t requests = 0;
    Time waited;
    for (int i = 0; i < machine.size(); ++i) {
      const memory::Memory::Traffic traffic = traffic_of(machine, i, m, since);
      requests += traffic.reads + traffic.writes;
      waited += traffic.waited;
    }
    master["requests"] = requests;
    master["waited_ns_per_request"] =
        requests == 0 ? 0 : static_cast<double>(waited.count()) * 1e-3 / static_cast<double>(requests);
  }
  std::uint64_t allocated = 0;
  for (int i = 0; i < machine.size(); ++i) allocated = std::max(allocated, machine.rank(i).memory.used());
  ordered_json json = {{"all", aggregate(totals)},
                       {"by_master", masters},
                       {"busiest", list_of(busiest(totals))},
                       {"capacity_bytes", machine.config().accelerator.hbm.capacity.count()},
                       {"allocated_bytes_max", allocated}};
  const Time whole = since == nullptr ? span : since->at + span;
  if (dynamic_cast<memory::BankHbm*>(&machine.memory(0)) != nullptr) json["banks"] = bank_summary(machine, whole);
  if (ordered_json own = own_counts(machine); !own.empty()) json["own"] = std::move(own);
  const memory::RemoteTarget* remote = machine.remote_memory();
  if (const auto* plain = dynamic_cast<const memory::RemoteMemory*>(remote)) {
    json["remote"] = remote_summary(machine, *plain, whole);
  }
  if (const auto* pool = dynamic_cast<const memory::CxlPool*>(remote)) {
    json["pool"] = pool_summary(machine, *pool, whole);
  }
  if (remote == nullptr) return json;
  for (const auto& [name, count] : remote->own_counts()) json["remote_own"][name] = count;
  return json;
}

ordered_json interface_summary(Machine& machine) {
  ordered_json nics = ordered_json::object();
  ordered_json ports = ordered_json::object();
  for (int i = 0; i < machine.size(); ++i) {
    add(nics, machine.nic(i).counters());
    if (nic::AnyNic* port = machine.scale_up_port(i)) add(ports, port->counters());
  }
  ordered_json json = {{"nic", nics}};
  if (!ports.empty()) json["scale_up_port"] = ports;
  ordered_json own = ordered_json::object();
  for (int i = 0; i < machine.size(); ++i) {
    add_own(own["nic"], machine.nic(i));
    if (nic::AnyNic* port = machine.scale_up_port(i)) add_own(own["scale_up_port"], *port);
  }
  add_own_of_switches(own["switch"], machine.network());
  for (std::size_t n = 0; n < machine.node_count(); ++n)
    add_own_of_switches(own["scale_up_switch"], machine.node_network(n));
  for (const auto& [of, counts] : own.items()) {
    if (!counts.empty()) json[of]["own"] = counts;
  }
  fabric::ReductionEngine::Counters engines;
  add(engines, machine.network());
  for (std::size_t n = 0; n < machine.node_count(); ++n) add(engines, machine.node_network(n));
  if (engines.operands > 0) {
    json["reduction"] = {{"operands", engines.operands},   {"operand_bytes", engines.operand_bytes},
                         {"most_open", engines.most_open}, {"cycles", engines.cycles},
                         {"blocked", engines.blocked},     {"held", engines.held}};
  }
  return json;
}

ordered_json counter_summary(Machine& machine, Time span, const Baseline* since) {
  std::vector<Used> arrays;
  std::int64_t kernels = 0;
  std::int64_t copies = 0;
  std::int64_t copied = 0;
  std::int64_t cached = 0;
  std::int64_t missed = 0;
  for (int i = 0; i < machine.size(); ++i) {
    const accelerator::Accelerator::Counters counters = counters_of(machine, i, since);
    arrays.push_back({"", share(counters.busy, span), 0});
    kernels += counters.kernels;
    copies += counters.copies;
    copied += counters.copied_bytes;
    cached += counters.cached_bytes;
    missed += counters.missed_bytes;
  }
  EnergyAccount account = account_energy(machine, since == nullptr ? span : since->at + span);
  if (since != nullptr) account = account.since(since->energy);
  const double energy = account.all_accelerators().total();
  const double seconds = to_seconds(span) * machine.size();
  const ordered_json busy = aggregate(arrays);
  ordered_json json = {
      {"accelerator",
       {{"utilisation_mean", busy["mean"]},
        {"utilisation_max", busy["max"]},
        {"kernels", kernels},
        {"copies", copies},
        {"copied_bytes", copied},
        {"l2_bytes", cached},
        {"l2_hit_rate", cached > 0 ? 1 - static_cast<double>(missed) / static_cast<double>(cached) : 0},
        {"energy_j", energy},
        {"power_mean_w", seconds > 0 ? energy / seconds : 0}}}};
  ordered_json interfaces = interface_summary(machine);
  if (since != nullptr) subtract(interfaces, since->interfaces);
  json.update(interfaces);
  return json;
}

ordered_json simulator_summary(Machine& machine, double build_seconds, const Stopwatch& running) {
  const double seconds = running.seconds();
  const double cpu_seconds = running.cpu_seconds();
  const auto events = static_cast<double>(machine.dispatcher().handled());
  const std::int64_t hops = machine.hops();
  const auto rate = [](double count, double time) { return time > 0 ? count / time : 0; };
  return {{"events", machine.dispatcher().handled()},
          {"hops", hops},
          {"digest", to_hex(machine.dispatcher().digest())},
          {"build_s", build_seconds},
          {"wall_s", seconds},
          {"cpu_s", cpu_seconds},
          {"events_per_s", rate(events, seconds)},
          {"hops_per_s", rate(static_cast<double>(hops), seconds)},
          {"events_per_cpu_s", rate(events, cpu_seconds)},
          {"hops_per_cpu_s", rate(static_cast<double>(hops), cpu_seconds)}};
}

}  // namespace weft::platforms
