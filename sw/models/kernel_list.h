// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "sw/models/transformer.h"
#include "sw/models/transformer_names.h"

namespace weft::models {

/// Traffic of an elementwise operation for each element of its main operand.
struct PerElement {
  std::int64_t read = 0;
  std::int64_t written = 0;
  int launches = 1;
};

/// The kernels of a unit, one after the other: what forward_kernels and backward_kernels give.
class KernelList {
 public:
  /// `again`: of the forward pass, for what of it is computed again.
  KernelList(const Transformer& model, UnitKind kind, const StepShape& shape, bool again = false)
      : model_(model),
        kind_(kind),
        shape_(shape),
        tokens_(shape.tokens()),
        e_(shape.element_bytes),
        fused_(is_fused(kind, shape.fusion)),
        float8_(shape.linear == LinearType::kFloat8),
        te_(float8_ && shape.casts == Casts::kTransformerEngine),
        blocks_(scale_block(shape.linear)),
        keeps_scales_(again && shape.recompute == Recompute::kSelectiveOp),
        single_norms_(has_single_norms(model.norm, kind, shape.fusion)) {}

  std::vector<Kernel> take() { return std::move(kernels_); }

  void embedding();
  void embedding_backward();
  void block();
  /// What of `forward`, a whole block, has to be done again.
  void recomputed(std::vector<Kernel> forward);
  void block_backward();
  void head();
  void head_backward();
  void prediction();
  void prediction_backward();

 private:
  /// Bytes of a number in the precision of norms, rotations, losses and the optimizer.
  static constexpr std::int64_t kFp32 = 4;
  static constexpr std::int64_t kMask = 1;
  static constexpr std::int64_t kFloat8 = 1;

  // Attention.
  void attend(names::Attends to, bool adds_residual);
  void attend_backward(names::Attends to, int users);
  void latent_projections();
  void latent_projections_backward();
  void latent_projections_again(std::vector<Kernel> forward);
  void scores_product(std::string_view name, std::int64_t n, std::int64_t k);
  void attention_by_operators(names::Attends to);
  void attention_backward_by_operators(names::Attends to);
  void attention(std::string_view name, bool backward, bool to_earlier);
  void rotary(std::string_view name);
  [[nodiscard]] bool repeats_kv() const { return shape_.repeat_kv && model_.kv_heads < model_.heads; }
  /// Tokens of the source, and behind an encoder of the target.
  [[nodiscard]] std::int64_t looked_up() const { return tokens_ * (model_.encoder > 0 ? 2 : 1); }
  /// Of relative positions.
  [[nodiscard]] std::int64_t tables() const { return model_.encoder > 0 ? 2 : 1; }
  [[nodiscard]] std::int64_t scores() const { return tokens_ * shape_.sequence * model_.heads; }

  // MLPs and experts.
  void mlp();
  void mlp_backward();
  void activation(std::string_view name, std::int64_t elements);
  void activation_backward(std::string_view name, std::int64_t elements);
  void experts();
  void experts_backward();
  [[nodiscard]] std::int64_t local_experts() const {
    return shape_.local_experts > 0 ? shape_.local_experts : model_.experts;
  }
  /// Tokens that come to the experts that are here, each as often as it comes.
  [[nodiscard]] std::int64_t routed() const {
    return shape_.local_experts > 0 ? shape_.routed_tokens : tokens_ * model_.top_k;
  }
  /// Whether a token comes once, whatever experts here it goes to.
  [[nodiscard]] bool comes_once() const { return shape_.arrived_tokens > 0; }
  /// Results that come back for the own tokens.
  [[nodiscard]] std::int64_t returned() const { return comes_once() ? shape_.returned_tokens : tokens_ * model_.top_k; }
  void spread_by_expert(std::string_view name);
  void join_of_experts(std::string_view name);
  /// Which experts' tokens have to be brought together.
  [[nodiscard]] bool sorts() const { return shape_.local_experts > 1 && shape_.local_experts < model_.experts; }

  // Products.
  void gemm(std::string_view name, std::int64_t m, std::int64_t n, std::int64_t k) {
    kernels_.push_back({name, Gemm{1, m, n, k, shape_.element_bytes}});
  }
  /// Of a linear layer. torchao sums gradients without fast accumulation (gemm_config_grad_input, _grad_weight).
  enum class Accumulation { kFast, kFull };
  void product(std::string_view name, Gemm shape, Accumulation accumulation);
  /// What a linear layer's backward pass works with, in float8.
  enum Origin { kMadeHere, kMadeElsewhere };
  struct Backward {
    Origin gradient = kMadeHere;
    bool gathers_gradient = false;          ///< with sequence parallelism
    const names::Operand* input = nullptr;  ///< that has to be transposed; null where a layer before has done so
    bool gathers_input = false;
  };
  void linear(const names::Linear& names, std::int64_t outputs, std::int64_t inputs);
  void linear_backward(const names::Linear& names, std::int64_t outputs, std::int64_t inputs, const Backward& how);
  /// Of the experts that are here, and what enters their products.
  [[nodiscard]] Gemm of_experts(Gemm shape) const;
  void cast_of_experts(const names::Operand& names, std::int64_t elements);
  /// The same of all experts, each of those tokens that come to it.
  void grouped(const names::Linear& names, std::int64_t outputs, std::int64_t inputs);
  void grouped_backward(const names::Linear& names, std::int64_t outputs, std::int64_t inputs, const Backward& how);
  struct Products {
    std::int64_t rows;
    std::int64_t weights;
  };
  void casts_backward(const names::Linear& names, Products of, std::int64_t outputs, std::int64_t inputs,
                      const Backward& how);
  /// From the kernel of that number on all are casts of experts, which may have kernels of their own.
  void split_casts(std::size_t from);
  /// Kernels for one product, or one cast, of all experts.
  [[nodiscard]] int launches_of_experts() const {
    return shape_.expert_kernels == ExpertKernels::kEach ? static_cast<int>(local_experts()) : 1;
  }
  void cast(const names::Operand& names, std::int64_t elements, Origin origin);
  /// Both ways, with scales of blocks.
  void cast_blocks(std::string_view name, std::int64_t elements);
  [[nodiscard]] PerElement scaled(PerElement each, Origin origin) const;
  [[nodiscard]] bool casts_weights() const { return float8_ && !te_ && !shape_.float8_weights; }

  // What goes over memory.
  void elementwise(std::string_view name, std::int64_t elements, PerElement each) {
    kernels_.push_back({name, Elementwise{elements * each.read, elements * each.written, each.launches}});
  }
  void dropout(std::string_view name, std::int64_t elements);
  void dropout_backward(std::string_view name, std::int64_t elements);
  void residual(std::string_view name) { elementwise(name, tokens_ * model_.d_model, {2 * e_, e_}); }
  void norm(std::string_view name, bool adds_residual) { norm(name, tokens_ * model_.d_model, adds_residual); }
  void norm(std::string_view name, std::int64_t elements, bool adds_residual);
  void norm_backward(std::string_view name, int users, bool joins_residual) {
    norm_backward(name, tokens_ * model_.d_model, users, joins_residual);
  }
  void norm_backward(std::string_view name, std::int64_t elements, int users, bool joins_residual);

  const Transformer& model_;
  const UnitKind kind_;
  const StepShape& shape_;
  const std::int64_t tokens_;
  const std::int64_t e_;
  const bool fused_;
  const bool float8_;
  const bool te_;            ///< with Transformer Engine's casts
  const int blocks_;         ///< of values that share a scale; 0: none
  const bool keeps_scales_;  ///< selective recomputation has them in its list
  const bool single_norms_;
  std::vector<Kernel> kernels_;
};

}  // namespace weft::models
