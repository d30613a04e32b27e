// SPDX-License-Identifier: Apache-2.0
// Settings that starve links are named with the share that passes: what a run then has, and what is said to be enough.
#include "platforms/machine/starvation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "platforms/jobs/collective_run.h"
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

double bytes_per_s(const MachineConfig& config, CollectiveOp op, std::uint64_t bytes = 128 << 20) {
  test::fresh_kernel();
  Machine machine(config);
  return static_cast<double>(bytes) /
         static_cast<double>(run_collective(machine, op, {bytes}, ElementType::kFp32)[0].time.count());
}

std::vector<std::string> rings(const MachineConfig& config) {
  test::fresh_kernel();
  return Machine(config).ring_warnings();
}

/// The share that a line names.
double named_share(const std::string& line) {
  const std::string begin = "fill at most about ";
  const std::size_t at = line.find(begin);
  return at == std::string::npos ? 1 : std::stod(line.substr(at + begin.size())) / 100;
}

/// Of the rate of the links that leave nodes, what a run of rings over all members has.
double share_of_links(const MachineConfig& config, CollectiveOp op) {
  constexpr std::uint64_t kBytes = 64 << 20;
  const double passed = static_cast<double>(kBytes) * (config.accelerators - 1) / config.accelerators / config.per_node;
  const double rate = static_cast<double>(config.fabric.payload_rate().count()) / 8e12;
  return bytes_per_s(config, op, kBytes) / static_cast<double>(kBytes) * passed / rate;
}

/// Near what a run has, and rather above it, for slots from two on.
void expect_shares(MachineConfig config, CollectiveOp op, const std::string& what) {
  for (const int slots : {2, 3, 4, 6, 8, 16}) {
    SCOPED_TRACE(what + " with " + std::to_string(slots) + " slots");
    config.collectives.slots = slots;
    std::string line;
    for (const std::string& each : rings(config)) {
      if (each.find(what) != std::string::npos) line = each;
    }
    const double share = share_of_links(config, op);
    if (line.empty()) {
      EXPECT_GT(share, 0.85);
      continue;
    }
    EXPECT_GT(named_share(line) / share, 0.95) << line;
    EXPECT_LT(named_share(line) / share, 1.15) << line;
  }
}

TEST(StarvedRings, AreNamedWithTheShareThatARunHas) {
  for (const Time propagation : {1_us, 10_us}) {
    SCOPED_TRACE(to_text(propagation));
    MachineConfig config = far_ring();
    config.fabric.link.propagation = propagation;
    expect_shares(config, CollectiveOp::kReduceScatter, "ReduceScatter");
    config.accelerator.array.shared_cores = true;
    expect_shares(config, CollectiveOp::kAllgather, "Allgather");
  }
}

TEST(StarvedRings, AreNamedAcrossNodes) {
  MachineConfig config = far_ring();
  config.accelerators = 8;
  config.per_node = 2;
  expect_shares(config, CollectiveOp::kReduceScatter, "ReduceScatter");
}

TEST(StarvedRings, AreNamedWithWhatHelps) {
  MachineConfig config = far_ring();
  const std::vector<std::string> lines = rings(config);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(
      lines[0].starts_with("fabric: collectives.slots of 16 and collectives.chunk of 64KiB let a large "
                           "ReduceScatter by rings fill at most about 67"))
      << lines[0];
  const std::string begin = " of the links, since slots come back late; it takes about collectives.slots=";
  const std::size_t at = lines[0].find(begin);
  ASSERT_NE(at, std::string::npos) << lines[0];
  MachineConfig enough = config;
  enough.collectives.slots = std::stoi(lines[0].substr(at + begin.size()));
  EXPECT_GT(enough.collectives.slots, 16);
  EXPECT_LT(enough.collectives.slots, 64);
  EXPECT_EQ(rings(enough), std::vector<std::string>());
  const double share = bytes_per_s(enough, CollectiveOp::kReduceScatter);
  enough.collectives.slots = 512;
  EXPECT_GT(share, 0.9 * bytes_per_s(enough, CollectiveOp::kReduceScatter));
  config.collectives.chunk = 1_KiB;
  EXPECT_NE(rings(config).at(0).find("; a larger collectives.chunk fills more of them"), std::string::npos);
  config.collectives.chunk = 1_MiB;
  EXPECT_EQ(rings(config), std::vector<std::string>());
  // What runs otherwise has no such slots.
  config = far_ring();
  config.collectives.algorithm = "dimensions";
  EXPECT_EQ(rings(config), std::vector<std::string>());
}

TEST(ReadAhead, IsNamedWithTheShareThatARunHas) {
  MachineConfig config = far_ring();
  config.fabric.link.propagation = 500_ns;
  const auto warnings = [&config] {
    test::fresh_kernel();
    Machine machine(config);
    run_collective(machine, CollectiveOp::kAllgather, {4096},
                   ElementType::kFp32);  // of what nothing passed it is silent
    return machine.warnings();
  };
  EXPECT_EQ(warnings(), std::vector<std::string>());
  const double whole = bytes_per_s(config, CollectiveOp::kAllgather);
  for (const auto& [segment, ahead] : {std::pair{4_KiB, 16_KiB}, {4_KiB, 32_KiB}, {16_KiB, 16_KiB}}) {
    config.fabric.segment = segment;
    config.nic.read_ahead = ahead;
    const std::vector<std::string> lines = warnings();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_TRUE(lines[0].starts_with("nic.read_ahead: payload of ")) << lines[0];
    EXPECT_NE(lines[0].find(" of a link of 400Gbps; it takes about "), std::string::npos) << lines[0];
    const std::string begin = " on its way from memory fills about ";
    const double share = std::stod(lines[0].substr(lines[0].find(begin) + begin.size())) / 100;
    EXPECT_LT(share, 0.9);
    EXPECT_NEAR(bytes_per_s(config, CollectiveOp::kAllgather) / whole / share, 1, 0.02) << lines[0];
  }
}

}  // namespace
}  // namespace weft::platforms
