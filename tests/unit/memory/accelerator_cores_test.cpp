// SPDX-License-Identifier: Apache-2.0
// Cores of the array that kernels share: partitions, copy engines, kernels of collectives, persistent kernels.
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <vector>

#include "hw/accelerator/accelerator.h"
#include "hw/core/cause/causes.h"
#include "tests/support/benches/accelerator_bench.h"

namespace weft::accelerator {
namespace {

using namespace weft::literals;
using namespace test_bench;

TEST(Partitions, RunSideBySideWhileTheirCoresFit) {
  Bench bench;
  bench.at(1_us, on_cores(100, kernel(0, Time(), 20_us)));
  bench.at(1_us, on_cores(32, kernel(1, Time(), 50_us)));
  bench.at(1_us, on_cores(40, kernel(2, Time(), 10_us)));  // until the first one ends there are no 40 cores
  for (std::uint32_t s = 0; s < 3; ++s) bench.at(1_us, notify(s, s));
  bench.run();
  EXPECT_EQ(bench.notified(0), 21_us);
  EXPECT_EQ(bench.notified(1), 51_us);
  EXPECT_EQ(bench.notified(2), 31_us);
  EXPECT_EQ(bench.accelerator.counters().kernels, 3);
  EXPECT_EQ(bench.accelerator.counters().busy, 50_us);
  EXPECT_EQ(bench.accelerator.counters().computing, 80_us);
}

TEST(Partitions, AKernelOfTheWholeArrayWaitsForAllAndHoldsBackTheRest) {
  Bench bench;
  bench.at(1_us, on_cores(10, kernel(0, Time(), 20_us)));
  bench.at(2_us, kernel(1, Time(), 10_us));
  bench.at(3_us, on_cores(10, kernel(2, Time(), 5_us)));
  for (std::uint32_t s = 0; s < 3; ++s) bench.at(4_us, notify(s, s));
  bench.run();
  EXPECT_EQ(bench.notified(0), 21_us);
  EXPECT_EQ(bench.notified(1), 31_us);
  EXPECT_EQ(bench.notified(2), 36_us);
  EXPECT_EQ(bench.accelerator.counters().busy, 35_us);
}

TEST(Partitions, CompeteForMemory) {
  // Two of 10 us of traffic each; a byte takes a picosecond.
  Bench bench;
  bench.at(1_us, on_cores(66, kernel(0, Time(), 2_us, 10'000'000)));
  bench.at(1_us, on_cores(66, kernel(1, Time(), 2_us, 10'000'000)));
  for (std::uint32_t s = 0; s < 2; ++s) bench.at(1_us, notify(s, s));
  bench.run();
  EXPECT_EQ(std::max(bench.notified(0), bench.notified(1)), 21_us);
}

/// When a kernel of 40 us that begins at 2 us ends, beside 12 engines that are busy all the time.
Time beside_copies(bool shared_cores) {
  Accelerator::Config config;
  config.shared_cores = shared_cores;
  Bench bench(config);
  for (std::uint32_t engine = 0; engine < 12; ++engine) {
    bench.at(1_us, copy(Operation::kCopy, engine, 0, 0, 1 << 20, 5'000'000, ElementType::kFp32, 100 + engine));
  }
  bench.at(2_us, kernel(0, Time(), 40_us));
  bench.at(2_us, notify(0, 1));
  bench.run();
  EXPECT_GT(bench.notified(100), bench.notified(1));
  return bench.notified(1);
}

TEST(Partitions, CopyEnginesTakeCoresWhereTheyAreShared) {
  EXPECT_EQ(beside_copies(true), 2_us + 44_us);
}

TEST(Partitions, CopyEnginesHaveCoresOfTheirOwnElse) {
  EXPECT_EQ(beside_copies(false), 2_us + 40_us);
}

/// For a collective's kernel; kKeepCores tells `id` when it has them.
Command cores(Operation operation, std::uint32_t count, std::uint64_t id = 0) {
  Command command;
  command.operation = operation;
  command.stream = Command::kImmediate;
  command.cores = count;
  command.id = id;
  return command;
}

Accelerator::Config slices_of_10_us(bool shared_cores) {
  Accelerator::Config config;
  config.shared_cores = shared_cores;
  config.slice = 10_us;
  return config;
}

/// When a kernel of 40 us that begins at 2 us ends, where collectives' kernels keep 12 cores and return them at
/// `returned`.
Time beside_a_collective(bool shared_cores, std::uint32_t blocks = 0, Time returned = 12_us) {
  Bench bench(slices_of_10_us(shared_cores));
  Command product = kernel(0, Time(), 40_us);
  product.blocks = blocks;
  bench.at(1_us, cores(Operation::kKeepCores, 12));
  bench.at(2_us, product);
  bench.at(2_us, notify(0, 1));
  bench.at(returned, cores(Operation::kReturnCores, 12));
  bench.run();
  return bench.notified(1);
}

TEST(Partitions, KernelsOfCollectivesKeepTheirCores) {
  EXPECT_EQ(beside_a_collective(true), 2_us + 41_us);  // the first of four slices takes 11 us
}

TEST(Partitions, KernelsOfCollectivesHaveCoresOfTheirOwnElse) {
  EXPECT_EQ(beside_a_collective(false), 2_us + 40_us);
}

struct Blocks {
  const char* name;
  bool shared_cores;
  std::uint32_t blocks;
  Time returned;  ///< 12 of 132 cores, kept before the kernel begins at 2 us
  Time end;       ///< of the kernel, which takes 40 us
};

std::ostream& operator<<(std::ostream& out, const Blocks& tested) {
  return out << tested.name;
}

class PersistentKernel : public testing::TestWithParam<Blocks> {};

TEST_P(PersistentKernel, HasBlocksThatWaitForCores) {
  const Blocks& c = GetParam();
  EXPECT_EQ(beside_a_collective(c.shared_cores, c.blocks, c.returned), c.end);
}

INSTANTIATE_TEST_SUITE_P(Kept, PersistentKernel,
                         testing::Values(Blocks{"ForAWhile", true, 132, 12_us, 12_us + 40_us},
                                         Blocks{"UntilTheOthersEnd", true, 132, 100_us, 2_us + 40_us + 40_us},
                                         Blocks{"FromOneBlock", true, 121, 100_us, 2_us + 40_us + 40_us},
                                         Blocks{"FromNone", true, 120, 100_us, 2_us + 40_us},
                                         Blocks{"ElseWhere", false, 132, 100_us, 2_us + 40_us}),
                         [](const auto& drawn) { return drawn.param.name; });

/// What late blocks take is the collectives' doing, and no computing.
TEST(Partitions, TheCriticalPathHasLateBlocksAsLostCores) {
  Bench bench(slices_of_10_us(true));
  const Causes& causes = bench.dispatcher.keep_causes();
  Command product = kernel(0, Time(), 40_us);
  product.blocks = 132;
  bench.at(1_us, cores(Operation::kKeepCores, 12));
  bench.at(2_us, product);
  bench.run();
  Time computing;
  Time lost;
  Time before;
  for (const Causes::Step& step : causes.path(kNever)) {
    if (step.kind == CauseKind::kKernel) computing += Time(step.until) - before;
    if (step.kind == CauseKind::kLostCores) lost += Time(step.until) - before;
    before = Time(step.until);
  }
  EXPECT_EQ(computing, 40_us);
  EXPECT_EQ(lost, 40_us);
}

TEST(Partitions, LateBlocksBeginWithTheLastCoresThatTheyNeed) {
  Bench bench(slices_of_10_us(true));
  Command product = kernel(0, Time(), 40_us);
  product.blocks = 132;
  bench.at(1_us, cores(Operation::kKeepCores, 12));
  bench.at(1_us, cores(Operation::kKeepCores, 8));
  bench.at(2_us, product);
  bench.at(2_us, notify(0, 1));
  bench.at(5_us, cores(Operation::kReturnCores, 12));
  bench.at(20_us, cores(Operation::kReturnCores, 8));
  bench.run();
  EXPECT_EQ(bench.notified(1), 20_us + 40_us);
}

struct Ask {
  const char* name;
  bool shared_cores;
  std::uint32_t blocks;  ///< of a kernel from 2 to 42 us
  Time granted;          ///< to a collective's kernel that asks for 12 of 132 cores at 10 us
};

std::ostream& operator<<(std::ostream& out, const Ask& tested) {
  return out << tested.name;
}

class KernelOfACollective : public testing::TestWithParam<Ask> {};

TEST_P(KernelOfACollective, WaitsForBlocksThatDoNotEnd) {
  Bench bench(slices_of_10_us(GetParam().shared_cores));
  Command product = kernel(0, Time(), 40_us);
  product.blocks = GetParam().blocks;
  bench.at(2_us, product);
  bench.at(10_us, cores(Operation::kKeepCores, 12, 1));
  bench.run();
  EXPECT_EQ(bench.notified(1), GetParam().granted);
}

INSTANTIATE_TEST_SUITE_P(Beside, KernelOfACollective,
                         testing::Values(Ask{"OneBlockForEachCore", true, 132, 42_us},
                                         Ask{"OneBlockTooMany", true, 121, 42_us},
                                         Ask{"BlocksThatLeaveEnough", true, 120, 10_us},
                                         Ask{"ManyShortBlocks", true, 0, 10_us},
                                         Ask{"CoresOfItsOwn", false, 132, 10_us}),
                         [](const auto& drawn) { return drawn.param.name; });

/// Slices of 10 us, which are waves of 132 tiles: four, or three and a rest.
struct Waves {
  const char* name;
  std::uint32_t tiles;  ///< of a kernel from 5 to 45 us, launched at 2 us
  Time asked;           ///< 12 of 132 cores, by a collective's kernel
  Time granted;
  Time end;  ///< of the kernel
};

std::ostream& operator<<(std::ostream& out, const Waves& tested) {
  return out << tested.name;
}

class KernelOfTiles : public testing::TestWithParam<Waves> {};

TEST_P(KernelOfTiles, GivesCoresAwayBetweenWaves) {
  const Waves& c = GetParam();
  Bench bench(slices_of_10_us(true));
  Command product = kernel(0, 3_us, 40_us);
  product.tiles = c.tiles;
  bench.at(2_us, product);
  bench.at(2_us, notify(0, 1));
  bench.at(c.asked, cores(Operation::kKeepCores, 12, 2));
  bench.run();
  EXPECT_EQ(bench.notified(2), c.granted);
  EXPECT_EQ(bench.notified(1), c.end);
}

// 528 tiles take four waves on 132 cores and five on 120, 480 and 456 four on both. A slice is as long as what is kept
// when it is asked for.
INSTANTIATE_TEST_SUITE_P(Asked, KernelOfTiles,
                         testing::Values(Waves{"WhileItIsLaunched", 528, 4_us, 4_us, 15_us + 37500_ns},
                                         Waves{"InTheFirstWave", 528, 6_us, 15_us, 15_us + 37500_ns},
                                         Waves{"InTheThirdWave", 528, 26_us, 35_us, 35_us + 12500_ns},
                                         Waves{"WhereNoWaveIsLost", 480, 6_us, 15_us, 45_us},
                                         Waves{"InAFullLastWave", 528, 36_us, 45_us, 45_us},
                                         Waves{"InALastWaveThatLeavesCores", 456, 36_us, 36_us, 45_us}),
                         [](const auto& drawn) { return drawn.param.name; });

TEST(Partitions, OfTilesLeaveTheOtherCoresToCollectives) {
  Bench bench(slices_of_10_us(true));
  Command product = on_cores(66, kernel(0, Time(), 40_us));
  product.tiles = 4 * 66;
  bench.at(2_us, product);
  bench.at(2_us, notify(0, 1));
  bench.at(6_us, cores(Operation::kKeepCores, 66, 2));
  bench.at(6_us, cores(Operation::kKeepCores, 1, 3));
  bench.run();
  EXPECT_EQ(bench.notified(2), 6_us);
  EXPECT_EQ(bench.notified(3), 12_us);
  EXPECT_EQ(bench.notified(1), 12_us + Time(37'500'000));  // five waves in place of four
}

TEST(Partitions, ACollectiveDoesNotWaitForTilesWhereItHasCoresOfItsOwn) {
  Bench bench(slices_of_10_us(false));
  Command product = kernel(0, Time(), 40_us);
  product.tiles = 528;
  bench.at(2_us, product);
  bench.at(2_us, notify(0, 1));
  bench.at(6_us, cores(Operation::kKeepCores, 12, 2));
  bench.run();
  EXPECT_EQ(bench.notified(2), 6_us);
  EXPECT_EQ(bench.notified(1), 42_us);
}

/// When four collectives' kernels have their cores, of which there are 132.
std::vector<Time> granted_to_several(bool shared_cores) {
  Bench bench(slices_of_10_us(shared_cores));
  bench.at(1_us, cores(Operation::kKeepCores, 100, 0));
  bench.at(2_us, cores(Operation::kKeepCores, 32, 1));
  bench.at(3_us, cores(Operation::kKeepCores, 30, 2));
  bench.at(4_us, cores(Operation::kKeepCores, 10, 3));
  bench.at(5_us, cores(Operation::kReturnCores, 32));
  bench.at(6_us, cores(Operation::kReturnCores, 100));
  bench.run();
  return {bench.notified(0), bench.notified(1), bench.notified(2), bench.notified(3)};
}

TEST(Partitions, KernelsOfCollectivesWaitForEachOthersCores) {
  EXPECT_EQ(granted_to_several(true), (std::vector<Time>{1_us, 2_us, 5_us, 6_us}));
}

TEST(Partitions, KernelsOfCollectivesWithCoresOfTheirOwnDoNotWait) {
  EXPECT_EQ(granted_to_several(false), (std::vector<Time>{1_us, 2_us, 3_us, 4_us}));
}

TEST(Partitions, AKernelOfACollectiveHasItsCoresWhileLateBlocksRun) {
  Bench bench(slices_of_10_us(true));
  Command product = kernel(0, Time(), 40_us);
  product.blocks = 132;
  bench.at(1_us, cores(Operation::kKeepCores, 12));
  bench.at(2_us, product);
  bench.at(2_us, notify(0, 1));
  bench.at(10_us, cores(Operation::kKeepCores, 12, 2));
  bench.run();
  EXPECT_EQ(bench.notified(2), 42_us);
  EXPECT_EQ(bench.notified(1), 82_us);
}

}  // namespace
}  // namespace weft::accelerator
