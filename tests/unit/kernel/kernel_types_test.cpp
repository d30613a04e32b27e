// SPDX-License-Identifier: Apache-2.0
// Types of operands, the units that have them, and attention's keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "hw/accelerator/kernel.h"

namespace weft::accelerator {
namespace {

using namespace weft::literals;

const ComputeConfig kHopper;
constexpr Rate kStream = 3080_GBps;

double in_seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}
double speed_of(const KernelWork& work) {
  return work.flops / in_seconds(estimate(work, kStream)) * 1e-12;
}
Gemm large(DataType type) {
  return {.m = 8192, .n = 8192, .k = 8192, .type = type};
}
template <typename Shape>
std::string refusal(const Shape& shape) {
  try {
    (void)kernel_work(kHopper, shape);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

// ---- Types of products

TEST(ProductTypes, RunAtThePeakOfTheirUnits) {
  ComputeConfig config = kHopper;
  config.tensor_fp4 = 4 * kHopper.tensor_16bit;
  EXPECT_EQ(kernel_work(config, large(DataType::kInt8)).compute, kernel_work(config, large(DataType::kFp8)).compute);
  EXPECT_GT(speed_of(kernel_work(config, large(DataType::kFp4))),
            1.5 * speed_of(kernel_work(config, large(DataType::kFp8))));
  const double doubles = speed_of(kernel_work(config, large(DataType::kFp64)));
  EXPECT_GT(doubles, 0.8 * 66.9);
  EXPECT_LT(doubles, 66.9);
}

TEST(ProductTypes, FallBackWhereThePartHasNoUnits) {
  ComputeConfig config = kHopper;
  config.tensor_int8 = Compute();
  config.tensor_fp64 = Compute();
  config.tensor_fp4 = Compute();
  config.lacks = "fp8, tf32";
  EXPECT_EQ(peak_of(config, DataType::kInt8), config.tensor_16bit);
  EXPECT_EQ(peak_of(config, DataType::kFp64), config.vector_fp64);
  EXPECT_EQ(peak_of(config, DataType::kFp4), config.tensor_8bit);
  for (const DataType type : {DataType::kInt8, DataType::kFp4, DataType::kFp8, DataType::kTf32}) {
    EXPECT_FALSE(multiplies(config, type)) << name_of(type);
  }
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp32, DataType::kFp64}) {
    EXPECT_TRUE(multiplies(config, type)) << name_of(type);
  }
  const KernelWork doubles = kernel_work(config, large(DataType::kFp64));
  EXPECT_EQ(breakdown(doubles, kStream).front().first, Cost::kVector);
  config.lacks = "bf8";
  EXPECT_THROW(check(config, "compute"), ConfigError);
}

TEST(ProductTypes, MoveTheirBytes) {
  const auto bytes = [](DataType type) {
    const KernelWork work = kernel_work(kHopper, Gemm{.m = 256, .n = 256, .k = 1024, .type = type});
    return std::pair(work.read, work.written);
  };
  EXPECT_EQ(bytes(DataType::kFp64), std::pair(Bytes(2 * 256 * 1024 * 8), Bytes(256 * 256 * 8)));
  EXPECT_EQ(bytes(DataType::kInt8), std::pair(Bytes(2 * 256 * 1024), Bytes(256 * 256 * 2)));
  // Half a byte, and a byte of scale for each 16.
  EXPECT_EQ(bytes(DataType::kFp4), std::pair(Bytes(2 * 256 * 1024 * 9 / 16), Bytes(256 * 256 * 2)));
}

TEST(ProductTypes, DrawTheBoardsPowerOnFloat64) {
  const KernelWork doubles = kernel_work(kHopper, large(DataType::kFp64));
  const KernelWork floats = kernel_work(kHopper, large(DataType::kFp32));
  EXPECT_DOUBLE_EQ(doubles.array_energy, floats.array_energy);  // both at 66.9 TFLOPS
}

/// Where fp8 runs as 16 bits for want of units, the 8-bit figures are those of 16 bits, which int8 does not draw.
TEST(ProductTypes, Int8DrawsHalfOfSixteenBitsWhereItIsTwiceAsFast) {
  const auto pj_of = [](const ComputeConfig& config, DataType type) {
    const KernelWork work = kernel_work(config, large(type));
    return work.array_energy / work.flops * 1e12;
  };
  ComputeConfig config = kHopper;
  config.power.tensor_8bit = 600_fJ;
  EXPECT_DOUBLE_EQ(pj_of(config, DataType::kInt8), 0.6);  // its units' own figure
  config.lacks = "fp8";
  config.tensor_8bit = config.tensor_16bit;
  config.power.tensor_8bit = config.power.tensor_16bit;
  EXPECT_DOUBLE_EQ(pj_of(config, DataType::kFp8), 0.928);
  EXPECT_DOUBLE_EQ(pj_of(config, DataType::kInt8), 0.928 / 2);
  config.tensor_int8 = config.tensor_16bit;
  EXPECT_DOUBLE_EQ(pj_of(config, DataType::kInt8), 0.928);
  config.tensor_int8 = Compute();
  EXPECT_DOUBLE_EQ(pj_of(config, DataType::kInt8), 0.928);
  // Units of int8 that fp8 runs on, as a TPU v5p has.
  config.tensor_8bit = config.tensor_int8 = 2 * config.tensor_16bit;
  config.power.tensor_8bit = 500_fJ;
  EXPECT_DOUBLE_EQ(pj_of(config, DataType::kInt8), 0.5);
}

/// However k is split: a shape whose k ends within a stage has the splits of one that ends with it.
TEST(ProductSplits, ALargerKIsNeverFaster) {
  for (const DataType type : {DataType::kBf16, DataType::kFp32}) {
    for (const std::int64_t side : {64, 128}) {
      Time before;
      std::int64_t most = 1;
      for (std::int64_t k = 1; k <= 8192; k += 37) {
        GemmPlan plan;
        const Time time =
            estimate(kernel_work(kHopper, Gemm{.m = side, .n = side, .k = k, .type = type}, &plan), kStream);
        EXPECT_GE(time, before) << name_of(type) << ' ' << side << ' ' << k << " split " << plan.split_k;
        before = time;
        most = std::max(most, plan.split_k);
      }
      if (type == DataType::kFp32) {
        EXPECT_GT(most, 4) << side;
      }
    }
  }
}

TEST(ProductTypes, RefuseSparseFloat64) {
  Gemm sparse = large(DataType::kFp64);
  sparse.sparse = true;
  EXPECT_EQ(refusal(sparse), "gemm: tensor cores multiply fp64 only dense");
}

// ---- Attention

TEST(AttentionUnits, LanesComeFromTheVectorPeak) {
  EXPECT_EQ(vector_lanes(kHopper), 128);
  EXPECT_EQ(vector_lanes(partition(kHopper, 33)), 128);
  ComputeConfig config = kHopper;
  config.vector_fp32 = Compute(6'000'000'000'000);
  EXPECT_EQ(vector_lanes(config), 11);
  const FlashAttention shape{.heads = 32, .kv_heads = 8, .seq = 8192, .causal = true};
  EXPECT_LT(speed_of(kernel_work(config, shape)), 0.7 * speed_of(kernel_work(kHopper, shape)));
  config = kHopper;
  config.special_functions = 4;
  EXPECT_LT(speed_of(kernel_work(config, shape)), 0.7 * speed_of(kernel_work(kHopper, shape)));
}

TEST(AttentionTypes, EightBitsReachWhatFlashAttention3Publishes) {
  // "close to 1.2 PFLOPS" (abstract of arXiv 2407.08608), heads of 256; nothing of it was used to choose a number.
  const FlashAttention shape{.heads = 8, .kv_heads = 8, .seq = 16384, .head_dim = 256, .type = DataType::kFp8};
  EXPECT_NEAR(speed_of(kernel_work(kHopper, shape)), 1200, 0.15 * 1200);
  const FlashAttention wide{.heads = 8, .kv_heads = 8, .seq = 16384, .head_dim = 256};
  EXPECT_EQ(2 * kernel_work(kHopper, shape).read, kernel_work(kHopper, wide).read);
  EXPECT_EQ(kernel_work(kHopper, shape).written, kernel_work(kHopper, wide).written);
}

TEST(AttentionKeys, CausalQueriesEndWithTheLastKey) {
  FlashAttention shape{.heads = 4, .kv_heads = 4, .seq = 1000, .causal = true};
  const double alone = kernel_work(kHopper, shape).flops;
  EXPECT_DOUBLE_EQ(alone, 4.0 * 4 * 128 * (1000.0 * 1001 / 2));
  shape.keys = 1000;
  EXPECT_EQ(kernel_work(kHopper, shape).flops, alone);
  EXPECT_EQ(kernel_work(kHopper, shape).compute,
            kernel_work(kHopper, FlashAttention{.heads = 4, .kv_heads = 4, .seq = 1000, .causal = true}).compute);
  // 500 more keys, which all 1,000 queries see.
  shape.keys = 1500;
  EXPECT_DOUBLE_EQ(kernel_work(kHopper, shape).flops, alone + 4.0 * 4 * 128 * (1000.0 * 500));
  shape.keys = 999;
  EXPECT_EQ(refusal(shape), "attention: some causal queries see no key, for keys are fewer than queries");
  shape.causal = false;
  EXPECT_DOUBLE_EQ(kernel_work(kHopper, shape).flops, 4.0 * 4 * 128 * (1000.0 * 999));
}

TEST(AttentionKeys, DecodingReadsTheCacheAtTheRateOfHbm) {
  FlashAttention shape{.batch = 16, .heads = 32, .kv_heads = 8, .seq = 1, .causal = true, .keys = 32768};
  const KernelWork work = kernel_work(kHopper, shape);
  const double cache = 2.0 * 16 * 8 * 32768 * 128 * 2;
  EXPECT_NEAR(static_cast<double>(work.read.count()), cache, 0.001 * cache);
  EXPECT_EQ(breakdown(work, kStream).front().first, Cost::kMemory);
  // A single sequence has 8 tiles for 132 SMs, so that its keys are cut and summed by a second kernel.
  shape.batch = 1;
  const KernelWork one = kernel_work(kHopper, shape);
  EXPECT_EQ(one.launch, 2 * kHopper.launch);
  EXPECT_EQ(one.tiles, 8 * 16);
  EXPECT_GT(one.parts[static_cast<std::size_t>(Cost::kReduction)], Time());
  EXPECT_LT(one.compute, work.compute);
  Time sum;
  for (const Time part : one.parts) sum += part;
  EXPECT_EQ(sum, one.uncapped.compute);
  // Heads that share keys share a tile: as many heads without grouping read four times the cache.
  shape.kv_heads = 32;
  EXPECT_NEAR(static_cast<double>(kernel_work(kHopper, shape).read.count()), 4 * static_cast<double>(one.read.count()),
              0.01 * 4 * static_cast<double>(one.read.count()));
}

TEST(AttentionKeys, RefusesWhatNoKernelDoes) {
  EXPECT_EQ(refusal(FlashAttention{.heads = 8, .kv_heads = 8, .seq = 128, .type = DataType::kFp32}),
            "attention: expected operands in bf16, fp16 or fp8");
  EXPECT_EQ(refusal(FlashAttention{.heads = 8, .kv_heads = 8, .seq = 128, .backward = true, .type = DataType::kFp8}),
            "attention: the gradient exists only for 16 bits");
}

}  // namespace
}  // namespace weft::accelerator
