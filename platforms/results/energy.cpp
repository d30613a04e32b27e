// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/energy.h"

#include <algorithm>

#include "hw/memory/remote/cxl_pool.h"

namespace weft::platforms {
namespace {

constexpr double kBits = 8;

double seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}

double of_bytes(std::int64_t bytes, Energy bit) {
  return static_cast<double>(bytes) * kBits * joules(bit);
}

Spent& operator+=(Spent& sum, const Spent& other) {
  sum.active += other.active;
  sum.idle += other.idle;
  sum.known = sum.known || other.known;
  return sum;
}

Spent direction(const fabric::Transmitter& transmitter, const fabric::LinkPower& power, double time) {
  return {of_bytes(transmitter.counters().wire_bytes, power.bit), watts(power.idle) * time,
          power.bit > Energy() || power.idle > Power()};
}

/// `interface_of` gives the network interface of an end.
template <typename InterfaceOf>
void add(NetworkEnergy& network, fabric::Fabric& fabric, const InterfaceOf& interface_of, double time) {
  const fabric::Topology& topology = fabric.topology();
  const fabric::SwitchPower& power = fabric.config().switch_config.power;
  for (std::size_t s = 0; s < fabric.switch_count(); ++s) {
    const std::vector<fabric::Topology::Neighbour>& ports = topology.switches[s].ports;
    std::int64_t bytes = 0;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const fabric::Transmitter& transmitter = fabric.switch_at(s).transmitter(p);
      network.links += direction(transmitter, topology.link_of(ports[p]).power, time);
      bytes += transmitter.counters().wire_bytes;
    }
    network.switches +=
        {of_bytes(bytes, power.bit), (watts(power.idle) + watts(power.port) * static_cast<double>(ports.size())) * time,
         power.bit > Energy() || power.idle > Power() || power.port > Power()};
  }
  for (std::uint32_t e = 0; e < topology.ends.size(); ++e) {
    network.links += direction(interface_of(e).transmitter(), fabric.end_link(e).power, time);
  }
}

std::vector<NetworkEnergy> networks_of(Machine& machine, double time) {
  std::vector<NetworkEnergy> networks(1);
  networks[0].name = "fabric";
  add(
      networks[0], machine.network(),
      [&machine](std::uint32_t e) -> nic::AnyNic& { return machine.nic(static_cast<int>(e)); }, time);
  if (machine.node_count() == 0) return networks;
  NetworkEnergy& scale_up = networks.emplace_back();
  scale_up.name = "scale_up";
  for (std::size_t n = 0; n < machine.node_count(); ++n) {
    const int first = static_cast<int>(n) * machine.config().per_node;
    add(
        scale_up, machine.node_network(n),
        [&machine, first](std::uint32_t e) -> nic::AnyNic& {
          return *machine.scale_up_port(first + static_cast<int>(e));
        },
        time);
  }
  return networks;
}

Spent nics_of(Machine& machine, double time) {
  const nic::NicConfig::PowerConfig& power = machine.config().nic.power;
  Spent spent;
  spent.known = power.bit > Energy() || power.message > Energy() || power.idle > Power();
  for (int i = 0; i < machine.size(); ++i) {
    const nic::NicCounters& counters = machine.nic(i).counters();
    spent.active += of_bytes(counters.bytes_sent + counters.bytes_received, power.bit);
    spent.active += static_cast<double>(counters.messages_sent + counters.messages_received) * joules(power.message);
    spent.idle += watts(power.idle) * time;
  }
  return spent;
}

Spent pool_of(const memory::CxlPool& pool, int accelerators, double time) {
  using memory::CxlLink;
  const memory::CxlPool::Config& config = pool.config();
  Spent spent;
  spent.known = config.link.bit > Energy() || config.device.byte > Energy() || config.device.idle > Power() ||
                config.switch_config.idle > Power();
  const auto add = [&spent](const CxlLink& link) {
    for (const std::int64_t bytes : link.counters().wire_bytes) spent.active += of_bytes(bytes, link.config().bit);
  };
  for (int i = 0; i < accelerators; ++i) add(pool.link(static_cast<std::size_t>(i)));
  for (const auto& link : pool.device_links()) add(*link);
  for (const auto& device : pool.devices()) {
    const memory::MemoryExpander::Counters& counters = device->counters();
    spent.active += static_cast<double>(counters.read_bytes + counters.written_bytes) * joules(config.device.byte);
    spent.idle += watts(config.device.idle) * time;
  }
  spent.idle += watts(config.switch_config.idle) * static_cast<double>(pool.switches()) * time;
  return spent;
}

}  // namespace

double EnergyAccount::total() const {
  return all_accelerators().total() + all_links().total() + all_switches().total() + nics.total() + pool.total();
}

double EnergyAccount::idle() const {
  return all_accelerators().idle + all_links().idle + all_switches().idle + nics.idle + pool.idle;
}

AcceleratorEnergy EnergyAccount::all_accelerators() const {
  AcceleratorEnergy sum;
  for (const AcceleratorEnergy& each : accelerators) {
    sum.compute += each.compute;
    sum.hbm += each.hbm;
    sum.idle += each.idle;
  }
  return sum;
}

Spent EnergyAccount::all_links() const {
  Spent sum;
  for (const NetworkEnergy& network : networks) sum += network.links;
  return sum;
}

Spent EnergyAccount::all_switches() const {
  Spent sum;
  for (const NetworkEnergy& network : networks) sum += network.switches;
  return sum;
}

EnergyAccount EnergyAccount::since(const EnergyAccount& before) const {
  EnergyAccount rest = *this;
  rest.add(before, -1);
  return rest;
}

void EnergyAccount::add(const EnergyAccount& other, int times) {
  const auto add = [times](Spent& spent, const Spent& more) {
    spent.active += times * more.active;
    spent.idle += times * more.idle;
  };
  span += other.span * times;
  for (std::size_t i = 0; i < accelerators.size(); ++i) {
    accelerators[i].compute += times * other.accelerators[i].compute;
    accelerators[i].hbm += times * other.accelerators[i].hbm;
    accelerators[i].idle += times * other.accelerators[i].idle;
  }
  for (std::size_t m = 0; m < hbm_by_master.size(); ++m) {
    hbm_by_master[m].second += times * other.hbm_by_master[m].second;
  }
  for (std::size_t n = 0; n < networks.size(); ++n) {
    add(networks[n].links, other.networks[n].links);
    add(networks[n].switches, other.networks[n].switches);
  }
  add(nics, other.nics);
  add(pool, other.pool);
}

std::vector<std::string> EnergyAccount::unknown() const {
  std::vector<std::string> kinds;
  for (const NetworkEnergy& network : networks) {
    if (!network.links.known) kinds.push_back("links of " + network.name);
    if (!network.switches.known) kinds.push_back("switches of " + network.name);
  }
  if (!nics.known) kinds.emplace_back("NICs");
  if (has_pool && !pool.known) {
    kinds.emplace_back("memory pools");
  } else if (has_pool) {
    if (!pool_devices_known) kinds.emplace_back("idle memory expanders");
    if (!pool_switches_known) kinds.emplace_back("idle CXL switches");
  }
  if (has_uncounted_remote) kinds.emplace_back("remote memory");
  return kinds;
}

EnergyAccount account_energy(Machine& machine, Time span) {
  EnergyAccount account;
  account.span = span;
  const double time = seconds(span);
  for (std::size_t m = 0; m < machine.memory(0).masters(); ++m) {
    account.hbm_by_master.emplace_back(machine.memory(0).master_name(m), 0);
  }
  for (int i = 0; i < machine.size(); ++i) {
    const accelerator::PowerConfig& power = machine.config().part_at(i).array.compute.power;
    AcceleratorEnergy energy;
    energy.compute = machine.accelerator(i).counters().energy;
    energy.idle = watts(power.idle) * time;
    memory::Memory& hbm = machine.memory(i);
    for (std::size_t m = 0; m < hbm.masters(); ++m) {
      const memory::Memory::Traffic traffic = hbm.traffic(m);
      const double moved = hbm.command_energy(m).value_or(
          static_cast<double>(traffic.read_bytes + traffic.written_bytes) * joules(power.memory_byte));
      account.hbm_by_master[m].second += moved;
      energy.hbm += moved;
    }
    account.accelerators.push_back(energy);
  }
  account.networks = networks_of(machine, time);
  account.nics = nics_of(machine, time);
  const auto* pools = dynamic_cast<const memory::CxlPool*>(machine.remote_memory());
  account.has_pool = pools != nullptr;
  account.has_uncounted_remote = machine.has_remote_memory() && !account.has_pool;
  if (!account.has_pool) return account;
  const memory::CxlPool& pool = *pools;
  account.pool = pool_of(pool, machine.size(), time);
  account.pool_devices_known = pool.config().device.idle > Power();
  account.pool_switches_known = pool.switches() == 0 || pool.config().switch_config.idle > Power();
  return account;
}

}  // namespace weft::platforms
