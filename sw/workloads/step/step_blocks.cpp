// SPDX-License-Identifier: Apache-2.0
// Embedding, blocks and head, and the communication within them.
#include <utility>

#include "sw/workloads/step/step.h"

namespace weft::workloads {

using chakra::CollectiveType;

namespace {

/// Messages of a ring in a block.
enum RingMessage : std::int64_t { kKeys, kKeysAgain, kGradients, kKeysToRecompute, kRingMessages };

bool is_graphed(Part part, const GraphedParts& graphed, bool has_experts) {
  switch (part) {
    case Part::kAttentionNorm:
    case Part::kAttentionQkv:
    case Part::kAttentionCore:
    case Part::kAttentionOut:
    case Part::kAttentionOutGradient:
    case Part::kAttentionCoreGradient:
    case Part::kAttentionQkvInputGradient:
    case Part::kAttentionQkvWeightGradient:
    case Part::kAttentionNormGradient:
    case Part::kAttentionGradientCast:
    case Part::kAttentionNormAgain:
    case Part::kAttentionQkvAgain:
    case Part::kAttentionCoreAgain:
    case Part::kAttentionOutAgain:
      return graphed.attention;
    case Part::kRouter:
    case Part::kRouterGradient:
    case Part::kRouterAgain:
      return graphed.router;
    case Part::kMlpNorm:
    case Part::kMlpNormGradient:
    case Part::kMlpNormAgain:
      return has_experts ? graphed.router : graphed.mlp;
    case Part::kMlpUp:
    case Part::kMlpDown:
    case Part::kMlpResidual:
    case Part::kMlpDownGradient:
    case Part::kMlpUpInputGradient:
    case Part::kMlpUpWeightGradient:
    case Part::kMlpGradientCast:
    case Part::kMlpUpAgain:
      return !has_experts && graphed.mlp;
    default:
      return false;
  }
}

}  // namespace

// Names --------------------------------------------------------------------------------------------------------------

/// With what tells it from the same of other microbatches and steps.
std::string RankStep::name(const std::string& what) const {
  std::string text = what + " mb" + std::to_string(microbatch_);
  if (config_.steps > 1) text += " step" + std::to_string(step_);
  return text;
}

std::string RankStep::message_name(const char* what, std::int64_t other, bool forward) const {
  const std::string cargo = forward ? " activations" : " gradients";
  const char* const direction = std::string_view(what) == "send" ? " to " : " from ";
  return name(prefix_ + what + cargo + direction + std::to_string(other));
}

Ids RankStep::compute(Part part, const Ids& data, const std::string& more) {
  const std::string_view what = name_of(part);
  // Blocks are told apart by their number; embedding and head are called by their names.
  const bool is_named = what.starts_with("embedding") || what.starts_with("head") || what.starts_with("loss");
  return emitter_.compute(name((is_named ? "" : prefix_) + std::string(what) + more),
                          here().parts[static_cast<std::size_t>(part)], data, host_of(part));
}

/// Where experts have room for any number of tokens, the host learns from a router how many come.
Emitter::Host RankStep::host_of(Part part) const {
  Emitter::Host host;
  if (is_graphed(part, config_.graphed, has_experts(unit_))) {
    host.graph = 2 * (microbatch_ * (last_unit() + 1) + unit_) + (operation_.forward ? 0 : 1);
  }
  host.waits = (part == Part::kRouter || part == Part::kRouterAgain) && !config_.fixed_experts;
  return host;
}

// Within a block -----------------------------------------------------------------------------------------------------

/// Of the collectives' buffers, where there are such kernels.
Ids RankStep::copy(const std::string& what, std::int64_t read, std::int64_t written, const Ids& data) {
  if (!config_.copies) return data;
  return emitter_.compute(name(prefix_ + what), share_.copy(read, written), data);
}

/// Sequence parallelism: all tokens of the tensor-parallel ranks.
Ids RankStep::gather_tokens(const std::string& what, const Ids& in) {
  return copy_out(what, start_gathering(what, in));
}

Ids RankStep::copy_out(const std::string& what, const Ids& gathered) {
  if (!config_.sequence_parallel) return gathered;
  return copy(what + " copy-out", gathered_token_bytes(), gathered_token_bytes(), gathered);
}

Ids RankStep::start_gathering(const std::string& what, const Ids& in) {
  if (!config_.sequence_parallel) return in;
  return emitter_.collective(name(prefix_ + what + " all-gather"), Purpose::kTensorParallel,
                             {CollectiveType::kAllGather, gathered_token_bytes(), Groups::kTensor}, in);
}

/// Of tensors of which each rank of tp has a part, the largest values: one AllReduce for what is scaled before the same
/// products, where PyTorch has one each.
Ids RankStep::agree_on_scales(const std::string& what, std::int64_t tensors, const Ids& in) {
  if (!config_.is_float8() || tensors == 0) return in;
  constexpr std::int64_t kFp32 = 4;
  return emitter_.collective(name(prefix_ + what + " scales all-reduce"), Purpose::kTensorParallel,
                             {CollectiveType::kAllReduce, tensors * kFp32, Groups::kTensor}, in);
}

/// Of what a product's result is summed to, and so gathered with sequence parallelism.
Ids RankStep::cast_gradient(Part part, const std::string& what, const Ids& in) {
  if (config_.linear == models::LinearType::kPlain) return in;
  return agree_on_scales(what, config_.sequence_parallel ? 1 : 0, compute(part, in));
}

/// The partial sums of the tensor-parallel ranks.
Ids RankStep::sum_tokens(const std::string& what, const Ids& in) {
  const bool scatters = config_.sequence_parallel;
  const Ids ready = scatters ? copy(what + " copy-in", activation_bytes(), activation_bytes(), in) : in;
  return emitter_.collective(
      name(prefix_ + what + (scatters ? " reduce-scatter" : " all-reduce")), Purpose::kTensorParallel,
      {scatters ? CollectiveType::kReduceScatter : CollectiveType::kAllReduce, activation_bytes(), Groups::kTensor},
      ready);
}

Ids RankStep::attention(const Ids& qkv, bool again) {
  const Part part = again ? Part::kAttentionCoreAgain : Part::kAttentionCore;
  if (cp_ == 1) return compute(part, qkv);
  const std::int64_t place = config_.parallel.coordinate(rank_, Axis::kContext);
  const std::int64_t next = config_.parallel.with(rank_, Axis::kContext, (place + 1) % cp_);
  const std::int64_t before = config_.parallel.with(rank_, Axis::kContext, (place + cp_ - 1) % cp_);
  const std::int64_t bytes =
      config_.tokens() * (config_.model.kv_width() + config_.model.value_width()) / tp_ * config_.element_bytes;
  Ids keys = qkv;
  Ids result;
  for (std::int64_t i = 0; i < cp_; ++i) {
    const std::int64_t tag = (unit_ * cp_ + i) * kRingMessages + (again ? kKeysToRecompute : kKeys);
    const std::string ring = (again ? " to recompute ring" : " ring") + std::to_string(i);
    Ids next_keys;
    if (i + 1 < cp_) {
      emitter_.send(name(prefix_ + "keys and values send" + ring), Purpose::kContextParallel, next, tag, bytes, keys);
      next_keys = emitter_.receive(name(prefix_ + "keys and values receive" + ring), before, tag, bytes,
                                   emitter_.last_compute());
    }
    result = compute(part, joined({qkv, keys}), ring);
    keys = std::move(next_keys);
  }
  return result;
}

/// Keys and values go round again, and behind them the sum of their gradients, which is home after the last step.
Ids RankStep::attention_backward(const Ids& gradient) {
  if (cp_ == 1) return compute(Part::kAttentionCoreGradient, gradient);
  const std::int64_t place = config_.parallel.coordinate(rank_, Axis::kContext);
  const std::int64_t next = config_.parallel.with(rank_, Axis::kContext, (place + 1) % cp_);
  const std::int64_t before = config_.parallel.with(rank_, Axis::kContext, (place + cp_ - 1) % cp_);
  const std::int64_t bytes =
      config_.tokens() * (config_.model.kv_width() + config_.model.value_width()) / tp_ * config_.element_bytes;
  Ids keys = emitter_.last_compute();
  Ids sum;  // of the gradients that have come
  Ids computed;
  for (std::int64_t i = 0; i < cp_; ++i) {
    const std::int64_t tag = (unit_ * cp_ + i) * kRingMessages;
    const std::string ring = " ring" + std::to_string(i);
    Ids next_keys;
    const Ids posted_after = emitter_.last_compute();
    if (i + 1 < cp_) {
      emitter_.send(name(prefix_ + "keys and values send again" + ring), Purpose::kContextParallel, next,
                    tag + kKeysAgain, bytes, keys);
      next_keys = emitter_.receive(name(prefix_ + "keys and values receive again" + ring), before, tag + kKeysAgain,
                                   bytes, posted_after);
    }
    computed = compute(Part::kAttentionCoreGradient, joined({gradient, keys}), ring);
    emitter_.send(name(prefix_ + "their gradients send" + ring), Purpose::kContextParallel, next, tag + kGradients,
                  bytes, joined({computed, sum}));
    sum = emitter_.receive(name(prefix_ + "their gradients receive" + ring), before, tag + kGradients, bytes,
                           posted_after);
    keys = std::move(next_keys);
  }
  return joined({computed, sum});
}

Ids RankStep::block(Unit unit, const Ids& in) {
  const Ids parameters = begin(unit);
  // What enters a block's first products is whole on each rank but with sequence parallelism; weights are parts.
  const std::int64_t whole = config_.sequence_parallel ? 1 : 0;
  const std::int64_t weight = scales_of_weights(1);
  const std::int64_t part = scales_of_parts(1);
  Ids x = compute(Part::kAttentionNorm, joined({in, parameters}));
  x = agree_on_scales("attention forward", whole + 3 * weight, x);
  x = attention(gather_and_multiply(Part::kAttentionQkv, "attention forward", x));
  x = agree_on_scales("attention result", part + weight, x);
  x = multiply_and_sum(Part::kAttentionOut, "attention forward", x);
  const Ids middle = compute(Part::kMlpNorm, joined({in, x}));
  if (has_experts(unit)) return compute(Part::kMlpResidual, joined({middle, experts(middle)}));
  x = agree_on_scales("mlp forward", whole + (config_.model.gated ? 2 : 1) * weight, middle);
  x = gather_and_multiply(Part::kMlpUp, "mlp forward", x);
  x = agree_on_scales("mlp hidden", part + weight, x);
  x = multiply_and_sum(Part::kMlpDown, "mlp forward", x);
  return compute(Part::kMlpResidual, joined({middle, x}));
}

/// The forward pass again, as far as the backward pass needs it. Selective checkpointing keeps what comes out of
/// attention and of communication, as torchtitan's list of operators has it, but for gathered tokens.
Ids RankStep::recompute(Unit unit, const Ids& start) {
  if (!recomputes_most(unit)) return {};
  const bool whole = recomputes(unit) == models::Recompute::kFull;
  // Selective checkpointing keeps scales, too.
  const std::int64_t parts = whole && config_.sequence_parallel ? 1 : 0;
  const std::int64_t weight = whole ? scales_of_weights(1) : 0;
  Ids x = agree_on_scales("attention again", parts + 3 * weight, compute(Part::kAttentionNormAgain, start));
  x = gather_and_multiply(Part::kAttentionQkvAgain, "attention again", x);
  if (whole) x = agree_on_scales("attention result again", 1 + weight, attention(x, true));
  x = whole ? multiply_and_sum(Part::kAttentionOutAgain, "attention again", x) : compute(Part::kAttentionOutAgain, x);
  x = compute(Part::kMlpNormAgain, x);
  if (has_experts(unit)) return experts_again(x, whole);
  x = agree_on_scales("mlp again", parts + (config_.model.gated ? 2 : 1) * weight, x);
  x = gather_and_multiply(Part::kMlpUpAgain, "mlp again", x);
  return whole ? agree_on_scales("mlp hidden again", 1 + weight, x) : x;
}

/// The sum of inputs' gradients and the product for the weights', one beside the other or one after the other.
Ids RankStep::beside_weights(const Ids& summands, const std::function<Ids(const Ids&)>& sum,
                             const std::function<void()>& weights) {
  const bool beside = config_.weight_gradients == WeightGradients::kBeside;
  if (!beside) weights();
  Ids result = sum(summands);
  if (beside) weights();
  return result;
}

/// `gathers`: tokens for the weights' gradients, which recomputing else has gathered.
Ids RankStep::mlp_backward(const Ids& gradient, const Ids& parameters, bool gathers) {
  Ids x = cast_gradient(Part::kMlpGradientCast, "mlp gradient", gradient);
  const Ids down = gather_and_multiply(Part::kMlpDownGradient, "mlp gradient", x, parameters);
  Ids input = gathers ? start_gathering("mlp input again", {}) : Ids{};
  x = compute(Part::kMlpUpInputGradient,
              agree_on_scales("mlp hidden gradient", scales_of_parts(config_.model.gated ? 2 : 1), down));
  return beside_weights(
      x, [&](const Ids& summands) { return sum_tokens("mlp gradient", summands); },
      [&] {
        if (gathers) input = copy_out("mlp input again", input);
        weights(Part::kMlpUpWeightGradient, joined({down, input}));
      });
}

Ids RankStep::block_backward(Unit unit, const Ids& gradient) {
  const Ids parameters = begin(unit);
  const Ids again = recompute(unit, joined({gradient, parameters}));
  Ids x = joined({gradient, parameters, again});
  const bool gathers = !recomputes_most(unit);
  const Ids sum = has_experts(unit) ? experts_backward(x, parameters) : mlp_backward(x, parameters, gathers);
  const Ids middle = compute(Part::kMlpNormGradient, joined({sum, gradient}));

  x = cast_gradient(Part::kAttentionGradientCast, "attention gradient", middle);
  x = gather_and_multiply(Part::kAttentionOutGradient, "attention gradient", x);
  // Latent vectors are whole on each rank of tp.
  if (recomputes(unit) == models::Recompute::kLatentProjections) {
    x = joined({x, compute(Part::kAttentionQkvAgain, x)});
  }
  Ids core = attention_backward(x);
  // Before what may still wait for gradients of keys, so that all ranks have the same order.
  Ids input = gathers ? start_gathering("attention input again", {}) : Ids{};
  core = agree_on_scales("attention result gradient", scales_of_parts(3), core);
  const Ids entered = beside_weights(
      compute(Part::kAttentionQkvInputGradient, core),
      [&](const Ids& summands) { return sum_tokens("attention gradient", summands); },
      [&] {
        if (gathers) input = copy_out("attention input again", input);
        weights(Part::kAttentionQkvWeightGradient, joined({core, input}));
      });
  Ids result = compute(Part::kAttentionNormGradient, joined({entered, middle}));
  // A module's ends behind what is before its block.
  if (config_.model.mtp == 0 || unit != prediction_unit()) end_backward(unit);
  return result;
}

// Its ends -----------------------------------------------------------------------------------------------------------

Ids RankStep::embedding() {
  const Ids parameters = begin(0);
  return sum_tokens("forward", compute(Part::kEmbedding, parameters));
}

void RankStep::embedding_backward(const Ids& gradient) {
  name_unit(0);  // its parameters are not needed
  static_cast<void>(compute(Part::kEmbeddingGradient, gather_tokens("gradient", gradient)));
  end_backward(0);
}

void RankStep::head(const Ids& in) {
  const Ids parameters = begin(last_unit());
  Ids x = compute(Part::kHeadNorm, joined({in, parameters}));
  x = compute(Part::kHead, gather_tokens("forward", x));
  // Each rank has the logits of its part of the vocabulary: the largest, the wanted one, the sum of exponentials.
  prefix_ = "loss.";
  constexpr std::int64_t kFp32 = 4;
  const Collective number{CollectiveType::kAllReduce, config_.tokens() * kFp32, Groups::kTensor};
  for (const char* what : {"largest logit", "target logit", "sum of exponentials"}) {
    x = emitter_.collective(name(prefix_ + what + " all-reduce"), Purpose::kTensorParallel, number, x);
  }
  // The last one is that of the prediction.
  Ids& loss = loss_[static_cast<std::size_t>(microbatch_)];
  loss = joined({loss, compute(Part::kLoss, x)});
}

/// A module that predicts the token after the next: from what comes out of the last block, and the embedding of the
/// next token, what enters the module's block.
Ids RankStep::predict(const Ids& in) {
  const Ids parameters = begin(prediction_unit());
  return compute(Part::kPrediction, joined({in, parameters}));
}

Ids RankStep::predict_backward() {
  const Ids gradient = block_backward(prediction_unit(), head_backward(true));
  weights(Part::kPredictionWeightGradient, gradient);
  Ids result = compute(Part::kPredictionGradient, gradient);
  end_backward(prediction_unit());
  return result;
}

Ids RankStep::head_backward(bool of_prediction) {
  const Ids parameters = begin(last_unit());
  const Ids input = start_gathering("input again", {});
  const Ids loss = loss_[static_cast<std::size_t>(microbatch_)];
  const Ids gradient = compute(Part::kHeadInputGradient, joined({loss, parameters}));
  const Ids sum = beside_weights(
      gradient, [&](const Ids& summands) { return sum_tokens("gradient", summands); },
      [&] {
        weights(Part::kHeadWeightGradient, joined({gradient, copy_out("input again", input)}));
      });
  Ids result = compute(Part::kHeadNormGradient, sum);
  end_backward(last_unit(), !of_prediction);
  return result;
}

}  // namespace weft::workloads
