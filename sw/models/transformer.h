// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/fields.h"
#include "sw/models/kernels.h"

/// Transformers as layer tables, decoders alone or behind an encoder as T5 (Raffel et al., JMLR 2020): their
/// parameters, and the kernels of a training step.
///
///     const Transformer model = find_transformer(load_transformers(), "llama3-8b");
///     StepShape shape{.sequences = 2, .sequence = model.sequence, .recompute = Recompute::kSelectiveOp};
///     for (const Kernel& kernel : forward_kernels(model, UnitKind::kBlock, shape)) ...
///
/// What is left out: tensor parallelism (divide the shapes), and what the sharding adds (casts and copies around
/// collectives), which is the schedule's. Of experts: the loss that balances them, biases of their choice, dropped
/// tokens; of GPT-OSS the learnt number that each head adds to its softmax (64 of a block); multi-token prediction.
namespace weft::models {

enum class Norm { kRms, kLayer };

/// One row of transformers.csv, which describes the columns.
struct Transformer {
  std::string name;
  std::int64_t layers = 0;  ///< of the decoder
  std::int64_t d_model = 0;
  std::int64_t ffn = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocab = 0;
  bool gated = true;
  bool tied = false;
  std::int64_t positions = 0;
  bool bias = false;
  Norm norm = Norm::kRms;
  std::int64_t sequence = 0;
  std::int64_t encoder = 0;   ///< layers; with them each layer of the decoder attends to their result
  std::int64_t relative = 0;  ///< buckets of distances whose weights come to scores: attention is no one kernel then
  bool dropout = false;

  // Experts stand in place of the MLP of a decoder's blocks, but for the first ones.
  std::int64_t experts = 0;  ///< of a block, that tokens are routed to; 0: none
  std::int64_t top_k = 0;    ///< that a token goes to
  std::int64_t expert_ffn = 0;
  std::int64_t shared_ffn = 0;    ///< width of the MLP that all tokens go to besides: shared_experts times expert_ffn
  std::int64_t dense_layers = 0;  ///< the first ones, with an MLP of width `ffn`
  /// Modules behind the last block, each with one block more, that predict a token after the next (DeepSeek-V3, arXiv
  /// 2412.19437, section 2.2): 0 or 1. Graphs of workloads alone have them.
  std::int64_t mtp = 0;

  // Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1), where kv_lora_rank is not 0: queries, and
  // keys with values, are made from vectors of these lengths. Of a head's queries and keys a part is turned by the
  // position, and that part of the keys is one for all heads. head_dim is the sum of both parts.
  std::int64_t q_lora_rank = 0;  ///< 0: queries are made from the block's input
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;  ///< 0: head_dim

  std::int64_t window = 0;      ///< tokens that a token attends to at most; 0: all before it
  std::int64_t full_every = 0;  ///< of so many blocks the last has no window; 0: all have it
  bool qk_norm = false;         ///< of each head's queries and keys, before they are turned

  [[nodiscard]] std::int64_t blocks() const { return encoder + layers; }
  [[nodiscard]] std::int64_t blocks_with_mtp() const { return blocks() + mtp; }
  [[nodiscard]] bool has_experts() const { return experts > 0; }
  [[nodiscard]] bool is_latent() const { return kv_lora_rank > 0; }
  /// Of block `block` of a decoder, from 0; 0: it attends to all before.
  [[nodiscard]] std::int64_t window_of(std::int64_t block) const {
    return full_every > 0 && (block + 1) % full_every == 0 ? 0 : window;
  }
  [[nodiscard]] bool has_rotary() const { return positions == 0 && relative == 0; }
  /// A block's attentions: to its own sequence, and of a decoder behind an encoder to the encoder's.
  [[nodiscard]] std::int64_t attentions() const { return encoder + layers * (encoder > 0 ? 2 : 1); }
  [[nodiscard]] std::int64_t query_width() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t kv_width() const { return kv_heads * head_dim; }
  [[nodiscard]] std::int64_t value_dim() const { return v_head_dim > 0 ? v_head_dim : head_dim; }
  [[nodiscard]] std::int64_t value_width() const { return kv_heads * value_dim(); }
  /// Of what attention gives.
  [[nodiscard]] std::int64_t attended_width() const { return heads * value_dim(); }
  /// Of a head's queries and keys, what is turned by the position.
  [[nodiscard]] std::int64_t rotary_dim() const { return is_latent() ? qk_rope_head_dim : head_dim; }
};

/// Reads a table such as transformers.csv, by default that one. Or a JSON file with one model: an object whose members
/// are named as the columns. Without `name` it is named after the file. These may be left out, too: kv_heads (as many
/// as heads), head_dim (d_model / heads), gated (true), norm (rms), and what then is false or 0: tied, positions, bias,
/// encoder, relative, dropout, and all of experts, latent attention and windows. Throws traces::FormatError.
std::vector<Transformer> load_transformers();
std::vector<Transformer> load_transformers(const std::filesystem::path& file);
/// Throws std::invalid_argument that lists the names there are.
const Transformer& find_transformer(const std::vector<Transformer>& models, std::string_view name);
/// A decoder alone without relative positions and dropout: what graphs of workloads are made of.
bool is_decoder(const Transformer& model);
/// Without experts, latent attention, windows, and norms of queries and keys, which graphs of workloads alone have.
bool has_plain_blocks(const Transformer& model);
/// The same as find_transformer of these.
const Transformer& find_decoder(const std::vector<Transformer>& models, std::string_view name);

/// A parameter: a matrix of `rows` outputs by `cols` inputs as PyTorch stores it, or a vector with one column. FSDP2
/// shards the rows.
struct Tensor {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 1;

  [[nodiscard]] std::int64_t elements() const { return rows * cols; }
};

/// What is sharded, gathered and computed as one. The usual FSDP wrapping makes each block a unit and puts embedding
/// and head together into the root unit; so must any schedule for a tied model, whose head uses the embedding's weight.
enum class UnitKind { kEmbedding, kEncoderBlock, kBlock, kExpertBlock, kHead };

/// Of block `block`, from 0: an encoder's come first, then those with an MLP, then those with experts.
constexpr UnitKind block_kind(const Transformer& model, std::int64_t block) {
  if (block < model.encoder) return UnitKind::kEncoderBlock;
  return model.has_experts() && block >= model.encoder + model.dense_layers ? UnitKind::kExpertBlock : UnitKind::kBlock;
}
constexpr bool is_block(UnitKind kind) {
  return kind != UnitKind::kEmbedding && kind != UnitKind::kHead;
}
constexpr bool is_of_decoder(UnitKind kind) {
  return kind == UnitKind::kBlock || kind == UnitKind::kExpertBlock;
}

/// Whether a unit attends to what an encoder gives, too.
constexpr bool crosses(const Transformer& model, UnitKind kind) {
  return model.encoder > 0 && is_of_decoder(kind);
}

/// The parameters of a unit, all blocks of a kind being alike. Tables of relative positions, one for the encoder and
/// one for the decoder, are the embedding's, and the encoder's last norm is the head's.
std::vector<Tensor> unit_tensors(const Transformer& model, UnitKind kind);
std::int64_t unit_parameters(const Transformer& model, UnitKind kind);
/// Of those, which LinearType::kFloat8 casts: the matrices of a block; none of embedding and head.
std::vector<Tensor> linear_weights(const Transformer& model, UnitKind kind);
std::int64_t linear_parameters(const Transformer& model, UnitKind kind);
/// Embedding, all blocks and head.
std::int64_t total_parameters(const Transformer& model);
/// Whether a tensor is of the experts that tokens are routed to.
bool is_routed(const Tensor& tensor);
/// Those that a token passes: of its experts and of all else but what is only looked up. So DeepSeek and OpenAI count;
/// Qwen counts the embedding, too.
std::int64_t active_parameters(const Transformer& model);

/// Which activations of a block are computed again in the backward pass. Embedding and head keep theirs.
enum class Recompute {
  kNone,
  /// As torchtitan's selective checkpointing by operator: attention outputs and every other matrix product of the block
  /// (first, third, ...) are kept, all else is computed again. With separate projections that repeats wk, wo and w3.
  kSelectiveOp,
  /// As torchtitan's selective checkpointing by layer, with 2: of every second block (the second, fourth, ...) only the
  /// input is kept, of the others all.
  kSelectiveLayer,
  /// Only the block's input is kept.
  kFull,
  /// Of latent attention, queries, keys and values are made again from the latent vectors behind their norms; all else
  /// is kept (Megatron-Core's --recompute-modules mla_up_proj).
  kLatentProjections,
};
inline EnumNames<Recompute> enum_names(Recompute /*tag*/) {
  return {{"none", Recompute::kNone},
          {"selective-op", Recompute::kSelectiveOp},
          {"selective-layer", Recompute::kSelectiveLayer},
          {"full", Recompute::kFull},
          {"latent-projections", Recompute::kLatentProjections}};
}

/// What that is for block `block`, from 0: what its kernels and activations are to be asked for.
constexpr Recompute recompute_of(Recompute recompute, std::int64_t block) {
  if (recompute != Recompute::kSelectiveLayer) return recompute;
  return block % 2 == 1 ? Recompute::kFull : Recompute::kNone;
}

/// How memory-bound work is cut into kernels.
enum class Fusion {
  /// One kernel per operator of PyTorch 2 without compilation, each reading its operands from memory and writing its
  /// result; RMSNorm, rotary embedding and the loss in 32 bits, LayerNorm and GELU as PyTorch's own single kernels.
  kEager,
  /// As kEager with RMSNorm as one kernel each way, and a small one for the weights' gradient (the Triton kernel of
  /// torchtitan pull request 181).
  kFusedNorms,
  /// As torchtitan's torch.compile, block by block: within a block, chains of elementwise operators read their inputs
  /// and write their outputs once, but for the rotary embedding, whose complex numbers TorchInductor leaves to the
  /// operators (torchtitan issue 15). Embedding, head, loss and optimiser are not compiled.
  kCompiledBlocks,
  /// As hand-fused kernels: all such chains.
  kFused,
};
inline EnumNames<Fusion> enum_names(Fusion /*tag*/) {
  return {{"eager", Fusion::kEager},
          {"fused-norms", Fusion::kFusedNorms},
          {"compiled-blocks", Fusion::kCompiledBlocks},
          {"fused", Fusion::kFused}};
}

/// Whether elementwise work of a unit is fused.
constexpr bool is_fused(UnitKind kind, Fusion fusion) {
  return fusion == Fusion::kFused || (fusion == Fusion::kCompiledBlocks && is_block(kind));
}

/// Whether a unit's norms are single kernels that keep nothing but their operands.
constexpr bool has_single_norms(Norm norm, UnitKind kind, Fusion fusion) {
  return norm == Norm::kLayer || fusion == Fusion::kFusedNorms || is_fused(kind, fusion);
}

/// Whether keys and values are copied out to one per query head before attention: torchtitan and Llama's reference code
/// do, and a compiler does not undo it; hand-written attention reads each where it is.
constexpr bool repeats_kv(Fusion fusion) {
  return fusion != Fusion::kFused;
}

/// Whose operators a stack has where they are not fused; T5's attention is Hugging Face's in any case.
enum class Code {
  /// Llama's reference code, as torchtitan has it: rotations as complex numbers, the loss in 32 bits.
  kLlama,
  /// IBM's foundation-model-stack: rotations as matrices of 2 by 2, whose products are written before they are summed
  /// (fms/modules/positions.py), so that TorchInductor can compile them; the loss in the logits' type.
  kFms,
};
inline EnumNames<Code> enum_names(Code /*tag*/) {
  return {{"llama", Code::kLlama}, {"fms", Code::kFms}};
}

/// Whether the loss is computed on the logits as they are.
constexpr bool has_short_loss(UnitKind kind, Fusion fusion, Code code) {
  return is_fused(kind, fusion) || code == Code::kFms;
}

/// Which attention kernel is called.
enum class AttentionKernel {
  kFlash2,  ///< FlashAttention-2, what PyTorch's scaled_dot_product_attention has
  kFlash3,  ///< FlashAttention-3, or another that keeps tensor cores busy during the softmax
};
inline EnumNames<AttentionKernel> enum_names(AttentionKernel /*tag*/) {
  return {{"flash-2", AttentionKernel::kFlash2}, {"flash-3", AttentionKernel::kFlash3}};
}

/// In what the products of a block's linear layers are computed; the head's is not.
enum class LinearType {
  kPlain,  ///< as all else
  /// In 8 bits as torchao's float8 training converts linear layers, with a scale for each tensor from the largest of
  /// its values: what enters a product, its weight and the gradient of its result are cast, and results are of 16 bits.
  /// Compiled blocks alone have it.
  kFloat8,
  /// In 8 bits with a byte of scale for each 32 values (OCP Microscaling Formats 1.0), as Transformer Engine's
  /// MXFP8BlockScaling: what enters a product and the gradient of its result are cast twice, along both directions,
  /// weights once in a step. Nothing has to be agreed on among ranks, and what they gather is of 16 bits.
  kMxfp8,
  /// In 4 bits with a byte of scale for each 16 values and one for the tensor, which is read once more for it, as
  /// Transformer Engine's NVFP4BlockScaling; its rotations and random rounding are part of the casts.
  kNvfp4,
};
inline EnumNames<LinearType> enum_names(LinearType /*tag*/) {
  return {{"plain", LinearType::kPlain},
          {"float8", LinearType::kFloat8},
          {"mxfp8", LinearType::kMxfp8},
          {"nvfp4", LinearType::kNvfp4}};
}
/// Whose kernels cast what LinearType::kFloat8 multiplies.
enum class Casts {
  /// Weights are cast in each pass. A tensor that is multiplied along both dimensions is read for each; the gradient's
  /// is cast both ways, weights and inputs are transposed in the backward pass.
  kTorchao,
  /// Transformer Engine's Float8CurrentScaling (its documentation, "FP8 Current Scaling" and "Performance
  /// Considerations"): a tensor is read for its largest value and once more to be cast, by a kernel that writes both
  /// ways; where products take operands of any layout, one way is all. Weights are cast once in a step, and no rank of
  /// tp has the scale of another but for what is gathered.
  kTransformerEngine,
};
inline EnumNames<Casts> enum_names(Casts /*tag*/) {
  return {{"torchao", Casts::kTorchao}, {"transformer-engine", Casts::kTransformerEngine}};
}
/// How the experts of a rank become kernels.
enum class ExpertKernels {
  kGrouped,  ///< a product, and a cast, is one kernel for all of them
  /// Each has kernels of its own, as Transformer Engine's GroupedLinear where `use_grouped_tensor` is not set
  /// (transformer_engine/pytorch/module/grouped_linear.py and csrc/extensions/cast.cpp at d0067d0da): cuBLAS multiplies
  /// for one expert after the other, on streams that run beside each other. What enters a product is cast expert by
  /// expert: with a scale for each tensor by four kernels, which clear the largest value, find it, make a scale of it
  /// and cast; with scales of blocks by one. No kernel before it has found the largest value.
  kEach,
};
inline EnumNames<ExpertKernels> enum_names(ExpertKernels /*tag*/) {
  return {{"grouped", ExpertKernels::kGrouped}, {"each", ExpertKernels::kEach}};
}
/// Values that share a scale; 0 where there are no such blocks.
constexpr int scale_block(LinearType type) {
  return type == LinearType::kMxfp8 ? kMxfp8Block : type == LinearType::kNvfp4 ? kNvfp4Block : 0;
}
/// Casts of so many weights both ways, once in a step; none but with blocks of scales.
std::vector<Kernel> weight_cast_kernels(LinearType type, std::int64_t weights);

/// The share of a training step that one kernel list covers: one micro-batch of one rank. Behind an encoder, a target
/// of as many tokens as the source has.
struct StepShape {
  std::int64_t sequences = 1;
  std::int64_t sequence = 8192;
  Recompute recompute = Recompute::kNone;
  /// Recomputing stops once the last needed activation is there, which spares the block's last product and residual
  /// sum: PyTorch's default. Without it a full recomputation is a whole forward pass, the convention of 8 N flops a
  /// token.
  bool early_stop = true;
  Fusion fusion = Fusion::kEager;
  Code code = Code::kLlama;
  AttentionKernel attention = AttentionKernel::kFlash3;
  bool causal = true;
  bool repeat_kv = true;  ///< see repeats_kv()
  int element_bytes = 2;
  LinearType linear = LinearType::kPlain;
  /// With float8: weights are gathered so, cast by those who hold their shards; else each pass casts them.
  bool float8_weights = false;
  /// With float8: weights are there transposed, too, or need not be; else each backward pass transposes them.
  bool transposed_weights = false;
  Casts casts = Casts::kTorchao;
  bool fp8_any_layout = false;  ///< products of 8 bits take operands of any layout
  /// With float8: sequence parallelism gathers tokens and their gradients so.
  bool float8_tokens = false;
  /// Tokens that one attends to at most, of the block that is asked for; 0: all before it.
  std::int64_t window = 0;
  /// Of the experts of a block those that are here, and how many times a token has come to them; 0: all experts, and
  /// each token top_k times.
  std::int64_t local_experts = 0;
  std::int64_t routed_tokens = 0;
  /// Where a token comes here once, however many experts here it goes to (DeepEP): tokens that come, and results of the
  /// own tokens, of which each is the sum of a node's. 0: one for each expert.
  std::int64_t arrived_tokens = 0;
  std::int64_t returned_tokens = 0;
  /// Those come in 8 bits.
  bool float8_dispatch = false;
  ExpertKernels expert_kernels = ExpertKernels::kGrouped;
  /// Ranks that share the activations of the model's width, beside products that they have cut: Megatron's sequence
  /// parallelism (Korthikanti et al., MLSys 2023). For activations alone; kernels are cut by who uses them.
  std::int64_t sharers = 1;

  [[nodiscard]] std::int64_t tokens() const { return sequences * sequence; }
};

/// The kernels in the order in which they are launched. The loss belongs to the head. Backward: what is recomputed
/// first, then for each product the gradient of its input and that of its weight.
std::vector<Kernel> forward_kernels(const Transformer& model, UnitKind kind, const StepShape& shape);
std::vector<Kernel> backward_kernels(const Transformer& model, UnitKind kind, const StepShape& shape);

/// What such a module (Transformer::mtp) has beside its block: norms of the last block's result and of the embedding of
/// the next token, a product that makes one of both, and its own norm before the head, which is the model's.
std::vector<Tensor> prediction_tensors(const Transformer& model);
/// Its kernels before the block, and behind its backward pass.
std::vector<Kernel> prediction_kernels(const Transformer& model, const StepShape& shape);
std::vector<Kernel> prediction_backward_kernels(const Transformer& model, const StepShape& shape);
/// Parameters of all of it but the embedding and the head, which are the model's.
std::int64_t prediction_parameters(const Transformer& model);

/// Floating-point operations of all kernels of a step of one micro-batch, with or without those of recomputation.
std::int64_t step_flops(const Transformer& model, const StepShape& shape, bool with_recompute);

/// The convention that published utilisation figures use: 6 N + 12 L d s a token of sequence length s, L being all
/// attentions, without the halving that causality brings; with an encoder, for a token of the source and one of the
/// target. N is all parameters, or all but those that are only looked up (torchtitan's count); of experts those that a
/// token goes to.
std::int64_t convention_flops_per_token(const Transformer& model, std::int64_t sequence, bool with_embedding = true);

/// As Megatron-LM counts a token's (num_floating_point_operations of megatron/training/training.py): three times the
/// products of a forward pass, those of a token's experts, of which causality leaves half of attention's, and windows
/// less. Norms, routers and what is looked up do not count.
std::int64_t megatron_flops_per_token(const Transformer& model, std::int64_t sequence);

}  // namespace weft::models
