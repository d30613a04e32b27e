// SPDX-License-Identifier: Apache-2.0
// A block's experts: tokens to them and back, and what all tokens go to meanwhile.
#include <utility>

#include "sw/workloads/step/step.h"

namespace weft::workloads {

using chakra::CollectiveType;

/// Each rank of tp sends its share of the tokens. What goes to the ranks of the group is alike on all of them, so that
/// all send to a rank what it receives from each; on the way back it is the other way round.
Ids RankStep::exchange_tokens(const std::string& what, Way way, const Ids& in) {
  if (config_.is_deepep()) return dispatch_tokens(what, way, in);
  const std::int64_t bytes = config_.dispatched_tokens() * config_.model.top_k * token_bytes();
  Collective exchange{CollectiveType::kAllToAll, bytes, Groups::kExpert};
  if (config_.load.kind != LoadKind::kBalanced) {
    const auto place = static_cast<std::size_t>(config_.parallel.coordinate(rank_, Axis::kExpert));
    for (const std::int64_t tokens : here().sent) {
      exchange.to.push_back(tokens * token_bytes());
      exchange.from.push_back(here().sent[place] * token_bytes());
    }
    if (way == Way::kBack) exchange.to.swap(exchange.from);
  }
  return emitter_.collective(name(prefix_ + what + " all-to-all"), Purpose::kExpertParallel, exchange, in);
}

/// Each token once to a rank and a node.
Ids RankStep::dispatch_tokens(const std::string& what, Way way, const Ids& in) {
  const ExpertSpread& spread = config_.spreads[static_cast<std::size_t>(unit_ - 1)];
  const std::int64_t of_token = way == Way::kToExperts ? config_.dispatched_token_bytes() : token_bytes();
  chakra::Tokens tokens;
  std::int64_t bytes = 0;
  for (const std::int64_t each : spread.ranks) {
    tokens.members.push_back(each * of_token);
    bytes += each * of_token;
  }
  for (const std::int64_t each : spread.nodes) tokens.nodes.push_back(each * of_token);
  tokens.combines = way == Way::kBack;
  Collective exchange{CollectiveType::kAllToAll, bytes, Groups::kExpert};
  exchange.tokens = std::move(tokens);
  return emitter_.collective(name(prefix_ + what + " all-to-all"), Purpose::kExpertParallel, exchange, in);
}

/// What came to the ranks that each have a part of the same experts.
Ids RankStep::gather_routed(const std::string& what, const Ids& in) {
  const std::int64_t bytes = here().received * config_.parallel.expert_tensor() * token_bytes();
  return emitter_.collective(name(prefix_ + what + " all-gather"), Purpose::kTensorParallel,
                             {CollectiveType::kAllGather, bytes, Groups::kExpertTensor}, in);
}

/// Experts' partial sums, on their way back to the tokens' ranks; without sequence parallelism all ranks of tp have
/// all.
Ids RankStep::combine_tokens(const std::string& what, const std::string& exchange, const Ids& in) {
  const std::int64_t bytes = here().received * config_.parallel.expert_tensor() * token_bytes();
  const Ids sum = emitter_.collective(name(prefix_ + what + " reduce-scatter"), Purpose::kTensorParallel,
                                      {CollectiveType::kReduceScatter, bytes, Groups::kExpertTensor}, in);
  const Ids back = exchange_tokens(exchange, Way::kBack, sum);
  if (config_.sequence_parallel) return back;
  return emitter_.collective(name(prefix_ + exchange + " all-gather"), Purpose::kTensorParallel,
                             {CollectiveType::kAllGather, activation_bytes(), Groups::kTensor}, back);
}

/// What all tokens go to is an MLP that ranks of tp cut as any other.
Ids RankStep::shared(Part part, const std::string& what, const Ids& in) {
  if (config_.model.shared_ffn == 0) return {};
  const Ids product = compute(part, gather_tokens(what, in));
  return part == Part::kSharedAgain ? product : sum_tokens(what, product);
}

Ids RankStep::experts(const Ids& in) {
  const Ids routed = compute(Part::kRouter, in);
  const Ids sent = exchange_tokens("dispatch forward", Way::kToExperts, routed);
  const Ids beside = shared(Part::kShared, "shared forward", in);
  const Ids up = compute(Part::kMlpUp, gather_routed("mlp forward", sent));
  return joined({beside, combine_tokens("mlp forward", "combine forward", compute(Part::kMlpDown, up))});
}

/// `whole`: what came to the experts was not kept.
Ids RankStep::experts_again(const Ids& in, bool whole) {
  const Ids routed = compute(Part::kRouterAgain, in);
  Ids come = whole ? exchange_tokens("dispatch again", Way::kToExperts, routed) : routed;
  const Ids beside = shared(Part::kSharedAgain, "shared again", in);
  if (whole) come = gather_routed("mlp again", come);
  return joined({beside, compute(Part::kMlpUpAgain, come)});
}

/// Experts keep what was sent to them.
Ids RankStep::experts_backward(const Ids& gradient, const Ids& parameters) {
  const Ids spread = compute(Part::kCombineGradient, gradient);
  const Ids sent = exchange_tokens("combine gradient", Way::kToExperts, spread);
  const Ids beside = shared(Part::kSharedGradient, "shared gradient", gradient);
  const Ids down = compute(Part::kMlpDownGradient, joined({gather_routed("mlp gradient", sent), parameters}));
  const Ids sum = beside_weights(
      compute(Part::kMlpUpInputGradient, down),
      [&](const Ids& summands) { return combine_tokens("mlp gradient", "dispatch gradient", summands); },
      [&] { weights(Part::kMlpUpWeightGradient, down); });
  return joined({beside, compute(Part::kRouterGradient, sum)});
}

}  // namespace weft::workloads
