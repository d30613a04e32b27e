// SPDX-License-Identifier: Apache-2.0
#include "sw/kfac/fusion.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace weft::kfac {
namespace {

std::vector<double> ready_times(std::span<const Ready> tensors) {
  std::vector<double> times;
  times.reserve(tensors.size());
  double now = 0;
  for (const Ready& tensor : tensors) times.push_back(now += tensor.compute);
  return times;
}

}  // namespace

Groups fuse_none(std::size_t tensors) {
  return Groups(tensors, 1);
}

Groups fuse_all(std::size_t tensors) {
  return tensors == 0 ? Groups() : Groups{tensors};
}

Groups fuse_within(std::span<const Ready> tensors, std::int64_t limit) {
  Groups groups;
  std::int64_t elements = 0;
  for (const Ready& tensor : tensors) {
    if (groups.empty() || elements + tensor.elements > limit) {
      groups.push_back(0);
      elements = 0;
    }
    ++groups.back();
    elements += tensor.elements;
  }
  return groups;
}

Groups fuse_dynamic(std::span<const Ready> tensors, const LinearCost& cost) {
  Groups groups;
  const std::vector<double> ready = ready_times(tensors);
  double network_free = 0;
  std::size_t members = 0;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ++members;
    elements += tensors[i].elements;
    const double start = std::max(network_free, ready[i]);
    const double end = start + cost(static_cast<double>(elements));
    if (i + 1 < tensors.size() && ready[i + 1] < end && ready[i + 1] - start < cost.alpha) continue;
    groups.push_back(members);
    network_free = end;
    members = 0;
    elements = 0;
  }
  return groups;
}

Groups fuse_optimal(std::span<const Ready> tensors, const LinearCost& cost, double network_free) {
  // Ending the first tensors earlier never makes the rest end later, so the best plan for them is part of a best plan.
  struct Best {
    double end = 0;
    std::size_t messages = 0;
    std::size_t first = 0;  ///< of the last message
  };
  const std::vector<double> ready = ready_times(tensors);
  std::vector<Best> best(tensors.size() + 1);
  best[0].end = network_free;
  for (std::size_t count = 1; count <= tensors.size(); ++count) {
    std::int64_t elements = 0;
    for (std::size_t first = count; first-- > 0;) {
      elements += tensors[first].elements;
      const double end = std::max(best[first].end, ready[count - 1]) + cost(static_cast<double>(elements));
      const Best candidate{end, best[first].messages + 1, first};
      Best& known = best[count];
      if (known.messages == 0 || end < known.end || (end == known.end && candidate.messages < known.messages)) {
        known = candidate;
      }
    }
  }
  Groups groups;
  for (std::size_t count = tensors.size(); count > 0; count = best[count].first) {
    groups.push_back(count - best[count].first);
  }
  std::reverse(groups.begin(), groups.end());
  return groups;
}

Pipeline run_pipeline(std::span<const Ready> tensors, const Groups& groups, const LinearCost& cost,
                      double network_free) {
  if (std::accumulate(groups.begin(), groups.end(), std::size_t{0}) != tensors.size() ||
      std::find(groups.begin(), groups.end(), std::size_t{0}) != groups.end()) {
    throw std::invalid_argument("expected groups that hold each tensor once, and none that is empty");
  }
  const std::vector<double> ready = ready_times(tensors);
  Pipeline pipeline;
  pipeline.computed = ready.empty() ? 0 : ready.back();
  double now = network_free;
  std::size_t next = 0;
  for (const std::size_t members : groups) {
    Pipeline::Message message;
    for (std::size_t i = 0; i < members; ++i) message.elements += tensors[next++].elements;
    message.start = std::max(now, ready[next - 1]);
    now = message.end = message.start + cost(static_cast<double>(message.elements));
    pipeline.messages.push_back(message);
  }
  pipeline.end = groups.empty() ? pipeline.computed : now;
  return pipeline;
}

}  // namespace weft::kfac
