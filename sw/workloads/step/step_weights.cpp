// SPDX-License-Identifier: Apache-2.0
// What is done to weights of linear layers in 8 bits once in a step, beside the passes.
#include "sw/workloads/step/step.h"

namespace weft::workloads {

using chakra::CollectiveType;

namespace {

constexpr std::int64_t kFloat32 = 4;
constexpr std::int64_t kFloat8 = 1;

std::int64_t part_of(std::int64_t count, std::int64_t ranks) {
  return (count + ranks - 1) / ranks;
}

}  // namespace

std::int64_t RankStep::cast_weights() const {
  if (config_.float8_weights) return 0;
  std::int64_t sum = 0;
  for (std::int64_t block = 0; block < config_.model.blocks_with_mtp(); ++block) {
    if (!share_.has(block)) continue;
    sum += share_.block(block).parameters.linear + share_.block(block).parameters.expert_linear;
  }
  return sum;
}

std::int64_t RankStep::more_for_weights() const {
  const std::int64_t e = config_.element_bytes;
  const int block = scale_block(config_.linear);
  const auto more = [&](std::int64_t linear) -> std::int64_t {
    const std::int64_t both_ways = 2 * models::scaled_bytes(linear, block);
    // Those of a step are kept as they were cast, beside the ones that they were cast from.
    const std::int64_t float8 = (config_.fp8_any_layout || has_fsdp() ? 1 : 2) * linear * kFloat8;
    if (!config_.float8_weights) {
      if (has_fsdp()) return 0;
      return block > 0 ? both_ways : config_.has_transformer_engine() ? float8 : 0;
    }
    return (block > 0 ? both_ways : float8) - linear * e;
  };
  std::int64_t sum = 0;
  for (std::int64_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
    for (const Unit unit : units(chunk)) {
      for (const Set& set : sets(unit)) {
        sum += more(has_fsdp() ? part_of(set.linear, config_.parallel.group_size(set.holders.shards)) : set.linear);
      }
    }
  }
  return sum;
}

void RankStep::renew_weights(const Ids& updated) {
  prefix_ = "weights.";
  microbatch_ = 0;
  if (config_.float8_weights) {
    cast_shards(updated);
  } else if (config_.gathers_float8()) {
    scale_weights(updated);
  }
}

/// What the next step gathers in float8 is scaled by the largest of each weight's values, on all ranks that have a part
/// of it. Weights are of 32 bits.
void RankStep::scale_weights(const Ids& updated) {
  std::int64_t float8 = 0;
  for (std::int64_t block = 0; float8 == 0 && block < config_.model.blocks_with_mtp(); ++block) {
    if (share_.has(block)) float8 = share_.block(block).parameters.linear;
  }
  if (float8 == 0) return;
  const std::int64_t shards = config_.parallel.group_size(groups_.dense().shards);
  const Ids found = emitter_.compute(name("weights.largest values"),
                                     share_.copy(part_of(float8, shards) * blocks() * kFloat32, 0), updated);
  const auto weights = static_cast<std::int64_t>(linear_weights(config_.model, models::UnitKind::kBlock).size());
  const std::int64_t bytes = weights * blocks() * kFloat32;
  const Ids known = emitter_.collective(name("weights.scales all-reduce"), Purpose::kParameters,
                                        {CollectiveType::kAllReduce, bytes, groups_.dense().shards}, found);
  emitter_.collective(name("weights.scales of tensor-parallel ranks all-reduce"), Purpose::kTensorParallel,
                      {CollectiveType::kAllReduce, bytes, Groups::kTensor}, known);
}

/// From what the optimizer has of a weight in 32 bits to what is gathered, as Transformer Engine's
/// quantize_master_weights: rounded to 16 bits first, so that a value is that of a weight that was kept so. With a
/// scale for each tensor, ranks that have parts of one agree on it between two passes.
void RankStep::cast_shards(const Ids& updated) {
  struct Weights {
    std::int64_t elements = 0;  ///< of this rank
    std::int64_t tensors = 0;   ///< in all
    std::int64_t here = 0;      ///< of these, those that the rank has a part of
  };
  Weights dense;
  Weights experts;
  for (std::int64_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
    for (const Unit unit : units(chunk)) {
      for (const Set& set : sets(unit)) {
        const std::int64_t shards = config_.parallel.group_size(set.holders.shards);
        Weights& sum = set.is_of_experts ? experts : dense;
        sum.elements += part_of(set.linear, shards);
        sum.tensors += set.weights;
        sum.here += has_fsdp() ? set.weights : part_of(set.weights, shards);
      }
    }
  }
  const std::int64_t elements = dense.elements + experts.elements;
  if (elements == 0) return;
  const auto launches = static_cast<int>(dense.here + experts.here);
  const std::int64_t rounded = elements * config_.element_bytes;
  const models::Kernel round{"weights.round", models::Elementwise{elements * kFloat32, rounded, launches}};
  if (!config_.is_float8()) {
    static_cast<void>(emitter_.compute(name("weights.rounded"), share_.work_of({round}), updated));
    return;
  }
  const models::Kernel largest{"weights.largest", models::Elementwise{rounded, 0, launches}};
  const Ids found = emitter_.compute(name("weights.largest values"), share_.work_of({round, largest}), updated);
  const auto agree = [&](const char* what, const Weights& weights, const Groups::Holders& holders) {
    if (weights.tensors == 0) return found;
    return emitter_.collective(name(what), Purpose::kParameters,
                               {CollectiveType::kAllReduce, weights.tensors * kFloat32, holders.shards}, found);
  };
  const Ids of_dense = agree("weights.scales all-reduce", dense, groups_.dense());
  const Ids of_experts = agree("weights.scales of experts all-reduce", experts, groups_.experts());
  const models::Kernel cast{"weights.cast", models::Elementwise{rounded, elements * kFloat8, launches}};
  static_cast<void>(emitter_.compute(name("weights.cast"), share_.work_of({cast}), joined({of_dense, of_experts})));
}

/// What is still to be done where whole weights are: MXFP8's casts along both directions, from the 16 bits that were
/// gathered, or the transposed copies for parts whose products need them.
Ids RankStep::cast_gathered(Unit unit, const Ids& gathered) {
  if (!config_.float8_weights || (config_.is_float8() && config_.fp8_any_layout)) return gathered;
  const Parameters& of_unit = share_of(unit).parameters;
  const std::int64_t linear = of_unit.linear + of_unit.expert_linear;
  if (linear == 0) return gathered;
  const auto launches = static_cast<int>(of_unit.weights + of_unit.expert_weights);
  const std::int64_t both_ways = 2 * models::scaled_bytes(linear, scale_block(config_.linear));
  const models::Kernel kernel =
      config_.is_float8()
          ? models::Kernel{"weights.transposed", models::Elementwise{linear, linear * kFloat8, launches}}
          : models::Kernel{"weights.cast", models::Elementwise{linear * config_.element_bytes, both_ways, launches}};
  return emitter_.compute(name(prefix_ + (config_.is_float8() ? "weights transposed" : "weights cast")),
                          share_.work_of({kernel}), gathered);
}

}  // namespace weft::workloads
