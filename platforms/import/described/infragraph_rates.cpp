// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/described/infragraph_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "platforms/import/described/parts.h"

namespace weft::platforms::described {
namespace {

template <typename Key>
double of_most(const std::map<Key, double>& rates) {
  std::vector<double> values;
  for (const auto& [key, rate] : rates) values.push_back(rate);
  return most_frequent(values);
}

}  // namespace

ScaleUpRates scale_up_rates(const Infrastructure& graph, const std::vector<GraphEdge>& joining,
                            std::size_t accelerators, std::size_t per_node) {
  ScaleUpRates made;
  std::map<std::size_t, double> sums;
  std::map<std::pair<std::size_t, std::size_t>, double> pairs;
  bool is_direct = true;
  for (const GraphEdge& edge : joining) {
    const GraphLink& link = graph.links[edge.link];
    if (!link.gigabytes_per_second) made.unrated = link.path;
    const double rate = link.gigabytes_per_second.value_or(0);
    int ends = 0;
    for (const std::size_t node : {edge.from, edge.to}) {
      if (graph.nodes[node].kind != "xpu") continue;
      sums[node] += rate;
      ++ends;
    }
    is_direct = is_direct && ends == 2;
    pairs[std::minmax(edge.from, edge.to)] += rate;
  }
  if (!made.unrated.empty()) return made;
  const auto name = [&](std::size_t node) { return graph.nodes[node].name; };
  if (is_direct && pairs.size() == accelerators * (per_node - 1) / 2) {
    made.pair = of_most(pairs);
    made.accelerator = made.pair * static_cast<double>(per_node - 1);
    for (const auto& [pair, rate] : pairs) {
      if (rate == made.pair) continue;
      made.uneven.push_back(fmt::format("{} and {} have {:g} GB/s between them, where most pairs have {:g} GB/s",
                                        name(pair.first), name(pair.second), rate, made.pair));
    }
    return made;
  }
  made.accelerator = of_most(sums);
  for (const auto& [node, rate] : sums) {
    if (rate == made.accelerator) continue;
    made.uneven.push_back(fmt::format("{} has {:g} GB/s to others of its node, where most accelerators have {:g} GB/s",
                                      name(node), rate, made.accelerator));
  }
  return made;
}

}  // namespace weft::platforms::described
