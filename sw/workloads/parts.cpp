// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/parts.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "sw/models/activations.h"

namespace weft::workloads {
namespace {

using models::Elementwise;
using models::Gemm;
using models::Kernel;
using models::UnitKind;

constexpr std::array<std::string_view, kParts> kPartNames = {"embedding forward",
                                                             "attention.norm forward",
                                                             "attention.qkv forward",
                                                             "attention.core forward",
                                                             "attention.out forward",
                                                             "mlp.norm forward",
                                                             "mlp.up forward",
                                                             "mlp.down forward",
                                                             "mlp.residual forward",
                                                             "head.norm forward",
                                                             "head forward",
                                                             "loss forward",
                                                             "head input gradient",
                                                             "head weight gradient",
                                                             "head.norm backward",
                                                             "mlp.down backward",
                                                             "mlp.up input gradient",
                                                             "mlp.up weight gradient",
                                                             "mlp.norm backward",
                                                             "attention.out backward",
                                                             "attention.core backward",
                                                             "attention.qkv input gradient",
                                                             "attention.qkv weight gradient",
                                                             "attention.norm backward",
                                                             "embedding backward",
                                                             "mlp gradient cast",
                                                             "attention gradient cast",
                                                             "attention.norm again",
                                                             "attention.qkv again",
                                                             "attention.core again",
                                                             "attention.out again",
                                                             "mlp.norm again",
                                                             "mlp.up again"};

/// Kernels of sw/models/transformer_kernels.cpp by name.
constexpr std::pair<std::string_view, Part> kPartOf[] = {
    {"embedding", Part::kEmbedding},
    {"positions", Part::kEmbedding},
    {"attn_norm", Part::kAttentionNorm},
    {"attn_norm.cast", Part::kAttentionNorm},
    {"wq.weight_cast", Part::kAttentionQkv},
    {"wk.weight_cast", Part::kAttentionQkv},
    {"wv.weight_cast", Part::kAttentionQkv},
    {"wq", Part::kAttentionQkv},
    {"wk", Part::kAttentionQkv},
    {"wv", Part::kAttentionQkv},
    {"rotary", Part::kAttentionQkv},
    {"repeat_kv", Part::kAttentionQkv},
    {"attention", Part::kAttentionCore},
    {"attention.cast", Part::kAttentionOut},
    {"wo.weight_cast", Part::kAttentionOut},
    {"wo", Part::kAttentionOut},
    {"attn_residual", Part::kMlpNorm},
    {"ffn_norm", Part::kMlpNorm},
    {"ffn_norm.cast", Part::kMlpNorm},
    {"w1_gate.weight_cast", Part::kMlpUp},
    {"w3_up.weight_cast", Part::kMlpUp},
    {"w1_gate", Part::kMlpUp},
    {"w3_up", Part::kMlpUp},
    {"swiglu", Part::kMlpUp},
    {"gelu", Part::kMlpUp},
    {"hidden.cast", Part::kMlpDown},
    {"w2_down.weight_cast", Part::kMlpDown},
    {"w2_down", Part::kMlpDown},
    {"ffn_residual", Part::kMlpResidual},
    {"norm", Part::kHeadNorm},
    {"lm_head", Part::kHead},
    {"loss", Part::kLoss},
    {"loss.grad", Part::kHeadInputGradient},
    {"lm_head.dgrad", Part::kHeadInputGradient},
    {"lm_head.wgrad", Part::kHeadWeightGradient},
    {"norm.grad", Part::kHeadNormGradient},
    {"w2_down.grad_cast", Part::kMlpGradientCast},
    {"w2_down.grad_transposed", Part::kMlpDownGradient},
    {"w2_down.weight_transposed", Part::kMlpDownGradient},
    {"hidden.transposed", Part::kMlpDownGradient},
    {"w2_down.dgrad", Part::kMlpDownGradient},
    {"w2_down.wgrad", Part::kMlpDownGradient},
    {"w2_down.bias_grad", Part::kMlpDownGradient},
    {"swiglu.grad", Part::kMlpDownGradient},
    {"gelu.grad", Part::kMlpDownGradient},
    {"w3_up.grad_cast", Part::kMlpUpInputGradient},
    {"w3_up.weight_transposed", Part::kMlpUpInputGradient},
    {"w1_gate.grad_cast", Part::kMlpUpInputGradient},
    {"w1_gate.weight_transposed", Part::kMlpUpInputGradient},
    {"ffn_norm.transposed", Part::kMlpUpWeightGradient},
    {"w3_up.dgrad", Part::kMlpUpInputGradient},
    {"w1_gate.dgrad", Part::kMlpUpInputGradient},
    {"w3_up.wgrad", Part::kMlpUpWeightGradient},
    {"w1_gate.wgrad", Part::kMlpUpWeightGradient},
    {"w3_up.bias_grad", Part::kMlpUpWeightGradient},
    {"w1_gate.bias_grad", Part::kMlpUpWeightGradient},
    {"ffn_norm.grad", Part::kMlpNormGradient},
    {"wo.grad_cast", Part::kAttentionGradientCast},
    {"wo.grad_transposed", Part::kAttentionOutGradient},
    {"wo.weight_transposed", Part::kAttentionOutGradient},
    {"attention.transposed", Part::kAttentionOutGradient},
    {"wo.dgrad", Part::kAttentionOutGradient},
    {"wo.wgrad", Part::kAttentionOutGradient},
    {"wo.bias_grad", Part::kAttentionOutGradient},
    {"attention.grad", Part::kAttentionCoreGradient},
    {"wv.grad_cast", Part::kAttentionQkvInputGradient},
    {"wv.weight_transposed", Part::kAttentionQkvInputGradient},
    {"wk.grad_cast", Part::kAttentionQkvInputGradient},
    {"wk.weight_transposed", Part::kAttentionQkvInputGradient},
    {"wq.grad_cast", Part::kAttentionQkvInputGradient},
    {"wq.weight_transposed", Part::kAttentionQkvInputGradient},
    {"attn_norm.transposed", Part::kAttentionQkvWeightGradient},
    {"repeat_kv.grad", Part::kAttentionQkvInputGradient},
    {"rotary.grad", Part::kAttentionQkvInputGradient},
    {"wq.dgrad", Part::kAttentionQkvInputGradient},
    {"wk.dgrad", Part::kAttentionQkvInputGradient},
    {"wv.dgrad", Part::kAttentionQkvInputGradient},
    {"wq.wgrad", Part::kAttentionQkvWeightGradient},
    {"wk.wgrad", Part::kAttentionQkvWeightGradient},
    {"wv.wgrad", Part::kAttentionQkvWeightGradient},
    {"wq.bias_grad", Part::kAttentionQkvWeightGradient},
    {"wk.bias_grad", Part::kAttentionQkvWeightGradient},
    {"wv.bias_grad", Part::kAttentionQkvWeightGradient},
    {"attn_norm.grad", Part::kAttentionNormGradient},
    {"embedding.grad", Part::kEmbeddingGradient},
    {"positions.grad", Part::kEmbeddingGradient},
};

constexpr std::pair<Part, Part> kAgain[] = {
    {Part::kAttentionNorm, Part::kAttentionNormAgain},
    {Part::kAttentionQkv, Part::kAttentionQkvAgain},
    {Part::kAttentionCore, Part::kAttentionCoreAgain},
    {Part::kAttentionOut, Part::kAttentionOutAgain},
    {Part::kMlpNorm, Part::kMlpNormAgain},
    {Part::kMlpUp, Part::kMlpUpAgain},
};

/// A kernel that is not in the tables would be work that nobody does.
Part part_of(const Kernel& kernel) {
  for (const auto& [name, part] : kPartOf) {
    if (name != kernel.name) continue;
    if (!kernel.recompute) return part;
    for (const auto& [first, again] : kAgain) {
      if (first == part) return again;
    }
  }
  throw std::logic_error("kernel " + std::string(kernel.name) + " belongs to no part of a workload");
}

bool is_of_mlp(Part part) {
  return part == Part::kMlpUp || part == Part::kMlpDown || part == Part::kMlpDownGradient ||
         part == Part::kMlpUpInputGradient || part == Part::kMlpUpWeightGradient || part == Part::kMlpUpAgain;
}

/// What Megatron's sequence parallelism cuts along the sequence.
bool is_beside_tensor_parallel(Part part) {
  return part == Part::kAttentionNorm || part == Part::kMlpNorm || part == Part::kMlpResidual ||
         part == Part::kHeadNorm || part == Part::kHeadNormGradient || part == Part::kMlpNormGradient ||
         part == Part::kAttentionNormGradient || part == Part::kMlpGradientCast ||
         part == Part::kAttentionGradientCast || part == Part::kAttentionNormAgain || part == Part::kMlpNormAgain;
}

bool is_weight_gradient(std::string_view kernel) {
  return kernel.ends_with(".wgrad");
}

/// One product for each expert, of an equal share of the tokens.
void group(Gemm& gemm, std::string_view name, std::int64_t experts) {
  gemm.batch = experts;
  (is_weight_gradient(name) ? gemm.k : gemm.m) /= experts;
}

models::Transformer local_model(const WorkloadConfig& config, std::int64_t tensor_rank) {
  models::Transformer local = config.model;
  const std::int64_t tp = config.parallel.degree(Axis::kTensor);
  local.heads /= tp;
  local.kv_heads /= tp;
  local.ffn /= tp;
  local.vocab = local.vocab / tp + (tensor_rank < local.vocab % tp ? 1 : 0);
  return local;
}

}  // namespace

std::string_view name_of(Part part) {
  return kPartNames[static_cast<std::size_t>(part)];
}

RankShare::RankShare(const WorkloadConfig& config, std::int64_t tensor_rank) : config_(config) {
  const models::Transformer local = local_model(config, tensor_rank);
  models::StepShape shape;
  shape.sequences = config.sequences_of_microbatch();
  shape.sequence = config.sequence / config.parallel.degree(Axis::kContext);
  shape.fusion = config.fusion;
  shape.code = config.code;
  shape.attention = config.attention;
  shape.repeat_kv = models::repeats_kv(config.fusion);
  shape.element_bytes = config.element_bytes;
  shape.linear = config.linear;
  shape.float8_weights = config.is_float8() && config.parallel.degree(Axis::kShard) > 1;
  shape.float8_tokens = config.is_float8() && config.sequence_parallel;
  // By layer, the parts are those of a block that is computed again.
  const bool by_layer = config.recompute == models::Recompute::kSelectiveLayer;
  shape.recompute = by_layer ? models::Recompute::kFull : config.recompute;
  for (const UnitKind kind : {UnitKind::kEmbedding, UnitKind::kBlock, UnitKind::kHead}) {
    add_all(forward_kernels(local, kind, shape), false);
    add_all(backward_kernels(local, kind, shape), false);
  }
  if (config.experts > 0) {
    // As many tokens pass the experts of a rank as come to it, each of them top_k times.
    models::StepShape routed = shape;
    routed.sequences *= config.top_k;
    add_all(forward_kernels(local, UnitKind::kBlock, routed), true);
    add_all(backward_kernels(local, UnitKind::kBlock, routed), true);
  }

  count_activations(local, shape);
  embedding_ = unit_parameters(local, UnitKind::kEmbedding);
  head_ = unit_parameters(local, UnitKind::kHead);
  vocabulary_table_ = local.vocab * local.d_model;
  if (shape.float8_weights) block_.float8 = linear_parameters(local, UnitKind::kBlock);
  const std::int64_t experts_here = config.experts == 0 ? 0 : config.experts / config.parallel.degree(Axis::kExpert);
  for (const models::Tensor& tensor : unit_tensors(local, UnitKind::kBlock)) {
    const bool of_mlp = tensor.name.starts_with("w1") || tensor.name.starts_with("w2") || tensor.name.starts_with("w3");
    if (of_mlp && config.experts > 0) {
      block_.experts += experts_here * tensor.elements();
    } else {
      block_.dense += tensor.elements();
    }
  }
}

void RankShare::count_activations(const models::Transformer& local, models::StepShape shape) {
  if (config_.sequence_parallel) shape.sharers = config_.parallel.degree(Axis::kTensor);
  embedding_activations_ = kept_activations(local, UnitKind::kEmbedding, shape);
  head_activations_ = kept_activations(local, UnitKind::kHead, shape);
  models::Transformer without_mlp = local;
  without_mlp.ffn = 0;
  for (std::size_t block = 0; block < block_activations_.size(); ++block) {
    shape.recompute = recompute_of(config_.recompute, static_cast<std::int64_t>(block));
    // Each token passes top_k experts.
    const auto with_experts = [&](const auto& bytes_of) {
      const std::int64_t whole = bytes_of(local);
      if (config_.experts == 0) return whole;
      return whole + (config_.top_k - 1) * (whole - bytes_of(without_mlp));
    };
    block_activations_[block] = with_experts(
        [&](const models::Transformer& model) { return kept_activations(model, UnitKind::kBlock, shape); });
    repeated_activations_ = std::max(repeated_activations_, with_experts([&](const models::Transformer& model) {
                                       return recomputed_activations(model, UnitKind::kBlock, shape);
                                     }));
    // What came from other ranks.
    if (config_.experts > 0 && shape.recompute == models::Recompute::kNone) {
      block_activations_[block] += config_.top_k * shape.tokens() * local.d_model * shape.element_bytes;
    }
  }
}

void RankShare::add_all(const std::vector<Kernel>& kernels, bool experts_only) {
  for (const Kernel& kernel : kernels) {
    const bool of_experts = config_.experts > 0 && is_of_mlp(part_of(kernel));
    if (of_experts == experts_only) add(part_of(kernel), kernel);
  }
}

void RankShare::add(Part part, Kernel kernel) {
  if (auto* pass = std::get_if<Elementwise>(&kernel.shape);
      pass != nullptr && config_.sequence_parallel && is_beside_tensor_parallel(part)) {
    pass->bytes_read /= config_.parallel.degree(Axis::kTensor);
    pass->bytes_written /= config_.parallel.degree(Axis::kTensor);
  }
  if (auto* gemm = std::get_if<Gemm>(&kernel.shape); gemm != nullptr && config_.experts > 0 && is_of_mlp(part)) {
    group(*gemm, kernel.name, config_.experts / config_.parallel.degree(Axis::kExpert));
  }
  add(parts_[static_cast<std::size_t>(part)], kernel);
  if (!config_.async_tensor_parallel) return;
  if (auto* gemm = std::get_if<Gemm>(&kernel.shape); gemm != nullptr && !is_weight_gradient(kernel.name)) {
    gemm->m /= config_.parallel.degree(Axis::kTensor);
    add(chunks_[static_cast<std::size_t>(part)], kernel);
  } else {
    add(rests_[static_cast<std::size_t>(part)], kernel);
  }
}

void RankShare::add(Work& sum, const Kernel& kernel) const {
  sum.operations += flops(kernel);
  sum.bytes += bytes_moved(kernel);
  if (config_.time) sum.picoseconds += config_.time(kernel);
  if (config_.demand) sum.kernels.push_back(config_.demand(kernel));
}

Work RankShare::optimizer(std::int64_t parameters) const {
  Work sum;
  for (const Kernel& kernel : models::optimizer_kernels(parameters, config_.fusion)) add(sum, kernel);
  return sum;
}

Work RankShare::cast(const models::Shard& shard) const {
  Work sum;
  for (const Kernel& kernel : models::kernels_before_gather(shard, false)) add(sum, kernel);
  return sum;
}

Work RankShare::copy(std::int64_t read, std::int64_t written) const {
  Work sum;
  add(sum, {"copy", Elementwise{read, written, 1}});
  return sum;
}

}  // namespace weft::workloads
