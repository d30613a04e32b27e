// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/groups.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weft::workloads {

Groups::Groups(const WorkloadConfig& config) : parallel_(config.parallel) {
  const Parallelism& parallel = config.parallel;
  const bool has_experts = config.model.has_experts();
  const Members none;
  const Members of_dense{AxisSet(Axis::kContext, Axis::kData)};
  const Members of_experts{AxisSet(Axis::kData), true};
  if (parallel.degree(Axis::kShard) > 1) {
    dense_ = {{AxisSet(Axis::kContext, Axis::kShard)}, {AxisSet(Axis::kData)}};
    experts_ = {{AxisSet(Axis::kShard), true}, of_experts};
  } else if (config.distributed_optimizer) {
    dense_ = {of_dense, none};
    experts_ = {of_experts, none};
  } else {
    dense_ = {none, of_dense};
    experts_ = {none, of_experts};
  }
  std::int64_t next = 1;
  const auto add = [&](Members members) {
    std::vector<Parallelism::Span> spans = parallel_.spans(members);
    const auto is_same = [&](const Kind& kind) { return kind.spans == spans; };
    if (spans.empty() || std::any_of(kinds_.begin(), kinds_.end(), is_same)) return;
    kinds_.push_back({std::move(spans), next});
    next += parallel_.ranks() / parallel_.group_size(members);
  };
  add(kTensor);
  if (has_experts) {
    add(kExpertTensor);
    add(kExpert);
  }
  add(dense_.shards);
  add(dense_.replicas);
  if (has_experts) {
    add(experts_.shards);
    add(experts_.replicas);
  }
  if (config.has_table_copy()) {
    tied_first_ = next;
    next += parallel_.ranks() / parallel_.degree(Axis::kPipeline);
  }
  if (config.pipeline().is_dual()) mirrored_first_ = next;
}

std::string Groups::name(std::int64_t rank, Members members) const {
  const std::vector<Parallelism::Span> spans = parallel_.spans(members);
  if (spans.empty()) return "";
  for (const Kind& kind : kinds_) {
    if (kind.spans == spans) return std::to_string(kind.first + group_number(rank, spans));
  }
  throw std::logic_error("no group of a workload has these members");
}

std::int64_t Groups::tied_number(std::int64_t rank) const {
  return group_number(rank, parallel_.spans({AxisSet(Axis::kPipeline)}));
}

std::string Groups::tied_name(std::int64_t rank) const {
  return std::to_string(tied_first_ + tied_number(rank));
}

/// Stages are neighbours of none: a stage's ranks have numbers in a row.
std::int64_t Groups::mirrored_number(std::int64_t rank) const {
  const std::int64_t stages = parallel_.degree(Axis::kPipeline);
  const std::int64_t of_stage = parallel_.ranks() / stages;
  const std::int64_t stage = parallel_.coordinate(rank, Axis::kPipeline);
  return std::min(stage, stages - 1 - stage) * of_stage + rank % of_stage;
}

std::string Groups::mirrored_name(std::int64_t rank) const {
  return std::to_string(mirrored_first_ + mirrored_number(rank));
}

std::vector<chakra::RankGroup> Groups::all() const {
  std::vector<chakra::RankGroup> groups;
  const auto join = [&](std::int64_t name, std::int64_t rank) {
    const auto index = static_cast<std::size_t>(name - 1);
    if (groups.size() <= index) groups.resize(index + 1);
    groups[index].name = std::to_string(name);
    groups[index].ranks.push_back(static_cast<std::uint64_t>(rank));
  };
  const std::int64_t last_stage = parallel_.degree(Axis::kPipeline) - 1;
  for (std::int64_t rank = 0; rank < parallel_.ranks(); ++rank) {
    for (const Kind& kind : kinds_) join(kind.first + group_number(rank, kind.spans), rank);
    const std::int64_t stage = parallel_.coordinate(rank, Axis::kPipeline);
    if (has_tied_stages() && (stage == 0 || stage == last_stage)) join(tied_first_ + tied_number(rank), rank);
    if (mirrored_first_ != 0) join(mirrored_first_ + mirrored_number(rank), rank);
  }
  return groups;
}

}  // namespace weft::workloads
