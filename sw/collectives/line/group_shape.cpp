// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/line/group_shape.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string>

#include "sw/collectives/line/line_algorithms.h"
#include "sw/collectives/line/passage.h"

namespace weft::collectives {

using dimensions::Operation;

namespace {

/// A chunk has two phases in each dimension but one, which an immediate must tell apart.
constexpr std::size_t kMostDimensions = Passage::kSteps / 2;

}  // namespace

bool joins_dimensions(const DimensionsConfig& config) {
  int joined = 0;
  for (const auto& [text, operation] : enum_names(Operation{})) {
    joined += dimensions::joins_dimensions(config.algorithm(operation, 0)) ? 1 : 0;
  }
  for (const auto* algorithms : {&config.all_reduce, &config.all_gather, &config.reduce_scatter, &config.all_to_all}) {
    if (algorithms->empty() || std::none_of(algorithms->begin() + 1, algorithms->end(), dimensions::joins_dimensions)) {
      continue;
    }
    throw ConfigError("collectives.dimensions",
                      "expected oneRing, oneDirect, oneHalvingDoubling only in the first dimension");
  }
  const int all = static_cast<int>(enum_names(Operation{}).size());
  if (joined != 0 && joined != all) {
    throw ConfigError("collectives.dimensions",
                      "expected oneRing, oneDirect or oneHalvingDoubling for all operations or for none");
  }
  return joined != 0;
}

GroupShape shape_of(const std::vector<int>& ranks, const std::vector<int>& machine) {
  std::vector<std::vector<int>> used;
  std::size_t combinations = 1;
  int stride = 1;
  for (const int size : machine) {
    std::set<int> coordinates;
    for (const int rank : ranks) coordinates.insert(rank / stride % size);
    used.emplace_back(coordinates.begin(), coordinates.end());
    combinations *= coordinates.size();
    stride *= size;
  }
  bool grid = combinations == ranks.size();
  for (std::size_t m = 0; grid && m < ranks.size(); ++m) {
    int index = 0;
    int at = 1;
    auto rest = static_cast<int>(m);
    for (std::size_t d = 0; d < machine.size(); ++d) {
      const int count = static_cast<int>(used[d].size());
      index += used[d][static_cast<std::size_t>(rest % count)] * at;
      rest /= count;
      at *= machine[d];
    }
    grid = index == ranks[m];
  }
  if (!grid) return {{0}, {static_cast<int>(ranks.size())}};
  GroupShape shape;
  for (std::size_t d = 0; d < machine.size(); ++d) {
    if (used[d].size() == 1) continue;
    shape.kept.push_back(d);
    shape.sizes.push_back(static_cast<int>(used[d].size()));
  }
  return shape;
}

dimensions::CollectiveConfig plan_config_of(const DimensionsConfig& config, const GroupShape& shape) {
  if (shape.sizes.size() > kMostDimensions) {
    throw ConfigError("collectives.dimensions.sizes", "expected at most " + std::to_string(kMostDimensions) +
                                                          " dimensions, got " + std::to_string(shape.sizes.size()));
  }
  if (config.inter_dimension == dimensions::InterDimension::kThemis &&
      config.optimization == dimensions::Optimization::kBaseline) {
    throw ConfigError("collectives.dimensions.inter_dimension",
                      "expected baseline with optimization baseline, where the order of dimensions does not matter");
  }
  dimensions::CollectiveConfig plan;
  plan.optimization = config.optimization;
  plan.active_chunks = config.active_chunks;
  for (const auto& [text, operation] : enum_names(Operation{})) {
    std::vector<dimensions::Algorithm>& algorithms = plan.algorithms[static_cast<std::size_t>(operation)];
    for (const std::size_t d : shape.kept) algorithms.push_back(in_one_dimension(config.algorithm(operation, d)));
  }
  return plan;
}

void check_phases(const dimensions::CollectiveConfig& plan, dimensions::InterDimension inter_dimension,
                  const std::vector<int>& group, Operation operation) {
  const std::vector<std::uint32_t> sizes(group.begin(), group.end());
  std::vector<std::uint32_t> order;
  for (std::uint32_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1) order.push_back(d);
  }
  // With Themis any dimension can be the last.
  const bool in_order = inter_dimension == dimensions::InterDimension::kBaseline;
  for (std::size_t orders = in_order ? std::min<std::size_t>(order.size(), 1) : order.size(); orders > 0; --orders) {
    for (const dimensions::Phase& phase : dimensions::phases_in(plan, operation, 0, order, sizes)) {
      if (is_possible(phase.operation, phase.algorithm)) continue;
      throw ConfigError("collectives.dimensions." + std::string(name_of(phase.operation)),
                        possible_names(phase.operation) +
                            (phase.operation == operation ? "" : " for a phase of " + std::string(name_of(operation))));
    }
    std::rotate(order.begin(), order.begin() + 1, order.end());
  }
}

void expect_possible(const DimensionsConfig& config, const std::vector<int>& ranks, Operation operation) {
  std::vector<int> machine = config.sizes;
  if (joins_dimensions(config)) machine = {std::accumulate(machine.begin(), machine.end(), 1, std::multiplies<>())};
  const GroupShape shape = shape_of(ranks, machine);
  check_phases(plan_config_of(config, shape), config.inter_dimension, shape.sizes, operation);
}

}  // namespace weft::collectives
