// SPDX-License-Identifier: Apache-2.0
// Settings that starve links are named with the share that passes: what a run then has, and what is said to be enough.
#include "platforms/machine/starvation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "platforms/machine/collective_run.h"
#include "platforms/machine/machine.h"
#include "tests/support/kernel.h"

namespace weft::platforms {
namespace {

using namespace weft::literals;

/// Four on a switch, over long links, with interfaces that keep up.
MachineConfig far_ring() {
  MachineConfig config;
  config.accelerators = 4;
  config.per_node = 1;
  config.fabric.topology = fabric::Shape::kSwitch;
  config.fabric.link.rate = 400_Gbps;
  config.fabric.link.propagation = 10_us;
  config.nic.dma_rate = Rate(1'600'000'000'000);
  config.collectives.chunk = 64_KiB;
  return config;
}

double bytes_per_s(const MachineConfig& config, CollectiveOp op) {
  test::fresh_kernel();
  Machine machine(config);
  constexpr std::uint64_t kBytes = 128 << 20;
  return static_cast<double>(kBytes) /
         static_cast<double>(run_collective(machine, op, {kBytes}, ElementType::kFp32)[0].time.count());
}

std::vector<std::string> rings(const MachineConfig& config) {
  test::fresh_kernel();
  return Machine(config).ring_warnings();
}

TEST(RingWindow, IsTheShareThatARunHas) {
  MachineConfig config = far_ring();
  config.collectives.slots = 256;
  EXPECT_EQ(rings(config), std::vector<std::string>());
  const double whole = bytes_per_s(config, CollectiveOp::kReduceScatter);
  const fabric::Plan plan(config.fabric, config.accelerators, "fabric");
  for (const int slots : {6, 8, 16}) {
    config.collectives.slots = slots;
    const RingWindow ring(config.collectives, plan, nullptr, config.accelerators, config.per_node);
    EXPECT_LT(ring.share, 0.95);
    EXPECT_EQ(ring.window, 256_KiB * slots);
    EXPECT_EQ(rings(config).size(), 1U);
    const double share = bytes_per_s(config, CollectiveOp::kReduceScatter) / whole;
    EXPECT_NEAR(share, ring.share, 0.06) << slots;
    config.collectives.slots = ring.slots;
    EXPECT_EQ(rings(config), std::vector<std::string>());
    EXPECT_GT(bytes_per_s(config, CollectiveOp::kReduceScatter), 0.93 * whole) << ring.slots;
  }
}

TEST(RingWindow, IsNamedWithWhatHelps) {
  MachineConfig config = far_ring();
  const std::vector<std::string> lines = rings(config);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0],
            "fabric: collectives.slots of 16 and collectives.chunk of 64KiB let a large ReduceScatter by rings fill at "
            "most 77.1 % of links of 400Gbps, since slots come back late; it takes collectives.slots=24 at the least");
  config.collectives.chunk = 1_KiB;
  EXPECT_NE(rings(config).at(0).find("; a larger collectives.chunk fills more of them"), std::string::npos);
  config.collectives.chunk = 1_MiB;
  EXPECT_EQ(rings(config), std::vector<std::string>());
  // What runs otherwise has no such slots.
  config = far_ring();
  config.collectives.algorithm = collectives::Algorithm::kDimensions;
  EXPECT_EQ(rings(config), std::vector<std::string>());
}

TEST(ReadAhead, IsNamedWithTheShareThatARunHas) {
  MachineConfig config = far_ring();
  config.fabric.link.propagation = 500_ns;
  const auto warnings = [&config] {
    test::fresh_kernel();
    return Machine(config).warnings();
  };
  EXPECT_EQ(warnings(), std::vector<std::string>());
  const double whole = bytes_per_s(config, CollectiveOp::kAllgather);
  config.nic.read_ahead = 16_KiB;
  const std::vector<std::string> lines = warnings();
  ASSERT_EQ(lines.size(), 1U);
  const std::string begin = "nic.read_ahead: payload of 16KiB on its way from memory fills about ";
  ASSERT_TRUE(lines[0].starts_with(begin)) << lines[0];
  EXPECT_NE(lines[0].find(" of a link of 400Gbps; it takes about "), std::string::npos) << lines[0];
  const double share = std::stod(lines[0].substr(begin.size())) / 100;
  EXPECT_LT(share, 0.6);
  EXPECT_NEAR(bytes_per_s(config, CollectiveOp::kAllgather) / whole, share, 0.05);
}

}  // namespace
}  // namespace weft::platforms
