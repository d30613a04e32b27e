// SPDX-License-Identifier: Apache-2.0
// Groups of a fabric: their trees, now and when routes change.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "hw/fabric/fabric.h"
#include "hw/fabric/switch/switch_model.h"
#include "hw/fabric/topology/deadlock.h"

namespace weft::fabric {
namespace {

/// What a tree for long messages is taken to carry, against one for reductions of low latency.
constexpr int kLongMessages = 16;

std::uint16_t port_to(const std::vector<Routes>& routes, std::uint32_t sw, std::uint32_t end) {
  Packet packet;
  packet.source = end;
  packet.destination = end;
  return routes[sw].port(packet);
}

}  // namespace

const std::vector<Routes>& Fabric::routes_of(std::size_t epoch) const {
  return epoch == 0 ? plan_->routes() : plan_->reroutings()[epoch - 1].routes;
}

/// The largest part of `ends` that routes join.
std::vector<std::uint32_t> Fabric::reachable(const std::vector<std::uint32_t>& ends, std::size_t epoch) const {
  if (epoch == 0) return ends;
  const std::vector<Routes>& routes = routes_of(epoch);
  std::vector<std::uint32_t> largest;
  std::set<std::uint32_t> seen;
  for (const std::uint32_t from : ends) {
    if (seen.count(from) != 0) continue;
    std::vector<std::uint32_t> part;
    for (const std::uint32_t to : ends) {
      const bool leads = port_to(routes, topology().ends[from].first, to) != Packet::kNowhere &&
                         port_to(routes, topology().ends[to].first, to) != Packet::kNowhere;
      if (leads) part.push_back(to);
    }
    seen.insert(part.begin(), part.end());
    if (part.size() > largest.size()) largest = std::move(part);
  }
  return largest;
}

/// Whether no link of the tree is avoided.
bool Fabric::whole(const SpanningTree& tree, std::size_t epoch) const {
  if (epoch == 0) return true;
  const auto& avoided = plan_->reroutings()[epoch - 1].avoided;
  return std::none_of(tree.branches.begin(), tree.branches.end(), [&avoided](const auto& each) {
    const auto& [sw, branch] = each;
    return std::any_of(branch.children.begin(), branch.children.end(), [&, at = sw](std::uint16_t port) {
      return avoided.count({at, port}) != 0;
    });
  });
}

Fabric::GroupTree Fabric::plan_tree(const std::vector<std::uint32_t>& ends, bool reduces, std::uint32_t salt,
                                    std::size_t epoch) const {
  const std::vector<Routes>& routes = routes_of(epoch);
  const auto route = [&routes](std::uint32_t sw, std::uint32_t end) { return port_to(routes, sw, end); };
  const bool tree_shaped = config().topology == Shape::kFatTree && config().routing != Routing::kUpDown && epoch == 0;
  std::vector<TreeOnLane> others;
  for (const auto& [number, other] : trees_) {
    const bool first = other.lane == Switch::kSendersLane;
    others.push_back({&other.tree, first ? std::uint8_t{0} : other.lane, !other.reduces});
  }
  static const SpanningTree::Avoided nothing;
  const SpanningTree::Avoided& avoided = epoch == 0 ? nothing : plan_->reroutings()[epoch - 1].avoided;
  // Another root may fit to the trees that are there.
  for (const std::uint32_t root : SpanningTree::roots(topology(), route, ends, loads_, avoided, salt)) {
    GroupTree found{SpanningTree::build(topology(), route, ends, loads_, avoided, root), 0, reduces};
    const auto lane = find_lane(topology(), routes, config().link.lanes, tree_shaped, others, found.tree, !reduces);
    if (!lane.has_value()) continue;
    found.lane = *lane;
    return found;
  }
  throw ConfigError(plan_->path() + ".link.lanes",
                    "expected at least " + std::to_string(topology().lanes_needed + 1) + ", got " +
                        std::to_string(config().link.lanes) +
                        ": packets of groups (multicast, reductions) could wait for others for ever, and need a lane "
                        "that those do not use; more groups need more lanes, and none on a switch or fat-tree");
}

/// RTL has as many inputs as it was built with, and a model with bounded buffers 64.
void Fabric::require_engine(std::uint32_t sw, std::size_t children) const {
  const ReductionEngine* engine = switches_[sw]->engine();
  if (engine == nullptr || children <= engine->most_children()) return;
  const std::string& name = config().switch_config.reduction.implementation;
  throw ConfigError(plan_->path() + ".switch.reduction.implementation",
                    std::string("expected model") + (name == "model" ? " without bounds of its buffers" : "") +
                        ", or one that adds " + std::to_string(children) + " operands, which a tree has in " +
                        topology().switches[sw].name + "; got " + name + ", which adds " +
                        std::to_string(engine->most_children()) + " at the most");
}

bool Fabric::join(std::uint32_t number, const GroupTree& tree, const GroupOptions& options,
                  const std::vector<std::uint32_t>& earlier) {
  const auto& branches = tree.tree.branches;
  for (auto at = branches.begin(); at != branches.end(); ++at) {
    const SpanningTree::Branch& branch = at->second;
    const bool takes_over = std::any_of(earlier.begin(), earlier.end(), [&](std::uint32_t each) {
      return each != GroupTrees::kNone && trees_.at(each).tree.branches.count(at->first) != 0;
    });
    if (options.reduces) require_engine(at->first, branch.children.size());
    const Switch::Group group{branch.parent,  branch.children,   branch.port_of_end, options.reduces,
                              options.window, options.streaming, takes_over,         tree.lane};
    if (switches_[at->first]->join(number, group)) continue;
    for (auto done = branches.begin(); done != at; ++done) switches_[done->first]->leave(number);
    return false;
  }
  return true;
}

std::optional<std::uint32_t> Fabric::create_group(const std::vector<std::uint32_t>& ends, const GroupOptions& options) {
  if (!model_of(config().switch_config).groups) {
    if (options.reduces) return std::nullopt;  // there is no engine
    throw ConfigError(plan_->path() + ".switch.implementation", "expected model, since the network multicasts, got " +
                                                                    config().switch_config.implementation.text());
  }
  if (options.reduces) plan_->require_no_loss();
  had_groups_ = true;
  if (group_trees_.epochs() > GroupTrees::kMostEpochs) {
    throw ConfigError(plan_->path() + ".faults", "expected routes to change at most " +
                                                     std::to_string(GroupTrees::kMostEpochs - 1) +
                                                     " times in a run with groups (multicast, reductions), got " +
                                                     std::to_string(group_trees_.epochs() - 1));
  }
  const Time now = dispatcher_.now();
  const std::vector<std::uint32_t> cut_off = plan_->cut_off(now);
  const auto is_cut_off = [&cut_off](std::uint32_t end) {
    return std::binary_search(cut_off.begin(), cut_off.end(), end);
  };
  if (std::any_of(ends.begin(), ends.end(), is_cut_off)) return std::nullopt;
  std::uint32_t id = 0;
  while (id < group_trees_.size() && !group_trees_.of(id).empty()) ++id;
  if (planes_ != nullptr && !planes_->set_group(id, ends, now)) return std::nullopt;
  const auto epochs = static_cast<std::uint32_t>(group_trees_.epochs());
  const std::size_t first = group_trees_.epoch(now);
  std::vector<std::uint32_t> numbers(first, GroupTrees::kNone);
  for (std::size_t epoch = first; epoch < epochs; ++epoch) {
    const std::uint32_t before = epoch == first ? GroupTrees::kNone : numbers.back();
    const std::vector<std::uint32_t> left = reachable(ends, epoch);
    // A tree stays as long as it can, and as it does for all.
    if (before != GroupTrees::kNone && whole(trees_.at(before).tree, epoch) &&
        trees_.at(before).tree.branches.at(trees_.at(before).tree.root).port_of_end.size() == left.size()) {
      numbers.push_back(before);
      continue;
    }
    const std::uint32_t number = id * epochs + static_cast<std::uint32_t>(epoch);
    const bool enough = options.reduces ? left.size() == ends.size() : !left.empty();
    numbers.push_back(GroupTrees::kNone);
    if (!enough) continue;
    GroupTree tree = plan_tree(left, options.reduces, id, epoch);
    if (join(number, tree, options, numbers)) {
      tree.weight = options.reduces && !options.streaming ? 1 : kLongMessages;
      loads_.add(topology(), tree.tree, tree.weight);
      trees_.emplace(number, std::move(tree));
      numbers.back() = number;
    } else if (epoch == first) {
      return std::nullopt;
    }
  }
  group_trees_.set(id, std::move(numbers));
  return id;
}

void Fabric::destroy_group(std::uint32_t id) {
  const std::vector<std::uint32_t>& numbers = group_trees_.of(id);
  for (const std::uint32_t number : std::set<std::uint32_t>(numbers.begin(), numbers.end())) {
    if (number == GroupTrees::kNone) continue;
    for (const auto& [sw, branch] : trees_.at(number).tree.branches) switches_[sw]->leave(number);
    loads_.add(topology(), trees_.at(number).tree, -trees_.at(number).weight);
    trees_.erase(number);
  }
  group_trees_.set(id, {});
}

const SpanningTree& Fabric::tree(std::uint32_t group) const {
  static const SpanningTree none;
  const std::uint32_t number = group_trees_.of(group)[group_trees_.epoch(dispatcher_.now())];
  return number == GroupTrees::kNone ? none : trees_.at(number).tree;
}

std::vector<std::string> Fabric::changed_groups() const {
  std::vector<std::string> lines;
  const std::size_t last = group_trees_.epoch(dispatcher_.now());
  for (std::uint32_t id = 0; id < group_trees_.size(); ++id) {
    const std::vector<std::uint32_t>& numbers = group_trees_.of(id);
    for (std::size_t epoch = 1; epoch < std::min(last + 1, numbers.size()); ++epoch) {
      if (numbers[epoch] == numbers[epoch - 1] || numbers[epoch - 1] == GroupTrees::kNone) continue;
      const bool lost = numbers[epoch] == GroupTrees::kNone;
      std::string line = std::string(name()) + ": group " + std::to_string(id);
      line += lost ? " has no tree from " : " has another tree from ";
      line += to_text(group_trees_.begin(epoch)) + " on";
      line += lost ? ", since no other one can join its members" : ": what was on its way was not repeated";
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace weft::fabric
