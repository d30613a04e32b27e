// SPDX-License-Identifier: Apache-2.0
// What a run was.
#include <algorithm>
#include <cstddef>

#include "sw/collectives/compressed/collectives.h"
#include "sw/schedules/fsdp_member.h"
#include "sw/schedules/fsdp_work.h"
#include "sw/schedules/step_ends.h"

namespace weft::schedules {

double Fsdp::progress() const {
  const std::uint64_t done = members_.front()->stages.value();
  const std::size_t of_step = work_until_.size() - 1;
  const double step = work_until_.back();
  return (static_cast<double>(done / of_step) * step + work_until_[done % of_step]) / (step * config_.steps);
}

double Fsdp::received_bytes() const {
  double bytes = 0;
  for (const Gather& gather : plan_.gathers) bytes += static_cast<double>(gather.bytes);
  for (const Scatter& scatter : plan_.scatters) {
    bytes += static_cast<double>(scatter.elements) * static_cast<double>(size_of(config_.reduce_type));
  }
  return bytes * (shards_ - 1) * copies_ * config_.steps;
}

double Fsdp::share_of_steady() const {
  return members_.front()->offload ? 1 : share_of_settled(plan_, find_rows(plan_, gather_ahead()));
}

std::vector<Time> Fsdp::step_ends() const {
  return ends_of_all(members_, [](const auto& member) -> const std::vector<Time>& { return member->ends; });
}

std::vector<Time> Fsdp::finished() const {
  std::vector<Time> steps;
  Time previous = started_;
  for (const Time end : step_ends()) {
    const Time left_out = steady_ ? steady_->rows().time_of(static_cast<int>(steps.size())) : Time();
    steps.push_back(end - previous + left_out);
    previous = end;
  }
  return steps;
}

collectives::CompressedAmount Fsdp::compressed() const {
  collectives::CompressedAmount amount;
  for (const Groups* groups : {&gather_groups_, &scatter_groups_, &copy_groups_}) {
    for (const auto& group : *groups) amount.add(*group);
  }
  return amount;
}

StepSpan Fsdp::shown() const {
  const int count = config_.steps >= plan_.period ? static_cast<int>(plan_.period) : 1;
  return {config_.steps - count, count};
}

FsdpResult Fsdp::result() const {
  FsdpResult result;
  result.shown = shown();
  result.of_first = members_.front()->tally;
  result.copies = copies_;
  result.tokens_per_rank_step = config_.sequences * config_.sequence;
  result.operations_per_rank_step = static_cast<double>(plan_.operations);
  result.model_flops_per_token = static_cast<double>(flops_per_token_);
  result.steps = finished();
  const auto ranks = static_cast<std::int64_t>(members_.size());
  const std::vector<Time> ends = step_ends();
  const auto first = static_cast<std::size_t>(result.shown.first);
  const Time began = first > 0 ? ends[first - 1] : started_;
  bool checked = false;
  std::int64_t wrong = 0;
  for (const auto& member : members_) {
    // A rank that ended the step before ahead of others began the first one that is shown before it counts: by waiting
    // for parameters of theirs, or where it needs none by computing.
    const Time early = first > 0 ? began - member->ends[first - 1] : Time();
    const Time waited_early = std::min(early, member->first_wait);
    result.compute += member->rank.accelerator.counters().busy - member->busy - (early - waited_early);
    result.exposed_allgather += member->rank.accelerator.waited(kGathered) - member->waited_gather - waited_early;
    (shards_ > 1 ? result.exposed_reduce_scatter : result.exposed_all_reduce) +=
        member->rank.accelerator.waited(kScattered) - member->waited_scatter;
    result.exposed_all_reduce += member->rank.accelerator.waited(kReduced) - member->waited_copies;
    result.exposed_optimizer += member->rank.accelerator.waited(kExchanged) - member->waited_optimizer;
    for (std::size_t i = first; i < ends.size(); ++i) result.slowest_rank += ends[i] - member->ends[i];
    checked = checked || member->rank.store != nullptr;
    wrong += member->wrong;
    if (!member->offload) continue;
    result.exposed_offload += member->offload->waited() - member->waited_offload;
    result.remote_bytes = member->offload->remote_bytes();
    wrong += member->offload->wrong();
  }
  if (steady_) result.left_out = steady_->rows().left_out();
  for (const LeftOutPieces& each : result.left_out) {
    if (steady_->rows().verifies() || !result.shown.has(each.step)) continue;
    result.compute += each.busy;
    // In the order of ended().
    result.exposed_allgather += each.waited[0];
    (shards_ > 1 ? result.exposed_reduce_scatter : result.exposed_all_reduce) += each.waited[1];
    result.exposed_all_reduce += each.waited[2];
  }
  for (Time* part :
       {&result.compute, &result.exposed_allgather, &result.exposed_reduce_scatter, &result.exposed_all_reduce,
        &result.exposed_optimizer, &result.exposed_offload, &result.slowest_rank}) {
    *part = *part / (ranks * result.shown.count);
  }
  for (std::size_t i = first; i < ends.size(); ++i) result.step += result.steps[i];
  result.step = result.step / result.shown.count;
  result.other = result.step - result.compute - result.exposed_allgather - result.exposed_reduce_scatter -
                 result.exposed_all_reduce - result.exposed_optimizer - result.exposed_offload;
  result.memory = memory_;
  if (checked) result.wrong = wrong;
  return result;
}

}  // namespace weft::schedules
