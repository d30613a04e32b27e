// SPDX-License-Identifier: Apache-2.0
// Optimizers at the end of FSDP steps on whole machines: what they exchange, what they keep, how long they take.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "platforms/machine/machine.h"
#include "sw/schedules/fsdp.h"
#include "sw/schedules/fsdp_check.h"
#include "tests/support/kernel.h"

namespace weft {
namespace {

using namespace literals;
using platforms::Machine;
using platforms::MachineConfig;
using schedules::Fsdp;
using schedules::FsdpConfig;
using schedules::FsdpResult;

MachineConfig two_nodes() {
  MachineConfig machine;
  machine.accelerators = 8;
  machine.per_node = 4;
  machine.data = true;
  machine.collectives.algorithm = "nccl";
  machine.fabric.segment = machine.scale_up.fabric.segment = 4_KiB;
  machine.fabric.link.buffer = machine.scale_up.fabric.link.buffer = 256_KiB;
  return machine;
}

FsdpConfig nano_with(const char* optimizer, int shards = 0) {
  FsdpConfig config;
  config.model = "nano";
  config.sequences = 2;
  config.sequence = 256;
  config.steps = 2;
  config.shards = shards;
  config.optimizer.name = optimizer;
  return config;
}

FsdpResult updated(const MachineConfig& config, const FsdpConfig& workload) {
  Machine machine(config);
  Fsdp fsdp(machine.ranks(), workload, config.collectives, config.accelerator.array.compute);
  fsdp.start();
  machine.run();
  FsdpResult result = fsdp.result();
  test::fresh_kernel();
  return result;
}

std::string refusal_of(const FsdpConfig& workload) {
  std::string text = "was accepted";
  const MachineConfig config = two_nodes();
  try {
    Machine machine(config);
    const Fsdp fsdp(machine.ranks(), workload, config.collectives, config.accelerator.array.compute);
  } catch (const ConfigError& error) {
    text = error.what();
  }
  test::fresh_kernel();
  return text;
}

std::uint64_t memory_of(const FsdpResult& result, const std::string& what) {
  std::uint64_t sum = 0;
  for (const auto& [name, bytes] : result.memory) sum += name == what ? bytes : 0;
  return sum;
}

/// Shards of all 8 ranks, of 4 in two copies, and whole parameters on all. A dropped or misplaced part would be wrong.
TEST(FsdpOptimizers, ExchangeWhatOthersHaveForThem) {
  for (const auto& [optimizer, shards] : {std::pair("muon", 0), {"muon", 4}, {"muon", 1}, {"shampoo", 1}}) {
    const FsdpResult result = updated(two_nodes(), nano_with(optimizer, shards));
    EXPECT_EQ(result.wrong, 0) << optimizer << " in " << shards;
    const Time parts = result.compute + result.exposed_allgather + result.exposed_reduce_scatter +
                       result.exposed_all_reduce + result.exposed_optimizer + result.exposed_offload + result.other;
    EXPECT_EQ(parts, result.steps.back());
  }
}

TEST(FsdpOptimizers, CheckWhatIsExchanged) {
  memory::BackingStore store;
  namespace check = schedules::check;
  // Part 2 of what each rank has, one behind the other, is what rank 2 is sent.
  std::vector<std::byte> part(1024);
  for (int rank = 0; rank < 4; ++rank) {
    check::fill_parts(store, ElementType::kBf16, 0, 4096, 7, rank, 4);
    store.read(2048, part.data(), part.size());
    store.write(8192 + 1024 * static_cast<std::uint64_t>(rank), part.data(), part.size());
  }
  EXPECT_EQ(check::compare_parts(store, ElementType::kBf16, 8192, 4096, 7, 2, 4), 0);
  EXPECT_GT(check::compare_parts(store, ElementType::kBf16, 8192, 4096, 7, 3, 4), 1000);
  EXPECT_GT(check::compare_parts(store, ElementType::kBf16, 8192, 4096, 8, 2, 4), 1000);
  part[0] ^= std::byte{1};
  store.write(8192 + 3072, part.data(), part.size());
  EXPECT_EQ(check::compare_parts(store, ElementType::kBf16, 8192, 4096, 7, 2, 4), 1);
}

/// nano: 4 blocks of 7 matrices of 4 shapes, two of which have 8; 8 ranks take up to 8 matrices at once.
TEST(FsdpOptimizers, MuonHasAnAllToAllThereAndBackForEachBatch) {
  MachineConfig machine = two_nodes();
  machine.data = false;
  const FsdpResult result = updated(machine, nano_with("muon"));
  std::int64_t exchanges = 0;
  for (const auto& [what, row] : result.of_first.sums()) {
    if (what.operation == "all_to_all") exchanges += row.count;
  }
  const schedules::FsdpPlan plan(nano_with("muon"), machine.accelerator.array.compute, 8);
  EXPECT_EQ(exchanges, static_cast<std::int64_t>(2 * plan.update(0).exchanges()));
  EXPECT_EQ(plan.update(0).exchanges(), 2 * 4U);
  EXPECT_GT(result.exposed_optimizer, Time());
  EXPECT_EQ(memory_of(result, "momentum of matrices in 32 bits") +
                memory_of(result, "two moments of other parameters in 32 bits"),
            static_cast<std::uint64_t>(plan.kept.state_bytes()));
  const FsdpResult adamw = updated(machine, nano_with("adamw"));
  EXPECT_EQ(adamw.exposed_optimizer, Time());
  EXPECT_GT(result.steps.back(), adamw.steps.back());
}

TEST(FsdpOptimizers, KeepWhatTheySay) {
  const auto kept = [](const char* optimizer) {
    return schedules::FsdpPlan(nano_with(optimizer), accelerator::ComputeConfig(), 8).kept;
  };
  const std::int64_t parameters = kept("adamw").masters;
  EXPECT_EQ(kept("adamw").state_bytes(), 8 * parameters);
  EXPECT_EQ(kept("none").state_bytes(), 8 * parameters);
  EXPECT_EQ(kept("sgd").state_bytes(), 4 * parameters);
  const auto muon = kept("muon").state;
  ASSERT_EQ(muon.size(), 2U);
  // Rounded up for each of them.
  EXPECT_NEAR(static_cast<double>(2 * muon[0].second + muon[1].second), static_cast<double>(8 * parameters), 64);
  EXPECT_GT(kept("shampoo").state_bytes(), 8 * parameters);
  EXPECT_EQ(kept("shampoo").state_bytes(), kept("soap").state_bytes());
}

/// Owners keep what they own: a rank's memory is that of the one that keeps most, the embedding's here.
TEST(FsdpOptimizers, MemoryIsThatOfTheFullestRank) {
  const schedules::FsdpPlan plan(nano_with("muon", 1), accelerator::ComputeConfig(), 1, 8);
  std::int64_t others = 0;
  for (const auto& [what, bytes] : plan.kept.state) {
    if (what == "two moments of other parameters in 32 bits") others = bytes;
  }
  EXPECT_GE(others, 8 * plan.model.vocab * plan.model.d_model);
}

TEST(FsdpOptimizers, RenewRootsInTheirInterval) {
  FsdpConfig config = nano_with("soap");
  config.steps = 12;
  MachineConfig machine = two_nodes();
  machine.data = false;
  const std::vector<Time> steps = updated(machine, config).steps;
  ASSERT_EQ(steps.size(), 12U);
  // Steps 0 and 10 of an interval of 10.
  for (const std::size_t step : {1, 5, 9, 11}) EXPECT_LT(steps[step], steps[10]) << step;
  EXPECT_LT(steps[1], steps[0]);
}

TEST(FsdpOptimizers, RefuseWhatTheyCannotDo) {
  FsdpConfig config = nano_with("muon");
  config.flat_parameters = true;
  EXPECT_EQ(refusal_of(config),
            "workload.flat_parameters: expected false with workload.optimizer muon, which puts matrices together from "
            "their rows");
  config = nano_with("muon");
  config.offload.optimizer = true;
  EXPECT_EQ(refusal_of(config),
            "workload.offload.optimizer: expected false with workload.optimizer muon, whose state cannot be loaded in "
            "pieces");
  config = nano_with("lion");
  EXPECT_NE(refusal_of(config).find("workload.optimizer: expected one of adamw"), std::string::npos)
      << refusal_of(config);
}

}  // namespace
}  // namespace weft
