// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace weft::accelerator {
namespace {

// Everything below computes in seconds, bytes and operations, in double.

constexpr std::int64_t kTileK = 64;           // elements of k in one pipeline stage
constexpr std::int64_t kShortestSplit = 128;  // a part of k must fill a pipeline
constexpr std::array kSplits = {1, 2, 4, 8, 16};
struct Tile {
  std::int64_t m;
  std::int64_t n;
};
// Largest first: of equally fast tiles the largest moves the fewest bytes. Accumulators of 256 x 256 do not fit an SM.
constexpr std::array kTiles = {Tile{128, 256}, Tile{256, 128}, Tile{128, 128}, Tile{64, 256},
                               Tile{256, 64},  Tile{128, 64},  Tile{64, 128},  Tile{64, 64}};

constexpr std::int64_t kAttentionTile = 128;  // rows of Q, and columns of K, worked on at a time
constexpr double kVectorPerScore = 5;         // scale, maximum, subtraction, sum, conversion
constexpr double kExpPerCycle = 16;           // special-function units of an SM
constexpr double kVectorPerCycle = 128;       // float32 lanes of an SM

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
double seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}
double bytes_per_second(Rate rate) {
  return static_cast<double>(rate.count()) / 8;
}
double per_second(Compute rate) {
  return static_cast<double>(rate.count());
}
Time to_time(double s) {
  return Time(std::llround(s * 1e12));
}
Bytes to_bytes(double bytes) {
  return Bytes(std::llround(bytes));
}

void require_not_negative(const char* shape, std::initializer_list<std::int64_t> dimensions) {
  for (const std::int64_t dimension : dimensions) {
    if (dimension < 0) throw std::invalid_argument(std::string(shape) + ": a dimension is negative");
  }
}

/// Of the whole array, in a main loop that waits for nothing.
double sustained_rate(const ComputeConfig& config, DataType type) {
  switch (type) {
    case DataType::kBf16:
    case DataType::kFp16:
      return per_second(config.tensor_16bit) * config.sustained * config.power_limit;
    case DataType::kFp8:
      return per_second(config.tensor_8bit) * config.sustained * config.power_limit;
    case DataType::kTf32:
      return per_second(config.tensor_tf32) * config.sustained_tf32 * config.power_limit;
    case DataType::kFp32:
      return per_second(config.vector_fp32) * config.sustained;
  }
  return per_second(config.vector_fp32);
}

double result_size(DataType type) {
  return type == DataType::kFp8 ? 2.0 : static_cast<double>(element_size(type).count());
}

/// Busy time of the array with one tiling, without the reduction of split parts.
double tiled_time(const ComputeConfig& config, const Gemm& shape, const GemmPlan& plan) {
  const double area = static_cast<double>(plan.tile_m * plan.tile_n);
  const double k = static_cast<double>(ceil_div(ceil_div(shape.k, plan.split_k), kTileK) * kTileK);
  const double math = 2 * area * k * static_cast<double>(config.sms) / sustained_rate(config, shape.type);
  const double operands =
      static_cast<double>(plan.tile_m + plan.tile_n) * k * static_cast<double>(element_size(shape.type).count());
  // Parts are summed in 32 bits whatever the operands are.
  const double result = area * (plan.split_k > 1 ? 4.0 : result_size(shape.type));
  const double latency = seconds(shape.type == DataType::kTf32 ? config.tile_latency_tf32 : config.tile_latency);
  const auto wave = [&](std::int64_t active) {
    const double delivery = bytes_per_second(config.operand_rate) / static_cast<double>(active);
    return latency + std::max(math, operands / delivery) + result / delivery;
  };
  const std::int64_t full = plan.units / config.sms;
  const std::int64_t rest = plan.units % config.sms;
  return static_cast<double>(full) * wave(config.sms) + (rest > 0 ? wave(rest) : 0.0);
}

/// Operand bytes from HBM for one matrix of the batch. The tiles of a wave form a near-square block; while blocks sweep
/// over one operand, the panel of the other stays in L2 if half of it holds that (the other half streams).
double operand_traffic(const ComputeConfig& config, const Gemm& shape, const GemmPlan& plan) {
  const auto element = static_cast<double>(element_size(shape.type).count());
  const double a = static_cast<double>(shape.m) * static_cast<double>(shape.k) * element;
  const double b = static_cast<double>(shape.k) * static_cast<double>(shape.n) * element;
  const double cache = static_cast<double>(config.l2_size.count()) / 2;
  if (std::min(a, b) <= cache) return a + b;
  const double tiles_m = static_cast<double>(ceil_div(shape.m, plan.tile_m));
  const double tiles_n = static_cast<double>(ceil_div(shape.n, plan.tile_n));
  const double active = std::min(static_cast<double>(config.sms), tiles_m * tiles_n);
  const double ratio = static_cast<double>(plan.tile_n) / static_cast<double>(plan.tile_m);
  const double rows = std::clamp(std::floor(std::sqrt(active * ratio)), 1.0, tiles_m);
  const double columns = std::clamp(std::floor(active / rows), 1.0, tiles_n);
  const double sweeps_b = std::ceil(tiles_m / rows);
  const double sweeps_a = std::ceil(tiles_n / columns);
  const bool keeps_a = a / sweeps_b <= cache;
  const bool keeps_b = b / sweeps_a <= cache;
  const double keep_a = a + sweeps_b * b;
  const double keep_b = b + sweeps_a * a;
  if (keeps_a && keeps_b) return std::min(keep_a, keep_b);
  if (keeps_a) return keep_a;
  if (keeps_b) return keep_b;
  return sweeps_a * a + sweeps_b * b;
}

}  // namespace

EnumNames<DataType> enum_names(DataType) {
  return {{"bf16", DataType::kBf16},
          {"fp16", DataType::kFp16},
          {"fp8", DataType::kFp8},
          {"tf32", DataType::kTf32},
          {"fp32", DataType::kFp32}};
}

Bytes element_size(DataType type) {
  switch (type) {
    case DataType::kFp8:
      return Bytes(1);
    case DataType::kBf16:
    case DataType::kFp16:
      return Bytes(2);
    case DataType::kTf32:
    case DataType::kFp32:
      return Bytes(4);
  }
  return Bytes(4);
}

KernelWork kernel_work(const ComputeConfig& config, const Gemm& shape, GemmPlan* plan) {
  require_not_negative("gemm", {shape.batch, shape.m, shape.n, shape.k});
  const double results = static_cast<double>(shape.batch) * static_cast<double>(shape.m) * static_cast<double>(shape.n);
  if (results == 0) return {};
  GemmPlan best;
  double best_total = INFINITY;
  double best_compute = INFINITY;
  double best_read = 0;
  for (const Tile& tile : kTiles) {
    for (const std::int64_t split : kSplits) {
      if (split > 1 && shape.k / split < kShortestSplit) break;
      GemmPlan trial{.tile_m = tile.m, .tile_n = tile.n, .split_k = split};
      trial.units = shape.batch * ceil_div(shape.m, tile.m) * ceil_div(shape.n, tile.n) * split;
      trial.waves = ceil_div(trial.units, config.sms);
      // The parts stay in L2 between the kernels.
      const double moved = results * (4.0 * static_cast<double>(split) + result_size(shape.type));
      const double sum = split > 1 ? moved / bytes_per_second(config.operand_rate) : 0.0;
      const double launches = seconds(config.launch) * (split > 1 ? 2 : 1);
      const double compute = (shape.k > 0 ? tiled_time(config, shape, trial) : 0.0) + sum;
      const double read = static_cast<double>(shape.batch) * operand_traffic(config, shape, trial);
      const double memory = (read + results * result_size(shape.type)) / bytes_per_second(config.planned_memory);
      const double total = launches + std::max(compute, memory);
      if (total > best_total || (total == best_total && compute >= best_compute)) continue;
      if (split > 1) trial.reduction = config.launch + to_time(sum);
      best = trial;
      best_total = total;
      best_compute = compute;
      best_read = read;
    }
  }
  if (plan != nullptr) *plan = best;
  return {.launch = config.launch * (best.split_k > 1 ? 2 : 1),
          .compute = to_time(best_compute),
          .read = to_bytes(best_read),
          .written = to_bytes(results * result_size(shape.type)),
          .flops = 2 * results * static_cast<double>(shape.k)};
}

KernelWork kernel_work(const ComputeConfig& config, const FlashAttention& shape) {
  require_not_negative("attention", {shape.batch, shape.heads, shape.kv_heads, shape.seq, shape.head_dim});
  if (shape.batch * shape.heads * shape.seq * shape.head_dim == 0) return {};
  if (shape.kv_heads == 0 || shape.heads % shape.kv_heads != 0) {
    throw std::invalid_argument("attention: kv_heads must divide heads");
  }
  const auto seq = static_cast<double>(shape.seq);
  const auto dim = static_cast<double>(shape.head_dim);
  const auto sms = static_cast<double>(config.sms);
  const double matrices = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const double products = shape.backward ? 5 : 2;

  // Of one score on one SM.
  const double math = products * 2 * dim * sms / sustained_rate(config, DataType::kBf16);
  const double cycle = 1.0 / static_cast<double>(config.clock.count());
  const double softmax = (1 / kExpPerCycle + kVectorPerScore / kVectorPerCycle) * cycle;
  // The gradient's elementwise part costs about another softmax.
  double score = math + config.softmax_exposed * softmax * (shape.backward ? 2 : 1);
  if (shape.backward) {
    // Tiles of K add their share of dQ in 32 bits through L2: a read and a write for each tile of scores.
    const double dq = 8 * dim / static_cast<double>(kAttentionTile);
    score += dq * sms / bytes_per_second(config.operand_rate);
  }

  // A causal row of tiles ends with the tile on the diagonal, so rows differ: long ones first, they balance to within
  // one average row, where equal rows go in whole waves.
  const auto rows = static_cast<double>(ceil_div(shape.seq, kAttentionTile));
  const auto tile = static_cast<double>(kAttentionTile);
  const double scores = tile * tile * (shape.causal ? (rows + 1) / 2 : rows);  // of an average row of tiles
  const double row = seconds(config.tile_latency) + scores * score;
  const double units = matrices * rows;
  const double waves = shape.causal && units > sms ? units / sms + 0.5 : std::ceil(units / sms);

  const double q = matrices * seq * dim * 2;
  const double kv = q * static_cast<double>(shape.kv_heads) / static_cast<double>(shape.heads);
  const double statistics = matrices * seq * 4;
  const double useful = shape.causal ? seq * (seq + 1) / 2 : seq * seq;
  KernelWork work{
      .launch = config.launch, .compute = to_time(waves * row), .flops = products * 2 * matrices * useful * dim};
  if (shape.backward) {
    // Q, O, dO, K, V; dQ is summed in 32 bits and converted by a pass of its own.
    work.read = to_bytes(3 * q + 2 * kv + statistics + 2 * q);
    work.written = to_bytes(2 * q + q + 2 * kv);
    work.launch = config.launch * 2;
  } else {
    work.read = to_bytes(q + 2 * kv);
    work.written = to_bytes(q + statistics);
  }
  return work;
}

KernelWork kernel_work(const ComputeConfig& config, const Elementwise& shape) {
  require_not_negative("elementwise", {shape.elements, shape.read.count(), shape.written.count()});
  if (shape.elements == 0 && shape.read == Bytes(0) && shape.written == Bytes(0)) return {};
  const double flops = static_cast<double>(shape.elements) * shape.flops_per_element;
  return {.launch = config.launch,
          .compute = to_time(flops / per_second(config.vector_fp32)),
          .read = shape.read,
          .written = shape.written,
          .flops = flops};
}

KernelWork kernel_work(const ComputeConfig& config, const Copy& shape) {
  return kernel_work(config, Elementwise{.elements = 0, .read = shape.size, .written = shape.size});
}

Time estimate(const KernelWork& work, Rate memory) {
  return work.launch + std::max(work.compute, transfer_time(work.read + work.written, memory));
}

}  // namespace weft::accelerator
