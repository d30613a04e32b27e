// SPDX-License-Identifier: Apache-2.0
// The last-level cache: what kernels ask of it, what it keeps, and what it was measured to keep.
#include <gtest/gtest.h>

#include <vector>

#include "hw/accelerator/kernel.h"

namespace weft::accelerator {
namespace {

using namespace weft::literals;

const ComputeConfig kGpu;  // H100
constexpr Rate kHbm = 3080_GBps;

TEST(KernelCache, HitsFallFromAllToNoneAroundItsSize) {
  EXPECT_EQ(cache_hit_rate(kGpu, 0_B), 1);
  EXPECT_GT(cache_hit_rate(kGpu, 10_MiB), 0.9999);
  EXPECT_NEAR(cache_hit_rate(kGpu, 50_MiB), 0.5, 0.05);
  EXPECT_LT(cache_hit_rate(kGpu, 100_MiB), 0.01);
  double before = 1;
  for (int mebibytes = 1; mebibytes < 200; ++mebibytes) {
    const double rate = cache_hit_rate(kGpu, 1_MiB * mebibytes);
    EXPECT_LE(rate, before + 1e-12);  // a sum of 16 terms
    EXPECT_GE(rate, 0);
    before = rate;
  }
}

/// Reads of a working set over and over on an H200 (te42kyfo/gpu-benches, gpu-l2-cache/h200.txt), whose HBM gave
/// 3,888 GB/s there.
TEST(KernelCache, AnH200LosesHitsAsMeasured) {
  struct Measured {
    std::int64_t kibibytes;
    double gigabytes_per_second;
    double tolerance;
  };
  const std::vector<Measured> rows = {{20'480, 9'800, 0.05}, {36'864, 9'477, 0.05}, {48'128, 7'542, 0.2},
                                      {52'736, 6'467, 0.1},  {57'856, 5'054, 0.1},  {63'488, 4'464, 0.1},
                                      {69'632, 4'201, 0.05}, {91'648, 3'916, 0.05}};
  for (const Measured& row : rows) {
    const Bytes size = 1_KiB * row.kibibytes;
    const KernelWork work = with_warm_operands(kGpu, kernel_work(kGpu, Elementwise{.read = size}));
    const double seconds = static_cast<double>((estimate(work, 3888_GBps) - work.launch).count()) * 1e-12;
    const double rate = static_cast<double>(size.count()) / seconds * 1e-9;
    EXPECT_NEAR(rate / row.gigabytes_per_second, 1, row.tolerance) << row.kibibytes << " KiB: " << rate;
  }
}

TEST(KernelCache, WarmOperandsMoveNoHbmAndAreBoundByTheCache) {
  const KernelWork cold = kernel_work(kGpu, Copy{4_MiB});
  EXPECT_EQ(cold.cached, 8_MiB);
  EXPECT_EQ(hit_rate(cold), 0);
  EXPECT_EQ(estimate(cold, kHbm), cold.launch + transfer_time(8_MiB, kHbm));
  const KernelWork warm = with_warm_operands(kGpu, cold);
  EXPECT_LT(warm.read + warm.written, 1_KiB);
  EXPECT_GT(hit_rate(warm), 0.999);
  EXPECT_EQ(estimate(warm, kHbm), warm.launch + transfer_time(8_MiB, kGpu.l2_rate));
  EXPECT_LT(warm.memory_energy, cold.memory_energy / 100);
  bool bound = false;
  for (const auto& [cost, time] : breakdown(warm, kHbm)) bound |= cost == Cost::kCache && time == warm.cache;
  EXPECT_TRUE(bound);
  // One that does not fit gains nothing.
  const KernelWork large = kernel_work(kGpu, Copy{1_GiB});
  EXPECT_EQ(with_warm_operands(kGpu, large).read, large.read);
}

TEST(KernelCache, MemoryThatProductsManageIsNoCache) {
  ComputeConfig tpu;
  tpu.l2_rate = Rate(0);
  const KernelWork cold = kernel_work(tpu, Copy{8_MiB});
  EXPECT_EQ(cold.cached, 0_B);
  EXPECT_EQ(cache_hit_rate(tpu, 1_KiB), 0);
  EXPECT_EQ(with_warm_operands(tpu, cold).read, cold.read);
}

/// What a kernel uses several times is a hit though nothing was there before.
TEST(KernelCache, KernelsHitWhatTheyUseAgain) {
  // Each element of either operand goes to 8 or more tiles.
  const KernelWork product = kernel_work(kGpu, Gemm{.m = 2048, .n = 2048, .k = 2048});
  EXPECT_EQ(product.read, 16_MiB);
  EXPECT_GT(hit_rate(product), 0.8);
  EXPECT_EQ(product.cache, 0_ps);  // within compute
  const KernelWork attention = kernel_work(kGpu, FlashAttention{.heads = 32, .kv_heads = 8, .seq = 8192});
  EXPECT_GT(hit_rate(attention), 0.9);
  // Two passes over what fits.
  const KernelWork norm = kernel_work(kGpu, Norm{.kind = NormKind::kBatch, .rows = 16'384, .columns = 256});
  EXPECT_EQ(passes(Norm{.kind = NormKind::kBatch}), 2);
  EXPECT_NEAR(hit_rate(norm), 1.0 / 3, 0.01);
  EXPECT_EQ(hit_rate(kernel_work(kGpu, Norm{.rows = 16'384, .columns = 256})), 0);
  // Tokens that name one row.
  EXPECT_GT(hit_rate(kernel_work(kGpu, Embedding{.tokens = 8192, .rows = 16, .columns = 4096})), 0.4);
}

TEST(KernelCache, APartitionHasItsShareOfTheRate) {
  EXPECT_EQ(partition(kGpu, 66).l2_rate.count(), kGpu.l2_rate.count() / 2);
}

TEST(KernelCache, BelowAStageOfAWaveEachTileReadsForItself) {
  const Gemm cube{.m = 8192, .n = 8192, .k = 8192};
  const auto read = [&](Bytes size) {
    ComputeConfig config;
    config.l2_size = size;
    return kernel_work(config, cube).read;
  };
  Bytes last = read(1_KiB);
  for (const Bytes size : {64_KiB, 256_KiB, 512_KiB, 1_MiB, 50_MiB, 100_MiB, 400_MiB}) {
    EXPECT_LE(read(size), last) << to_text(size);
    last = read(size);
  }
  EXPECT_EQ(last, Bytes(2LL * 8192 * 8192 * 2));
  EXPECT_EQ(read(1_MiB), read(50_MiB));
  EXPECT_LT(read(512_KiB), read(256_KiB));
  // Each of 64 x 32 tiles of 128 x 256 reads its rows of A and columns of B.
  const double alone = 64.0 * 32 * (128 + 256) * 8192 * 2;
  EXPECT_NEAR(static_cast<double>(read(1_KiB).count()), alone, 0.01 * alone);
}

TEST(KernelCache, HoldsTheKeysOfTheHeadsAtWorkOrWavesReadThemAgain) {
  ComputeConfig config;
  FlashAttention shape{.heads = 32, .kv_heads = 32, .seq = 131'072};
  // 1,024 rows of tiles are 8 waves of 132 SMs, and the keys and values of a head are 64 MiB.
  const double once = 4.0 * 32 * 131'072 * 128;
  const auto kept = [&] { return static_cast<double>(kernel_work(config, shape).read.count()); };
  EXPECT_EQ(kept(), once / 2 + 8 * once);
  config.l2_size = 128_MiB;
  EXPECT_EQ(kept(), once / 2 + once);
  config.l2_size = 127_MiB;
  shape.causal = true;
  EXPECT_EQ(kept(), once / 2 + 4.5 * once);
  config.l2_size = 1_KiB;
  EXPECT_GT(kept(), 100 * once);
  // Two heads fit a wave, and their keys the cache.
  config.l2_size = 50_MiB;
  shape.seq = 8192;
  EXPECT_EQ(kept(), 1.5 * 4.0 * 32 * 8192 * 128);
}

}  // namespace
}  // namespace weft::accelerator
