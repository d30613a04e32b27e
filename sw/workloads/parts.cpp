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
                                                             "mlp.router forward",
                                                             "mlp.shared forward",
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
                                                             "mlp.combine backward",
                                                             "mlp.shared backward",
                                                             "mlp.router backward",
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
                                                             "mlp.up again",
                                                             "mlp.router again",
                                                             "mlp.shared again",
                                                             "weights gradients",
                                                             "prediction forward",
                                                             "prediction backward",
                                                             "prediction weight gradient"};

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
    // Latent attention, and norms of queries and keys.
    {"wq_a", Part::kAttentionQkv},
    {"q_norm", Part::kAttentionQkv},
    {"wkv_a", Part::kAttentionQkv},
    {"kv_norm", Part::kAttentionQkv},
    {"wkv", Part::kAttentionQkv},
    {"latent_keys", Part::kAttentionQkv},
    {"qk_norm", Part::kAttentionQkv},
    {"latent_keys.grad", Part::kAttentionQkvInputGradient},
    {"qk_norm.grad", Part::kAttentionQkvInputGradient},
    {"wkv.dgrad", Part::kAttentionQkvInputGradient},
    {"kv_norm.grad", Part::kAttentionQkvInputGradient},
    {"wkv_a.dgrad", Part::kAttentionQkvInputGradient},
    {"q_norm.grad", Part::kAttentionQkvInputGradient},
    {"wq_a.dgrad", Part::kAttentionQkvInputGradient},
    {"wkv.wgrad", Part::kAttentionQkvWeightGradient},
    {"wkv_a.wgrad", Part::kAttentionQkvWeightGradient},
    {"wq_a.wgrad", Part::kAttentionQkvWeightGradient},
    {"wkv.bias_grad", Part::kAttentionQkvWeightGradient},
    {"wkv_a.bias_grad", Part::kAttentionQkvWeightGradient},
    {"wq_a.bias_grad", Part::kAttentionQkvWeightGradient},
    // Experts.
    {"router", Part::kRouter},
    {"router.choice", Part::kRouter},
    {"permute", Part::kRouter},
    {"shared_up", Part::kShared},
    {"shared_activation", Part::kShared},
    {"shared_down", Part::kShared},
    {"experts_sort", Part::kMlpUp},
    {"experts_up", Part::kMlpUp},
    {"experts_activation", Part::kMlpUp},
    {"experts_down", Part::kMlpDown},
    {"experts_unsort", Part::kMlpDown},
    {"unpermute", Part::kMlpResidual},
    {"unpermute.grad", Part::kCombineGradient},
    {"shared_down.dgrad", Part::kSharedGradient},
    {"shared_down.wgrad", Part::kSharedGradient},
    {"shared_down.bias_grad", Part::kSharedGradient},
    {"shared_activation.grad", Part::kSharedGradient},
    {"shared_up.dgrad", Part::kSharedGradient},
    {"shared_up.wgrad", Part::kSharedGradient},
    {"shared_up.bias_grad", Part::kSharedGradient},
    {"experts_unsort.grad", Part::kMlpDownGradient},
    {"experts_down.dgrad", Part::kMlpDownGradient},
    {"experts_down.wgrad", Part::kMlpDownGradient},
    {"experts_down.bias_grad", Part::kMlpDownGradient},
    {"experts_activation.grad", Part::kMlpDownGradient},
    {"experts_up.dgrad", Part::kMlpUpInputGradient},
    {"experts_sort.grad", Part::kMlpUpInputGradient},
    {"experts_up.wgrad", Part::kMlpUpWeightGradient},
    {"experts_up.bias_grad", Part::kMlpUpWeightGradient},
    {"permute.grad", Part::kRouterGradient},
    {"router.choice_grad", Part::kRouterGradient},
    {"router.dgrad", Part::kRouterGradient},
    {"router.wgrad", Part::kRouterGradient},
    // Modules that predict the token after the next.
    {"mtp_embedding", Part::kPrediction},
    {"mtp_embedding_norm", Part::kPrediction},
    {"mtp_norm", Part::kPrediction},
    {"mtp_join", Part::kPrediction},
    {"mtp_projection", Part::kPrediction},
    {"mtp_projection.dgrad", Part::kPredictionGradient},
    {"mtp_projection.wgrad", Part::kPredictionWeightGradient},
    {"mtp_norm.grad", Part::kPredictionGradient},
    {"mtp_embedding_norm.grad", Part::kPredictionGradient},
    {"mtp_embedding.grad", Part::kPredictionGradient},
    // Casts with scales of blocks.
    {"q_norm.cast", Part::kAttentionQkv},
    {"kv_norm.cast", Part::kAttentionQkv},
    {"wq_a.grad_cast", Part::kAttentionQkvInputGradient},
    {"wkv_a.grad_cast", Part::kAttentionQkvInputGradient},
    {"wkv.grad_cast", Part::kAttentionQkvInputGradient},
    {"shared_input.cast", Part::kShared},
    {"shared_hidden.cast", Part::kShared},
    {"shared_up.grad_cast", Part::kSharedGradient},
    {"shared_down.grad_cast", Part::kSharedGradient},
    {"experts_input.cast", Part::kMlpUp},
    {"experts_hidden.cast", Part::kMlpDown},
    {"experts_up.grad_cast", Part::kMlpUpInputGradient},
    {"experts_down.grad_cast", Part::kMlpDownGradient},
    {"shared_up.weight_cast", Part::kShared},
    {"shared_down.weight_cast", Part::kShared},
    {"shared_up.weight_transposed", Part::kSharedGradient},
    {"shared_down.weight_transposed", Part::kSharedGradient},
    {"shared_input.transposed", Part::kSharedGradient},
    {"shared_hidden.transposed", Part::kSharedGradient},
    {"experts_up.weight_cast", Part::kMlpUp},
    {"experts_down.weight_cast", Part::kMlpDown},
    {"experts_up.weight_transposed", Part::kMlpUpInputGradient},
    {"experts_down.weight_transposed", Part::kMlpDownGradient},
    {"experts_input.transposed", Part::kMlpUpWeightGradient},
    {"experts_hidden.transposed", Part::kMlpDownGradient},
};

constexpr std::pair<Part, Part> kAgain[] = {
    {Part::kAttentionNorm, Part::kAttentionNormAgain},
    {Part::kAttentionQkv, Part::kAttentionQkvAgain},
    {Part::kAttentionCore, Part::kAttentionCoreAgain},
    {Part::kAttentionOut, Part::kAttentionOutAgain},
    {Part::kMlpNorm, Part::kMlpNormAgain},
    {Part::kMlpUp, Part::kMlpUpAgain},
    {Part::kRouter, Part::kRouterAgain},
    {Part::kShared, Part::kSharedAgain},
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

/// Products, too, are of a rank's own tokens.
bool is_of_own_tokens(Part part) {
  return part == Part::kRouter || part == Part::kRouterGradient || part == Part::kRouterAgain ||
         part == Part::kPrediction || part == Part::kPredictionGradient || part == Part::kPredictionWeightGradient;
}

/// What Megatron's sequence parallelism cuts along the sequence.
bool is_beside_tensor_parallel(Part part) {
  return part == Part::kAttentionNorm || part == Part::kMlpNorm || part == Part::kMlpResidual ||
         part == Part::kHeadNorm || part == Part::kHeadNormGradient || part == Part::kMlpNormGradient ||
         part == Part::kAttentionNormGradient || part == Part::kMlpGradientCast ||
         part == Part::kAttentionGradientCast || part == Part::kAttentionNormAgain || part == Part::kMlpNormAgain ||
         part == Part::kCombineGradient || is_of_own_tokens(part);
}

bool is_weight_gradient(std::string_view kernel) {
  return kernel.ends_with(".wgrad");
}

/// Whether gradients of weights are all that a part gives.
bool is_of_weights(Part part) {
  return part == Part::kHeadWeightGradient || part == Part::kMlpUpWeightGradient ||
         part == Part::kAttentionQkvWeightGradient || part == Part::kPredictionWeightGradient;
}

models::Transformer local_model(const WorkloadConfig& config, std::int64_t tensor_rank) {
  models::Transformer local = config.model;
  const std::int64_t tp = config.parallel.degree(Axis::kTensor);
  local.heads /= tp;
  local.kv_heads /= tp;
  local.ffn /= tp;
  local.shared_ffn /= tp;
  local.expert_ffn /= config.parallel.expert_tensor();
  local.vocab = local.vocab / tp + (tensor_rank < local.vocab % tp ? 1 : 0);
  return local;
}

}  // namespace

std::string_view name_of(Part part) {
  return kPartNames[static_cast<std::size_t>(part)];
}

RankShare::RankShare(const WorkloadConfig& config, std::int64_t rank) : config_(config) {
  const models::Transformer local = local_model(config, config.parallel.coordinate(rank, Axis::kTensor));
  vocabulary_table_ = local.vocab * local.d_model;
  embedding_ = share(local, shape(), UnitKind::kEmbedding);
  head_ = share(local, shape(), UnitKind::kHead);
  blocks_.assign(static_cast<std::size_t>(config.model.blocks_with_mtp()), nullptr);
  const std::int64_t mine = config.parallel.coordinate(rank, Axis::kExpert);
  const Pipeline pipeline = config.pipeline();
  const std::int64_t stage = config.parallel.coordinate(rank, Axis::kPipeline);
  for (std::int64_t chunk = 0; chunk < pipeline.chunks; ++chunk) {
    const std::int64_t place = pipeline.virtual_stage(stage, chunk);
    for (std::int64_t i = 0; i < config.layers_of(place); ++i) add_block(config.first_layer(place) + i, local, mine);
    if (place + 1 < pipeline.virtual_stages()) continue;
    for (std::int64_t i = 0; i < config.model.mtp; ++i) add_block(config.model.blocks() + i, local, mine);
  }
}

void RankShare::add_block(std::int64_t block, const models::Transformer& local, std::int64_t expert_place) {
  const bool has_experts = config_.has_experts(block);
  const bool has_load = has_experts && config_.load.kind != LoadKind::kBalanced;
  const Kind kind{block_kind(config_.model, block), config_.model.window_of(block),
                  recompute_of(config_.recompute, block), has_load ? block : 0, block >= config_.model.blocks()};
  const auto [entry, is_new] = kinds_.try_emplace(kind);
  blocks_[static_cast<std::size_t>(block)] = &entry->second;
  if (!is_new) return;
  models::StepShape of_block = shape();
  of_block.window = kind.window;
  of_block.recompute = kind.recompute;
  std::vector<std::int64_t> sent;
  std::int64_t received = 0;
  if (has_experts) {
    const auto mine = static_cast<std::size_t>(expert_place);
    sent = config_.tokens_to_ranks(block);
    received = static_cast<std::int64_t>(sent.size()) * sent[mine];
    // Evenly, each rank sends parts of one size, which may be no whole number of tokens.
    if (!has_load) received = config_.dispatched_tokens() * config_.model.top_k;
    of_block.local_experts = config_.local_experts();
    of_block.routed_tokens = received * config_.parallel.expert_tensor();
    if (!has_load) {
      of_block.routed_tokens = config_.tokens() * config_.model.top_k * config_.parallel.expert_tensor() /
                               config_.parallel.degree(Axis::kTensor);
    }
    if (config_.is_deepep()) {
      const ExpertSpread& spread = config_.spreads[static_cast<std::size_t>(block)];
      of_block.arrived_tokens = spread.ranks[mine] * static_cast<std::int64_t>(spread.ranks.size());
      of_block.returned_tokens = spread.all_of_nodes() * config_.parallel.degree(Axis::kTensor);
      of_block.float8_dispatch = config_.float8_dispatch;
    }
    of_block.expert_kernels = config_.expert_kernels;
  }
  entry->second = share(local, of_block, kind.kind);
  if (kind.predicts) add_prediction(entry->second, local, of_block);
  entry->second.sent = std::move(sent);
  entry->second.received = received;
}

/// Each rank of tp has all of the projection.
void RankShare::add_prediction(UnitShare& unit, const models::Transformer& local,
                               const models::StepShape& shape) const {
  for (const Kernel& kernel : prediction_kernels(local, shape)) add(unit, part_of(kernel), kernel);
  for (const Kernel& kernel : prediction_backward_kernels(local, shape)) add(unit, part_of(kernel), kernel);
  for (const models::Tensor& tensor : models::prediction_tensors(local)) {
    optimizers::Tensors one{tensor.name, tensor.rows, tensor.cols};
    one.is_hidden = tensor.cols > 1;
    unit.parameters.dense += tensor.elements();
    unit.tensors.push_back(std::move(one));
  }
  // What enters both norms, and the product.
  constexpr std::int64_t kKept = 4;
  const std::int64_t sharers = config_.sequence_parallel ? config_.parallel.degree(Axis::kTensor) : 1;
  unit.activations += kKept * shape.tokens() * local.d_model * shape.element_bytes / sharers;
}

models::StepShape RankShare::shape() const {
  models::StepShape shape;
  shape.sequences = config_.sequences_of_microbatch();
  shape.sequence = config_.sequence / config_.parallel.degree(Axis::kContext);
  shape.fusion = config_.fusion;
  shape.code = config_.code;
  shape.attention = config_.attention;
  shape.repeat_kv = models::repeats_kv(config_.fusion);
  shape.element_bytes = config_.element_bytes;
  shape.linear = config_.linear;
  shape.float8_weights = config_.gathers_float8();
  const bool are_cast_once = config_.float8_weights || config_.has_transformer_engine();
  shape.transposed_weights = are_cast_once && (config_.fp8_any_layout || config_.parallel.degree(Axis::kShard) == 1);
  shape.casts = config_.casts;
  shape.fp8_any_layout = config_.fp8_any_layout;
  shape.float8_tokens = config_.is_float8() && config_.sequence_parallel;
  return shape;
}

UnitShare RankShare::share(const models::Transformer& local, const models::StepShape& shape, UnitKind kind) const {
  UnitShare unit;
  for (const Kernel& kernel : forward_kernels(local, kind, shape)) add(unit, part_of(kernel), kernel);
  for (const Kernel& kernel : backward_kernels(local, kind, shape)) add(unit, part_of(kernel), kernel);
  models::StepShape shared = shape;
  if (config_.sequence_parallel) shared.sharers = config_.parallel.degree(Axis::kTensor);
  unit.activations = kept_activations(local, kind, shared);
  if (models::is_block(kind)) unit.repeated = recomputed_activations(local, kind, shared);
  for (const models::Tensor& tensor : linear_weights(local, kind)) {
    if (tensor.name == "router") continue;
    if (is_routed(tensor)) {
      unit.parameters.expert_linear += tensor.elements() / config_.parallel.degree(Axis::kExpert);
      unit.parameters.expert_weights += config_.local_experts();
    } else {
      unit.parameters.linear += tensor.elements();
      ++unit.parameters.weights;
    }
  }
  add_tensors(unit, local, kind);
  return unit;
}

void RankShare::add_tensors(UnitShare& unit, const models::Transformer& local, UnitKind kind) const {
  const std::vector<models::Tensor> whole = unit_tensors(config_.model, kind);
  const std::vector<models::Tensor> own = unit_tensors(local, kind);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const models::Tensor& tensor = own[i];
    optimizers::Tensors one{tensor.name, tensor.rows, tensor.cols};
    one.is_hidden = models::is_block(kind) && tensor.cols > 1;
    // A vocabulary may not divide.
    if (models::is_block(kind)) one.row_cuts = whole[i].rows / tensor.rows;
    if (models::is_block(kind)) one.col_cuts = whole[i].cols / tensor.cols;
    if (is_routed(tensor)) {
      unit.parameters.experts += tensor.elements() / config_.parallel.degree(Axis::kExpert);
      one.rows /= config_.model.experts;
      one.count = config_.local_experts();
      unit.expert_tensors.push_back(std::move(one));
    } else {
      unit.parameters.dense += tensor.elements();
      unit.tensors.push_back(std::move(one));
    }
  }
}

std::int64_t RankShare::repeated_activations() const {
  std::int64_t most = 0;
  for (const auto& [kind, unit] : kinds_) most = std::max(most, unit.repeated);
  return most;
}

/// Where backward passes are cut, gradients of weights are in a part of their own.
Part RankShare::in_program(Part part, std::string_view kernel) const {
  const bool is_of_weight = is_weight_gradient(kernel) || kernel.ends_with(".bias_grad") || is_of_weights(part);
  return is_of_weight && config_.pipeline().splits_backward() ? Part::kWeightGradients : part;
}

void RankShare::add(UnitShare& unit, Part part, Kernel kernel) const {
  const std::int64_t tp = config_.parallel.degree(Axis::kTensor);
  if (auto* pass = std::get_if<Elementwise>(&kernel.shape);
      pass != nullptr && config_.sequence_parallel && is_beside_tensor_parallel(part)) {
    pass->bytes_read /= tp;
    pass->bytes_written /= tp;
  }
  if (auto* gemm = std::get_if<Gemm>(&kernel.shape);
      gemm != nullptr && config_.sequence_parallel && is_of_own_tokens(part)) {
    (is_weight_gradient(kernel.name) ? gemm->k : gemm->m) /= tp;
  }
  const auto at = static_cast<std::size_t>(in_program(part, kernel.name));
  add(unit.parts[at], kernel);
  if (!config_.async_tensor_parallel) return;
  if (auto* gemm = std::get_if<Gemm>(&kernel.shape); gemm != nullptr && !is_weight_gradient(kernel.name)) {
    gemm->m /= tp;
    add(unit.chunks[at], kernel);
  } else {
    add(unit.rests[at], kernel);
  }
}

void RankShare::add(Work& sum, const Kernel& kernel) const {
  sum.operations += flops(kernel);
  sum.bytes += bytes_moved(kernel);
  if (config_.time) sum.picoseconds += config_.time(kernel);
  if (config_.demand) sum.kernels.push_back(config_.demand(kernel));
  sum.launches.push_back(launches(kernel));
}

}  // namespace weft::workloads
