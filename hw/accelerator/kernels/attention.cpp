// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "hw/accelerator/kernels/arithmetic.h"

namespace weft::accelerator {
namespace {

constexpr std::int64_t kAttentionTile = 128;  // rows of Q, and columns of K, worked on at a time
constexpr std::int64_t kDecodeRows = 64;      // rows of Q when it has no more
constexpr double kVectorPerScore = 5;         // scale, maximum, subtraction, sum, conversion

void check(const FlashAttention& shape, std::int64_t keys) {
  require_not_negative("attention", {shape.batch, shape.heads, shape.kv_heads, shape.seq, shape.head_dim, shape.keys});
  if (shape.type != DataType::kBf16 && shape.type != DataType::kFp16 && shape.type != DataType::kFp8) {
    throw std::invalid_argument("attention: expected operands in bf16, fp16 or fp8");
  }
  if (shape.type == DataType::kFp8 && shape.backward) {
    throw std::invalid_argument("attention: the gradient exists only for 16 bits");
  }
  if (shape.causal && keys < shape.seq) {
    throw std::invalid_argument("attention: some causal queries see no key, for keys are fewer than queries");
  }
}

/// Seconds of one score on one SM.
struct ScoreTime {
  double rate;     // of the tensor cores of all SMs
  double math;     // on tensor cores
  double exposed;  // softmax that they do not hide
};

ScoreTime score_time(const ComputeConfig& config, const FlashAttention& shape) {
  const double products = shape.backward ? 5 : 2;
  const auto sms = static_cast<double>(config.sms);
  const double rate = sustained_rate(config, shape.type) * (shape.synchronous ? config.synchronous_tensor : 1);
  const double math = products * 2 * static_cast<double>(shape.head_dim) * sms / rate;
  const double cycle = 1.0 / static_cast<double>(config.clock.count());
  const double softmax = (1 / static_cast<double>(config.special_functions) +
                          kVectorPerScore / static_cast<double>(vector_lanes(config))) *
                         cycle;
  // The gradient's elementwise part costs about another softmax.
  return {rate, math, (shape.synchronous ? 1 : config.softmax_exposed) * softmax * (shape.backward ? 2 : 1)};
}

/// How rows of tiles are spread over the SMs.
struct Rows {
  double units;   // rows of tiles, or parts of them
  double scores;  // of an average one
  double waves;
  double parts = 1;  // that a row is cut into
};

Rows rows_of(const ComputeConfig& config, const FlashAttention& shape, std::int64_t keys) {
  const auto sms = static_cast<double>(config.sms);
  const double matrices = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  // A causal row of tiles ends with the tile on the diagonal, so rows differ: long ones first, they balance to within
  // one average row, where equal rows go in whole waves.
  const auto rows = static_cast<double>(ceil_div(shape.seq, kAttentionTile));
  const auto columns = static_cast<double>(ceil_div(keys, kAttentionTile));
  const auto tile = static_cast<double>(kAttentionTile);
  const double scores = tile * tile * (shape.causal ? columns - (rows - 1) / 2 : columns);
  const double units = matrices * rows;
  const double waves = shape.causal && units > sms ? units / sms + 0.5 : std::ceil(units / sms);
  return {units, scores, waves};
}

/// Whether the queries of all heads that share keys fit one short tile.
bool is_decoding(const FlashAttention& shape, std::int64_t keys) {
  return !shape.backward && keys > shape.seq && shape.seq * (shape.heads / shape.kv_heads) <= kDecodeRows;
}

Rows decoding_rows(const ComputeConfig& config, const FlashAttention& shape, std::int64_t keys) {
  const std::int64_t columns = ceil_div(keys, kAttentionTile);
  const std::int64_t matrices = shape.batch * shape.kv_heads;
  const std::int64_t parts = std::clamp<std::int64_t>(config.sms / matrices, 1, columns);
  const auto scores = static_cast<double>(kDecodeRows * kAttentionTile * ceil_div(columns, parts));
  return {static_cast<double>(matrices * parts), scores, static_cast<double>(ceil_div(matrices * parts, config.sms)),
          static_cast<double>(parts)};
}

/// What waves of a head's rows read once more of the operands that all of them stream, `streamed` bytes of all heads:
/// keys and values, or in the gradient queries and dO. Nothing if half of L2 holds those of the heads of a wave (the
/// other half is for the rest). With a causal mask the first waves need few of them.
double read_again(const ComputeConfig& config, const FlashAttention& shape, const Rows& rows, double streamed) {
  const auto sms = static_cast<double>(config.sms);
  const double heads = static_cast<double>(shape.batch) * static_cast<double>(shape.kv_heads);
  const double units = rows.units / heads;
  const double at_once = std::clamp(std::floor(sms / units), 1.0, heads);
  const double waves = std::ceil(units / sms);
  const bool held = at_once * streamed / heads <= static_cast<double>(config.l2_size.count()) / 2;
  const double times = held ? 1.0 : shape.causal ? (waves + 1) / 2 : waves;
  const double row = 2 * size_of(shape.type) * static_cast<double>(shape.head_dim);
  const auto tile = static_cast<double>(kAttentionTile);
  const double alone = rows.units * rows.scores * row / tile;
  return with_sharing(config, times * streamed, alone, at_once * row * tile) - streamed;
}

}  // namespace

KernelWork kernel_work(const ComputeConfig& config, const FlashAttention& shape) {
  const std::int64_t keys = shape.keys > 0 ? shape.keys : shape.seq;
  check(shape, keys);
  if (shape.batch * shape.heads * shape.seq * shape.head_dim == 0) return {};
  if (shape.kv_heads == 0 || shape.heads % shape.kv_heads != 0) {
    throw std::invalid_argument("attention: kv_heads must divide heads");
  }
  const auto seq = static_cast<double>(shape.seq);
  const auto dim = static_cast<double>(shape.head_dim);
  const auto sms = static_cast<double>(config.sms);
  const double matrices = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const double products = shape.backward ? 5 : 2;
  const bool decoding = is_decoding(shape, keys);
  const Rows rows = decoding ? decoding_rows(config, shape, keys) : rows_of(config, shape, keys);
  const auto [rate, math, exposed] = score_time(config, shape);
  double score = math + exposed;
  double sums = 0;
  if (shape.backward) {
    // Tiles of K add their share of dQ in 32 bits through L2: a read and a write for each tile of scores.
    const double dq = 8 * dim / static_cast<double>(kAttentionTile);
    sums = dq * sms / bytes_per_second(config.operand_rate);
    score += sums;
  }
  const double row = seconds(config.tile_latency) + rows.scores * score;

  const double element = size_of(shape.type);
  const double q = matrices * seq * dim * element;
  const double kv = static_cast<double>(shape.batch) * static_cast<double>(shape.kv_heads) * static_cast<double>(keys) *
                    dim * element;
  const double result = matrices * seq * dim * 2;
  const double statistics = matrices * seq * 4;
  // Parts of a row write their sums in 32 bits, with statistics, and the second kernel reads them: they stay in L2.
  const double partial = rows.parts > 1 ? rows.parts * 2 * (2 * result + statistics) : 0;
  const double reduction = partial / bytes_per_second(config.operand_rate);
  const double useful =
      shape.causal ? seq * (static_cast<double>(keys) - seq) + seq * (seq + 1) / 2 : seq * static_cast<double>(keys);
  KernelWork work{.launch = config.launch,
                  .compute = to_time(rows.waves * row + reduction),
                  .flops = products * 2 * matrices * useful * dim};
  double read = q + 2 * kv;
  if (shape.backward) {
    // Q, O, dO, K, V; dQ is summed in 32 bits and converted by a pass of its own.
    read = 3 * q + 2 * kv + statistics + 2 * q;
    work.written = to_bytes(2 * q + q + 2 * kv);
  } else {
    work.written = to_bytes(result + statistics);
  }
  if (!decoding) read += read_again(config, shape, rows, 2 * (shape.backward ? q : kv));
  work.read = to_bytes(read);
  if (shape.backward || rows.parts > 1) work.launch = config.launch * 2;

  // Each row of tiles gets the other operands of its scores, and in the gradient adds to dQ.
  const auto height = static_cast<double>(decoding ? kDecodeRows : kAttentionTile);
  const double others = 2 * element * dim / height + (shape.backward ? 8 * dim / height : 0.0);
  work.cached = to_bytes(rows.units * rows.scores * others + q + static_cast<double>(work.written.count()) + partial);

  const double softmax_operations = matrices * useful * (kVectorPerScore + 1) * (shape.backward ? 2 : 1);
  work.array_energy = operations_energy(config, shape.type, work.flops) +
                      operations_energy(config, DataType::kFp32, softmax_operations);
  work.tiles = static_cast<std::int64_t>(rows.units);
  Seconds parts{};
  const double even = rows.units / sms;  // waves if every SM had the same
  const double tensor = work.flops / rate;
  at(parts, Cost::kTensor) = tensor;
  at(parts, Cost::kEdges) = even * rows.scores * math - tensor;
  at(parts, Cost::kSoftmax) = even * rows.scores * exposed;
  at(parts, Cost::kOperands) = even * rows.scores * sums;
  at(parts, Cost::kTiles) = even * seconds(config.tile_latency);
  at(parts, Cost::kReduction) = reduction;
  at(parts, Cost::kQuantisation) = (rows.waves - even) * row;
  settle(config, work, parts);
  return work;
}

}  // namespace weft::accelerator
