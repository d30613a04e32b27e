// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/kernel.h"

/// Machines that multicast, as several tests of it have them.
namespace weft::test_multicast {

using namespace weft::literals;
using collectives::MulticastCounters;
using platforms::CollectiveOp;
using platforms::CollectiveResult;
using platforms::Machine;
using platforms::MachineConfig;

inline MachineConfig machine_of(int ranks) {
  MachineConfig config;
  config.accelerators = ranks;
  config.per_node = 1;
  config.fabric.radix = 16;
  config.fabric.hosts_per_leaf = 4;
  config.fabric.segment = 4_KiB;
  config.collectives.algorithm = "multicast";
  config.data = true;
  return config;
}

inline fabric::Fault loss(double share, const std::string& link = "*") {
  fabric::Fault fault;
  fault.link = link;
  fault.loss = share;
  return fault;
}

/// Lossy links, with a NIC that repeats what it must.
inline void lose(MachineConfig& config, double share) {
  if (share > 0) config.fabric.faults.push_back(loss(share));
  config.nic.recovery = true;
  config.nic.ack_timeout = 30_us;
  config.nic.retry_limit = 1000;
}

inline MulticastCounters totals(const CollectiveResult& result) {
  return result.multicast.value_or(MulticastCounters{});
}

inline std::vector<CollectiveResult> collective(const MachineConfig& config, CollectiveOp op,
                                                const std::vector<std::uint64_t>& sizes) {
  test::fresh_kernel();
  Machine machine(config);
  return run_collective(machine, op, sizes, ElementType::kFp32);
}

}  // namespace weft::test_multicast
