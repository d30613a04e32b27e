// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/fabric.h"

#include <algorithm>

#include "hw/core/config/own_fields.h"
#include "hw/fabric/credit_loop.h"
#include "hw/fabric/implementations.h"
#include "hw/fabric/switch/switch_model.h"

namespace weft::fabric {
namespace {

std::string names_of(const std::vector<std::uint32_t>& ends) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(ends.size(), kShown); ++i) {
    text += (i == 0 ? "end" : ", end") + std::to_string(ends[i]);
  }
  return ends.size() > kShown ? text + ", ..." : text;
}

std::vector<Time> changes_of(const Plan& plan) {
  std::vector<Time> times;
  for (const Rerouting& rerouting : plan.reroutings()) times.push_back(rerouting.at);
  return times;
}

std::string span_of(const Fault& fault) {
  return "from " + to_text(fault.from) + (fault.end() == kNever ? " on" : " until " + to_text(fault.end()));
}

}  // namespace

Fabric::Fabric(sc_core::sc_module_name name, const Config& config, int ends, Dispatcher& dispatcher,
               PacketPool& packets, const Stall::Config& stall, const std::string& path)
    : Fabric(name, std::make_shared<Plan>(config, ends, path, stall.seed), dispatcher, packets, stall) {}

Fabric::Fabric(sc_core::sc_module_name name, std::shared_ptr<const Plan> plan, Dispatcher& dispatcher,
               PacketPool& packets, const Stall::Config& stall)
    : sc_module(name), plan_(std::move(plan)), dispatcher_(dispatcher), group_trees_(changes_of(*plan_)) {
  const Topology& network = topology();
  const Switch::Config& chosen = config().switch_config;
  std::vector<LinkConfig> links;
  for (std::size_t i = 0; i < network.switches.size(); ++i) {
    const Topology::Node& node = network.switches[i];
    links.clear();
    std::vector<bool> joined;
    for (const Topology::Neighbour& port : node.ports) {
      links.push_back(network.link_of(port));
      joined.push_back(!port.is_end);
    }
    Switch::Config own = chosen;
    if (!is_chosen(chosen.reduction.switches, node.name))
      own.reduction.implementation = ReductionEngine::Config().implementation;
    if (!is_chosen(chosen.arbiter.switches, node.name)) own.arbiter.implementation = ArbiterConfig().implementation;
    if (own.buffer.headroom == Bytes()) own.buffer.headroom = fitting_headroom(config(), links);
    const SwitchModel& model = model_of(own);
    switches_.push_back(
        made(model.make({node.name, own, dispatcher, packets, plan_->routes()[i], links, stall, joined}),
             plan_->path() + ".switch.implementation", model.name));
  }
  const auto& outages = plan_->plane_outages();
  if (std::any_of(outages.begin(), outages.end(), [](const auto& each) { return each.has_value(); })) {
    planes_ = std::make_unique<Planes>(config().planes, network.ends.size(), outages);
  }
  for (std::size_t i = 0; i < switches_.size(); ++i) {
    for (std::size_t p = 0; p < network.switches[i].ports.size(); ++p) {
      const Topology::Neighbour& neighbour = network.switches[i].ports[p];
      if (neighbour.is_end) continue;
      switches_[i]->join(p, *switches_[neighbour.index], neighbour.port);
    }
  }
}

Fabric::~Fabric() = default;

/// Null if a network interface of the user's own has none.
Transmitter* Fabric::transmitter(const Direction& direction) const {
  const auto [sw, port] =
      direction.from_end ? topology().ends[direction.index] : std::pair(direction.index, direction.port);
  return direction.from_end ? switches_[sw]->sender(port) : &switches_[sw]->transmitter(port);
}

void Fabric::spread_over_planes() {
  for (const auto& outage : plan_->plane_outages()) {
    if (!outage.has_value() || !outage->gap.has_value()) continue;
    for (const Direction& direction : outage->links.directions) {
      if (Transmitter* link = transmitter(direction); link != nullptr) link->add_fault(*outage->gap);
    }
  }
  for (std::size_t s = 0; s < switches_.size(); ++s) {
    switches_[s]->spread_over(*planes_);
    for (std::size_t p = 0; p < switches_[s]->radix(); ++p) switches_[s]->transmitter(p).spread_over(*planes_);
  }
  for (std::uint32_t e = 0; e < topology().ends.size(); ++e) {
    if (Transmitter* link = transmitter({true, e, 0}); link != nullptr) link->spread_over(*planes_);
  }
}

std::vector<std::string> Fabric::faults_of(const Transmitter& link) const {
  std::vector<std::string> names = link.fault_names();
  std::size_t number = 0;
  for (const auto& outage : plan_->plane_outages()) {
    if (!outage.has_value()) continue;
    const std::size_t bit = std::min(number++, Planes::kCauses - 1);
    const bool is_new = std::find(names.begin(), names.end(), outage->name) == names.end();
    if ((link.planes_missed() >> bit & 1) != 0 && is_new) names.push_back(outage->name);
  }
  return names;
}

void Fabric::start_of_simulation() {
  for (std::size_t f = 0; f < config().faults.size(); ++f) {
    if (config().faults[f].rate < 1) {
      for (const auto& sw : switches_) sw->expect_slow_links();
    }
    for (const Direction& direction : plan_->faulty_links()[f]) {
      if (Transmitter* link = transmitter(direction); link != nullptr) link->add_fault(config().faults[f]);
    }
  }
  if (planes_ != nullptr) spread_over_planes();
  for (const Rerouting& rerouting : plan_->reroutings()) {
    for (std::size_t s = 0; s < switches_.size(); ++s) {
      switches_[s]->change_routes(rerouting.at, rerouting.routes[s]);
    }
  }
  if (plan_->reroutings().empty()) return;
  for (const auto& sw : switches_) sw->change_trees(group_trees_);
}

void Fabric::bind_end(std::uint32_t end, InitiatorSocket& out, TargetSocket& in) {
  const auto [index, port] = topology().ends[end];
  AnySwitch::Port& mine = switches_[index]->port(port);
  out.bind(mine.in);
  mine.out.bind(in);
}

std::vector<std::string> Fabric::left_over() {
  std::vector<std::string> lines;
  for (const auto& sw : switches_) {
    if (const auto waiting = sw->waiting(); waiting != 0) {
      lines.push_back(std::string(sw->name()) + ": " + std::to_string(waiting) + " packets wait for an output");
    }
    if (sw->engine() != nullptr && sw->engine()->open_chunks() != 0) {
      lines.push_back(std::string(sw->name()) + ": " + std::to_string(sw->engine()->open_chunks()) +
                      " chunks of reductions wait for operands");
    }
    for (std::size_t p = 0; p < sw->radix(); ++p) {
      if (const auto missing = sw->transmitter(p).credit_missing(); missing != 0) {
        lines.push_back(std::string(sw->name()) + ".out" + std::to_string(p) + ": " + std::to_string(missing) +
                        " bytes of credit are missing");
      }
    }
  }
  return lines;
}

std::vector<std::string> Fabric::partitions() const {
  std::vector<std::string> lines;
  const Time end = dispatcher_.last_change();
  for (const Fault& fault : config().faults) {
    if (!fault.down || fault.from > end) continue;
    const std::vector<std::uint32_t> cut_off = plan_->cut_off(fault.from);
    if (cut_off.empty()) continue;
    lines.push_back(std::string(this->name()) + ": " + fault.link + " was down " + span_of(fault) +
                    ", when no path led to " + std::to_string(cut_off.size()) + " of " +
                    std::to_string(topology().ends.size()) + " ends, " + names_of(cut_off));
  }
  return lines;
}

std::vector<std::string> Fabric::outages(bool gave_up) {
  std::vector<std::string> lines;
  const Time now = dispatcher_.now();
  const std::string name = this->name();
  // One that begins before another is over goes on keeping links down.
  std::vector<bool> listed(config().faults.size());
  bool is_avoided = true;
  Time until = now;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t f = 0; f < listed.size(); ++f) {
      const Fault& fault = config().faults[f];
      if (listed[f] || !fault.down || fault.from > until || fault.end() <= now) continue;
      listed[f] = more = true;
      until = std::max(until, fault.end());
    }
  }
  for (std::size_t f = 0; f < listed.size(); ++f) {
    const Fault& fault = config().faults[f];
    if (!listed[f]) continue;
    lines.push_back(name + ": " + fault.link + " is down " + span_of(fault));
    const bool is_of_plane = plan_->plane_outages()[f].has_value();
    is_avoided =
        is_avoided && fault.from == Time() && fault.end() == kNever && (is_of_plane || !plan_->reroutings().empty());
  }
  const std::vector<std::uint32_t> cut_off = plan_->cut_off(now);
  if (!cut_off.empty()) {
    lines.push_back(name + ": it is cut in parts: no path leads to " + std::to_string(cut_off.size()) + " of " +
                    std::to_string(topology().ends.size()) + " ends, " + names_of(cut_off));
  } else if (!lines.empty() && !is_avoided && config().reroute_after == Time()) {
    lines.push_back(name + ": all ends could be reached by other paths, but routes do not change: reroute_after is 0");
  }
  const std::vector<std::string> dropped = losses();
  if (gave_up || !dropped.empty()) {
    for (const Fault& fault : config().faults) {
      if (fault.down && fault.end() <= now) lines.push_back(name + ": " + fault.link + " was down " + span_of(fault));
    }
  }
  lines.insert(lines.end(), dropped.begin(), dropped.end());
  return lines;
}

std::vector<std::string> Fabric::losses() {
  const std::string name = this->name();
  std::vector<std::string> lines = changed_groups();
  std::int64_t dropped = 0;
  for (const auto& sw : switches_) dropped += sw->counters().unroutable;
  if (dropped != 0) {
    lines.push_back(
        name + ": switches dropped " + std::to_string(dropped) +
        " packets for which no path was left; a network interface repeats them with `recovery`, up to its retry_limit");
  }
  std::int64_t no_room = 0;
  for (const auto& sw : switches_) {
    for (std::size_t p = 0; p < sw->radix(); ++p) no_room += sw->port_counters(p).dropped;
  }
  if (no_room != 0) {
    const bool pauses = config().link.flow_control == FlowControl::kPfc;
    lines.push_back(name + ": " + std::to_string(no_room) + " packets found no room in a switch and were dropped; " +
                    (pauses ? "a larger switch.buffer.headroom holds them, or " : "") +
                    "a network interface repeats them with `recovery`, up to its retry_limit");
  }
  return lines;
}

}  // namespace weft::fabric
