// SPDX-License-Identifier: Apache-2.0
// FSDP steps whose activations and optimiser state lie in remote memory: contents, bytes, what is exposed, what does
// not fit.
#include "sw/schedules/offload.h"

#include <gtest/gtest.h>

#include "hw/memory/remote/cxl_pool.h"
#include "hw/memory/remote/remote_memory.h"
#include "platforms/machine/machine.h"
#include "sw/schedules/fsdp.h"
#include "tests/support/benches/machine_checkers.h"
#include "tests/support/kernel.h"

namespace weft {
namespace {

using namespace literals;
using memory::CxlPath;
using platforms::Machine;
using platforms::MachineConfig;
using schedules::Fsdp;
using schedules::FsdpConfig;
using schedules::FsdpResult;

MachineConfig with_pool(CxlPath path) {
  MachineConfig machine;
  machine.accelerators = 4;
  machine.per_node = 2;
  machine.remote_memory.kind = "cxl";
  machine.remote_memory.chunk = 16_KiB;
  machine.remote_memory.sections.of<memory::CxlPool::Config>().sharers = 2;
  machine.remote_memory.sections.of<memory::CxlPool::Config>().path = path;
  return machine;
}

/// Four blocks, of which two have slots; moments in several pieces.
FsdpConfig offloaded() {
  FsdpConfig workload;
  workload.model = "nano";
  workload.sequences = 2;
  workload.sequence = 256;
  workload.steps = 2;
  workload.offload.activations = true;
  workload.offload.optimizer = true;
  workload.offload.piece = 300_KiB;
  return workload;
}

FsdpResult run_offloaded(Machine& machine, const FsdpConfig& workload) {
  Fsdp fsdp(machine.ranks(), workload, machine.config().collectives, machine.config().accelerator.array.compute);
  fsdp.start();
  machine.run();
  return fsdp.result();
}

struct OffloadCase {
  const char* name;
  const char* kind;
  CxlPath path;
  int devices;
  int buffers;
  Time stall;
  models::Recompute recompute = models::Recompute::kSelectiveOp;
};

class Offloaded : public testing::TestWithParam<OffloadCase> {};

TEST_P(Offloaded, StateComesBackAsItLeft) {
  const OffloadCase& c = GetParam();
  MachineConfig config = with_pool(c.path);
  config.remote_memory.kind = c.kind;
  config.remote_memory.sections.of<memory::CxlPool::Config>().devices = c.devices;
  config.data = true;
  config.stall = c.stall;
  FsdpConfig workload = offloaded();
  workload.offload.buffers = c.buffers;
  workload.recompute = c.recompute;
  test::MachineCheckers checkers;
  Machine machine(config, std::nullopt, checkers.wire());
  const FsdpResult result = run_offloaded(machine, workload);
  EXPECT_EQ(result.wrong, 0);
  checkers.expect_rules_kept({"hbm", "accelerator", "nic", "port", "firmware", "remote"});

  // In each of two steps every byte of the moments, and of the activations without a slot, goes there and back.
  const schedules::FsdpPlan plan(workload, config.accelerator.array.compute, 4);
  const auto shard = static_cast<std::int64_t>((plan.parameters() + 3) / 4);
  const auto blocks = std::int64_t{plan.blocks()} - std::min<std::int64_t>(c.buffers, plan.blocks());
  std::int64_t away = 8 * shard;
  for (std::int64_t block = 0; block < blocks; ++block) {
    away += static_cast<std::int64_t>((plan.activations_of(block) + 255) / 256 * 256);
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(machine.remote_dma(i).counters().stored_bytes, 2 * away);
    EXPECT_EQ(machine.remote_dma(i).counters().loaded_bytes, 2 * away);
  }
  EXPECT_EQ(result.remote_bytes, static_cast<std::uint64_t>(away));
}

INSTANTIATE_TEST_SUITE_P(All, Offloaded,
                         testing::Values(OffloadCase{"Near", "cxl", CxlPath::kNear, 1, 2, 0_ns},
                                         OffloadCase{"Far", "cxl", CxlPath::kFar, 3, 3, 0_ns},
                                         OffloadCase{"FarStalled", "cxl", CxlPath::kFar, 2, 2, 2000_ns},
                                         OffloadCase{"HostStalled", "per-node", CxlPath::kNear, 1, 2, 500_ns},
                                         OffloadCase{"EnoughSlots", "cxl", CxlPath::kNear, 1, 8, 0_ns},
                                         OffloadCase{"EverySecondBlock", "cxl", CxlPath::kFar, 2, 1, 0_ns,
                                                     models::Recompute::kSelectiveLayer}),
                         [](const auto& test) { return test.param.name; });

/// Two blocks of Llama 3 8B would have slots; four are trained.
FsdpConfig four_blocks() {
  FsdpConfig workload;
  workload.layers = 4;
  workload.steps = 2;
  workload.offload.activations = true;
  workload.offload.optimizer = true;
  return workload;
}

TEST(Offloading, IsHiddenByAFastPoolAndExposedByASlowOne) {
  MachineConfig config = with_pool(CxlPath::kNear);
  config.remote_memory.chunk = 64_KiB;
  config.fabric.segment = config.scale_up.fabric.segment = 64_KiB;
  FsdpConfig stays = four_blocks();
  stays.offload.activations = stays.offload.optimizer = false;
  FsdpResult at_home;
  {
    Machine machine(config);
    at_home = run_offloaded(machine, stays);
  }
  test::fresh_kernel();
  config.remote_memory.sections.of<memory::CxlPool::Config>().link.rate = 4000_GBps;
  config.remote_memory.sections.of<memory::CxlPool::Config>().link.outstanding = 16_MiB;
  config.remote_memory.sections.of<memory::CxlPool::Config>().device.rate = 8000_GBps;
  config.remote_memory.dma.outstanding = 64;
  FsdpResult fast;
  {
    Machine machine(config);
    fast = run_offloaded(machine, four_blocks());
  }
  test::fresh_kernel();
  config.remote_memory.sections.of<memory::CxlPool::Config>().link.rate = 20_GBps;
  Machine machine(config);
  const FsdpResult slow = run_offloaded(machine, four_blocks());

  EXPECT_EQ(at_home.exposed_offload, 0_ns);
  EXPECT_LT(fast.exposed_offload, fast.steps[1] / 50);
  EXPECT_GT(slow.exposed_offload, slow.steps[1] / 10);
  for (const FsdpResult& result : {at_home, fast, slow}) {
    EXPECT_EQ(result.compute + result.exposed_allgather + result.exposed_reduce_scatter + result.exposed_offload +
                  result.other,
              result.steps[1]);
    EXPECT_GT(result.other, Time() - 1_us);  // ranks end a step at times of their own, from which their parts count
  }
  // No faster than the link lets two blocks' activations and all moments through, one way.
  const schedules::FsdpPlan plan(four_blocks(), config.accelerator.array.compute, 4);
  const auto bytes = static_cast<double>(2 * plan.activations_of(0)) + 2.0 * static_cast<double>(plan.parameters());
  EXPECT_GT(static_cast<double>(slow.steps[1].count()), bytes / 20e9 * 1e12);
}

std::string refusal(const MachineConfig& config, const FsdpConfig& workload) {
  std::string text = "was accepted";
  try {
    Machine machine(config);
    const Fsdp fsdp(machine.ranks(), workload, config.collectives, config.accelerator.array.compute);
  } catch (const std::exception& error) {
    text = error.what();
  }
  test::fresh_kernel();
  return text;
}

TEST(Offloading, LetsFitWhatDoesNot) {
  MachineConfig config = with_pool(CxlPath::kNear);
  config.accelerator.hbm.capacity = 40_GiB;
  FsdpConfig workload = four_blocks();
  workload.layers = 16;
  workload.sequences = 2;
  EXPECT_EQ(refusal(config, workload), "was accepted");
  workload.offload.activations = false;
  const std::string text = refusal(config, workload);
  EXPECT_NE(text.find("activations of 16 blocks needs "), std::string::npos) << text;
  EXPECT_NE(text.find(" of 40 GiB are free (accelerator.hbm.capacity); workload.recompute makes them fewer, and "
                      "workload.offload.activations puts them elsewhere"),
            std::string::npos)
      << text;
}

TEST(Offloading, NamesThePoolThatIsTooSmall) {
  MachineConfig config = with_pool(CxlPath::kNear);
  config.remote_memory.sections.of<memory::CxlPool::Config>().device.capacity = 2_GiB;
  const std::string text = refusal(config, four_blocks());
  EXPECT_NE(text.find("two moments in 32 bits in remote memory needs 3.5821 GiB, and 0.029"), std::string::npos)
      << text;
  EXPECT_NE(text.find(" of 1 GiB are free (remote_memory.cxl.device.capacity, 1/2 for each accelerator)"),
            std::string::npos)
      << text;
}

TEST(Offloading, HasNoCollectivesInCxlSwitches) {
  MachineConfig config = with_pool(CxlPath::kFar);
  config.remote_memory.sections.of<memory::RemoteMemory::Hierarchy>().in_switch = true;
  EXPECT_EQ(refusal(config, four_blocks()),
            "remote_memory.hierarchical.in_switch: expected false, since remote_memory.kind is cxl: only a "
            "hierarchical pool has such switches");
}

TEST(Offloading, NeedsRemoteMemory) {
  MachineConfig config = with_pool(CxlPath::kNear);
  config.remote_memory.kind = "none";
  EXPECT_EQ(refusal(config, four_blocks()),
            "workload.offload.activations: expected false, since remote_memory.kind is none: there is nowhere to put "
            "it");
  FsdpConfig workload = four_blocks();
  workload.offload.activations = false;
  EXPECT_EQ(refusal(config, workload),
            "workload.offload.optimizer: expected false, since remote_memory.kind is none: there is nowhere to put it");
}

}  // namespace
}  // namespace weft
