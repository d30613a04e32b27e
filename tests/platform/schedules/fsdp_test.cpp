// SPDX-License-Identifier: Apache-2.0
// FSDP steps on whole machines: contents of memories, the schedule's properties, goldens, segments against packets.
#include <gtest/gtest.h>

#include "platforms/machine/machine.h"
#include "sw/schedules/fsdp.h"
#include "sw/schedules/fsdp_work.h"
#include "tests/support/kernel.h"

namespace weft {
namespace {

using namespace literals;
using collectives::AlgorithmName;
using platforms::Machine;
using platforms::MachineConfig;
using schedules::Fsdp;
using schedules::FsdpConfig;
using schedules::FsdpResult;

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
constexpr bool kFast = true;
#else
constexpr bool kFast = false;
#endif

MachineConfig machine_of(int accelerators, int per_node, Bytes segment) {
  MachineConfig machine;
  machine.accelerators = accelerators;
  machine.per_node = per_node;
  machine.fabric.segment = segment;
  machine.fabric.link.buffer = 256_KiB;
  machine.scale_up.fabric.segment = segment;
  machine.scale_up.fabric.link.buffer = 256_KiB;
  return machine;
}

struct Outcome {
  FsdpResult result;
  std::uint64_t digest;
};

Outcome run(const MachineConfig& config, const FsdpConfig& workload) {
  Machine machine(config);
  Fsdp fsdp(machine.ranks(), workload, config.collectives, config.accelerator.array.compute);
  fsdp.start();
  machine.run();
  return {fsdp.result(), machine.dispatcher().digest()};
}

FsdpConfig nano() {
  FsdpConfig config;
  config.model = "nano";
  config.sequences = 2;
  config.sequence = 256;
  return config;
}

/// A Llama-3-8B cut to two blocks: what a step does, in a fraction of the time.
FsdpConfig two_blocks() {
  FsdpConfig config;
  config.layers = 2;
  return config;
}

// ---- Contents

struct DataCase {
  int accelerators;
  int per_node;
  AlgorithmName algorithm;
  bool reshard;
  bool separate;
  int limit;
  Time stall;
  int shards = 0;
};

class Contents : public testing::TestWithParam<DataCase> {};

TEST_P(Contents, AreGatheredAndSummedExactly) {
  const DataCase& c = GetParam();
  MachineConfig machine = machine_of(c.accelerators, c.per_node, 4_KiB);
  machine.data = true;
  machine.collectives.algorithm = c.algorithm;
  machine.collectives.chunk = 8_KiB;  // several chunks to a block
  machine.stall = c.stall;
  FsdpConfig workload = nano();
  workload.steps = 2;
  workload.reshard_after_forward = c.reshard;
  workload.separate_streams = c.separate;
  workload.limit_all_gathers = c.limit;
  workload.shards = c.shards;
  EXPECT_EQ(run(machine, workload).result.wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, Contents,
    testing::Values(
        DataCase{2, 2, "ring", true, true, 2, 0_ns}, DataCase{3, 1, "ring", true, true, 2, 0_ns},
        DataCase{4, 4, "ring", true, false, 2, 0_ns}, DataCase{8, 4, "ring", true, true, 1, 0_ns},
        DataCase{8, 4, "hierarchical", true, true, 3, 0_ns}, DataCase{8, 2, "hierarchical", false, true, 2, 0_ns},
        DataCase{6, 2, "hierarchical", true, false, 2, 0_ns}, DataCase{8, 4, "hierarchical", true, true, 2, 2000_ns},
        DataCase{8, 4, "ring", true, true, 2, 2000_ns, 4}, DataCase{8, 4, "ring", true, false, 2, 0_ns, 2},
        DataCase{8, 4, "ring", false, true, 1, 0_ns, 2}, DataCase{8, 2, "hierarchical", true, true, 2, 0_ns, 4},
        DataCase{4, 2, "ring", true, true, 2, 2000_ns, 1}, DataCase{1, 1, "ring", true, true, 2, 0_ns, 1}));

/// Blocks of an encoder and of a decoder have gathers and sums of their own lengths, in buffers of the larger.
TEST(Contents, BehindAnEncoderAreGatheredAndSummedExactly) {
  for (const bool reshard : {true, false}) {
    MachineConfig machine = machine_of(6, 2, 4_KiB);
    machine.data = true;
    machine.collectives.chunk = 8_KiB;
    FsdpConfig workload = nano();
    workload.model = "nano-t5";
    workload.steps = 2;
    workload.reshard_after_forward = reshard;
    EXPECT_EQ(run(machine, workload).result.wrong, 0);
    test::fresh_kernel();
  }
}

/// Of a gather, weights have one byte and norms two; before the first one the scales of weights are added up.
TEST(Contents, InFloat8AreGatheredAndSummedExactly) {
  for (const auto algorithm : {"ring", "hierarchical"}) {
    for (const int shards : {0, 4, 1}) {
      MachineConfig machine = machine_of(8, 4, 4_KiB);
      machine.data = true;
      machine.collectives.algorithm = algorithm;
      machine.collectives.chunk = 8_KiB;
      FsdpConfig workload = nano();
      workload.steps = 2;
      workload.fusion = models::Fusion::kCompiledBlocks;
      workload.linear = models::LinearType::kFloat8;
      workload.shards = shards;
      EXPECT_EQ(run(machine, workload).result.wrong, 0);
      test::fresh_kernel();
      workload.layers = 1;  // fewer scales than ranks
      EXPECT_EQ(run(machine, workload).result.wrong, 0);
      test::fresh_kernel();
    }
  }
}

// ---- The schedule

TEST(Schedule, Float8GathersABytePerWeight) {
  FsdpConfig workload = two_blocks();
  workload.fusion = models::Fusion::kCompiledBlocks;
  const accelerator::ComputeConfig compute;
  const schedules::FsdpPlan plain(workload, compute, 8);
  workload.linear = models::LinearType::kFloat8;
  const schedules::FsdpPlan plan(workload, compute, 8);
  ASSERT_EQ(plan.gathers.size(), plain.gathers.size());
  EXPECT_EQ(plan.gathers[0].bytes, 2 * plan.root_elements);
  constexpr std::uint64_t kNorms = 2 * 4096;
  EXPECT_EQ(plan.gathers[1].bytes, plan.block_elements + kNorms);
  EXPECT_EQ(plain.gathers[1].bytes, 2 * plain.block_elements);
  EXPECT_EQ(plan.block_gathered_bytes, plan.block_elements + kNorms);
  EXPECT_EQ(plan.scales, 2 * 7);
  EXPECT_EQ(plain.scales, 0);
  EXPECT_TRUE(plain.scaling.empty());
  ASSERT_EQ(plan.scaling.size(), 1U);
  EXPECT_EQ(plan.scaling[0].work.read.count(), static_cast<std::int64_t>(4 * 2 * (plan.block_elements - kNorms) / 8));
  // Gradients are as they were.
  EXPECT_EQ(plan.scatters[0].elements, plain.scatters[0].elements);
  // Alone, nothing is gathered: weights are cast in each pass.
  const schedules::FsdpPlan alone(workload, compute, 1);
  EXPECT_EQ(alone.scales, 0);
  EXPECT_GT(alone.stages[1].kernels.size(), plan.stages[1].kernels.size());
}

TEST(Schedule, WorkIsOfBytesAndKernels) {
  FsdpConfig workload = two_blocks();
  workload.layers = 16;
  const schedules::FsdpPlan plan(workload, accelerator::ComputeConfig(), 8);
  const std::vector<double> work = schedules::work_of_stages(plan);
  ASSERT_EQ(work.size(), plan.stages.size() + 1);
  double all = 0;
  for (const double each : work) all += each;
  double bytes = 0;
  std::size_t kernels = plan.update(0).kernels().size();
  for (const schedules::Gather& gather : plan.gathers) bytes += static_cast<double>(gather.bytes);
  for (const schedules::Scatter& scatter : plan.scatters) bytes += 2 * static_cast<double>(scatter.elements);
  for (const schedules::Stage& stage : plan.stages) kernels += stage.kernels.size() + stage.tail.size();
  EXPECT_NEAR(all, bytes + static_cast<double>(kernels << 20), 1);

  const std::vector<schedules::FsdpRow> rows = schedules::find_rows(plan, {1, 1});
  ASSERT_FALSE(rows.empty());
  const double share = schedules::share_of_settled(plan, rows);
  EXPECT_GT(share, 12.0 / 32);
  EXPECT_LT(share, 0.7);
  EXPECT_EQ(schedules::share_of_settled(plan, {}), 1);
}

/// Sequences and their tokens each within their limits, and more together than 64 bits count.
TEST(Schedule, StepsHaveAtMostSoManyOperations) {
  FsdpConfig workload = two_blocks();
  workload.sequences = 1 << 20;
  workload.sequence = 1 << 24;
  try {
    const schedules::FsdpPlan plan(workload, accelerator::ComputeConfig(), 8);
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "workload.sequences");
    EXPECT_EQ(error.expected().find("expected a step of at most 1e+18 operations a rank, got "), 0U)
        << error.expected();
  }
}

/// Of a block, in bytes for each of its parameters that a rank keeps.
TEST(Schedule, ShardsAndTheirSumsAreCast) {
  FsdpConfig workload = two_blocks();
  workload.fusion = models::Fusion::kCompiledBlocks;
  using Moved = std::vector<std::pair<std::string, std::int64_t>>;
  const auto moved = [](const schedules::FsdpPlan& plan, const std::vector<schedules::PlannedKernel>& kernels) {
    Moved result;
    for (const schedules::PlannedKernel& kernel : kernels) {
      const auto bytes = kernel.work.read.count() + kernel.work.written.count();
      result.emplace_back(kernel.label, bytes * 8 / static_cast<std::int64_t>(plan.block_elements));
    }
    return result;
  };
  const auto gathered = [&](int shards = 8) {
    const schedules::FsdpPlan plan(workload, accelerator::ComputeConfig{}, shards);
    return moved(plan, plan.gathers.at(1).before);
  };
  const auto summed = [&](int shards = 8) {
    const schedules::FsdpPlan plan(workload, accelerator::ComputeConfig{}, shards);
    return moved(plan, plan.scatters.at(0).sums);
  };
  EXPECT_EQ(gathered(), (Moved{{"shard.cast", 6}, {"allgather.copy_in", 4}}));
  EXPECT_EQ(summed(), Moved{});  // of 32 bits
  workload.reduce_type = ElementType::kBf16;
  EXPECT_EQ(summed(), (Moved{{"sums.cast", 6}}));
  EXPECT_EQ(summed(1), Moved{});
  workload.linear = models::LinearType::kFloat8;
  // Less what norms take: they are a ten thousandth of a block.
  EXPECT_EQ(gathered(), (Moved{{"shard.scale_cast", 20}, {"shard.cast", 0}, {"allgather.copy_in", 2}}));
  workload.linear = models::LinearType::kPlain;
  workload.flat_parameters = true;
  EXPECT_EQ(gathered(), (Moved{{"shard.cast", 6}}));
  EXPECT_EQ(summed(), (Moved{{"sums.division", 4}, {"sums.cast", 6}}));
  workload.parameter_type = ElementType::kFp32;
  EXPECT_EQ(gathered(), Moved{});
  workload.copies = false;
  EXPECT_EQ(summed(), Moved{});
}

/// Before a step's first Allgather the compute stream waits while the shard is cast, which is counted once.
TEST(Schedule, CastsAreComputingAndNotWaiting) {
  for (const bool flat : {false, true}) {
    FsdpConfig workload = two_blocks();
    workload.flat_parameters = flat;
    const FsdpResult cast = run(machine_of(8, 4, 16_KiB), workload).result;
    test::fresh_kernel();
    workload.copies = false;
    const FsdpResult plain = run(machine_of(8, 4, 16_KiB), workload).result;
    test::fresh_kernel();
    EXPECT_GT(cast.compute, plain.compute);
    EXPECT_GE(cast.other, 0_ns);
    EXPECT_LT(cast.other, cast.steps[0] / 1000);
  }
}

TEST(Schedule, GradientsOfFlatParametersAreConcatenatedAndDivided) {
  FsdpConfig workload = two_blocks();
  workload.flat_parameters = true;
  const auto tail = [&workload] {
    const schedules::FsdpPlan plan(workload, accelerator::ComputeConfig{}, 8);
    // Gathered into its place: the root unit's first kernel is its own.
    EXPECT_STREQ(plan.stages[0].kernels.front().label, "embedding");
    std::vector<std::pair<std::string, std::int64_t>> moved;
    for (const schedules::PlannedKernel& kernel : plan.stages[plan.stages.size() - 2].tail) {
      const auto bytes = kernel.work.read.count() + kernel.work.written.count();
      moved.emplace_back(kernel.label, bytes / static_cast<std::int64_t>(plan.block_elements));
    }
    return moved;
  };
  using Moved = std::vector<std::pair<std::string, std::int64_t>>;
  workload.reduce_type = ElementType::kBf16;
  EXPECT_EQ(tail(), (Moved{{"gradient cat", 4}, {"gradient division", 4}}));
  workload.reduce_type = ElementType::kFp32;
  EXPECT_EQ(tail(), (Moved{{"gradient cat", 4}, {"gradient cast", 6}, {"gradient division", 8}}));
  workload.copies = false;
  EXPECT_EQ(tail(), Moved{});
}

TEST(Schedule, Float8IsOfCompiledDecodersIn16Bits) {
  const auto error_of = [](const FsdpConfig& workload) {
    try {
      const schedules::FsdpPlan plan(workload, accelerator::ComputeConfig{}, 8);
    } catch (const ConfigError& error) {
      return error.path() + ": " + error.expected();
    }
    return std::string("was accepted");
  };
  FsdpConfig workload = two_blocks();
  workload.linear = models::LinearType::kFloat8;
  EXPECT_EQ(error_of(workload),
            "workload.linear: workload.fusion compiled-blocks or fused with float8, as casts are fused");
  workload.fusion = models::Fusion::kFused;
  EXPECT_EQ(error_of(workload), "was accepted");
  workload.parameter_type = ElementType::kFp32;
  EXPECT_EQ(error_of(workload), "workload.linear: a workload.parameter_type of 16 bits with float8");
  workload.parameter_type = ElementType::kBf16;
  workload.model = "t5-3b";
  EXPECT_EQ(error_of(workload), "workload.linear: with float8 a decoder-only model, without relative positions");
}

TEST(Schedule, AnEncoderComesBeforeItsDecoder) {
  FsdpConfig workload;
  workload.model = "t5-3b";
  workload.layers = 3;
  const schedules::FsdpPlan plan(workload, accelerator::ComputeConfig{}, 8);
  EXPECT_EQ(plan.blocks(), 6);
  EXPECT_EQ(plan.block_elements, 67'111'936U);
  std::vector<std::uint64_t> gathered;
  for (const schedules::Gather& gather : plan.gathers) gathered.push_back(gather.bytes / 2);  // of 16 bits
  constexpr std::uint64_t kEncoder = 4 * 1024 * 4096 + 2 * 1024 * 16384 + 2 * 1024;
  constexpr std::uint64_t kDecoder = kEncoder + 4 * 1024 * 4096 + 1024;
  // Forward, and all but the last again from the last.
  EXPECT_EQ(gathered, (std::vector<std::uint64_t>{plan.root_elements, kEncoder, kEncoder, kEncoder, kDecoder, kDecoder,
                                                  kDecoder, kDecoder, kDecoder, kEncoder, kEncoder, kEncoder}));
  EXPECT_LT(plan.activations_of(0), plan.activations_of(3));
  EXPECT_EQ(plan.activations_before(4), 3 * plan.activations_of(0) + plan.activations_of(3));
}

TEST(Schedule, PartsOfAStepAddUpAndComputeDominatesALargeBatch) {
  const FsdpResult result = run(machine_of(8, 8, 64_KiB), two_blocks()).result;
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(result.compute + result.exposed_allgather + result.exposed_reduce_scatter + result.other, result.steps[0]);
  EXPECT_GT(result.compute.count(), result.steps[0].count() / 2);
  EXPECT_GE(result.other, 0_ns);
}

TEST(Schedule, PartsOfALaterStepAddUpWhereRanksEndAtDifferentTimes) {
  for (const int shards : {4, 1}) {
    MachineConfig machine = machine_of(4, 2, 4_KiB);
    machine.accelerator.array.speed_spread = 0.1;
    FsdpConfig workload = nano();
    workload.steps = 2;
    workload.shards = shards;
    const FsdpResult result = run(machine, workload).result;
    EXPECT_EQ(result.compute + result.exposed_allgather + result.exposed_reduce_scatter + result.exposed_all_reduce +
                  result.other,
              result.steps[1]);
    EXPECT_GE(result.other, 0_ns);
    EXPECT_GE(result.exposed_allgather, 0_ns);
    test::fresh_kernel();
  }
}

TEST(Schedule, RecomputesEverySecondBlock) {
  const accelerator::ComputeConfig compute;
  FsdpConfig workload = two_blocks();
  workload.layers = 3;
  const auto kernels = [&](models::Recompute recompute, int block) {
    workload.recompute = recompute;
    const schedules::FsdpPlan plan(workload, compute, 8);
    return plan.stages[static_cast<std::size_t>(plan.backward_stage(block))].kernels.size();
  };
  const auto activations = [&](models::Recompute recompute) {
    workload.recompute = recompute;
    return schedules::FsdpPlan(workload, compute, 8).activations_before(3);
  };
  constexpr auto kLayer = models::Recompute::kSelectiveLayer;
  EXPECT_EQ(kernels(kLayer, 0), kernels(models::Recompute::kNone, 0));
  EXPECT_EQ(kernels(kLayer, 1), kernels(models::Recompute::kFull, 1));
  EXPECT_EQ(kernels(kLayer, 2), kernels(models::Recompute::kNone, 2));
  EXPECT_EQ(3 * activations(kLayer), 2 * activations(models::Recompute::kNone) + activations(models::Recompute::kFull));
}

TEST(Schedule, OneCommunicatorTakesTurnsInTheOrderOfIssue) {
  MachineConfig machine = machine_of(8, 4, 64_KiB);
  FsdpConfig workload = two_blocks();
  workload.layers = 4;
  workload.sequence = 512;  // communication is the bound
  const FsdpResult one = run(machine, workload).result;
  test::fresh_kernel();
  workload.separate_streams = true;
  const FsdpResult two = run(machine, workload).result;
  EXPECT_LT(two.steps[0], one.steps[0]);
}

TEST(Schedule, PrefetchHidesAllgathers) {
  MachineConfig machine = machine_of(8, 4, 64_KiB);
  FsdpConfig workload = two_blocks();
  workload.layers = 4;
  workload.forward_prefetch = workload.backward_prefetch = 0;
  const FsdpResult without = run(machine, workload).result;
  test::fresh_kernel();
  workload.forward_prefetch = workload.backward_prefetch = 1;
  const FsdpResult with = run(machine, workload).result;
  EXPECT_LT(with.exposed_allgather, without.exposed_allgather);
  EXPECT_LT(with.steps[0], without.steps[0]);
}

TEST(Schedule, KeepingParametersSavesTheBackwardAllgathers) {
  const accelerator::ComputeConfig compute;
  FsdpConfig workload = two_blocks();
  workload.layers = 4;
  const schedules::FsdpPlan reshards(workload, compute, 8);
  workload.reshard_after_forward = false;
  const schedules::FsdpPlan keeps(workload, compute, 8);
  EXPECT_EQ(keeps.gathers.size(), 1U + 4U);
  EXPECT_EQ(reshards.gathers.size(), 1U + 4U + 3U);  // the last block is kept in either case
  EXPECT_EQ(keeps.scatters.size(), 5U);
}

TEST(Schedule, CopiesGatherLessAndAddUpTheirGradients) {
  const accelerator::ComputeConfig compute;
  FsdpConfig workload = two_blocks();
  workload.layers = 4;
  const schedules::FsdpPlan alone(workload, compute, 1);
  EXPECT_TRUE(alone.gathers.empty());
  EXPECT_EQ(alone.scatters.size(), 5U);
  EXPECT_EQ(alone.block_buffers, 4);  // all parameters stay

  const MachineConfig machine = machine_of(8, 4, 64_KiB);
  const FsdpResult one = run(machine, workload).result;
  EXPECT_EQ(one.exposed_all_reduce, 0_ns);
  std::uint64_t moments = 0;
  for (const int shards : {4, 1}) {
    test::fresh_kernel();
    workload.shards = shards;
    const FsdpResult copies = run(machine, workload).result;
    EXPECT_EQ(copies.copies, 8 / shards);
    EXPECT_LT(copies.exposed_allgather, one.exposed_allgather);
    EXPECT_GT(copies.exposed_all_reduce, 0_ns);
    EXPECT_EQ(copies.compute + copies.exposed_allgather + copies.exposed_reduce_scatter + copies.exposed_all_reduce +
                  copies.other,
              copies.steps[0]);
    for (const auto& [what, bytes] : copies.memory) {
      if (what != "two moments in 32 bits") continue;
      EXPECT_GT(bytes, moments * 7 / 2);
      moments = bytes;
    }
  }
}

TEST(Schedule, ShardsThatDoNotDivideTheRanksAreAnError) {
  FsdpConfig workload = two_blocks();
  workload.shards = 3;
  try {
    run(machine_of(8, 4, 64_KiB), workload);
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "workload.shards");
    EXPECT_EQ(error.expected(), "a divisor of the 8 ranks");
  }
}

TEST(Schedule, MemoryThatIsTooSmallIsNamed) {
  MachineConfig machine = machine_of(8, 8, 64_KiB);
  machine.accelerator.hbm.capacity = 8_GiB;
  try {
    run(machine, FsdpConfig());
    FAIL() << "was accepted";
  } catch (const std::length_error& error) {
    EXPECT_NE(std::string(error.what()).find("needs"), std::string::npos) << error.what();
  }
}

TEST(Schedule, AnUnknownModelIsAnErrorThatListsThem) {
  MachineConfig machine = machine_of(2, 2, 64_KiB);
  FsdpConfig workload;
  workload.model = "llama9";
  try {
    run(machine, workload);
    FAIL() << "was accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "workload.model");
    EXPECT_NE(error.expected().find("llama3-8b"), std::string::npos);
  }
}

// ---- The simulator

TEST(Segments, Of64KiBAgreeWithPacketsWithinOnePercent) {
  // Two nodes of 4 are 15 million events, which take a minute in a slow build: there they have 2 accelerators each.
  const int per_node = kFast ? 4 : 2;
  FsdpConfig workload = two_blocks();
  workload.layers = 1;
  const auto step = [&](Bytes segment) {
    return static_cast<double>(run(machine_of(2 * per_node, per_node, segment), workload).result.steps[0].count());
  };
  const double packets = step(4_KiB);
  test::fresh_kernel();
  EXPECT_NEAR(step(64_KiB) / packets, 1, 0.01);
}

TEST(Digest, IsTheSameInEveryBuild) {
  // Of one machine and seed, in Release, Debug and under sanitizers. When a model changes on purpose, put the new one
  // here.
  EXPECT_EQ(run(machine_of(8, 4, 16_KiB), nano()).digest, 13315403388374532444U);
}

}  // namespace
}  // namespace weft
