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
  for (const auto& [optimizer, shards] : {std::pair("muon", 0),
                                          {"muon", 4},
                                          {"muon", 1},
                                          {"shampoo", 1},
                                          {"shampoo", 4},
                                          {"soap", 2},
                                          {"kfac", 0},
                                          {"kfac", 4},
                                          {"kfac", 1}}) {
    const FsdpResult result = updated(two_nodes(), nano_with(optimizer, shards));
    EXPECT_EQ(result.wrong, 0) << optimizer << " in " << shards;
    const Time parts = result.compute + result.exposed_allgather + result.exposed_reduce_scatter +
                       result.exposed_all_reduce + result.exposed_optimizer + result.exposed_offload + result.other;
    EXPECT_EQ(parts, result.step);
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

/// Blocks of a shard have owners among the ranks that have copies of it (facebookresearch/optimizers, HSDPDistributor):
/// ranks 0 and 4 of two copies in 4 shards, and they alone gather updates, of a quarter of all matrices in 32 bits.
TEST(FsdpOptimizers, ShareOutBlocksOfAShardAmongItsCopies) {
  for (const char* optimizer : {"shampoo", "soap"}) {
    MachineConfig machine = two_nodes();
    machine.data = false;
    const FsdpConfig config = nano_with(optimizer, 4);
    const FsdpResult result = updated(machine, config);
    std::int64_t gathers = 0;
    std::int64_t bytes = 0;
    for (const auto& [what, row] : result.of_first.sums()) {
      if (what.operation != "all_gather" || what.ranks != 2) continue;
      gathers += row.count;
      bytes = static_cast<std::int64_t>(what.bytes);
    }
    EXPECT_EQ(gathers, 2) << optimizer << ": one in each step";
    const accelerator::ComputeConfig& compute = machine.accelerator.array.compute;
    const schedules::FsdpPlan two(config, compute, 4, 2);
    const schedules::FsdpPlan one(config, compute, 4, 1);
    const auto flops_of = [](const schedules::FsdpPlan& plan) {
      double sum = 0;
      for (const schedules::PlannedKernel& kernel : plan.update(0).kernels()) sum += kernel.work.flops;
      return sum;
    };
    EXPECT_EQ(one.update(0).exchanges(), 0U);
    ASSERT_EQ(two.update(0).exchanges(), 1U);
    // nano: 4 blocks of matrices of 64 rows and more, all of whose rows 4 ranks divide.
    std::int64_t matrices = 0;
    for (std::int64_t b = 0; b < two.model.blocks(); ++b) {
      for (const models::Tensor& tensor : models::unit_tensors(two.model, models::block_kind(two.model, b))) {
        if (tensor.cols > 1) matrices += tensor.elements();
      }
    }
    EXPECT_EQ(bytes, 4 * matrices / 4) << optimizer;
    EXPECT_LT(flops_of(two), 0.6 * flops_of(one)) << optimizer << ": half, but for what cannot be divided";
    EXPECT_GE(flops_of(two), 0.5 * flops_of(one));
    EXPECT_LT(two.kept.state_bytes(), one.kept.state_bytes());
    EXPECT_EQ(two.kept.masters, one.kept.masters) << "all of the shard's parameters are updated by all of its copies";
  }
}

/// A step of 4 of every tenth updates factors, one of a hundred inverses, too.
TEST(FsdpOptimizers, KfacObservesInItsInterval) {
  MachineConfig machine = two_nodes();
  machine.data = false;
  FsdpConfig config = nano_with("kfac");
  config.steps = 12;
  const schedules::FsdpPlan plan(config, machine.accelerator.array.compute, 8);
  ASSERT_EQ(plan.updates.size(), 3U);
  for (const int step : {0, 10}) EXPECT_TRUE(plan.update(step).observes) << step;
  for (const int step : {1, 9, 11}) EXPECT_FALSE(plan.update(step).observes) << step;
  for (int b = 0; b < plan.blocks(); ++b) {
    EXPECT_TRUE(plan.stages[static_cast<std::size_t>(plan.forward_stage(b))].observed.empty());
    EXPECT_EQ(plan.stages[static_cast<std::size_t>(plan.backward_stage(b))].observed.size(), 2 * 7U);
  }
  const std::vector<Time> steps = updated(machine, config).steps;
  for (const std::size_t step : {1, 5, 9, 11}) EXPECT_LT(steps[step], steps[10]) << step;
  EXPECT_LT(steps[10], steps[0]);
}

TEST(FsdpOptimizers, WhatKfacKeepsIsCountedAndRefusedWhereItDoesNotFit) {
  MachineConfig machine = two_nodes();
  machine.data = false;
  const FsdpResult result = updated(machine, nano_with("kfac"));
  const schedules::FsdpPlan plan(nano_with("kfac"), machine.accelerator.array.compute, 8);
  std::uint64_t sum = 0;
  for (const auto& [what, bytes] : plan.kept.state) sum += memory_of(result, what);
  EXPECT_EQ(sum, static_cast<std::uint64_t>(plan.kept.state_bytes()));
  EXPECT_GT(memory_of(result, "sums of factors of the rank's own tokens"),
            memory_of(result, "averages of factors that the rank owns in 32 bits"));
  // Collectives' buffers are there first, then parameters.
  bool names_factors = false;
  for (std::int64_t mebibytes = 8; mebibytes < 80; mebibytes += 2) {
    machine.accelerator.hbm.capacity = Bytes(mebibytes << 20);
    try {
      Machine small(machine);
      const Fsdp fsdp(small.ranks(), nano_with("kfac"), machine.collectives, machine.accelerator.array.compute);
    } catch (const std::length_error& error) {
      names_factors = names_factors || std::string(error.what()).find("factors of the rank's own tokens needs") == 8;
    }
    test::fresh_kernel();
  }
  EXPECT_TRUE(names_factors);
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

/// A long update, which nothing follows.
TEST(FsdpOptimizers, TellHowMuchLaterTheSlowestRankEnds) {
  MachineConfig machine = two_nodes();
  machine.data = false;
  FsdpConfig config = nano_with("shampoo");
  config.steps = 1;
  const FsdpResult alike = updated(machine, config);
  machine.accelerator.array.speed_spread = 0.05;
  const FsdpResult spread = updated(machine, config);
  EXPECT_LT(alike.slowest_rank, alike.steps.back() / 10'000);
  EXPECT_GT(spread.slowest_rank, spread.steps.back() / 1000);
  EXPECT_LE(spread.slowest_rank, spread.other);
  EXPECT_LT(spread.other - spread.slowest_rank, spread.steps.back() / 1000) << "that is nearly all of it";
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
  config = nano_with("kfac");
  config.flat_parameters = true;
  EXPECT_EQ(refusal_of(config),
            "workload.flat_parameters: expected false with workload.optimizer kfac, which puts matrices together from "
            "their rows");
  config = nano_with("lion");
  EXPECT_NE(refusal_of(config).find("workload.optimizer: expected one of adamw"), std::string::npos)
      << refusal_of(config);
}

}  // namespace
}  // namespace weft
