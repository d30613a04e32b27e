// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "hw/fabric/topology/topology.h"

namespace weft::fabric {
namespace {

/// What a fat tree of a configuration consists of.
struct Tree {
  const FabricConfig& config;
  const std::string& path;
  int down;     ///< ends of a leaf
  int uplinks;  ///< of a leaf
  int leaves;
};

/// The smallest divisor of `uplinks` that `lower` switches with as many links to each can share ports of `radix` by.
int fewest(int uplinks, int lower, int radix) {
  int upper = 1;
  while (upper < uplinks && (uplinks % upper != 0 || lower * (uplinks / upper) > radix)) ++upper;
  return upper;
}

std::string full(const Tree& tree) {
  return tree.config.uplinks == 0
             ? "since a leaf has as many uplinks as hosts; got " + std::to_string(tree.down)
             : "so that its " + std::to_string(tree.uplinks) + " uplinks fit; got " + std::to_string(tree.down);
}

/// So many leave no port for anything else.
[[noreturn]] void refuse_uplinks(const Tree& tree, const char* field, int uplinks, const std::string& of) {
  throw ConfigError(tree.path + field, "expected less than the " + std::to_string(tree.config.radix) + " ports of " +
                                           of + " (radix), got " + std::to_string(uplinks));
}

void check_leaf(const Tree& tree) {
  const int radix = tree.config.radix;
  if (tree.down + (tree.leaves > 1 ? tree.uplinks : 0) <= radix) return;
  if (tree.config.uplinks >= radix) refuse_uplinks(tree, ".uplinks", tree.uplinks, "a leaf");
  const std::string most = tree.config.uplinks == 0
                               ? "half of radix " + std::to_string(radix)
                               : std::to_string(radix - tree.uplinks) + " of radix " + std::to_string(radix);
  throw ConfigError(tree.path + ".hosts_per_leaf", "expected at most " + most + ", " + full(tree));
}

/// Where end `e` is: with rails, the leaves of a block of nodes stand side by side, one for each rail.
int leaf_of(int e, const Tree& tree) {
  const int rails = tree.config.rails;
  return e / rails / tree.down * rails + e % rails;
}

int count_leaves(int ends, int down, int rails) {
  const int nodes = (ends + rails - 1) / rails;
  return (nodes + down - 1) / down * rails;
}

Topology leaves_with_ends(int ends, const Tree& tree) {
  Topology topology;
  for (int i = 0; i < tree.leaves; ++i) topology.add_switch("leaf" + std::to_string(i));
  for (int e = 0; e < ends; ++e) topology.attach_end(static_cast<std::uint32_t>(leaf_of(e, tree)));
  return topology;
}

Topology two_levels(int ends, const Tree& tree) {
  const int radix = tree.config.radix;
  Topology topology = leaves_with_ends(ends, tree);
  if (tree.leaves == 1) return topology;
  const int spines = tree.config.spines != 0 ? tree.config.spines : fewest(tree.uplinks, tree.leaves, radix);
  if (tree.uplinks % spines != 0) {
    throw ConfigError(tree.path + ".spines", "the fat tree does not close: expected a divisor of the " +
                                                 std::to_string(tree.uplinks) + " uplinks of a leaf, got " +
                                                 std::to_string(spines));
  }
  const int trunk = tree.uplinks / spines;
  if (tree.leaves * trunk > radix) {
    throw ConfigError(tree.path + ".radix", "the fat tree does not close: " + std::to_string(tree.leaves) +
                                                " leaves with " + std::to_string(trunk) + " links to each of " +
                                                std::to_string(spines) + " spines need a radix of " +
                                                std::to_string(tree.leaves * trunk) + ", got " + std::to_string(radix) +
                                                "; expected more hosts per leaf, more spines or a larger radix");
  }
  for (int i = 0; i < spines; ++i) topology.add_switch("spine" + std::to_string(i), 1);
  for (int leaf = 0; leaf < tree.leaves; ++leaf) {
    for (int spine = 0; spine < spines; ++spine) {
      topology.connect(static_cast<std::uint32_t>(leaf), static_cast<std::uint32_t>(tree.leaves + spine), 0, trunk);
    }
  }
  return topology;
}

/// Each leaf has a link to each upper switch of its pod; upper switch i of each pod is joined to the spines of plane i.
Topology three_levels(int ends, const Tree& tree) {
  const FabricConfig& config = tree.config;
  const int upper = tree.uplinks;  // of a pod
  const int per_pod = config.leaves_per_pod != 0 ? config.leaves_per_pod : std::max(1, config.radix / 2);
  const int pods = (tree.leaves + per_pod - 1) / per_pod;
  const int pod_uplinks = config.pod_uplinks != 0 ? config.pod_uplinks : per_pod;
  if (per_pod + (pods > 1 ? pod_uplinks : 0) > config.radix) {
    if (config.pod_uplinks >= config.radix) {
      refuse_uplinks(tree, ".pod_uplinks", pod_uplinks, "an upper switch of a pod");
    }
    throw ConfigError(tree.path + ".leaves_per_pod",
                      "expected at most " + std::to_string(config.radix - pod_uplinks) + " of radix " +
                          std::to_string(config.radix) + ", so that the " + std::to_string(pod_uplinks) +
                          " uplinks of an upper switch of a pod fit; got " + std::to_string(per_pod));
  }
  if (config.spines % upper != 0) {
    throw ConfigError(tree.path + ".spines", "the fat tree does not close: expected a multiple of the " +
                                                 std::to_string(upper) + " planes of spines, got " +
                                                 std::to_string(config.spines));
  }
  const int plane = config.spines != 0 ? config.spines / upper : fewest(pod_uplinks, pods, config.radix);
  if (pods > 1 && pod_uplinks % plane != 0) {
    throw ConfigError(tree.path + ".spines", "the fat tree does not close: expected planes of a divisor of the " +
                                                 std::to_string(pod_uplinks) + " uplinks of a pod's switch, got " +
                                                 std::to_string(upper) + " planes of " + std::to_string(plane));
  }
  const int trunk = pod_uplinks / plane;
  if (pods > 1 && pods * trunk > config.radix) {
    throw ConfigError(tree.path + ".radix", "the fat tree does not close: " + std::to_string(pods) + " pods with " +
                                                std::to_string(trunk) + " links to each of " +
                                                std::to_string(upper * plane) + " spines need a radix of " +
                                                std::to_string(pods * trunk) + ", got " + std::to_string(config.radix) +
                                                "; expected more leaves per pod, more spines or a larger radix");
  }
  Topology topology = leaves_with_ends(ends, tree);
  if (tree.leaves == 1) return topology;
  topology.dmodk_stride = static_cast<std::uint32_t>(tree.uplinks);
  std::vector<std::vector<std::uint32_t>> pod_switches(static_cast<std::size_t>(pods));
  for (int pod = 0; pod < pods; ++pod) {
    for (int i = 0; i < upper; ++i) {
      const std::uint32_t sw = topology.add_switch("pod" + std::to_string(pod) + "_" + std::to_string(i), 1);
      pod_switches[static_cast<std::size_t>(pod)].push_back(sw);
    }
    for (int leaf = pod * per_pod; leaf < std::min(tree.leaves, (pod + 1) * per_pod); ++leaf) {
      for (const std::uint32_t sw : pod_switches[static_cast<std::size_t>(pod)]) {
        topology.connect(static_cast<std::uint32_t>(leaf), sw);
      }
    }
  }
  if (pods == 1) return topology;
  for (int i = 0; i < upper; ++i) {
    for (int s = 0; s < plane; ++s) {
      const std::uint32_t spine = topology.add_switch("spine" + std::to_string(i * plane + s), 2);
      for (const auto& pod : pod_switches) topology.connect(pod[static_cast<std::size_t>(i)], spine, 0, trunk);
    }
  }
  return topology;
}

}  // namespace

Topology build_fat_tree(int ends, const FabricConfig& config, const std::string& path) {
  if (ends % config.rails != 0) {
    throw ConfigError(path + ".rails", "expected a divisor of the " + std::to_string(ends) + " ends, got " +
                                           std::to_string(config.rails));
  }
  const int down = config.hosts_per_leaf;
  const Tree tree{config, path, down, config.uplinks != 0 ? config.uplinks : down,
                  count_leaves(ends, down, config.rails)};
  check_leaf(tree);
  return config.levels == 2 ? two_levels(ends, tree) : three_levels(ends, tree);
}

}  // namespace weft::fabric
