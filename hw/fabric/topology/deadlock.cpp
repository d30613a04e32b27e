// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/topology/deadlock.h"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <cstdint>

#include "hw/fabric/switch/switch.h"

namespace weft::fabric {
namespace {

constexpr std::uint64_t kQuick = 1 << 20;
constexpr std::uint64_t kLargest = 1 << 26;

/// The channel dependency graph, as the walk over all routes finds it.
class Dependencies {
 public:
  Dependencies(const Topology& topology, const std::vector<Routes>* routes, int lanes)
      : topology_(topology), routes_(routes), lanes_(static_cast<std::uint32_t>(lanes)) {
    std::uint32_t ports = 0;
    first_port_.reserve(topology.switches.size());
    for (const Topology::Node& node : topology.switches) {
      first_port_.push_back(ports);
      for (std::uint32_t p = 0; p < node.ports.size(); ++p)
        switch_of_.push_back(static_cast<std::uint32_t>(first_port_.size() - 1));
      ports += static_cast<std::uint32_t>(node.ports.size());
    }
    next_.resize(std::size_t{ports} * lanes_);
    seen_.resize(next_.size());
    starts_.reserve(topology.ends.size());
    for (std::uint32_t e = 0; e < topology.ends.size(); ++e)
      starts_.push_back({topology.ends[e].first, topology.ends[e].second, 0, kNone});
  }

  void walk_all() {
    if (routes_->front().detours()) walk_detours();
    for (std::uint32_t e = 0; e < topology_.ends.size(); ++e) walk(e, Packet::kNowhere);
  }

  /// From each link of the tree into a switch to each that a packet of the group leaves it by.
  void add_tree(const TreeOnLane& group) {
    for (const auto& [sw, branch] : group.tree->branches) {
      std::vector<std::uint16_t> ports = branch.children;
      if (branch.parent != Packet::kNowhere) ports.push_back(branch.parent);
      for (const std::uint16_t in : ports) {
        const Topology::Neighbour& from = topology_.switches[sw].ports[in];
        if (from.is_end || (!group.floods && in != branch.parent)) continue;
        for (const std::uint16_t out : ports) {
          if (out == in || topology_.switches[sw].ports[out].is_end) continue;
          depend(channel(from.index, from.port, group.lane), channel(sw, out, group.lane));
        }
      }
    }
  }

  /// The switches that a cycle leads through.
  std::vector<std::uint32_t> cycle() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t c = 0; c < next_.size(); ++c) {
      for (const std::uint32_t to : next_[c]) edges.emplace_back(c, to);
    }
    using Channels = boost::compressed_sparse_row_graph<boost::directedS>;
    const Channels graph(boost::edges_are_sorted, edges.begin(), edges.end(), next_.size());
    std::vector<std::uint32_t> parent(next_.size(), kNone);
    std::vector<std::uint32_t> channels;
    std::vector<boost::default_color_type> colour(next_.size());
    boost::depth_first_search(
        graph, Finder(parent, channels),
        boost::make_iterator_property_map(colour.begin(), boost::get(boost::vertex_index, graph)));
    std::vector<std::uint32_t> switches;
    switches.reserve(channels.size());
    for (const std::uint32_t channel : channels) switches.push_back(switch_of_[channel / lanes_]);
    return switches;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// A packet in the input of a switch.
  struct State {
    std::uint32_t sw;
    std::uint16_t input;
    std::uint8_t lane;
    std::uint32_t channel;  ///< by which it came; kNone from an end
  };

  class Finder : public boost::default_dfs_visitor {
   public:
    Finder(std::vector<std::uint32_t>& parent, std::vector<std::uint32_t>& channels)
        : parent_(parent), channels_(channels) {}
    template <typename Edge, typename Graph>
    void tree_edge(const Edge& edge, const Graph& graph) {
      parent_[target(edge, graph)] = static_cast<std::uint32_t>(source(edge, graph));
    }
    template <typename Edge, typename Graph>
    void back_edge(const Edge& edge, const Graph& graph) {
      if (!channels_.empty()) return;
      const auto last = static_cast<std::uint32_t>(target(edge, graph));
      for (auto at = static_cast<std::uint32_t>(source(edge, graph)); at != last; at = parent_[at])
        channels_.push_back(at);
      channels_.push_back(last);
      std::reverse(channels_.begin(), channels_.end());
    }

   private:
    std::vector<std::uint32_t>& parent_;
    std::vector<std::uint32_t>& channels_;
  };

  [[nodiscard]] std::uint32_t channel(std::uint32_t sw, std::uint32_t port, std::uint32_t lane) const {
    return (first_port_[sw] + port) * lanes_ + lane;
  }

  /// All ways to every place that a detour can lead to; what gets there starts from there, too.
  void walk_detours() {
    const std::uint32_t places = topology_.dragonfly ? topology_.dragonfly->groups
                                 : topology_.grid    ? topology_.grid->routers
                                                     : 0;
    std::vector<State> reached;
    for (std::uint32_t v = 0; v < places; ++v) {
      walk(0, static_cast<std::uint16_t>(v), &reached);
    }
    starts_.insert(starts_.end(), reached.begin(), reached.end());
  }

  /// All ways of packets to an end, or to the place `via`, from all starts.
  void walk(std::uint32_t end, std::uint16_t via, std::vector<State>* reached = nullptr) {
    ++stamp_;
    Packet packet;
    packet.destination = end;
    stack_ = starts_;
    while (!stack_.empty()) {
      const State at = stack_.back();
      stack_.pop_back();
      packet.via = via;
      packet.lane = at.lane;
      // Coming from elsewhere than an end, so that nothing is drawn.
      if (via != Packet::kNowhere) (*routes_)[at.sw].forget(packet);
      if (packet.via != via) {
        if (at.channel != kNone) reached->push_back(at);
        continue;
      }
      const Choices choices = (*routes_)[at.sw].choices(packet);
      for (std::uint32_t i = 0; i < choices.count; ++i) step(at, packet, choices[i]);
    }
  }

  void step(const State& at, const Packet& packet, std::uint32_t port) {
    if (port == Packet::kNowhere) return;  // cut off
    const Topology::Neighbour& to = topology_.switches[at.sw].ports[port];
    if (to.is_end) return;  // an end always takes what comes
    const std::uint8_t lane = (*routes_)[at.sw].lane(packet, at.input, port);
    const std::uint32_t taken = channel(at.sw, port, lane);
    if (at.channel != kNone) depend(at.channel, taken);
    if (seen_[taken] == stamp_) return;
    seen_[taken] = stamp_;
    stack_.push_back({to.index, to.port, lane, taken});
  }

  void depend(std::uint32_t held, std::uint32_t wanted) {
    std::vector<std::uint32_t>& after = next_[held];
    const auto place = std::lower_bound(after.begin(), after.end(), wanted);
    if (place == after.end() || *place != wanted) after.insert(place, wanted);
  }

  const Topology& topology_;
  const std::vector<Routes>* routes_;
  std::uint32_t lanes_;
  std::vector<std::uint32_t> first_port_;  // of each switch
  std::vector<std::uint32_t> switch_of_;   // of each port
  std::vector<std::vector<std::uint32_t>> next_;
  std::vector<std::uint32_t> seen_;  // by channel: the walk that was there last
  std::uint32_t stamp_ = 0;
  std::vector<State> starts_;
  std::vector<State> stack_;
};

}  // namespace

std::vector<std::uint32_t> find_cycle(const Topology& topology, const std::vector<Routes>& routes, int lanes) {
  return find_cycle(topology, &routes, lanes, {});
}

std::vector<std::uint32_t> find_cycle(const Topology& topology, const std::vector<Routes>* routes, int lanes,
                                      const std::vector<TreeOnLane>& trees) {
  Dependencies dependencies(topology, routes, lanes);
  if (routes != nullptr) dependencies.walk_all();
  for (const TreeOnLane& tree : trees) dependencies.add_tree(tree);
  return dependencies.cycle();
}

std::optional<std::uint8_t> find_lane(const Topology& topology, const std::vector<Routes>& routes, int lanes,
                                      bool up_and_down, std::vector<TreeOnLane> trees, const SpanningTree& tree,
                                      bool floods) {
  constexpr std::uint8_t kFirst = 0;  // where every packet starts
  const bool climbs = std::all_of(tree.branches.begin(), tree.branches.end(), [&](const auto& each) {
    const auto& [sw, branch] = each;
    if (branch.parent == Packet::kNowhere) return true;
    return topology.switches[topology.switches[sw].ports[branch.parent].index].level > topology.switches[sw].level;
  });
  const int beyond = std::max(1, topology.lanes_needed);  // lanes that no unicast packet uses
  if (tree.branches.size() == 1 || (climbs && up_and_down)) {
    return floods || beyond >= lanes ? Switch::kSendersLane : static_cast<std::uint8_t>(lanes - 1);
  }
  trees.push_back({&tree, kFirst, floods});
  for (int lane = beyond; lane < lanes; ++lane) {
    trees.back().lane = static_cast<std::uint8_t>(lane);
    if (find_cycle(topology, nullptr, lanes, trees).empty()) return trees.back().lane;
  }
  trees.back().lane = kFirst;
  const std::uint64_t size = std::uint64_t{topology.ends.size()} * topology.switches.size();
  if (size > kQuick || !find_cycle(topology, &routes, lanes, trees).empty()) return std::nullopt;
  return Switch::kSendersLane;
}

bool check_deadlock(const Topology& topology, const std::vector<Routes>& routes, const FabricConfig& config,
                    const std::string& path) {
  const std::uint64_t size = std::uint64_t{topology.ends.size()} * topology.switches.size();
  const bool any_graph = config.topology == Shape::kGraph && config.routing != Routing::kUpDown;
  if (size > kQuick && !any_graph) return false;
  if (size > kLargest) {
    throw ConfigError(path + ".routing", "expected up-down for a graph too large to be searched for deadlocks: " +
                                             std::to_string(topology.ends.size()) + " ends times " +
                                             std::to_string(topology.switches.size()) + " switches are more than " +
                                             std::to_string(kLargest));
  }
  const std::vector<std::uint32_t> cycle = find_cycle(topology, routes, config.link.lanes);
  if (cycle.empty()) return true;
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) text += topology.switches[cycle[i]].name + " -> ";
  text += cycle.size() > kShown ? "... -> " : "";
  throw ConfigError(path + ".routing",
                    "expected up-down, or a graph without this cycle of links that packets could fill "
                    "and then wait for each other for ever: " +
                        text + topology.switches[cycle.front()].name);
}

}  // namespace weft::fabric
