// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/in_network/two_level.h"
#include "sw/collectives/ring/ring_group.h"
#include "sw/collectives/tree/tree_group.h"

namespace weft::collectives {

using firmware::Rank;
using firmware::Task;

namespace {

/// Members at one position of all nodes whose sums go through trees; nothing else does.
class TreesAcross final : public Group {
 public:
  TreesAcross(const std::vector<Rank*>& ranks, const TwoLevel::Options& options, int lane, const std::string& name)
      : size_(static_cast<int>(ranks.size())),
        trees_(ranks, Nodes(ranks).rows(), 1,
               {options.rings.chunk, options.rings.slots, first_engine(*ranks.front(), options.staging, lane)}, name) {}

  [[nodiscard]] int size() const override { return size_; }
  Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) override {
    return trees_.all_reduce(member, buffer, bytes, type, Flags::kNone);
  }

 private:
  /// Each lane has an engine for each of its two trees. What is copied into staging and out of it has others, as far as
  /// there are enough, so that no sum waits behind a copy of a whole step.
  static int first_engine(const Rank& rank, const Staging& staging, int lane) {
    const int copies = staging.channels > 0 ? 2 * staging.copy_engines : 0;
    const int others = rank.copy_engines - copies;
    return others < 2 ? 2 * lane : copies + 2 * lane % (others / 2 * 2);
  }

  int size_;
  TreeGroup trees_;
};

std::unique_ptr<RingGroup> rings_of(const std::vector<Rank*>& ranks, int channels, const RingMember::Options& options,
                                    const std::string& name) {
  return std::make_unique<RingGroup>(ranks, ring_orders(Nodes(ranks).rows(), channels), options, name);
}

}  // namespace

std::unique_ptr<TwoLevel> TwoLevel::join(const std::vector<Rank*>& ranks, const Options& options,
                                         const std::string& name) {
  const Nodes nodes(ranks);
  if (!nodes.even()) {
    throw ConfigError("collectives.algorithm",
                      name + ": in-network needs the same number of members in every node; expected ring");
  }
  Levels levels;
  // Trees in switches before rings: what fails here must not leave staging memory in some ranks.
  std::vector<InNetworkGroup*> in_switches;
  bool full = false;
  const auto join = [&](std::vector<std::unique_ptr<Group>>& level, const std::vector<int>& members,
                        const std::string& what, bool wanted = true) {
    const std::vector<Rank*> some = pick(ranks, members);
    std::unique_ptr<InNetworkGroup> group;
    if (wanted && InNetworkGroup::can_reduce(some)) {
      // The levels' own buffers lie where the network reaches them.
      InNetworkMember::Config config = options.in_network;
      config.staging.channels = 0;
      group = InNetworkGroup::join(some, config, what);
      if (group == nullptr) {
        full = true;
      } else {
        in_switches.push_back(group.get());
      }
    }
    level.push_back(std::move(group));
  };
  for (int n = 0; n < nodes.count(); ++n) {
    const std::string within = name + " within node " + std::to_string(n);
    join(levels.outward, nodes.row(n), within, options.within);
    join(levels.inward, nodes.row(n), within, options.within);
  }
  if (options.across == Across::kSwitches && InNetworkGroup::can_reduce(pick(ranks, nodes.column(0)))) {
    auto& across = levels.across.emplace_back();
    for (int l = 0; l < nodes.per_node(); ++l) {
      join(across, nodes.column(l), name + " across nodes at position " + std::to_string(l));
    }
  }
  if (full) {
    for (InNetworkGroup* group : in_switches) group->leave();
    return nullptr;
  }
  if (in_switches.empty()) {
    throw ConfigError("collectives.algorithm",
                      "expected switches that reduce for in-network: reduction.trees is 0 in both networks");
  }
  for (InNetworkGroup* group : in_switches) group->allocate_scratch(name);
  const auto fill = [&](std::unique_ptr<Group>& group, int node, const std::string& what) {
    if (group == nullptr) group = rings_of(pick(ranks, nodes.row(node)), options.channels, options.rings, what);
  };
  for (int n = 0; n < nodes.count(); ++n) {
    fill(levels.outward[static_cast<std::size_t>(n)], n, name + " out of node " + std::to_string(n));
    fill(levels.inward[static_cast<std::size_t>(n)], n, name + " into node " + std::to_string(n));
  }
  const bool needs_lanes = levels.across.empty();
  for (int lane = 0; needs_lanes && lane < options.channels; ++lane) {
    auto& across = levels.across.emplace_back();
    for (int l = 0; l < nodes.per_node(); ++l) {
      const std::vector<Rank*> column = pick(ranks, nodes.column(l));
      const std::string what = name + " across nodes, lane " + std::to_string(lane);
      if (options.across == Across::kTrees && options.heads > 0 && l >= options.heads) {
        across.push_back(nullptr);  // has no part
      } else if (options.across == Across::kTrees) {
        across.push_back(std::make_unique<TreesAcross>(column, options, lane, what));
      } else {
        across.push_back(rings_of(column, 1, options.rings, what));
      }
    }
  }
  return std::make_unique<TwoLevel>(ranks, std::move(levels), options, name);
}

}  // namespace weft::collectives
