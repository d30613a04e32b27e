// SPDX-License-Identifier: Apache-2.0
#include "hw/accelerator/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "hw/accelerator/kernels/arithmetic.h"

namespace weft::accelerator {
namespace {

constexpr std::int64_t kAttentionTile = 128;  // rows of Q, and columns of K, worked on at a time
constexpr double kVectorPerScore = 5;         // scale, maximum, subtraction, sum, conversion
constexpr double kExpPerCycle = 16;           // special-function units of an SM
constexpr double kVectorPerCycle = 128;       // float32 lanes of an SM

}  // namespace

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
  const double rate = sustained_rate(config, DataType::kBf16) * (shape.synchronous ? config.synchronous_tensor : 1);
  const double math = products * 2 * dim * sms / rate;
  const double cycle = 1.0 / static_cast<double>(config.clock.count());
  const double softmax = (1 / kExpPerCycle + kVectorPerScore / kVectorPerCycle) * cycle;
  // The gradient's elementwise part costs about another softmax.
  const double exposed = (shape.synchronous ? 1 : config.softmax_exposed) * softmax * (shape.backward ? 2 : 1);
  double score = math + exposed;
  double sums = 0;
  if (shape.backward) {
    // Tiles of K add their share of dQ in 32 bits through L2: a read and a write for each tile of scores.
    const double dq = 8 * dim / static_cast<double>(kAttentionTile);
    sums = dq * sms / bytes_per_second(config.operand_rate);
    score += sums;
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

  // Each row of tiles gets the other operands of its scores, and in the gradient adds to dQ.
  const double others = 4 * dim / tile + (shape.backward ? 8 * dim / tile : 0.0);
  work.cached = to_bytes(units * scores * others + q + static_cast<double>(work.written.count()));

  const double softmax_operations = matrices * useful * (kVectorPerScore + 1) * (shape.backward ? 2 : 1);
  work.array_energy = operations_energy(config, DataType::kBf16, work.flops) +
                      operations_energy(config, DataType::kFp32, softmax_operations);
  work.tiles = static_cast<std::int64_t>(units);
  Seconds parts{};
  const double even = units / sms;  // waves if every SM had the same
  const double tensor = work.flops / rate;
  at(parts, Cost::kTensor) = tensor;
  at(parts, Cost::kEdges) = even * scores * math - tensor;
  at(parts, Cost::kSoftmax) = even * scores * exposed;
  at(parts, Cost::kOperands) = even * scores * sums;
  at(parts, Cost::kTiles) = even * seconds(config.tile_latency);
  at(parts, Cost::kQuantisation) = (waves - even) * row;
  settle(config, work, parts);
  return work;
}

}  // namespace weft::accelerator
