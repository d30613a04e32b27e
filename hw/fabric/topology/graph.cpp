// SPDX-License-Identifier: Apache-2.0
// A network that the user lists edge by edge.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "hw/fabric/topology/topology.h"

namespace weft::fabric {
namespace {

bool is_name(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// The number of an end, "end12"; none for a switch.
std::optional<int> end_number(const std::string& name) {
  constexpr std::string_view kEnd = "end";
  if (!name.starts_with(kEnd) || name.size() == kEnd.size()) return std::nullopt;
  int number = 0;
  const auto [last, error] = std::from_chars(name.data() + kEnd.size(), name.data() + name.size(), number);
  if (error != std::errc() || last != name.data() + name.size()) return std::nullopt;
  return number;
}

class Builder {
 public:
  Builder(int ends, const FabricConfig& config, const std::string& path)
      : config_(config), path_(path), where_(static_cast<std::size_t>(ends), kNowhere) {
    topology_.add_link(config.link);
  }

  Topology build() {
    if (config_.edges.empty()) {
      throw ConfigError(path_ + ".edges", "expected the edges of the graph, such as [\"end0 - a\", \"end1 - a\"]");
    }
    for (std::size_t i = 0; i < config_.edges.size(); ++i) add(i);
    for (std::size_t e = 0; e < where_.size(); ++e) {
      if (where_[e] == kNowhere) {
        throw ConfigError(path_ + ".edges", "expected an edge for each of the " + std::to_string(where_.size()) +
                                                " ends, got none for end" + std::to_string(e));
      }
      topology_.attach_end(where_[e], links_[e]);
    }
    check_connected();
    return std::move(topology_);
  }

 private:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  [[noreturn]] void fail(std::size_t edge, const std::string& expected) const {
    throw ConfigError(path_ + ".edges." + std::to_string(edge) + ".between", expected);
  }

  void add(std::size_t i) {
    const EdgeConfig& edge = config_.edges[i];
    const std::size_t dash = edge.between.find(" - ");
    const std::string a = edge.between.substr(0, dash);
    const std::string b = dash == std::string::npos ? "" : edge.between.substr(dash + 3);
    if (!is_name(a) || !is_name(b)) {
      fail(i, "two names of letters, digits and _ with a dash between, such as \"end0 - leaf0\"");
    }
    if (a == b) fail(i, "two names that differ, since a link joins two");
    const std::uint32_t link = topology_.add_link(edge.link);
    const auto end_a = end_number(a);
    const auto end_b = end_number(b);
    if (end_a && end_b) fail(i, "at least one switch");
    if (!end_a && !end_b) {
      check_parallel(i, switch_of(a), switch_of(b));
      topology_.connect(switch_of(a), switch_of(b), link, edge.links);
      return;
    }
    const auto end = static_cast<std::size_t>(end_a ? *end_a : *end_b);
    if (end >= where_.size()) {
      fail(i, "ends from end0 to end" + std::to_string(where_.size() - 1) +
                  " (edges are for one number of accelerators; fabric.topology=switch takes any)");
    }
    if (where_[end] != kNowhere || edge.links != 1) fail(i, "one link for each end");
    where_[end] = switch_of(end_a ? b : a);
    links_[end] = link;
  }

  /// Choices among parallel links are equal: only the state of queues tells that one of them is slower.
  void check_parallel(std::size_t i, std::uint32_t a, std::uint32_t b) const {
    if (config_.routing == Routing::kAdaptive) return;
    for (const Topology::Neighbour& port : topology_.switches[a].ports) {
      const Rate rate = topology_.link_of(port).rate;
      if (port.is_end || port.index != b || rate == config_.edges[i].link.rate) continue;
      throw ConfigError(path_ + ".edges." + std::to_string(i) + ".link.rate",
                        "expected " + to_text(rate) + " as on the other link between " + topology_.switches[a].name +
                            " and " + topology_.switches[b].name +
                            ", since routes would use both alike, or routing adaptive; got " +
                            to_text(config_.edges[i].link.rate));
    }
  }

  std::uint32_t switch_of(const std::string& name) {
    const auto found = switches_.find(name);
    if (found != switches_.end()) return found->second;
    return switches_[name] = topology_.add_switch(name);
  }

  void check_connected() const {
    std::vector<bool> seen(topology_.switches.size());
    std::vector<std::uint32_t> next = {topology_.ends.front().first};
    seen[next.front()] = true;
    while (!next.empty()) {
      const std::uint32_t at = next.back();
      next.pop_back();
      for (const Topology::Neighbour& port : topology_.switches[at].ports) {
        if (port.is_end || seen[port.index]) continue;
        seen[port.index] = true;
        next.push_back(port.index);
      }
    }
    for (std::size_t s = 0; s < seen.size(); ++s) {
      if (seen[s]) continue;
      throw ConfigError(path_ + ".edges", "expected a connected graph, but " + topology_.switches[s].name +
                                              " cannot be reached from end0");
    }
  }

  const FabricConfig& config_;
  const std::string& path_;
  Topology topology_;
  std::vector<std::uint32_t> where_;  // switch of each end
  std::vector<std::uint32_t> links_ = std::vector<std::uint32_t>(where_.size());
  std::map<std::string, std::uint32_t> switches_;
};

}  // namespace

Topology build_graph(int ends, const FabricConfig& config, const std::string& path) {
  return Builder(ends, config, path).build();
}

}  // namespace weft::fabric
