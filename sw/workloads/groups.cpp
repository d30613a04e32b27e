// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/groups.h"

#include <algorithm>
#include <stdexcept>

namespace weft::workloads {

Groups::Groups(const Parallelism& parallel, bool tied, bool has_experts) : parallel_(parallel) {
  if (parallel.degree(Axis::kShard) > 1) {
    dense_ = {AxisSet(Axis::kContext, Axis::kExpert, Axis::kShard), AxisSet(Axis::kData)};
    experts_ = {AxisSet(Axis::kContext, Axis::kShard), AxisSet(Axis::kData)};
  } else {
    dense_ = {AxisSet(), AxisSet(Axis::kContext, Axis::kExpert, Axis::kData)};
    experts_ = {AxisSet(), AxisSet(Axis::kContext, Axis::kData)};
  }
  std::int64_t next = 1;
  const auto add = [&](AxisSet axes) {
    axes = parallel_.reduced(axes);
    const auto is_same = [&](const Kind& kind) { return kind.axes == axes; };
    if (axes == AxisSet() || std::any_of(kinds_.begin(), kinds_.end(), is_same)) return;
    kinds_.push_back({axes, next});
    next += parallel_.ranks() / parallel_.group_size(axes);
  };
  add(AxisSet(Axis::kTensor));
  add(AxisSet(Axis::kExpert));
  add(dense_.shards);
  add(dense_.replicas);
  if (has_experts) {
    add(experts_.shards);
    add(experts_.replicas);
  }
  if (tied && parallel.degree(Axis::kPipeline) > 1) tied_first_ = next;
}

std::string Groups::name(std::int64_t rank, AxisSet axes) const {
  axes = parallel_.reduced(axes);
  if (axes == AxisSet()) return "";
  for (const Kind& kind : kinds_) {
    if (kind.axes == axes) return std::to_string(kind.first + parallel_.group_number(rank, axes));
  }
  throw std::logic_error("no group of a workload has these axes");
}

std::int64_t Groups::tied_number(std::int64_t rank) const {
  return parallel_.group_number(rank, AxisSet(Axis::kPipeline));
}

std::string Groups::tied_name(std::int64_t rank) const {
  return std::to_string(tied_first_ + tied_number(rank));
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
    for (const Kind& kind : kinds_) join(kind.first + parallel_.group_number(rank, kind.axes), rank);
    const std::int64_t stage = parallel_.coordinate(rank, Axis::kPipeline);
    if (has_tied_stages() && (stage == 0 || stage == last_stage)) join(tied_first_ + tied_number(rank), rank);
  }
  return groups;
}

}  // namespace weft::workloads
