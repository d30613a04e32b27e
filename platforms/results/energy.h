// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "platforms/machine/machine.h"

/// What a run cost in energy, from counters alone: nothing is added up while the simulation runs.
namespace weft::platforms {

/// Joules of a kind of hardware: what its work took, and what it draws whether it works or not.
struct Spent {
  double active = 0;
  double idle = 0;
  bool known = false;  ///< its configuration has figures; else both are 0 for want of them

  [[nodiscard]] double total() const { return active + idle; }
};

/// Of one accelerator with its memory, in joules.
struct AcceleratorEnergy {
  double compute = 0;  ///< operations of kernels
  double hbm = 0;      ///< commands of HBM, whoever they were for
  double idle = 0;     ///< of both

  [[nodiscard]] double total() const { return compute + hbm + idle; }
};

/// Of one network, or of all that are alike.
struct NetworkEnergy {
  std::string name;
  Spent links;
  Spent switches;
};

/// The energy of a machine over a time, in joules.
///
/// Counted: operations of kernels; the commands of HBM, by the master that they were for (memory::Memory), or
/// `memory_byte` for each byte where nothing is said of its stacks; bits on the links of both networks, with what
/// their transceivers draw; bits that leave switches, with what switches and their wired ports draw; bits and messages
/// of NICs, with what these draw; bits on CXL links and bytes of memory pools, with what devices and switches draw;
/// what accelerators draw idle. Each figure is a field of the part that draws it
/// (`power`); where a part has none its kind is not `known` and counts as nothing.
///
/// Left out: hosts and remote memory other than CXL pools (which `unknown` names), fans and power supplies, cooling;
/// the arithmetic of copy engines and of sums in the network; scale-up ports, which are within the accelerator's
/// figures; refresh of HBM and what it draws all the time, which are within the accelerator's idle power.
struct EnergyAccount {
  Time span;
  std::vector<AcceleratorEnergy> accelerators;
  std::vector<std::pair<std::string, double>> hbm_by_master;  ///< of all accelerators
  std::vector<NetworkEnergy> networks;
  Spent nics;
  Spent pool;  ///< memory pools: links, switches and devices
  bool has_pool = false;
  bool pool_devices_known = false;    ///< there are figures for what its devices draw all the time
  bool pool_switches_known = false;   ///< likewise, or it has no switches
  bool has_uncounted_remote = false;  ///< remote memory of another kind, which has no figures

  /// Of the whole machine.
  [[nodiscard]] double total() const;
  /// What `total` contains for things that did not work for it.
  [[nodiscard]] double idle() const;
  [[nodiscard]] AcceleratorEnergy all_accelerators() const;
  [[nodiscard]] Spent all_links() const;
  [[nodiscard]] Spent all_switches() const;
  /// Of what came after `before`, an account of the same machine.
  [[nodiscard]] EnergyAccount since(const EnergyAccount& before) const;
  /// Adds another account of the same machine, so many times.
  void add(const EnergyAccount& other, int times);
  /// Kinds for whose energy, or for what they draw all the time, there are no figures: "links of fabric", ...
  [[nodiscard]] std::vector<std::string> unknown() const;
};

/// Of a run that took `span`.
EnergyAccount account_energy(Machine& machine, Time span);

}  // namespace weft::platforms
