// SPDX-License-Identifier: Apache-2.0
#include "sw/dimensions/themis.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

namespace weft::dimensions {

std::uint32_t steps_of(const Phase& phase) {
  const std::uint32_t others = phase.members - 1;
  const std::uint32_t passes = phase.operation == Operation::kAllReduce ? 2 : 1;
  switch (phase.algorithm) {
    case Algorithm::kRing:
      return phase.ring_messages();
    case Algorithm::kBidirectionalRing:
      return passes * others;
    case Algorithm::kDirect:
      return passes;
    default:
      break;
  }
  return passes * static_cast<std::uint32_t>(std::bit_width(others));
}

std::int64_t moved_by(const Phase& phase) {
  if (phase.algorithm == Algorithm::kRing) return steps_of(phase) * phase.shard();
  if (phase.algorithm == Algorithm::kBruck && phase.operation == Operation::kAllToAll) {
    return steps_of(phase) * phase.members / 2 * phase.shard();
  }
  // Trees move the whole up and down each of their edges, of which there is one less than members.
  return (phase.operation == Operation::kAllReduce ? 2 : 1) * (phase.members - 1) * phase.shard();
}

std::int64_t reduced_by(const Phase& phase) {
  if (!phase.reduces()) return 0;
  switch (phase.algorithm) {
    case Algorithm::kRing:
    case Algorithm::kBidirectionalRing:
      return (phase.members - 1) * phase.shard();
    case Algorithm::kDirect:
      return phase.shard();
    case Algorithm::kHalvingDoubling:
      return phase.bytes / 2 - phase.shard();
    case Algorithm::kBruck:  // reduces nothing
      return 0;
    default:
      break;
  }
  return steps_of(phase) / 2 * phase.bytes;
}

PredictedTime predict(const Phase& phase, const DimensionCost& cost) {
  const auto time = [](std::int64_t bytes, double rate) {
    return Time(rounded(static_cast<double>(bytes) / rate * 1000, "a predicted time of a dimension in ps"));
  };
  return {cost.step * steps_of(phase) + 3 * time(reduced_by(phase), cost.memory_bytes_per_ns),
          time(moved_by(phase), cost.bytes_per_ns)};
}

Themis::Themis(const CollectiveConfig& config, std::vector<std::uint32_t> sizes, std::vector<DimensionCost> costs)
    : config_(config), sizes_(std::move(sizes)), costs_(std::move(costs)), loads_(sizes_.size()) {
  for (std::uint32_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] > 1) used_.push_back(i);
  }
}

bool Themis::balanced(Operation operation, std::int64_t bytes) const {
  const auto less = [&](std::uint32_t a, std::uint32_t b) { return loads_[a] < loads_[b]; };
  const auto [least, most] = std::minmax_element(used_.begin(), used_.end(), less);
  // The smallest that a chunk can be on a dimension: when it has passed all others, for an Allgather before it has.
  std::int64_t smallest = bytes;
  for (const std::uint32_t each : used_) {
    if (each != *least && operation != Operation::kAllgather) smallest /= sizes_[each];
  }
  const Phase last{operation, config_.algorithm(operation, *least), *least, sizes_[*least], smallest};
  return loads_[*most] - loads_[*least] < load_of(last);
}

Time Themis::load_of(const Phase& phase) const {
  const PredictedTime time = predict(phase, costs_[phase.dimension]);
  return std::max(time.beta, time.total() / config_.active_chunks);
}

Plan::Phases Themis::next(Operation operation, std::int64_t bytes) {
  std::vector<std::uint32_t> order = used_;
  // The bytes of an AllToAll are the same in all dimensions, so that nothing is gained by an order.
  if (operation != Operation::kAllToAll && !used_.empty() && !balanced(operation, bytes)) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return loads_[a] < loads_[b]; });
  }
  Plan::Phases phases = phases_in(config_, operation, bytes, order, sizes_);
  for (const Phase& phase : phases) loads_[phase.dimension] += load_of(phase);
  return phases;
}

Plan schedule_collective(const CollectiveConfig& config, Operation operation, std::int64_t bytes,
                         const std::vector<std::uint32_t>& sizes, std::uint32_t ends,
                         const std::vector<DimensionCost>& costs) {
  Plan plan = plan_collective(config, operation, bytes, sizes, ends);
  const bool themis = config.inter_dimension == InterDimension::kThemis;
  if (themis && config.optimization == Optimization::kBaseline) {
    throw ConfigError(
        "analytical.collectives.inter_dimension",
        "expected baseline, or localBWAware as optimization: Themis orders ReduceScatters and Allgathers");
  }
  const bool plain = !themis && config.intra_dimension == IntraDimension::kFifo;
  if (plain || plan.orders.front().size() < 2) return plan;
  if (themis) {
    const std::int64_t chunk = plan.orders.front().front().bytes;
    plan.orders.clear();
    Themis planner(config, sizes, costs);
    std::map<std::vector<std::uint32_t>, std::uint32_t> known;
    for (std::int64_t i = 0; i < plan.chunks; ++i) {
      Plan::Phases phases = planner.next(operation, chunk);
      std::vector<std::uint32_t> visited;
      for (const Phase& phase : phases) visited.push_back(phase.dimension);
      const auto [at, fresh] = known.try_emplace(visited, plan.orders.size());
      if (fresh) plan.orders.push_back(std::move(phases));
      plan.order_of.push_back(at->second);
    }
  }
  predict_turns(config, costs, plan);
  return plan;
}

}  // namespace weft::dimensions
