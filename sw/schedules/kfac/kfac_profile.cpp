// SPDX-License-Identifier: Apache-2.0
// What a K-FAC schedule measures of its machine before it decides.
#include <algorithm>
#include <set>

#include "sw/schedules/kfac/kfac_member.h"

namespace weft::schedules {

using collectives::Communicator;
using firmware::Task;
using kfac::Sample;

namespace {

/// From a message that is all startup to one that is all bytes.
constexpr std::uint64_t kSmallestElements = 1 << 10;
constexpr std::uint64_t kSizesApart = 16;

double seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}

}  // namespace

Task Kfac::time_collectives(Member& member, Communicator& group, bool broadcasts, std::vector<Sample>& samples) {
  std::size_t size = 0;
  for (std::uint64_t elements = kSmallestElements; kKfacElement * elements <= kProfileBytes; elements *= kSizesApart) {
    co_await group.barrier(member.index);
    const Time from = member.rank.processor->now();
    co_await member.rank.processor->delay(config_.negotiation);
    if (broadcasts) {
      co_await group.broadcast(member.index, 0, profile_buffer_, kKfacElement * elements);
    } else {
      co_await group.all_reduce(member.index, profile_buffer_, kKfacElement * elements, ElementType::kFp32);
    }
    // That of the slowest rank, as an AllReduce of the times would say.
    if (size == samples.size()) samples.push_back({static_cast<double>(elements), 0});
    samples[size].seconds = std::max(samples[size].seconds, seconds(member.rank.processor->now() - from));
    ++size;
  }
  co_await group.barrier(member.index);
}

Task Kfac::time_matrices(Member& member, std::vector<Sample>& inverses, std::vector<Sample>& packing) {
  const std::set<std::int64_t> sides(plan_.sides().begin(), plan_.sides().end());
  std::vector<KfacStage> stages;
  stages.reserve(2 * sides.size());
  for (const std::int64_t side : sides) {
    stages.push_back({KfacWork::kInvert, KfacPart::kInverseComp, 0, {}, plan_.inverse(side), {}});
    stages.push_back({KfacWork::kPackInverse, KfacPart::kInversePacking, 0, {}, plan_.packing(side), {}});
  }
  const std::uint64_t before = member.profile_stages.value();
  const std::size_t first = member.profile_times.size();
  member.last_end = member.rank.processor->now();
  for (const KfacStage& stage : stages) {
    member.submitted.push_back({&stage, -1, false});
    enqueue(member, stage);
  }
  co_await member.profile_stages.reach(before + stages.size());
  std::size_t next = first;
  for (const std::int64_t side : sides) {
    inverses.push_back({static_cast<double>(side), seconds(member.profile_times[next++])});
    packing.push_back({static_cast<double>(plan_.sent_inverse_elements(side)), seconds(member.profile_times[next++])});
  }
}

Task Kfac::time_layers(Member& member, std::vector<double>& times) {
  const std::uint64_t before = member.profile_stages.value();
  const std::size_t first = member.profile_times.size();
  std::uint64_t submitted = 0;
  member.last_end = member.rank.processor->now();
  for (const KfacStage& stage : profile_step_.stages) {
    if (submitted > kAhead) co_await member.profile_stages.reach(before + submitted - kAhead);
    co_await member.rank.processor->delay(config_.launch * static_cast<std::int64_t>(stage.kernels.size()));
    member.submitted.push_back({&stage, -1, false});
    enqueue(member, stage);
    ++submitted;
  }
  co_await member.profile_stages.reach(before + submitted);
  for (std::size_t i = 0; i < profile_step_.stages.size(); ++i) {
    times.push_back(seconds(member.profile_times[first + i]));
  }
}

Task Kfac::profile(Member& member) {
  std::vector<Sample> inverses;
  std::vector<Sample> packing;
  std::vector<double> layers;
  co_await time_collectives(member, *all_reduce_group_, false, all_reduce_samples_);
  co_await time_collectives(member, *broadcast_group_, true, broadcast_samples_);
  co_await time_matrices(member, inverses, packing);
  co_await time_layers(member, layers);
  if (member.index == 0) decide(inverses, packing, layers);
  // Nobody has the decisions before rank 0 has made them.
  const std::uint64_t decisions = kKfacElement * (plan_.sides().size() + plan_.network().layers.size());
  co_await broadcast_group_->broadcast(member.index, 0, profile_buffer_, std::min(decisions, kProfileBytes));
  co_await broadcast_group_->barrier(member.index);
}

void Kfac::decide(const std::vector<Sample>& inverses, const std::vector<Sample>& packing,
                  const std::vector<double>& stages) {
  profile_.all_reduce = kfac::fit_linear(all_reduce_samples_);
  profile_.broadcast = kfac::fit_linear(broadcast_samples_);
  profile_.inverses = inverses;
  profile_.packing = packing;

  // When each factor is there, from the beginning of the pass in which it is computed.
  std::vector<kfac::Ready>& a = profile_.a;
  std::vector<kfac::Ready>& g = profile_.g;
  double since = 0;
  double after_last_a = 0;
  bool backward = false;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const KfacStage& stage = profile_step_.stages[i];
    const bool factors = stage.part == KfacPart::kFactorComp || stage.part == KfacPart::kFactorPacking;
    (factors ? profile_.factors : profile_.forward_backward) += stages[i];
    if (stage.work == KfacWork::kBackward && !backward) {
      backward = true;
      after_last_a = since;
      since = 0;
    }
    since += stages[i];
    if (stage.work != KfacWork::kPackFactor) continue;
    const auto factor = static_cast<std::size_t>(stage.item);
    (factor % 2 == 0 ? a : g).push_back({since, plan_.sent_words(plan_.sides()[factor])});
    since = 0;
  }

  if (config_.merges_factors()) {
    const bool optimal = config_.factor_fusion() == FactorFusion::kOptimal;
    const kfac::LinearCost& cost = profile_.all_reduce;
    kfac::Groups groups = optimal ? kfac::fuse_optimal(a, cost) : kfac::fuse_dynamic(a, cost);
    // What of A is still under way when the backward pass begins holds up G.
    const kfac::Pipeline sent = kfac::run_pipeline(a, groups, cost);
    const double busy = config_.metrics > 0 ? 0 : std::max(0.0, sent.exposed() - after_last_a);
    const kfac::Groups more = optimal ? kfac::fuse_optimal(g, cost, busy) : kfac::fuse_dynamic(g, cost);
    groups.insert(groups.end(), more.begin(), more.end());
    decisions_.factors = groups;
  }
  if (config_.inverse_placement() == InversePlacement::kBalanced) {
    const kfac::LinearCost& sending =
        config_.sending == SendingCost::kBroadcast ? profile_.broadcast : profile_.all_reduce;
    // Through matrices of one side there is no line.
    const kfac::LinearCost handling =
        packing.size() == 1 ? kfac::LinearCost{packing.front().seconds, 0} : kfac::fit_linear(packing);
    const kfac::Cost sent = [&](double side) {
      const auto elements = static_cast<double>(plan_.sent_inverse_elements(static_cast<std::int64_t>(side)));
      return sending(elements) + handling(elements);
    };
    decisions_.placement =
        kfac::place_balanced(plan_.sides(), static_cast<int>(ranks_.size()), kfac::MatrixCost(profile_.inverses), sent);
  }
  plan_steps();
}

}  // namespace weft::schedules
