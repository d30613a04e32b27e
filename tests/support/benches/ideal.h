// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platforms/machine/machine.h"

namespace weft::test {

/// Everything but the links' rate costs nothing: neither latency nor overhead, and memory and engines are as fast as
/// may be.
inline void leave_links_alone(platforms::MachineConfig& config) {
  config.fabric.link.propagation = Time();
  config.fabric.switch_config.latency = Time();
  config.fabric.header = Bytes();
  config.nic.message_cost = Time();
  config.nic.packet_cost = Time();
  config.nic.dma_rate = Rate(1LL << 60);
  config.nic.read_latency = Time();
  config.nic.write_latency = Time();
  config.accelerator.hbm.rate = Rate(1'000'000'000'000'000);
  config.accelerator.hbm.efficiency = 1.0;
  config.accelerator.hbm.latency = Time();
  config.accelerator.array.copy_rate = Rate(1LL << 60);
  config.accelerator.array.copy_overhead = Time();
  config.firmware.wake_cycles = 0;
  config.firmware.post_cycles = 0;
  config.firmware.poll_cycles = 0;
}

}  // namespace weft::test
