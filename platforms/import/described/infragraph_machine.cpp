// SPDX-License-Identifier: Apache-2.0
// A machine of InfraGraph's graph.
#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/import/described/infragraph.h"
#include "platforms/import/described/infragraph_rates.h"

namespace weft::platforms::described {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kFar = std::numeric_limits<std::size_t>::max();

/// Where an edge between instances begins: at a switch, or at an end.
struct Wired {
  std::string from;
  std::string to;
  std::size_t link;
};

class GraphMachine final : private DescribedMachine {
 public:
  GraphMachine(const Infrastructure& graph, std::string file, const PartOptions& options)
      : DescribedMachine(std::move(file)), graph_(graph), options_(options) {}

  Described build() {
    if (!graph_.without_meaning.empty()) remark("{} without effect", join(graph_.without_meaning, ", "));
    remark_some(graph_.unjoined, "", "", "more edges that do not join all of their ends");
    find_hosts();
    choose_parts();
    leave_out_dead_ends();
    find_scale_up();
    ordered_json& platform = made_.platform;
    platform["accelerators"] = ends_.size();
    platform["per_node"] = per_node_;
    platform["accelerator"] = accelerator_;
    if (!nic_.empty()) platform["nic"] = nic_;
    add_network();
    if (per_node_ > 1) {
      platform["collectives"] = nccl();
      add_scale_up();
    }
    return std::move(made_);
  }

 private:
  [[nodiscard]] bool is_xpu(std::size_t node) const { return graph_.nodes[node].kind == "xpu"; }
  [[nodiscard]] std::size_t instance_of(std::size_t node) const { return graph_.nodes[node].instance; }
  /// Of an instance that is one switch, or of an accelerator's way out with itself.
  [[nodiscard]] bool is_loop(const GraphEdge& edge) const {
    return instance_of(edge.from) == instance_of(edge.to) && xpus_[instance_of(edge.from)].empty();
  }

  void find_hosts() {
    xpus_.resize(graph_.instances.size());
    neighbours_.resize(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!is_xpu(i)) continue;
      xpus_[instance_of(i)].push_back(i);
      ends_.push_back(i);
    }
    if (ends_.empty())
      throw InputError(file_, "instances", "a device with a component of kind xpu, which is an accelerator", "");
    for (const GraphEdge& edge : graph_.inside) {
      neighbours_[edge.from].emplace_back(edge.to, edge.link);
      neighbours_[edge.to].emplace_back(edge.from, edge.link);
    }
  }

  void choose_parts() {
    const GraphNode& first = graph_.nodes[ends_.front()];
    accelerator_ = options_.accelerator.empty() ? accelerator_of_name(first.text) : options_.accelerator;
    if (accelerator_.empty()) {
      throw InputError(file_, first.name,
                       "an accelerator that its description names, or " + choice_of("--accelerator", "accelerator"),
                       in_quotes(first.text));
    }
    if (options_.accelerator.empty()) {
      for (const std::size_t end : ends_) {
        if (const std::string part = accelerator_of_name(graph_.nodes[end].text); part != accelerator_) {
          throw InputError(file_, graph_.nodes[end].name,
                           "accelerators of one kind, as a machine has, or --accelerator with the part of one of them",
                           (part.empty() ? "an unknown one" : part) + " beside " + accelerator_);
        }
      }
    }
    fact("{}, as {}", counted(ends_.size(), "accelerator"), accelerator_);
    const auto nic = std::find_if(graph_.nodes.begin(), graph_.nodes.end(), [&](const GraphNode& node) {
      return node.is_in_nic && !xpus_[node.instance].empty();
    });
    nic_ = options_.nic;
    if (nic_.empty() && nic != graph_.nodes.end()) nic_ = nic_of_name(nic->text);
    if (!nic_.empty()) {
      fact("NIC of an accelerator: {}", nic_);
    } else if (nic == graph_.nodes.end()) {
      remark("no component of kind nic is in a device with an xpu, and nic has Weft's defaults");
    } else {
      remark("{} does not say which NIC it is, and nic has Weft's defaults; {}", nic->name, choice_of("--nic", "nic"));
    }
  }

  /// Instances without accelerators that lead nowhere, such as storage and hosts for management.
  void leave_out_dead_ends() {
    std::vector<std::set<std::size_t>> beside(graph_.instances.size());
    for (const GraphEdge& edge : graph_.between) {
      if (is_loop(edge)) continue;
      beside[instance_of(edge.from)].insert(instance_of(edge.to));
      beside[instance_of(edge.to)].insert(instance_of(edge.from));
    }
    std::vector<std::size_t> left;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < beside.size(); ++i) {
        if (!xpus_[i].empty() || beside[i].size() != 1 || !xpus_[*beside[i].begin()].empty()) continue;
        beside[*beside[i].begin()].erase(i);
        beside[i].clear();
        left.push_back(i);
        changed = true;
      }
    }
    const std::set<std::size_t> gone(left.begin(), left.end());
    std::size_t loops = 0;
    std::size_t loop = 0;
    for (const GraphEdge& edge : graph_.between) {
      if (is_loop(edge)) {
        if (loops++ == 0) loop = instance_of(edge.from);
      } else if (!gone.contains(instance_of(edge.from)) && !gone.contains(instance_of(edge.to))) {
        edges_.push_back(edge);
      }
    }
    if (loops > 0) {
      remark("{} without effect, from an instance to itself, which is one switch: {}{}", counted(loops, "edge"),
             graph_.instances[loop].name, loops > 1 ? ", ..." : "");
    }
    if (left.empty()) return;
    remark("{} left out, as no way between accelerators is over them: {}{}", counted(left.size(), "instance"),
           graph_.instances[*gone.begin()].name, left.size() > 1 ? ", ..." : "");
  }

  /// What joins accelerators beside their NICs: switches whose links of one kind go to accelerators only, or links
  /// between two. With NICs, edges between instances that begin at accelerators do so, too.
  void find_scale_up() {
    const bool has_nics = std::any_of(edges_.begin(), edges_.end(), [&](const GraphEdge& edge) {
      return (!is_xpu(edge.from) && !xpus_[instance_of(edge.from)].empty()) ||
             (!is_xpu(edge.to) && !xpus_[instance_of(edge.to)].empty());
    });
    std::vector<GraphEdge> rest;
    std::vector<GraphEdge> joining;
    // A switch of another instance is one, whichever of its ports an edge is at.
    std::vector<std::size_t> only(graph_.instances.size(), 1);
    for (const GraphEdge& edge : edges_) {
      for (const auto& [a, b] : {std::pair(edge.from, edge.to), std::pair(edge.to, edge.from)}) {
        if (!is_xpu(b)) only[instance_of(a)] = 0;
      }
    }
    for (const GraphEdge& edge : edges_) {
      const bool from = is_xpu(edge.from);
      const bool to = is_xpu(edge.to);
      const bool of_accelerators =
          (from && to) || (from && only[instance_of(edge.to)] != 0) || (to && only[instance_of(edge.from)] != 0);
      (has_nics && of_accelerators ? joining : rest).push_back(edge);
    }
    edges_ = std::move(rest);
    for (const GraphEdge& edge : graph_.inside) {
      // A switch that a processor configures has other links to that.
      const auto serves = [&](std::size_t node) {
        return is_xpu(node) || (graph_.nodes[node].kind == "switch" &&
                                std::all_of(neighbours_[node].begin(), neighbours_[node].end(), [&](const auto& each) {
                                  return is_xpu(each.first) || each.second != edge.link;
                                }));
      };
      if ((is_xpu(edge.from) || is_xpu(edge.to)) && serves(edge.from) && serves(edge.to)) joining.push_back(edge);
    }
    // Switches of other instances are joined by the instance, since what is inside them does not matter.
    boost::disjoint_sets_with_storage<> groups(graph_.nodes.size() + graph_.instances.size());
    const auto member = [&](std::size_t node) {
      return xpus_[instance_of(node)].empty() ? graph_.nodes.size() + instance_of(node) : node;
    };
    for (const GraphEdge& edge : joining) groups.union_set(member(edge.from), member(edge.to));
    std::map<std::size_t, std::vector<std::size_t>> nodes;
    for (const std::size_t end : ends_) nodes[groups.find_set(end)].push_back(end);
    per_node_ = nodes.begin()->second.size();
    for (const auto& [group, members] : nodes) {
      if (members.size() == per_node_) continue;
      throw InputError(file_, graph_.nodes[members.front()].name,
                       "as many accelerators joined by links of their own as elsewhere, since nodes of a machine are "
                       "alike: " +
                           std::to_string(per_node_),
                       std::to_string(members.size()));
    }
    // Ends of a node follow each other.
    std::vector<std::vector<std::size_t>> ordered;
    for (auto& [group, members] : nodes) ordered.push_back(std::move(members));
    std::sort(ordered.begin(), ordered.end());
    ends_.clear();
    for (const auto& members : ordered) ends_.insert(ends_.end(), members.begin(), members.end());
    if (per_node_ == 1) return;
    scale_up_ = scale_up_rates(graph_, joining, ends_.size(), per_node_);
    if (scale_up_.pair == 0) remark_direct(joining);
    fact("{} of {}, joined by links of their own", counted(ordered.size(), "node"), counted(per_node_, "accelerator"));
  }

  /// Accelerators with links to each other and no switch between may not have one to each other of their node.
  void remark_direct(const std::vector<GraphEdge>& joining) {
    std::map<std::size_t, std::set<std::size_t>> beside;
    for (const GraphEdge& edge : joining) {
      if (!is_xpu(edge.from) || !is_xpu(edge.to)) continue;
      beside[edge.from].insert(edge.to);
      beside[edge.to].insert(edge.from);
    }
    for (const auto& [xpu, others] : beside) {
      if (others.size() + 1 == per_node_) continue;
      remark(
          "{} and other accelerators have links to some others only: scale_up is a switch with the rate of all links "
          "of "
          "one, and scale_up.fabric can say otherwise",
          graph_.nodes[xpu].name);
      return;
    }
  }

  void add_scale_up() {
    const std::string part = options_.scale_up.empty() ? usual_scale_up(accelerator_) : options_.scale_up;
    std::optional<double> rate;
    if (scale_up_.unrated.empty()) rate = scale_up_.accelerator;
    if (!rate && part.empty()) {
      throw InputError(file_, scale_up_.unrated,
                       "a bandwidth in gigabits_per_second or gigabytes_per_second, as it joins accelerators, or " +
                           choice_of("--scale-up", "scale_up"),
                       "none");
    }
    if (!rate) remark("{} has no bandwidth: scale_up is {}", scale_up_.unrated, part);
    if (rate) fact("scale-up: {:.0f} GB/s from an accelerator", *rate);
    const bool is_direct = rate && scale_up_.pair > 0 && options_.scale_up.empty();
    remark_some(scale_up_.uneven, "",
                is_direct ? fmt::format("; each pair has {:g} GB/s in the machine", scale_up_.pair)
                          : fmt::format("; each accelerator has {:g} GB/s in the machine", scale_up_.accelerator),
                "more like this");
    if (part.empty()) remark("scale_up has Weft's defaults but for its rate; --scale-up PART says otherwise");
    made_.platform["scale_up"] = scale_up_of(part, rate);
    if (!is_direct) return;
    join_all_pairs(made_.platform, per_node_, scale_up_.pair);
    if (per_node_ > 2) remark("{}", kDirect);
  }

  /// Letters, digits and _, as an edge has them; not what an end is called.
  std::string switch_name(const std::string& text) {
    const auto known = names_.find(text);
    if (known != names_.end()) return known->second;
    std::string name = text.starts_with("end") ? "switch_" + text : text;
    for (char& c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    }
    while (!taken_.insert(name).second) name += "_";
    return names_[text] = name;
  }

  /// Steps from a component to all others of its instance.
  [[nodiscard]] std::map<std::size_t, std::size_t> steps_from(std::size_t start) const {
    std::map<std::size_t, std::size_t> steps = {{start, 0}};
    std::vector<std::size_t> queue = {start};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const auto& [next, link] : neighbours_[queue[i]]) {
        if (steps.emplace(next, steps[queue[i]] + 1).second) queue.push_back(next);
      }
    }
    return steps;
  }

  /// Of each component with edges to other instances, the accelerator of its instance whose way out it is: the nearest
  /// of those that have the fewest.
  [[nodiscard]] std::map<std::size_t, std::vector<std::size_t>> ways_out(const std::set<std::size_t>& points,
                                                                         const std::vector<std::size_t>& xpus) const {
    std::map<std::size_t, std::vector<std::size_t>> ways;
    struct Way {
      std::size_t steps;
      std::size_t xpu;
      std::size_t point;
      auto operator<=>(const Way&) const = default;
    };
    std::vector<Way> all;
    for (const std::size_t point : points) {
      const std::map<std::size_t, std::size_t> steps = steps_from(point);
      for (const std::size_t xpu : xpus) {
        const auto found = steps.find(xpu);
        all.push_back({found == steps.end() ? kFar : found->second, xpu, point});
      }
    }
    std::sort(all.begin(), all.end());
    const std::size_t most_points = (points.size() + xpus.size() - 1) / xpus.size();
    const std::size_t most_xpus = (xpus.size() + points.size() - 1) / points.size();
    std::map<std::size_t, std::size_t> used;
    // In rounds, so that nobody has two before each has one.
    for (std::size_t round = 1; round <= std::max(most_points, most_xpus); ++round) {
      for (const Way& way : all) {
        std::vector<std::size_t>& mine = ways[way.xpu];
        if (mine.size() >= std::min(round, most_points) || used[way.point] >= std::min(round, most_xpus)) continue;
        mine.push_back(way.point);
        ++used[way.point];
      }
    }
    return ways;
  }

  void add_network() {
    std::map<std::size_t, std::set<std::size_t>> points;  // of an instance
    std::map<std::size_t, std::vector<std::size_t>> at;   // edges of a component
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      for (const std::size_t node : {edges_[i].from, edges_[i].to}) {
        at[node].push_back(i);
        if (!xpus_[instance_of(node)].empty()) points[instance_of(node)].insert(node);
      }
    }
    if (edges_.empty()) {
      if (ends_.size() > per_node_)
        throw InputError(file_, "edges", "edges between the instances, as several nodes are a machine by their network",
                         "none");
      remark("no edges are between instances: fabric has Weft's default");
      return;
    }
    std::map<std::size_t, std::size_t> number;
    for (std::size_t i = 0; i < ends_.size(); ++i) number[ends_[i]] = i;
    std::map<std::size_t, std::string> name_of;  // of components at which edges of the network end
    std::size_t with_switch = 0;
    for (std::size_t i = 0; i < xpus_.size(); ++i) {
      if (xpus_[i].empty()) continue;
      if (points[i].empty()) {
        throw InputError(file_, "edges", "an edge from " + graph_.instances[i].name + " to the network", "none");
      }
      constexpr std::size_t kMostPairs = 1 << 22;
      if (points[i].size() * xpus_[i].size() > kMostPairs) {
        throw InputError(file_, "instances " + graph_.instances[i].name,
                         "at most " + std::to_string(kMostPairs) + " pairs of an accelerator and a way out of it",
                         std::to_string(points[i].size() * xpus_[i].size()));
      }
      for (const auto& [xpu, mine] : ways_out(points[i], xpus_[i])) {
        const std::string end = "end" + std::to_string(number[xpu]);
        const bool is_alone = points[i].size() >= xpus_[i].size();
        if (is_alone && mine.size() == 1 && at[mine.front()].size() == 1) {
          name_of[mine.front()] = end;
          continue;
        }
        // An end has one link: a switch of its own, or of the NIC that it shares, has the others.
        const std::string own = switch_name(graph_.nodes[is_alone ? xpu : mine.front()].name);
        double rate = 0;
        for (const std::size_t point : mine) {
          name_of[point] = own;
          for (const std::size_t edge : at[point]) rate += rate_of(graph_.links[edges_[edge].link]);
        }
        ++with_switch;
        own_edges_.push_back({{"between", end + " - " + own}, {"link", {{"rate", rate_text(rate)}}}});
      }
    }
    if (with_switch > 0) {
      remark("{} several links to the network, or a link that others share: a switch between has them, and its latency",
             with_switch == 1 ? "1 accelerator has" : std::to_string(with_switch) + " accelerators have");
    }
    write_edges(name_of);
  }

  double rate_of(const GraphLink& link) {
    if (link.gigabytes_per_second) return *link.gigabytes_per_second;
    if (options_.network.empty()) {
      throw InputError(
          file_, link.path,
          "physical.bandwidth in gigabits_per_second or gigabytes_per_second, or " + choice_of("--network", "link"),
          "none");
    }
    return link_rate(options_.network, options_);
  }

  ordered_json link_of_wire(const GraphLink& link) {
    ordered_json made = ordered_json::object();
    if (!options_.network.empty()) made["part"] = options_.network;
    if (link.gigabytes_per_second || options_.network.empty()) made["rate"] = rate_text(rate_of(link));
    if (link.nanoseconds) {
      made["propagation"] = std::to_string(std::llround(*link.nanoseconds * 1e3)) + "ps";
    } else {
      unlatent_.insert(link.path);
    }
    return made;
  }

  void write_edges(const std::map<std::size_t, std::string>& name_of) {
    const auto name = [&](std::size_t node) {
      const auto found = name_of.find(node);
      return found != name_of.end() ? found->second : switch_name(graph_.instances[instance_of(node)].name);
    };
    // Parallel links are one edge, in the order of the file.
    std::map<std::tuple<std::string, std::string, std::size_t>, std::size_t> places;
    std::vector<std::pair<Wired, int>> wires;
    for (const GraphEdge& edge : edges_) {
      const std::string from = name(edge.from);
      const std::string to = name(edge.to);
      if (from == to) continue;
      const auto& [a, b] = std::minmax(from, to);
      const auto [place, is_new] = places.emplace(std::tuple(a, b, edge.link), wires.size());
      if (is_new) wires.push_back({{from, to, edge.link}, 0});
      ++wires[place->second].second;
    }
    ordered_json edges = own_edges_;
    expect_ways(wires);
    if (wires.empty()) throw InputError(file_, "edges", "an edge that joins two instances", "none");
    const ordered_json usual = link_of_wire(graph_.links[wires.front().first.link]);
    for (const auto& [wire, links] : wires) {
      ordered_json edge = {{"between", wire.from + " - " + wire.to}};
      if (const ordered_json link = link_of_wire(graph_.links[wire.link]); link != usual) edge["link"] = link;
      if (links > 1) edge["links"] = links;
      edges.push_back(edge.size() == 1 ? edge["between"] : edge);
    }
    ordered_json fabric = {{"topology", "graph"}, {"link", usual}};
    const std::string switches = options_.network.empty() ? "" : network_of_link(options_.network).switches;
    if (!switches.empty()) fabric["switch"] = switches;
    fabric["segment"] = "4KiB";
    fabric["edges"] = edges;
    made_.platform["fabric"] = fabric;
    fact("network: a graph of {}", counted(edges.size(), "edge"));
    for (const std::string& path : unlatent_)
      remark("{} has no latency: links have {}", path,
             options_.network.empty() ? "Weft's default" : "that of " + options_.network);
    remark("switches have {}: InfraGraph says nothing of their latency and queues",
           switches.empty() ? "Weft's defaults" : "those of " + switches);
  }

  /// From the first accelerator to all others, by the names that edges have.
  void expect_ways(const std::vector<std::pair<Wired, int>>& wires) const {
    std::map<std::string, std::size_t> numbers;
    const auto number = [&](const std::string& name) { return numbers.emplace(name, numbers.size()).first->second; };
    boost::disjoint_sets_with_storage<> groups(2 * (wires.size() + ends_.size()));
    for (const auto& [wire, links] : wires) groups.union_set(number(wire.from), number(wire.to));
    for (const ordered_json& edge : own_edges_) {
      const auto between = edge["between"].get<std::string>();
      const std::size_t dash = between.find(" - ");
      groups.union_set(number(between.substr(0, dash)), number(between.substr(dash + 3)));
    }
    const std::size_t first = groups.find_set(number("end0"));
    for (std::size_t i = 1; i < ends_.size(); ++i) {
      if (groups.find_set(number("end" + std::to_string(i))) == first) continue;
      throw InputError(
          file_, "edges",
          "a way from " + graph_.nodes[ends_.front()].name + " to " + graph_.nodes[ends_[i]].name + " over instances",
          "none");
    }
  }

  const Infrastructure& graph_;
  const PartOptions& options_;
  std::vector<std::vector<std::size_t>> xpus_;  ///< by instance
  std::vector<std::size_t> ends_;               ///< nodes that are accelerators, in the order of ranks
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> neighbours_;  ///< within instances, with links
  std::vector<GraphEdge> edges_;                                              ///< of the network
  ordered_json own_edges_ = ordered_json::array();
  std::map<std::string, std::string> names_;
  std::set<std::string> taken_;
  std::set<std::string> unlatent_;
  std::string accelerator_;
  std::string nic_;
  ScaleUpRates scale_up_;
  std::size_t per_node_ = 1;
};

}  // namespace

Described machine_of_graph(const Infrastructure& graph, const std::string& file, const PartOptions& options) {
  return GraphMachine(graph, file, options).build();
}

}  // namespace weft::platforms::described
