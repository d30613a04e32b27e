// SPDX-License-Identifier: Apache-2.0
// Kernels other than products and attention: their counts, their limits, and what is said about where time and energy
// go.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "hw/accelerator/kernel.h"

namespace weft::accelerator {
namespace {

using namespace weft::literals;

const ComputeConfig kH100;
constexpr Rate kMemory = 3080_GBps;

double microseconds(Time time) {
  return static_cast<double>(time.count()) * 1e-6;
}
template <typename Shape>
Time time_of(const Shape& shape, const ComputeConfig& config = kH100) {
  return estimate(kernel_work(config, shape), kMemory);
}
template <typename Shape>
Cost bound_of(const Shape& shape) {
  return breakdown(kernel_work(kH100, shape), kMemory).front().first;
}
template <typename Shape>
void expect_refused(const Shape& shape) {
  EXPECT_THROW((void)kernel_work(kH100, shape), std::invalid_argument);
}

// ---- Convolution

Convolution resnet_layer(ConvolutionPass pass = ConvolutionPass::kForward) {
  return {.batch = 32,
          .channels_in = 64,
          .channels_out = 128,
          .height = 56,
          .width = 56,
          .kernel_height = 3,
          .kernel_width = 3,
          .stride = 1,
          .pad_height = 1,
          .pad_width = 1,
          .pass = pass};
}
constexpr ConvolutionPass kPasses[] = {ConvolutionPass::kForward, ConvolutionPass::kDataGradient,
                                       ConvolutionPass::kWeightGradient};

TEST(ConvolutionKernel, IsTheProductOfItsPatches) {
  const Gemm forward = product_of(resnet_layer());
  EXPECT_EQ(forward.m, 32 * 56 * 56);
  EXPECT_EQ(forward.n, 128);
  EXPECT_EQ(forward.k, 64 * 9);
  const Gemm data = product_of(resnet_layer(ConvolutionPass::kDataGradient));
  EXPECT_EQ(data.m, 32 * 56 * 56);
  EXPECT_EQ(data.n, 64);
  EXPECT_EQ(data.k, 128 * 9);
  const Gemm weights = product_of(resnet_layer(ConvolutionPass::kWeightGradient));
  EXPECT_EQ(weights.m, 128);
  EXPECT_EQ(weights.n, 64 * 9);
  EXPECT_EQ(weights.k, 32 * 56 * 56);
}

TEST(ConvolutionKernel, CountsOperationsAndEachTensorOnce) {
  const std::int64_t in = 32LL * 64 * 56 * 56 * 2;
  const std::int64_t out = 32LL * 128 * 56 * 56 * 2;
  const std::int64_t weights = 64LL * 128 * 9 * 2;
  const std::int64_t read[] = {in + weights, out + weights, in + out};
  const std::int64_t written[] = {out, in, weights};
  for (int i = 0; i < 3; ++i) {
    const KernelWork work = kernel_work(kH100, resnet_layer(kPasses[i]));
    EXPECT_DOUBLE_EQ(work.flops, 2.0 * 32 * 56 * 56 * 128 * 64 * 9);
    EXPECT_EQ(work.read, Bytes(read[i]));
    EXPECT_EQ(work.written, Bytes(written[i]));
  }
}

TEST(ConvolutionKernel, OfOneByOneIsAPlainProduct) {
  const Convolution shape{.batch = 32, .channels_in = 256, .channels_out = 512, .height = 28, .width = 28};
  const Gemm gemm{.m = 32 * 28 * 28, .n = 512, .k = 256};
  EXPECT_EQ(kernel_work(kH100, shape).compute, kernel_work(kH100, gemm).compute);
  EXPECT_EQ(kernel_work(kH100, shape).read, kernel_work(kH100, gemm).read);
}

TEST(ConvolutionKernel, StrideShrinksAllPassesAndSkipsPixels) {
  for (const ConvolutionPass pass : kPasses) {
    Convolution shape = resnet_layer(pass);
    const KernelWork dense = kernel_work(kH100, shape);
    shape.stride = 2;
    EXPECT_EQ(out_height(shape), 28);
    const KernelWork strided = kernel_work(kH100, shape);
    EXPECT_DOUBLE_EQ(strided.flops, dense.flops / 4);
    EXPECT_LT(strided.compute, dense.compute);
  }
  Convolution skips{.batch = 32, .channels_in = 256, .channels_out = 512, .height = 56, .width = 56, .stride = 2};
  EXPECT_EQ(kernel_work(kH100, skips).read, Bytes(2LL * (32 * 256 * 28 * 28 + 256 * 512)));
}

TEST(ConvolutionKernel, TwiceTheImagesTakeTwiceTheTime) {
  for (const ConvolutionPass pass : kPasses) {
    Convolution shape = resnet_layer(pass);
    shape.batch = 512;
    const Time once = time_of(shape);
    shape.batch = 1024;
    EXPECT_NEAR(microseconds(time_of(shape)) / microseconds(once), 2, 0.1);
  }
}

TEST(ConvolutionKernel, DepthwiseRunsOnVectorUnitsWherePaddingCostsMore) {
  Convolution shape = resnet_layer();
  shape.channels_out = 64;
  shape.groups = 64;
  GemmPlan plan;
  const KernelWork work = kernel_work(kH100, shape, &plan);
  EXPECT_EQ(plan.units, 0);
  EXPECT_DOUBLE_EQ(work.flops, 2.0 * 32 * 56 * 56 * 64 * 9);
  EXPECT_EQ(breakdown(work, kMemory).front().first, Cost::kMemory);
  EXPECT_EQ(work.read + work.written, Bytes(2LL * (2 * 32 * 64 * 56 * 56 + 64 * 9)));
}

TEST(ConvolutionKernel, RefusesShapesThatAreNone) {
  Convolution shape = resnet_layer();
  shape.batch = 0;
  EXPECT_EQ(time_of(shape), 0_ps);
  shape = resnet_layer();
  shape.height = -1;
  expect_refused(shape);
  shape = resnet_layer();
  shape.stride = 0;
  expect_refused(shape);
  shape = resnet_layer();
  shape.kernel_width = 0;
  expect_refused(shape);
  shape = resnet_layer();
  shape.kernel_height = 59;
  expect_refused(shape);
  shape = resnet_layer();
  shape.groups = 3;
  expect_refused(shape);
}

// ---- Normalisation

TEST(NormKernel, ReadsAndWritesTheMatrixOnce) {
  const Norm norm{.kind = NormKind::kRms, .rows = 1 << 20, .columns = 4096};
  const Bytes matrix((1LL << 20) * 4096 * 2);
  EXPECT_EQ(passes(norm), 1);
  EXPECT_EQ(kernel_work(kH100, norm).read, matrix + Bytes(4 * 4096));
  EXPECT_EQ(kernel_work(kH100, norm).written, matrix + Bytes(4LL << 20));
  EXPECT_EQ(bound_of(norm), Cost::kMemory);
  Norm backward = norm;
  backward.backward = true;
  EXPECT_EQ(kernel_work(kH100, backward).read, 2 * matrix + Bytes(4 * 4096) + Bytes(4LL << 20));
  EXPECT_EQ(kernel_work(kH100, backward).written, matrix + Bytes(4 * 4096));
}

TEST(NormKernel, BatchNormPassesTwiceButForWhatL2Holds) {
  const Norm norm{.kind = NormKind::kBatch, .rows = 1 << 20, .columns = 256};
  const Bytes matrix((1LL << 20) * 256 * 2);
  EXPECT_EQ(passes(norm), 2);
  const KernelWork work = kernel_work(kH100, norm);
  EXPECT_EQ(work.read, 2 * matrix - Bytes(25LL << 20) + Bytes(8 * 256));
  EXPECT_EQ(work.launch, 2 * kH100.launch);
  const Norm small{.kind = NormKind::kBatch, .rows = 4096, .columns = 256};
  EXPECT_EQ(kernel_work(kH100, small).read, Bytes(4096 * 256 * 2 + 8 * 256));
}

TEST(NormKernel, LongRowsAreReadTwiceOnlyBeyondL2) {
  const Norm fits{.rows = 4096, .columns = 40'000};
  EXPECT_EQ(passes(fits), 2);
  EXPECT_EQ(kernel_work(kH100, fits).read, Bytes(4096LL * 40'000 * 2 + 8 * 40'000));
  const Norm exceeds{.rows = 4096, .columns = 400'000};
  EXPECT_EQ(kernel_work(kH100, exceeds).read, Bytes(2LL * 4096 * 400'000 * 2 + 8 * 400'000));
}

TEST(NormKernel, SmallOnesAreLaunches) {
  EXPECT_EQ(bound_of(Norm{.rows = 8, .columns = 1024}), Cost::kLaunch);
  EXPECT_GE(time_of(Norm{.rows = 8, .columns = 1024}), kH100.launch);
  EXPECT_EQ(time_of(Norm{.rows = 0, .columns = 1024}), 0_ps);
  expect_refused(Norm{.rows = -1, .columns = 1});
}

// ---- Embedding

TEST(ElementwiseKernel, OperationsIn64BitsHaveTheirOwnRateAndTwiceTheEnergy) {
  ComputeConfig config = kH100;
  config.vector_fp64 = Compute(config.vector_fp32.count() / 32);
  const KernelWork wide = kernel_work(config, Elementwise{.elements = 1 << 20, .doubles_per_element = 100});
  const KernelWork narrow = kernel_work(config, Elementwise{.elements = 1 << 20, .flops_per_element = 3201});
  const KernelWork twice = kernel_work(config, Elementwise{.elements = 1 << 20, .flops_per_element = 201});
  EXPECT_NEAR(static_cast<double>(wide.compute.count()), static_cast<double>(narrow.compute.count()), 2.0);
  EXPECT_DOUBLE_EQ(wide.flops, 101.0 * (1 << 20));
  EXPECT_DOUBLE_EQ(wide.array_energy, twice.array_energy);
}

TEST(EmbeddingKernel, GathersWholeSectors) {
  const KernelWork wide = kernel_work(kH100, Embedding{.tokens = 1000, .rows = 50'000, .columns = 4096});
  EXPECT_EQ(wide.read, Bytes(1000LL * 8192 + 8000));
  EXPECT_EQ(wide.written, Bytes(1000LL * 8192));
  EXPECT_EQ(wide.flops, 0);
  const KernelWork narrow = kernel_work(kH100, Embedding{.tokens = 1000, .rows = 50'000, .columns = 5});
  EXPECT_EQ(narrow.read, Bytes(1000 * 64 + 8000));
  EXPECT_EQ(narrow.written, Bytes(1000 * 10));
}

TEST(EmbeddingKernel, RowsInUseAreAtMostThoseOfTheTable) {
  EXPECT_EQ(kernel_work(kH100, Embedding{.tokens = 1'000'000, .rows = 100, .columns = 32}).read,
            Bytes(100 * 64 + 8'000'000));
}

TEST(EmbeddingKernel, ScattersInFloat32AndClearsTheTable) {
  Embedding shape{.tokens = 1000, .rows = 50'000, .columns = 64, .backward = true};
  const KernelWork dense = kernel_work(kH100, shape);
  EXPECT_EQ(dense.read, Bytes(1000 * 128 + 8000 + 1000 * 256));
  EXPECT_EQ(dense.written, Bytes(1000 * 256 + 50'000LL * 256));
  EXPECT_EQ(dense.launch, 2 * kH100.launch);
  EXPECT_EQ(dense.flops, 64'000);
  shape.dense = false;
  EXPECT_EQ(kernel_work(kH100, shape).written, Bytes(1000 * 256));
  EXPECT_EQ(kernel_work(kH100, shape).launch, kH100.launch);
}

TEST(EmbeddingKernel, RefusesATableOfNothing) {
  expect_refused(Embedding{.tokens = 1, .rows = 0, .columns = 8});
  expect_refused(Embedding{.tokens = -1, .rows = 1, .columns = 8});
  EXPECT_EQ(time_of(Embedding{.tokens = 0, .rows = 0, .columns = 8}), 0_ps);
}

// ---- Optimisers

TEST(OptimiserKernel, MovesTheStateOfItsPrecision) {
  const auto bytes = [](const Optimiser& o) { return (read_per_parameter(o) + written_per_parameter(o)).count(); };
  EXPECT_EQ(bytes({.kind = OptimiserKind::kSgd}), 4 + 4 + 4);
  EXPECT_EQ(bytes({.kind = OptimiserKind::kMomentum}), 4 + 4 + 4 + 4 + 4);
  EXPECT_EQ(bytes({.kind = OptimiserKind::kAdam}), 16 + 12);
  const Optimiser mixed{.kind = OptimiserKind::kAdam, .type = DataType::kBf16, .gradient = DataType::kBf16};
  EXPECT_EQ(read_per_parameter(mixed), 14_B);
  EXPECT_EQ(written_per_parameter(mixed), 14_B);
  Optimiser narrow = mixed;
  narrow.master = false;
  EXPECT_EQ(read_per_parameter(narrow), 12_B);
  EXPECT_EQ(written_per_parameter(narrow), 10_B);
}

TEST(OptimiserKernel, RunsAtMemoryRate) {
  const Optimiser adam{.kind = OptimiserKind::kAdam, .parameters = 1'000'000'000};
  EXPECT_EQ(time_of(adam), kH100.launch + transfer_time(Bytes(28'000'000'000), kMemory));
  EXPECT_EQ(bound_of(Optimiser{.parameters = 1000}), Cost::kLaunch);
  EXPECT_EQ(time_of(Optimiser{}), 0_ps);
  expect_refused(Optimiser{.parameters = -1});
}

// ---- Factorisation

TEST(FactorisationKernel, CountsOperations) {
  EXPECT_DOUBLE_EQ(kernel_work(kH100, Cholesky{.n = 3000}).flops, 9e9);
  EXPECT_DOUBLE_EQ(kernel_work(kH100, Cholesky{.batch = 4, .n = 3000}).flops, 36e9);
  EXPECT_DOUBLE_EQ(kernel_work(kH100, Inverse{.n = 3000}).flops, 63e9);
}

TEST(EigenKernel, CountsOperationsAndReadsTheMatrixForEachColumn) {
  EXPECT_DOUBLE_EQ(kernel_work(kH100, SymmetricEigen{.n = 3000}).flops, 126e9);
  EXPECT_DOUBLE_EQ(kernel_work(kH100, SymmetricEigen{.batch = 2, .n = 3000}).flops, 252e9);
  // n^3 / 6 elements for the products with vectors, and updates of panels: 126 of them read and write half of what is
  // left.
  constexpr double kSide = 8192;
  const KernelWork work = kernel_work(kH100, SymmetricEigen{.n = 8192});
  EXPECT_GT(static_cast<double>(work.read.count()), 4 * kSide * kSide * kSide / 6);
  EXPECT_LT(static_cast<double>(work.read.count()), 1.5 * 4 * kSide * kSide * kSide / 6);
  EXPECT_GE(work.compute, kH100.panel_step * 8192);
  EXPECT_EQ(time_of(SymmetricEigen{}), 0_ps);
  expect_refused(SymmetricEigen{.n = -1});
  expect_refused(SymmetricEigen{.n = 8, .type = DataType::kBf16});
}

TEST(EigenKernel, TakesLongerThanAnInverseAndMoreNeverLess) {
  Time last;
  for (std::int64_t n = 16; n <= 8192; n += n < 512 ? 16 : 512) {
    const Time now = time_of(SymmetricEigen{.n = n});
    EXPECT_GE(now, last) << n;
    EXPECT_GT(now, time_of(Inverse{.n = n})) << n;
    last = now;
  }
  EXPECT_NEAR(microseconds(time_of(SymmetricEigen{.n = 65'536})) / microseconds(time_of(SymmetricEigen{.n = 32'768})),
              8, 1);
}

TEST(FactorisationKernel, SmallOnesWaitForTheirColumns) {
  for (const std::int64_t n : {32, 128, 1000}) {
    const KernelWork work = kernel_work(kH100, Cholesky{.n = n});
    EXPECT_GE(work.compute, kH100.panel_step * n);
    EXPECT_EQ(bound_of(Cholesky{.n = n}), Cost::kPanels);
  }
  // So that twice the size takes about twice the time, and not eight times.
  const double twice = microseconds(time_of(Cholesky{.n = 1024})) / microseconds(time_of(Cholesky{.n = 512}));
  EXPECT_GT(twice, 1.9);
  EXPECT_LT(twice, 2.3);
}

TEST(FactorisationKernel, LargeOnesGrowWithTheCube) {
  EXPECT_NEAR(microseconds(time_of(Inverse{.n = 65'536})) / microseconds(time_of(Inverse{.n = 32'768})), 8, 1.2);
  EXPECT_GT(kernel_work(kH100, Inverse{.n = 65'536}).flops / microseconds(time_of(Inverse{.n = 65'536})),
            0.3e-6 * static_cast<double>(kH100.vector_fp32.count()));
}

TEST(FactorisationKernel, MatricesSideBySideShareTheLatency) {
  const Time one = time_of(Inverse{.n = 256});
  EXPECT_LT(time_of(Inverse{.batch = 32, .n = 256}), 2 * one);
  EXPECT_GT(time_of(Inverse{.batch = 1320, .n = 256}), 8 * one);
}

TEST(FactorisationKernel, MoreNeverTakesLess) {
  Time last;
  for (std::int64_t n = 16; n <= 4096; n += n < 512 ? 16 : 256) {
    const Time now = time_of(Inverse{.n = n});
    EXPECT_GE(now, last) << n;
    EXPECT_GT(now, time_of(Cholesky{.n = n})) << n;
    last = now;
  }
}

TEST(FactorisationKernel, RefusesWhatItCannotFactor) {
  EXPECT_EQ(time_of(Cholesky{}), 0_ps);
  EXPECT_EQ(time_of(Inverse{.batch = 0, .n = 8}), 0_ps);
  expect_refused(Cholesky{.n = -1});
  expect_refused(Inverse{.n = 8, .type = DataType::kFp8});
}

// ---- Where time and energy go

std::vector<KernelWork> one_of_each(const ComputeConfig& config) {
  return {kernel_work(config, Gemm{.m = 4096, .n = 4096, .k = 4096}),
          kernel_work(config, Gemm{.m = 100, .n = 100, .k = 8192, .type = DataType::kTf32}),
          kernel_work(config, FlashAttention{.heads = 32, .kv_heads = 8, .seq = 4096, .causal = true}),
          kernel_work(config, FlashAttention{.heads = 3, .kv_heads = 3, .seq = 1000, .backward = true}),
          kernel_work(config, resnet_layer()),
          kernel_work(config, Norm{.rows = 8192, .columns = 4096}),
          kernel_work(config, Elementwise{.elements = 1 << 20, .flops_per_element = 1000}),
          kernel_work(config, Embedding{.tokens = 8192, .rows = 32'000, .columns = 4096, .backward = true}),
          kernel_work(config, Inverse{.n = 2000}),
          kernel_work(config, Optimiser{.parameters = 1 << 20}),
          kernel_work(config, Copy{1_GiB})};
}

TEST(Breakdown, AddsUpToTheTime) {
  for (const KernelWork& work : one_of_each(kH100)) {
    Time sum;
    for (const Time part : work.parts) {
      EXPECT_GE(part, 0_ps);
      sum += part;
    }
    EXPECT_EQ(sum, work.uncapped.compute);
    Time costs;
    for (const auto& [cost, time] : breakdown(work, kMemory)) costs += time;
    EXPECT_EQ(costs, estimate(work, kMemory));
  }
}

TEST(Breakdown, NamesTheLimit) {
  EXPECT_EQ(bound_of(Gemm{.m = 8192, .n = 8192, .k = 8192}), Cost::kTensor);
  EXPECT_EQ(bound_of(Gemm{.m = 8192, .n = 8192, .k = 8192, .type = DataType::kFp32}), Cost::kVector);
  EXPECT_EQ(bound_of(Gemm{.m = 1, .n = 8192, .k = 8192}), Cost::kMemory);
  EXPECT_EQ(bound_of(Gemm{.m = 64, .n = 64, .k = 64}), Cost::kLaunch);
  // One column of a wide tile; SMs without a tile; and a part whose L2 is too slow.
  EXPECT_EQ(bound_of(Gemm{.batch = 13'200, .m = 65, .n = 65, .k = 256, .type = DataType::kFp32}), Cost::kEdges);
  EXPECT_EQ(bound_of(Gemm{.m = 64, .n = 64, .k = 1 << 20, .type = DataType::kFp32}), Cost::kQuantisation);
  ComputeConfig slow = kH100;
  slow.operand_rate = Rate(20'000'000'000'000);
  EXPECT_EQ(breakdown(kernel_work(slow, Gemm{.m = 8192, .n = 8192, .k = 8192}), kMemory).front().first,
            Cost::kOperands);
}

TEST(PowerModel, CountsOperationsBytesAndIdling) {
  const KernelWork work = kernel_work(kH100, Gemm{.m = 8192, .n = 8192, .k = 8192});
  EXPECT_DOUBLE_EQ(work.array_energy, work.flops * 0.928e-12);
  EXPECT_DOUBLE_EQ(work.memory_energy, static_cast<double>((work.read + work.written).count()) * 31.2e-12);
  EXPECT_DOUBLE_EQ(work.moving_energy, static_cast<double>((work.read + work.written).count()) * 99e-12);
  const double seconds = microseconds(estimate(work, kMemory)) * 1e-6;
  const double total = energy(kH100.power, work, kMemory);
  EXPECT_NEAR(total, work.array_energy + work.memory_energy + work.moving_energy + 133 * seconds, 1e-9);
  // A burst draws more than the board may for long, and a copy less: 487 to 510 W were measured of random numbers.
  EXPECT_NEAR(total / seconds, 1004, 30);
  const KernelWork copy = kernel_work(kH100, Copy{1_GiB});
  EXPECT_NEAR(energy(kH100.power, copy, kMemory) / (microseconds(estimate(copy, kMemory)) * 1e-6), 500, 40);
}

TEST(PowerModel, ACapLowersTheClockOfWhatExceedsItAlone) {
  ComputeConfig capped = kH100;
  capped.power.cap = 400_W;
  capped.power.lowest_voltage = 0.6;
  const std::vector<KernelWork> free = one_of_each(kH100);
  const std::vector<KernelWork> held = one_of_each(capped);
  for (std::size_t i = 0; i < free.size(); ++i) {
    const double seconds = microseconds(estimate(held[i], capped.planned_memory)) * 1e-6;
    const double power = energy(capped.power, held[i], capped.planned_memory) / seconds;
    EXPECT_LE(power, 400.1);
    const double before = energy(kH100.power, free[i], kH100.planned_memory) /
                          (microseconds(estimate(free[i], kH100.planned_memory)) * 1e-6);
    constexpr std::size_t kInverse = 8;  // many kernels, of which each is held to the cap by itself
    if (before <= 400 && i != kInverse) {
      EXPECT_EQ(held[i].compute, free[i].compute);
      EXPECT_EQ(held[i].clock, 1);
    } else if (i == 0) {
      EXPECT_NEAR(power, 400, 0.1);
      // Voltage falls with the clock: energy does too, so that less than the share of power is lost.
      EXPECT_LT(held[i].array_energy, free[i].array_energy);
      EXPECT_GT(held[i].clock, 400 / before);
      EXPECT_EQ(held[i].uncapped.compute, free[i].compute);
    }
  }
  EXPECT_LT(held[0].clock, 1);
}

/// What H100 and H200 hold for long (traces/published/gemm.csv has the sources); two of these chose the parameters, and
/// 8-bit operands, whose shape ran with pauses, did not.
TEST(PowerModel, LargeProductsHoldTheirMeasuredRates) {
  const auto tflops = [](const Gemm& shape, Power cap) {
    ComputeConfig capped = kH100;
    capped.power.cap = cap;
    return kernel_work(capped, shape).flops / (microseconds(time_of(shape, capped)) * 1e6);
  };
  const Gemm cube{.m = 8192, .n = 8192, .k = 8192};
  EXPECT_NEAR(tflops(cube, 700_W), 699, 7);
  EXPECT_NEAR(tflops(cube, 500_W), 0.6 * 989.4, 9);
  const Gemm wide{.m = 1280, .n = 16896, .k = 16384, .type = DataType::kFp8, .fast_accumulation = false};
  EXPECT_NEAR(tflops(wide, 700_W), 1297, 0.05 * 1297);
}

TEST(PowerModel, LowerCapsTakeLonger) {
  Time last;
  for (const int watts : {700, 600, 500, 400, 300, 200, 150, 140}) {
    ComputeConfig capped = kH100;
    capped.power.cap = Power(watts * 1000);
    const Time now = time_of(Gemm{.m = 8192, .n = 8192, .k = 8192}, capped);
    EXPECT_GE(now, last) << watts;
    last = now;
  }
}

TEST(ComputeConfigCheck, NamesTheFieldAtFault) {
  ComputeConfig config;
  check(config, "compute");
  config.sustained = 1.5;
  EXPECT_THROW(check(config, "compute"), ConfigError);
  config = {};
  config.power.cap = 80_W;
  try {
    check(config, "compute");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.path(), "compute.power.cap");
  }
  config = {};
  config.sparsity = 0;
  EXPECT_THROW(check(config, "compute"), ConfigError);
}

// ---- Core partitions

TEST(Partition, HasItsShareOfTheArray) {
  const ComputeConfig half = partition(kH100, 66);
  EXPECT_EQ(half.sms, 66);
  EXPECT_EQ(half.tensor_16bit.count(), kH100.tensor_16bit.count() / 2);
  // Waves on half of the SMs: a tile takes as long as before, and there are twice as many waves.
  GemmPlan whole_plan;
  GemmPlan half_plan;
  const Gemm shape{.batch = 132, .m = 128, .n = 256, .k = 8192};
  const KernelWork whole = kernel_work(kH100, shape, &whole_plan);
  const KernelWork on_half = kernel_work(half, shape, &half_plan);
  EXPECT_EQ(whole_plan.waves, 1);
  EXPECT_EQ(half_plan.waves, 2);
  EXPECT_NEAR(microseconds(on_half.compute) / microseconds(whole.compute), 2, 0.001);
  // A kernel of few tiles does not need the rest.
  const Gemm small{.m = 256, .n = 512, .k = 1024};
  EXPECT_LT(microseconds(kernel_work(half, small).compute), 1.4 * microseconds(kernel_work(kH100, small).compute));
}

}  // namespace
}  // namespace weft::accelerator
