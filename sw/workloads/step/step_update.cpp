// SPDX-License-Identifier: Apache-2.0
// The optimizer at the end of a step.
#include <algorithm>
#include <utility>

#include "sw/workloads/step/step.h"

namespace weft::workloads {

using chakra::CollectiveType;
using dimensions::Operation;

namespace {

void add(std::vector<optimizers::Tensors>& sum, const std::vector<optimizers::Tensors>& tensors) {
  for (const optimizers::Tensors& tensor : tensors) {
    const auto same = std::find_if(sum.begin(), sum.end(), [&tensor](optimizers::Tensors each) {
      each.count = tensor.count;
      return each == tensor;
    });
    if (same != sum.end()) {
      same->count += tensor.count;
    } else {
      sum.push_back(tensor);
    }
  }
}

/// Such as "all-to-all".
std::string text_of(Operation what) {
  std::string text(weft::name_of(what));
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

CollectiveType type_of(Operation what) {
  switch (what) {
    case Operation::kAllReduce:
      return CollectiveType::kAllReduce;
    case Operation::kAllgather:
      return CollectiveType::kAllGather;
    case Operation::kReduceScatter:
      return CollectiveType::kReduceScatter;
    case Operation::kAllToAll:
      break;
  }
  return CollectiveType::kAllToAll;
}

}  // namespace

optimizers::Problem RankStep::what_to_update() const {
  optimizers::Problem problem{{}, config_.fusion, config_.element_bytes, pipeline_.microbatches_of_chunk()};
  const auto holding = [this](const char* name, const Groups::Holders& holders) {
    optimizers::Holding result;
    result.name = name;
    const Members members = shards() ? holders.shards : holders.replicas;
    result.ranks = config_.parallel.group_size(members);
    result.place = place_in_group(rank_, config_.parallel.spans(members));
    if (result.ranks > 1 && shards()) {
      result.sharing = has_fsdp() ? optimizers::Sharing::kShards : optimizers::Sharing::kGiven;
    }
    if (result.sharing == optimizers::Sharing::kShards) {
      result.copies = config_.parallel.group_size(holders.replicas);
      result.copy = place_in_group(rank_, config_.parallel.spans(holders.replicas));
    }
    return result;
  };
  problem.holdings.push_back(holding("", groups_.dense()));
  if (config_.model.has_experts()) problem.holdings.push_back(holding("experts.", groups_.experts()));
  for (std::int64_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
    for (const Unit unit : units(chunk)) {
      const UnitShare& share = share_of(unit);
      add(problem.holdings.front().tensors, share.tensors);
      if (unit == 0 && has_root_unit()) add(problem.holdings.front().tensors, share_.head().tensors);
      if (unit == last_unit() && is_tied_pair()) {
        const optimizers::Tensors table{"tok_embeddings", share_.vocabulary_table() / config_.model.d_model,
                                        config_.model.d_model};
        add(problem.holdings.front().tensors, {table});
      }
      if (!share.expert_tensors.empty()) add(problem.holdings.back().tensors, share.expert_tensors);
      for (const Set& set : sets(unit)) {
        (set.is_of_experts ? problem.holdings.back() : problem.holdings.front()).share += shard_elements(set);
      }
    }
  }
  return problem;
}

/// What the optimizer computes of a block that has been computed backward. Of experts, all are taken to have as many
/// tokens, as their products are.
void RankStep::observe(Unit unit) {
  const UnitShare& share = share_of(unit);
  std::vector<models::Kernel> kernels = optimizer_->observe(problem_, {share.tensors, config_.tokens(), batch_}, step_);
  if (!share.expert_tensors.empty()) {
    const std::int64_t experts = config_.local_experts();
    const std::int64_t tokens = (share.received * config_.parallel.expert_tensor() + experts - 1) / experts;
    const std::vector<models::Kernel> more =
        optimizer_->observe(problem_, {share.expert_tensors, tokens, batch_}, step_);
    kernels.insert(kernels.end(), more.begin(), more.end());
  }
  if (kernels.empty()) return;
  const std::int64_t before = emitter_.sums().operations;
  static_cast<void>(emitter_.compute(name(prefix_ + "observed"), share_.work_of(kernels), {}));
  emitter_.sums().optimizer_operations += emitter_.sums().operations - before;
}

/// Gives what the next step waits for.
Ids RankStep::update(const Ids& gradients) {
  const std::string step = config_.steps > 1 ? " step" + std::to_string(step_) : "";
  const std::vector<optimizers::Task> tasks = optimizer_->update(problem_, step_);
  const std::vector<models::Kernel> casts = share_.weight_casts(cast_weights());
  const std::vector<optimizers::Ordered> order = optimizers::in_order(tasks);
  std::vector<Ids> exchanged;
  Ids data = gradients;
  const std::int64_t before = emitter_.sums().operations;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [piece, task, waits_for] = order[i];
    const bool is_last = i + 1 == order.size();
    if (waits_for > 0) data = joined({data, exchanged[waits_for - 1]});
    std::vector<models::Kernel> kernels = piece->kernels;
    if (is_last) kernels.insert(kernels.end(), casts.begin(), casts.end());
    const std::string what = piece->name + (tasks.size() > 1 ? " " + std::to_string(task) : "");
    // The last one ends the step.
    if (is_last || !kernels.empty()) {
      // Behind a step the host reads its loss.
      data = emitter_.compute((is_last ? "optimizer" : "optimizer." + what) + step, share_.work_of(kernels), data,
                              {.waits = is_last});
    }
    if (!piece->exchange) continue;
    const optimizers::Exchange& exchange = *piece->exchange;
    const bool is_of_experts = exchange.holding > 0;
    const Groups::Holders& holders = is_of_experts ? groups_.experts() : groups_.dense();
    const Members members = exchange.is_of_cuts ? (is_of_experts ? Groups::kExpertTensor : Groups::kTensor)
                            : exchange.is_of_copies || !shards() ? holders.replicas
                                                                 : holders.shards;
    exchanged.push_back(emitter_.collective(
        "optimizer." + problem_.holdings[exchange.holding].name + what + " " + text_of(exchange.what) + step,
        Purpose::kOptimizer, {type_of(exchange.what), exchange.bytes, members}, data));
  }
  if (order.empty()) data = emitter_.compute("optimizer" + step, share_.work_of(casts), data);
  emitter_.sums().optimizer_operations += emitter_.sums().operations - before;
  return data;
}

}  // namespace weft::workloads
