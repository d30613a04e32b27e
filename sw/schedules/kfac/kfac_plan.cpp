// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/kfac_plan.h"

#include <algorithm>
#include <numeric>

#include "sw/schedules/kfac/step_builder.h"

namespace weft::schedules {

using models::Layer;
using models::Network;

std::string factor_name(const Network& network, std::size_t factor) {
  std::size_t pair = 0;
  for (const Layer& layer : network.layers) {
    if (!models::has_factors(layer)) continue;
    if (pair++ == factor / 2) return layer.name + (factor % 2 == 0 ? ".A" : ".G");
  }
  return "none";
}

KfacPlan::KfacPlan(Network network, const KfacConfig& config, const accelerator::ComputeConfig& compute, int ranks,
                   const KfacLayout& layout)
    : network_(std::move(network)),
      config_(config),
      trainer_(trainer_of(config)),
      compute_(compute),
      ranks_(ranks),
      all_(static_cast<std::size_t>(ranks)),
      subgroups_(subgroups_of(*trainer_, ranks)),
      layout_(layout) {
  std::iota(all_.begin(), all_.end(), 0);
  for (std::size_t l = 0; l < network_.layers.size(); ++l) {
    pair_of_.push_back(-1);
    if (!config_.second_order() || !models::has_factors(network_.layers[l])) continue;
    pair_of_.back() = static_cast<int>(layer_of_.size());
    layer_of_.push_back(static_cast<int>(l));
  }
  if (config_.second_order()) sides_ = kfac::factor_sides(network_);
  types_ = {config_.type == NetworkType::kBf16   ? accelerator::DataType::kBf16
            : config_.type == NetworkType::kTf32 ? accelerator::DataType::kTf32
                                                 : accelerator::DataType::kFp32,
            config_.factor_type == FactorType::kBf16   ? accelerator::DataType::kBf16
            : config_.factor_type == FactorType::kTf32 ? accelerator::DataType::kTf32
                                                       : accelerator::DataType::kFp32};
}

std::span<const int> KfacPlan::members(int within, int rank) const {
  if (within == kAllRanks) return all_;
  for (const std::vector<int>& group : subgroups_.at(static_cast<std::size_t>(within))) {
    if (std::find(group.begin(), group.end(), rank) != group.end()) return group;
  }
  return {&all_[static_cast<std::size_t>(rank)], 1};
}

std::vector<PlannedKernel> KfacPlan::planned(const std::vector<kfac::LayerKernel>& kernels,
                                             const std::string& of) const {
  std::vector<PlannedKernel> list;
  list.reserve(kernels.size());
  for (const kfac::LayerKernel& kernel : kernels) {
    const std::string& label = *labels_.insert(std::string(kernel.name) + " " + of).first;
    list.push_back({label.c_str(), work_of(kernel)});
  }
  return list;
}

accelerator::KernelWork KfacPlan::work_of(const kfac::LayerKernel& kernel) const {
  const auto once = [&](const auto& shape) {
    const auto [at, is_new] = inverted_.try_emplace({kernel.shape.index(), shape.batch, shape.n, shape.type});
    if (is_new) at->second = accelerator::kernel_work(compute_, shape);
    return at->second;
  };
  if (const auto* inverse = std::get_if<accelerator::Inverse>(&kernel.shape)) return once(*inverse);
  if (const auto* eigen = std::get_if<accelerator::SymmetricEigen>(&kernel.shape)) return once(*eigen);
  return kfac::kernel_work(compute_, kernel);
}

std::vector<PlannedKernel> KfacPlan::inverse(std::int64_t side) const {
  return planned(kfac::inverse_kernels(side, config_.inverse), "of " + std::to_string(side));
}

std::vector<PlannedKernel> KfacPlan::packing(std::int64_t side) const {
  if (config_.inverse == kfac::Inversion::kEigen) return {};
  std::vector<kfac::LayerKernel> kernels = kfac::pack_kernels(config_.packing, side);
  for (const kfac::LayerKernel& kernel : kfac::unpack_kernels(config_.packing, side)) kernels.push_back(kernel);
  return planned(kernels, "of " + std::to_string(side));
}

KfacDecisions KfacPlan::unmeasured() const {
  KfacDecisions decisions;
  const std::int64_t limit = config_.fusion_threshold.count() / static_cast<std::int64_t>(kKfacElement);
  decisions.gradients = gradient_groups(network_, config_);
  std::vector<kfac::Ready> weights;
  for (const Layer& layer : network_.layers) weights.push_back({0, models::parameters(layer)});
  if (trainer_->averagings() > 0) decisions.averages = kfac::fuse_within(weights, limit);
  const FactorFusion fusion = config_.factor_fusion();
  for (const std::size_t first : {std::size_t{0}, sides_.size() / 2}) {
    std::vector<kfac::Ready> factors;
    for (std::size_t i = first; i < first + sides_.size() / 2; ++i) {
      factors.push_back({0, sent_words(sides_[layout_.sending_order[i]])});
    }
    const kfac::Groups groups = fusion == FactorFusion::kNone  ? kfac::fuse_none(factors.size())
                                : fusion == FactorFusion::kAll ? kfac::fuse_all(factors.size())
                                                               : kfac::fuse_within(factors, limit);
    decisions.factors.insert(decisions.factors.end(), groups.begin(), groups.end());
  }
  decisions.placement = placement_of(*trainer_, sides_, ranks_);
  return decisions;
}

KfacStep KfacPlan::step(const KfacDecisions& decisions, const KfacUpdates& updates) const {
  StepBuilder builder(*this, decisions);
  trainer_->step(builder, updates);
  return builder.take();
}

KfacStep KfacPlan::rest(const KfacDecisions& decisions) const {
  StepBuilder builder(*this, decisions);
  trainer_->rest(builder);
  return builder.take();
}

KfacStep KfacPlan::profile() const {
  const KfacDecisions decisions = unmeasured();
  StepBuilder builder(*this, decisions);
  const auto factor = [&builder](std::size_t layer, std::size_t which) {
    builder.factor(layer, which);
    builder.pack_factor(layer, which);
  };
  for (std::size_t l = 0; l < network_.layers.size(); ++l) {
    factor(l, 0);
    builder.forward(l);
  }
  for (std::size_t l = network_.layers.size(); l-- > 0;) {
    builder.backward(l);
    factor(l, 1);
  }
  return builder.take();
}

}  // namespace weft::schedules
