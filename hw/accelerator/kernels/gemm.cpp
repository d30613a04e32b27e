// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "hw/accelerator/kernels/arithmetic.h"
#include "hw/accelerator/kernels/product.h"

namespace weft::accelerator {
namespace {

constexpr std::int64_t kTileK = 64;           // elements of k in one pipeline stage
constexpr std::int64_t kShortestSplit = 128;  // a part of k must fill a pipeline
constexpr std::array kSplits = {1, 2, 4, 8, 16, 32};
struct Tile {
  std::int64_t m;
  std::int64_t n;
};
// Largest first: of equally fast tiles the largest moves the fewest bytes. Accumulators of 256 x 256 do not fit an SM.
constexpr std::array kTiles = {Tile{128, 256}, Tile{256, 128}, Tile{128, 128}, Tile{64, 256},
                               Tile{256, 64},  Tile{128, 64},  Tile{64, 128},  Tile{64, 64}};

double result_size(DataType type) {
  return std::max(2.0, size_of(type));
}

/// Bytes of an element of A: with 2:4 sparsity half of them are stored, with two bits each for their places.
double size_of_a(const Gemm& shape) {
  return shape.sparse ? size_of(shape.type) / 2 + 0.125 : size_of(shape.type);
}

/// Share of the tensor rate, and so of operations to a joule, that the way of summing leaves.
double accumulation_share(const ComputeConfig& config, const Gemm& shape) {
  return shape.type == DataType::kFp8 && !shape.fast_accumulation ? config.full_accumulation : 1.0;
}

double dense_rate(const ComputeConfig& config, const Gemm& shape) {
  return sustained_rate(config, shape.type) * accumulation_share(config, shape);
}

/// What an output tile needs when every SM has one.
struct TileTime {
  double latency;
  double math;
  double operands;  // bytes
  double result;    // bytes
};

TileTime tile_time(const ComputeConfig& config, const Gemm& shape, const GemmPlan& plan) {
  const double area = static_cast<double>(plan.tile_m * plan.tile_n);
  const double k = static_cast<double>(ceil_div(ceil_div(shape.k, plan.split_k), kTileK) * kTileK);
  double rate = dense_rate(config, shape);
  if (shape.sparse) rate *= config.sparsity;
  const double math = 2 * area * k * static_cast<double>(config.sms) / rate;
  const double operands = shape.sparse ? (static_cast<double>(plan.tile_m) * size_of_a(shape) +
                                          static_cast<double>(plan.tile_n) * size_of(shape.type)) *
                                             k
                                       : static_cast<double>(plan.tile_m + plan.tile_n) * k * size_of(shape.type);
  // Parts are summed in 32 bits whatever the operands are.
  const double result = area * (plan.split_k > 1 ? 4.0 : result_size(shape.type));
  const double latency = seconds(shape.type == DataType::kTf32 ? config.tile_latency_tf32 : config.tile_latency);
  return {latency, math, operands, result};
}

/// Busy time of the array with one tiling, without the reduction of split parts.
double tiled_time(const ComputeConfig& config, const Gemm& shape, const GemmPlan& plan) {
  const TileTime tile = tile_time(config, shape, plan);
  const auto wave = [&](std::int64_t active) {
    const double delivery = bytes_per_second(config.operand_rate) / static_cast<double>(active);
    return tile.latency + std::max(tile.math, tile.operands / delivery) + tile.result / delivery;
  };
  const std::int64_t full = plan.units / config.sms;
  const std::int64_t rest = plan.units % config.sms;
  return static_cast<double>(full) * wave(config.sms) + (rest > 0 ? wave(rest) : 0.0);
}

/// What that time goes to: what the tiles would take if they filled whole waves, and the rest.
Seconds tiled_parts(const ComputeConfig& config, const Product& product, const GemmPlan& plan, double total,
                    double reduction) {
  Seconds parts{};
  if (product.shape.k == 0) return parts;
  const TileTime tile = tile_time(config, product.shape, plan);
  const double delivery = bytes_per_second(config.operand_rate) / static_cast<double>(config.sms);
  const double waves = static_cast<double>(plan.units) / static_cast<double>(config.sms);
  const double asked =
      product.flops / dense_rate(config, product.shape) * (product.shape.sparse ? 2 / config.sparsity : 1.0);
  const double useful = std::min(asked, waves * tile.math);
  at(parts, units_of(config, product.shape.type)) = useful;
  at(parts, Cost::kEdges) = waves * tile.math - useful;
  at(parts, Cost::kOperands) = waves * std::max(0.0, tile.operands / delivery - tile.math);
  at(parts, Cost::kTiles) = waves * (tile.latency + tile.result / delivery);
  at(parts, Cost::kReduction) = reduction;
  double sum = 0;
  for (const double part : parts) sum += part;
  at(parts, Cost::kQuantisation) = total - sum;
  return parts;
}

/// The tiles of a wave, a near-square block of all tiles.
struct Wave {
  double tiles_m;  // of all
  double tiles_n;
  double rows;
  double columns;
};

Wave wave_of(const ComputeConfig& config, const Gemm& shape, const GemmPlan& plan) {
  const double tiles_m = static_cast<double>(ceil_div(shape.m, plan.tile_m));
  const double tiles_n = static_cast<double>(ceil_div(shape.n, plan.tile_n));
  const double active = std::min(static_cast<double>(config.sms), tiles_m * tiles_n);
  const double ratio = static_cast<double>(plan.tile_n) / static_cast<double>(plan.tile_m);
  const double rows = std::clamp(std::floor(std::sqrt(active * ratio)), 1.0, tiles_m);
  return {tiles_m, tiles_n, rows, std::clamp(std::floor(active / rows), 1.0, tiles_n)};
}

/// Operand bytes from HBM for one matrix of the batch if L2 holds what the tiles of a wave read at one time. While
/// blocks sweep over one operand, the panel of the other stays in L2 if half of it holds that (the other half streams).
double sweeping_traffic(const ComputeConfig& config, const Product& product, const Wave& wave) {
  const double a = product.a;
  const double b = product.b;
  const double cache = static_cast<double>(config.l2_size.count()) / 2;
  if (std::min(a, b) <= cache) return a + b;
  const double sweeps_b = std::ceil(wave.tiles_m / wave.rows);
  const double sweeps_a = std::ceil(wave.tiles_n / wave.columns);
  const bool keeps_a = a / sweeps_b <= cache;
  const bool keeps_b = b / sweeps_a <= cache;
  const double keep_a = a + sweeps_b * b;
  const double keep_b = b + sweeps_a * a;
  if (keeps_a && keeps_b) return std::min(keep_a, keep_b);
  if (keeps_a) return keep_a;
  if (keeps_b) return keep_b;
  return sweeps_a * a + sweeps_b * b;
}

/// Operand bytes from HBM for one matrix of the batch. Tiles of a wave go through k together, so that L2 gives all of
/// them what one has read, as far as it holds a stage of the wave.
double operand_traffic(const ComputeConfig& config, const Product& product, const GemmPlan& plan) {
  const Gemm& shape = product.shape;
  const Wave wave = wave_of(config, shape, plan);
  const double of_m = static_cast<double>(plan.tile_m) * size_of_a(shape);
  const double of_n = static_cast<double>(plan.tile_n) * size_of(shape.type);
  const double stage = (wave.rows * of_m + wave.columns * of_n) * kTileK;
  const double alone = wave.tiles_m * wave.tiles_n * (of_m + of_n) * static_cast<double>(shape.k);
  return with_sharing(config, sweeping_traffic(config, product, wave), alone, stage);
}

double results_of(const Gemm& shape) {
  return static_cast<double>(shape.batch) * static_cast<double>(shape.m) * static_cast<double>(shape.n);
}

}  // namespace

Product plain_product(const Gemm& shape) {
  const double a = static_cast<double>(shape.m) * static_cast<double>(shape.k) * size_of_a(shape);
  const double b = static_cast<double>(shape.k) * static_cast<double>(shape.n) * size_of(shape.type);
  const double flops = 2 * results_of(shape) * static_cast<double>(shape.k);
  return {shape, a, b, shape.sparse ? flops / 2 : flops};
}

KernelWork product_work(const ComputeConfig& config, const Product& product, GemmPlan* plan) {
  const Gemm& shape = product.shape;
  const double results = results_of(shape);
  GemmPlan best;
  double best_total = INFINITY;
  double best_compute = INFINITY;
  double best_read = 0;
  double best_sum = 0;
  for (const Tile& tile : kTiles) {
    for (const std::int64_t split : kSplits) {
      // Parts are whole stages, so that the last ones may be short or empty.
      if (split > 1 && ceil_div(ceil_div(shape.k, split), kTileK) * kTileK < kShortestSplit) break;
      GemmPlan trial{.tile_m = tile.m, .tile_n = tile.n, .split_k = split};
      trial.units = shape.batch * ceil_div(shape.m, tile.m) * ceil_div(shape.n, tile.n) * split;
      trial.waves = ceil_div(trial.units, config.sms);
      // The parts stay in L2 between the kernels.
      const double moved = results * (4.0 * static_cast<double>(split) + result_size(shape.type));
      const double sum = split > 1 ? moved / bytes_per_second(config.operand_rate) : 0.0;
      const double launches = seconds(config.launch) * (split > 1 ? 2 : 1);
      const double compute = (shape.k > 0 ? tiled_time(config, shape, trial) : 0.0) + sum;
      const double read = static_cast<double>(shape.batch) * operand_traffic(config, product, trial);
      const double memory = (read + results * result_size(shape.type)) / bytes_per_second(config.planned_memory);
      const double total = launches + std::max(compute, memory);
      if (total > best_total || (total == best_total && compute >= best_compute)) continue;
      best = trial;
      best_total = total;
      best_compute = compute;
      best_read = read;
      best_sum = sum;
    }
  }
  KernelWork work{.launch = config.launch * (best.split_k > 1 ? 2 : 1),
                  .compute = to_time(best_compute),
                  .read = to_bytes(best_read),
                  .written = to_bytes(results * result_size(shape.type)),
                  .flops = product.flops};
  work.tiles = best.units;
  const TileTime tile = tile_time(config, shape, best);
  work.cached = to_bytes(static_cast<double>(best.units) * (tile.operands + tile.result) +
                         best_sum * bytes_per_second(config.operand_rate));
  work.array_energy = operations_energy(config, shape.type, product.flops) / accumulation_share(config, shape);
  settle(config, work, tiled_parts(config, product, best, best_compute, best_sum));
  if (best.split_k > 1) best.reduction = config.launch + to_time(best_sum / work.clock);
  if (plan != nullptr) *plan = best;
  return work;
}

KernelWork kernel_work(const ComputeConfig& config, const Gemm& shape, GemmPlan* plan) {
  require_not_negative("gemm", {shape.batch, shape.m, shape.n, shape.k});
  if (shape.sparse && shape.type == DataType::kFp32) {
    throw std::invalid_argument("gemm: sparse operands need tensor cores, which fp32 does not use");
  }
  if (shape.sparse && shape.type == DataType::kFp64) {
    throw std::invalid_argument("gemm: tensor cores multiply fp64 only dense");
  }
  if (shape.sparse && config.sparsity <= 1) {
    throw std::invalid_argument("gemm: this part has no sparse products (its sparsity is 1)");
  }
  if (results_of(shape) == 0) return {};
  GemmPlan chosen;
  KernelWork work = product_work(config, plain_product(shape), &chosen);
  if (config.persistent_products) {
    work.blocks = std::min(chosen.units, config.sms);
    work.tiles = 0;
  }
  if (plan != nullptr) *plan = chosen;
  return work;
}

}  // namespace weft::accelerator
