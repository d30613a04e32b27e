// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/topology/plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "hw/core/number_text.h"
#include "hw/fabric/implementations.h"
#include "hw/fabric/reduction/reduction_engines.h"
#include "hw/fabric/switch/switch_model.h"
#include "hw/fabric/topology/deadlock.h"

namespace weft::fabric {
namespace {

using DirectionKey = std::tuple<bool, std::uint32_t, std::uint16_t>;

DirectionKey key_of(const Direction& direction) {
  return {direction.from_end, direction.index, direction.port};
}

/// The faults that slow a direction down, by their place in the list, and the least share of its rate that they leave.
struct SlowLink {
  std::vector<std::size_t> faults;
  double share = 1;

  [[nodiscard]] std::size_t slowest(const FabricConfig& config) const {
    return *std::min_element(faults.begin(), faults.end(), [&](std::size_t a, std::size_t b) {
      return config.faults[a].rate < config.faults[b].rate;
    });
  }
};

std::map<DirectionKey, SlowLink> slow_links(const FabricConfig& config,
                                            const std::vector<std::vector<Direction>>& faulty_links) {
  std::map<DirectionKey, SlowLink> slow;
  for (std::size_t f = 0; f < faulty_links.size(); ++f) {
    if (config.faults[f].rate >= 1) continue;
    for (const Direction& direction : faulty_links[f]) slow[key_of(direction)].faults.push_back(f);
  }
  for (auto& [direction, link] : slow) {
    // It is least when the last of those that overlap begins.
    for (const std::size_t last : link.faults) {
      const Time at = config.faults[last].from;
      double share = 1;
      for (const std::size_t f : link.faults) {
        if (at >= config.faults[f].from && at < config.faults[f].end()) share *= config.faults[f].rate;
      }
      link.share = std::min(link.share, share);
    }
  }
  return slow;
}

/// A share in a message: a little more than the least, in three digits.
std::string least_share(double share) {
  return to_text(share * 1.005, 3);
}

}  // namespace

Plan::Plan(const FabricConfig& config, int ends, const std::string& path, std::uint64_t seed)
    : config_(config),
      path_(path),
      topology_(Topology::build(config, ends, path)),
      routes_(topology_.routes(config.routing, seed)),
      checked_(check_deadlock(topology_, routes_, config, path)),
      faulty_links_(find_faulty_links(topology_, config, path)),
      reroutings_(find_reroutings(topology_, config, faulty_links_, path, seed)),
      plane_outages_(find_plane_outages(topology_, config, path)) {
  // A model that cannot change its routes waits for what is down.
  const std::string& model = config.switch_config.implementation.text();
  if (config.reroute_after == Time() && !switch_models().at(model, path + ".switch.implementation").reroutes)
    reroutings_.clear();
  check_switch();
  check_passage();
  check_reduction();
  check_arbiters();
  for (std::uint32_t e = 0; e < topology_.ends.size(); ++e) {
    const std::uint32_t link = link_index(e);
    if (end_configs_.contains(link)) continue;
    FabricConfig& own = end_configs_[link] = config;
    own.link = topology_.links[link];
    own.dimensions.clear();
    own.edges.clear();
    own.faults.clear();
  }
}

const std::vector<Routes>& Plan::routes_at(Time at) const {
  const std::vector<Routes>* latest = &routes_;
  for (const Rerouting& rerouting : reroutings_) {
    if (rerouting.at <= at) latest = &rerouting.routes;
  }
  return *latest;
}

int Plan::first_loss() const {
  for (std::size_t f = 0; f < faulty_links_.size(); ++f) {
    if (!config_.faults[f].damages()) continue;
    for (const Direction& direction : faulty_links_[f]) {
      const auto [sw, port] =
          direction.from_end ? topology_.ends[direction.index] : std::pair(direction.index, direction.port);
      if (!topology_.link_of(topology_.switches[sw].ports[port]).replay) return static_cast<int>(f);
    }
  }
  return -1;
}

void Plan::require_no_loss() const {
  const std::string why = ": the network adds packets, and nothing sends an operand again";
  for (const Topology::Node& node : topology_.switches) {
    for (const Topology::Neighbour& port : node.ports) {
      if (topology_.link_of(port).flow_control != FlowControl::kLossy) continue;
      throw ConfigError(path_ + ".link.flow_control",
                        "expected credits or pfc, got lossy on links of " + node.name + why);
    }
  }
  if (const int fault = first_loss(); fault >= 0) {
    throw ConfigError(path_ + ".link.replay",
                      "expected true, since faults." + std::to_string(fault) + " damages packets" + why);
  }
}

/// A segment must pass every link, and every crossbar, in a time that a packet can hold.
void Plan::check_passage() const {
  const auto slow = slow_links(config_, faulty_links_);
  const std::uint32_t wire = config_.wire_bytes(static_cast<std::uint32_t>(config_.segment.count()));
  const std::string passes = to_text(config_.segment) + " and headers take ";
  const std::string limit = ", and a packet can hold " + to_text(kLongestPassage) + " at the most";
  const auto longest = static_cast<double>(kLongestPassage.count());
  const bool misses_planes =
      std::any_of(plane_outages_.begin(), plane_outages_.end(), [](const auto& outage) { return outage.has_value(); });
  const int links = misses_planes ? std::accumulate(config_.planes.begin(), config_.planes.end(), 0) : 1;
  const auto check = [&](const Direction& direction, const LinkConfig& link, const std::string& where) {
    const Time time = transfer_time(Bytes(wire), link.rate);
    const std::string on_link = " to pass a link of " + where + " at " + to_text(link.rate);
    if (time > kLongestPassage) {
      const bool is_injection = config_.injection.count() != 0 && link.rate == config_.injection;
      throw ConfigError(
          path_ + (is_injection ? ".injection" : ".segment"),
          (is_injection ? "expected more: " : "expected less: ") + passes + to_text(time) + on_link + limit);
    }
    if (time * links > kLongestPassage) {
      throw ConfigError(path_ + ".segment", "expected less: " + passes + to_text(time) + on_link + ", and " +
                                                std::to_string(links) +
                                                " times as long on one of its links, all that faults of planes may "
                                                "leave" +
                                                limit);
    }
    const auto found = slow.find(key_of(direction));
    if (found == slow.end()) return;
    const double least = static_cast<double>(time.count()) / longest;
    if (found->second.share >= least) return;
    throw ConfigError(path_ + ".faults." + std::to_string(found->second.slowest(config_)) + ".rate",
                      "expected at least " + least_share(least) + ", or a smaller segment: at the full rate " + passes +
                          to_text(time) + on_link + limit);
  };
  const double speedup = config_.switch_config.speedup;
  for (std::uint32_t s = 0; s < topology_.switches.size(); ++s) {
    for (std::size_t p = 0; p < topology_.switches[s].ports.size(); ++p) {
      const Topology::Neighbour& port = topology_.switches[s].ports[p];
      const LinkConfig& link = topology_.link_of(port);
      check({false, s, static_cast<std::uint16_t>(p)}, link, topology_.switches[s].name);
      if (port.is_end) check({true, port.index, 0}, link, "end" + std::to_string(port.index));
      const Time time = transfer_time(Bytes(wire), link.rate);
      const double least = static_cast<double>(time.count()) / longest;
      if (!(speedup > 0) || speedup >= least) continue;
      throw ConfigError(path_ + ".switch.speedup",
                        "expected at least " + least_share(least) + ", or 0 for no limit: at an output's rate " +
                            passes + to_text(time) + " to pass the crossbar of " + topology_.switches[s].name + limit);
    }
  }
}

void Plan::check_switch() const {
  const std::string path = path_ + ".switch";
  const SwitchModel& model = switch_models().at(config_.switch_config.implementation.text(), path + ".implementation");
  if (model.check) model.check(config_.switch_config, path);
  const auto refuse = [&](const std::string& why) {
    throw ConfigError(path + ".implementation", "expected model, since " + why + ", got " + model.name);
  };
  if (!model.reroutes && !reroutings_.empty()) refuse("links go down and routes change (reroute_after)");
  if (!model.credits_only) return;
  for (const LinkConfig& link : topology_.links) {
    if (link.flow_control == FlowControl::kCredits) continue;
    refuse("links have " + std::string(name_of(link.flow_control)) + " (link.flow_control)");
  }
}

void Plan::check_reduction() const {
  const ReductionEngine::Config& reduction = config_.switch_config.reduction;
  const std::string path = path_ + ".switch.reduction.";
  check_reduction_engine(reduction.implementation, path + "implementation");
  check_switches(reduction.switches, path + "switches.");
}

void Plan::check_switches(const std::vector<std::string>& names, const std::string& path) const {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& all = topology_.switches;
    if (std::any_of(all.begin(), all.end(), [&](const Topology::Node& node) { return node.name == names[i]; }))
      continue;
    const std::string others = all.size() > 1 ? " or " + all.back().name : "";
    throw ConfigError(path + std::to_string(i), (all.size() > 1 ? "expected a switch of the network, such as "
                                                                : "expected the network's switch, ") +
                                                    all.front().name + others + ", got " + names[i]);
  }
}

void Plan::check_arbiters() const {
  const Switch::Config& with = config_.switch_config;
  const std::string& chosen = with.arbiter.implementation;
  const std::string path = path_ + ".switch.arbiter.";
  check_arbiter(chosen, path + "implementation");
  check_switches(with.arbiter.switches, path + "switches.");
  if (!with.arbiter.has_pins()) return;
  const auto refuse = [&](const std::string& expected) { throw ConfigError(path + "implementation", expected); };
  const auto refuse_with = [&](const char* field) {
    refuse(std::string("expected model with switch.") + field + ": what is behind pins knows no more than turns, got " +
           chosen);
  };
  if (!with.weights.empty()) refuse_with("weights");
  if (with.flow_queues > 0) refuse_with("flow_queues");
  if (with.speedup > 0) refuse_with("speedup");
  const bool reduces = with.reduction.trees > 0;
  for (const Topology::Node& node : topology_.switches) {
    if (!is_chosen(with.arbiter.switches, node.name)) continue;
    const ArbiterShape needed = {node.ports.size() + (reduces ? 1 : 0),
                                 static_cast<std::size_t>(topology_.link_of(node.ports.front()).lanes)};
    const ArbiterShape shape = arbiter_block(chosen, needed).shape;
    if (shape.inputs >= needed.inputs && shape.lanes >= needed.lanes) continue;
    const auto text = [](const ArbiterShape& of) {
      return std::to_string(of.inputs) + " inputs and " + std::to_string(of.lanes) + " lanes";
    };
    refuse("expected model, or one for " + text(needed) + ", which " + node.name + " has" +
           (reduces ? ", its engine among them" : "") + "; got " + chosen + ", for " + text(shape));
  }
}

std::uint32_t Plan::link_index(std::uint32_t end) const {
  const auto [sw, port] = topology_.ends[end];
  return topology_.switches[sw].ports[port].link;
}

const LinkConfig& Plan::end_link(std::uint32_t end) const {
  return topology_.links[link_index(end)];
}

const FabricConfig& Plan::end_config(std::uint32_t end) const {
  return end_configs_.at(link_index(end));
}

}  // namespace weft::fabric
