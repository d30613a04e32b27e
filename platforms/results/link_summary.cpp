// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/link_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "hw/fabric/credit_loop.h"
#include "platforms/results/format.h"
#include "platforms/results/usage.h"

namespace weft::platforms {
using nlohmann::ordered_json;

struct LinkBaseline {
  /// One direction of a link, with what happened at both of its ends.
  struct Link : Used {
    const fabric::Transmitter* transmitter = nullptr;
    const fabric::Fabric* fabric = nullptr;
    std::uint32_t config = 0;  ///< of the topology's links
    int first_place = 0;       ///< the accelerator of the network's first end
    Time busy;
    std::int64_t packets = 0;
    std::int64_t most_queued = 0;  ///< bytes that waited for it at a time
    std::int64_t marked = 0;
    std::int64_t trimmed = 0;
    std::int64_t dropped = 0;  ///< found no room where it leads
    std::int64_t damaged = 0;
    std::int64_t replayed = 0;
    std::int64_t paused = 0;
    std::vector<std::string> faults;
    Time blocked;  ///< had packets and no credit, or was paused or down

    /// `most_queued` stays.
    void add(const Link& other, int times) {
      busy += other.busy * times;
      bytes += times * other.bytes;
      packets += times * other.packets;
      marked += times * other.marked;
      trimmed += times * other.trimmed;
      dropped += times * other.dropped;
      damaged += times * other.damaged;
      replayed += times * other.replayed;
      paused += times * other.paused;
      blocked += other.blocked * times;
    }
  };

  struct Network {
    std::string name;
    std::vector<Link> from_ends;
    std::vector<Link> to_ends;
    std::vector<Link> between_switches;
    std::int64_t unroutable = 0;

    /// Calls `visit` with each link: from ends, to ends, between switches.
    template <typename Visit>
    void each(const Visit& visit) const {
      for (const std::vector<Link>* links : {&from_ends, &to_ends, &between_switches}) {
        for (const Link& link : *links) visit(link);
      }
    }
  };

  std::vector<Network> networks;
  std::map<const fabric::Transmitter*, Time> busy;
};

namespace {

using Link = LinkBaseline::Link;
using Network = LinkBaseline::Network;

Link link_of(std::string name, const fabric::Transmitter& transmitter) {
  Link link;
  const fabric::Transmitter::Counters counters = transmitter.counters();
  link.name = std::move(name);
  link.transmitter = &transmitter;
  link.busy = transmitter.busy();
  link.bytes = counters.wire_bytes;
  link.packets = counters.packets;
  link.damaged = transmitter.events().damaged;
  link.replayed = transmitter.events().replayed;
  link.paused = transmitter.events().paused;
  return link;
}

/// Which of a network's lists a link is in.
using List = std::vector<Link> Network::*;

/// Calls `take(list, link)` with each direction of each link. `interface_of` and `end` are the network interface of an
/// end and what it is called.
template <typename InterfaceOf, typename Take>
void visit_links(fabric::Fabric& fabric, int first_place, const std::string& name, const std::string& end,
                 const InterfaceOf& interface_of, const Take& take) {
  const fabric::Topology& topology = fabric.topology();
  for (std::uint32_t e = 0; e < topology.ends.size(); ++e) {
    const auto& [interface_name, interface] = interface_of(e);
    Link link = link_of(interface_name + " out", interface->transmitter());
    const auto [sw, port] = topology.ends[e];
    link.dropped = fabric.switch_at(sw).port_counters(port).dropped;
    link.faults = fabric.faults_of(*link.transmitter);
    link.fabric = &fabric;
    link.first_place = first_place;
    link.config = topology.switches[sw].ports[port].link;
    take(&Network::from_ends, std::move(link));
  }
  for (std::size_t s = 0; s < fabric.switch_count(); ++s) {
    const fabric::Topology::Node& node = topology.switches[s];
    fabric::AnySwitch& sw = fabric.switch_at(s);
    for (std::size_t p = 0; p < node.ports.size(); ++p) {
      const fabric::Topology::Neighbour& neighbour = node.ports[p];
      const fabric::AnySwitch::PortCounters& counters = sw.port_counters(p);
      const std::string other =
          neighbour.is_end ? end + std::to_string(neighbour.index) : topology.switches[neighbour.index].name;
      Link link = link_of(fmt::format("{}.{}.port{} to {}", name, node.name, p, other), sw.transmitter(p));
      link.faults = fabric.faults_of(*link.transmitter);
      link.fabric = &fabric;
      link.first_place = first_place;
      link.config = neighbour.link;
      link.most_queued = counters.most_queued;
      link.marked = counters.marked;
      link.trimmed = counters.trimmed;
      link.blocked = counters.blocked;
      if (!neighbour.is_end) {
        link.dropped = fabric.switch_at(neighbour.index).port_counters(neighbour.port).dropped;
      }
      take(neighbour.is_end ? &Network::to_ends : &Network::between_switches, std::move(link));
    }
  }
}

std::int64_t unroutable_in(fabric::Fabric& fabric) {
  std::int64_t sum = 0;
  for (std::size_t s = 0; s < fabric.switch_count(); ++s) sum += fabric.switch_at(s).counters().unroutable;
  return sum;
}

/// Calls `begin(name)` for each network that links are counted of, `take` as visit_links() for its links, and
/// `end(unroutable)`.
template <typename Begin, typename Take, typename End>
void visit_networks(Machine& machine, const Begin& begin, const Take& take, const End& end) {
  begin("fabric");
  const auto nic_of = [&machine](std::uint32_t e) {
    return std::pair("nic" + std::to_string(e), &machine.nic(static_cast<int>(e)));
  };
  visit_links(machine.network(), 0, "network", "nic", nic_of, take);
  end(unroutable_in(machine.network()));
  if (machine.node_count() == 0) return;
  begin("scale_up");
  std::int64_t unroutable = 0;
  for (std::size_t n = 0; n < machine.node_count(); ++n) {
    const int first = static_cast<int>(n) * machine.config().per_node;
    const auto port_of = [&machine, first](std::uint32_t e) {
      const int rank = first + static_cast<int>(e);
      return std::pair("port" + std::to_string(rank), machine.scale_up_port(rank));
    };
    visit_links(machine.node_network(n), first, "node" + std::to_string(n), "local port", port_of, take);
    unroutable += unroutable_in(machine.node_network(n));
  }
  end(unroutable);
}

std::vector<Network> counted(Machine& machine) {
  std::vector<Network> all;
  visit_networks(
      machine, [&](const char* name) { all.emplace_back().name = name; },
      [&](List list, Link link) { (all.back().*list).push_back(std::move(link)); },
      [&](std::int64_t unroutable) { all.back().unroutable = unroutable; });
  return all;
}

void count_since(std::vector<Link>& links, const std::vector<Link>* before, Time span) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (before != nullptr) links[i].add((*before)[i], -1);
    links[i].utilisation = share(links[i].busy, span);
  }
}

/// Those of `span`, which began with `since`, or with the run.
std::vector<Network> networks(Machine& machine, Time span, const LinkBaseline* since) {
  std::vector<Network> all = counted(machine);
  for (std::size_t n = 0; n < all.size(); ++n) {
    for (std::vector<Link> Network::*const links :
         {&Network::from_ends, &Network::to_ends, &Network::between_switches}) {
      count_since(all[n].*links, since == nullptr ? nullptr : &(since->networks[n].*links), span);
    }
    if (since != nullptr) all[n].unroutable -= since->networks[n].unroutable;
  }
  return all;
}

Link sum_of(const Network& network) {
  Link sum;
  network.each([&sum](const Link& link) {
    sum.packets += link.packets;
    sum.bytes += link.bytes;
    sum.most_queued = std::max(sum.most_queued, link.most_queued);
    sum.marked += link.marked;
    sum.trimmed += link.trimmed;
    sum.dropped += link.dropped;
    sum.damaged += link.damaged;
    sum.replayed += link.replayed;
    sum.paused += link.paused;
    sum.blocked += link.blocked;
  });
  return sum;
}

/// All but the name and what comes before the packets.
void add_counters(ordered_json& json, const Link& link) {
  json["packets"] = link.packets;
  json["most_queued_bytes"] = link.most_queued;
  json["marked"] = link.marked;
  json["trimmed"] = link.trimmed;
  json["dropped"] = link.dropped;
  json["damaged"] = link.damaged;
  json["replayed"] = link.replayed;
  json["pauses"] = link.paused;
  json["blocked_us"] = to_us(link.blocked);
}

ordered_json totals_of(const Network& network) {
  const Link sum = sum_of(network);
  ordered_json json = {{"bytes", sum.bytes}};
  add_counters(json, sum);
  json["unroutable"] = network.unroutable;
  return json;
}

ordered_json to_json(const Network& network) {
  ordered_json json = {{"totals", totals_of(network)},
                       {"from_ends", aggregate(network.from_ends)},
                       {"to_ends", aggregate(network.to_ends)}};
  if (!network.between_switches.empty()) json["between_switches"] = aggregate(network.between_switches);
  ordered_json list = ordered_json::array();
  for (const Link& link : busiest(network.from_ends, network.to_ends, network.between_switches)) {
    list.push_back({{"name", link.name}, {"utilisation", link.utilisation}, {"bytes", link.bytes}});
    add_counters(list.back(), link);
  }
  json["busiest"] = list;
  return json;
}

}  // namespace

std::shared_ptr<const LinkBaseline> link_baseline(Machine& machine) {
  auto baseline = std::make_shared<LinkBaseline>();
  baseline->networks = counted(machine);
  for (const Network& network : baseline->networks) {
    network.each([&](const Link& link) { baseline->busy[link.transmitter] = link.busy; });
  }
  return baseline;
}

std::shared_ptr<const LinkBaseline> with_links_added(const LinkBaseline& one, const LinkBaseline& other, int times) {
  auto sum = std::make_shared<LinkBaseline>(one);
  for (std::size_t n = 0; n < sum->networks.size(); ++n) {
    for (std::vector<Link> Network::*const links :
         {&Network::from_ends, &Network::to_ends, &Network::between_switches}) {
      std::vector<Link>& own = sum->networks[n].*links;
      for (std::size_t i = 0; i < own.size(); ++i) own[i].add((other.networks[n].*links)[i], times);
    }
    sum->networks[n].unroutable += times * other.networks[n].unroutable;
  }
  for (auto& [transmitter, busy] : sum->busy) busy += other.busy.at(transmitter) * times;
  return sum;
}

ordered_json link_summary(Machine& machine, Time span, const LinkBaseline* since) {
  ordered_json json;
  for (const Network& network : networks(machine, span, since)) json[network.name] = to_json(network);
  return json;
}

ordered_json link_totals(Machine& machine) {
  ordered_json json;
  for (const Network& network : counted(machine)) json[network.name] = {{"totals", totals_of(network)}};
  return json;
}

std::string link_table(Machine& machine, Time span, const LinkBaseline* since) {
  std::string text =
      "link,utilisation,packets,bytes,most_queued_bytes,marked,dropped,damaged,replayed,pauses,blocked_us,trimmed\n";
  for (const Network& network : networks(machine, span, since)) {
    network.each([&text](const Link& link) {
      text += fmt::format("{},{:.6f},{},{},{},{},{},{},{},{},{:.6f},{}\n", link.name, link.utilisation, link.packets,
                          link.bytes, link.most_queued, link.marked, link.dropped, link.damaged, link.replayed,
                          link.paused, to_us(link.blocked), link.trimmed);
    });
  }
  return text;
}

namespace {

double had(const Link& link) {
  if (link.busy == Time() || link.transmitter->rate_had() == 1) return 1;
  return std::min(1.0, share(transfer_time(Bytes(link.bytes), link.transmitter->rate()), link.busy));
}

/// The share of its rate that the buffer behind it lets through, as the run's warnings have it.
double filled(const Link& link, int switches) {
  const fabric::LinkConfig& config = link.fabric->topology().links[link.config];
  return fabric::CreditLoop(link.fabric->config(), config, switches).share(config);
}

}  // namespace

std::map<Causes::Place, NamedLink> links_by_place(Machine& machine, Time span, const LinkBaseline* since) {
  std::map<Causes::Place, NamedLink> places;
  for (const Network& network : networks(machine, span, since)) {
    const auto take = [&](const std::vector<Link>& links, const char* joins, int switches) {
      for (const Link& link : links) {
        NamedLink& named = places[link.transmitter->place()];
        named.name = link.name;
        named.network = network.name;
        named.joins = joins;
        named.path = network.name == "fabric" ? "fabric." : "scale_up.fabric.";
        named.path += fabric::path_of_link(link.config, link.fabric->config());
        named.transmitter = link.transmitter;
        named.utilisation = link.utilisation;
        named.had = had(link);
        named.fills = filled(link, switches);
        named.first_place = link.first_place;
        named.packets = link.packets;
        named.lost = std::max<std::int64_t>(link.damaged - link.replayed, 0) + link.dropped;
        named.faults = link.faults;
      }
    };
    take(network.from_ends, "from ends", 1);
    take(network.to_ends, "to ends", 1);
    take(network.between_switches, "between switches", 2);
  }
  return places;
}

std::string link_remarks(Machine& machine) {
  struct Kind {
    std::int64_t Link::*member;
    const char* what;
    std::int64_t sum = 0;
    std::int64_t most = 0;
    std::string most_on = {};
  };
  std::string text;
  std::string name;
  std::vector<Kind> kinds;
  visit_networks(
      machine,
      [&](const char* network) {
        name = network;
        kinds = {{&Link::trimmed, "packets cut to their headers"},
                 {&Link::dropped, "packets dropped"},
                 {&Link::damaged, "packets damaged"},
                 {&Link::replayed, "packets replayed"},
                 {&Link::marked, "packets marked"},
                 {&Link::paused, "pauses"}};
      },
      [&](List /*list*/, const Link& link) {
        for (Kind& kind : kinds) {
          const std::int64_t count = link.*kind.member;
          kind.sum += count;
          if (count <= kind.most) continue;
          kind.most = count;
          kind.most_on = link.name;
        }
      },
      [&](std::int64_t unroutable) {
        for (const Kind& kind : kinds) {
          if (kind.sum == 0) continue;
          text += fmt::format("{}: {} {}, most on {}: {}\n", name, kind.sum, kind.what, kind.most_on, kind.most);
        }
        if (unroutable > 0)
          text += fmt::format("{}: {} packets dropped for which no path was left\n", name, unroutable);
      });
  return text;
}

Heat network_heat(Machine& machine, Time span, const LinkBaseline* since) {
  const auto busy = [since](const fabric::Transmitter& transmitter) {
    return transmitter.busy() - (since == nullptr ? Time() : since->busy.at(&transmitter));
  };
  return [&machine, span, busy](std::uint32_t s, std::size_t p) {
    fabric::Fabric& network = machine.network();
    const fabric::Topology::Neighbour& to = network.topology().switches[s].ports[p];
    const fabric::Transmitter& back = to.is_end ? machine.nic(static_cast<int>(to.index)).transmitter()
                                                : network.switch_at(to.index).transmitter(to.port);
    return std::max(share(busy(network.switch_at(s).transmitter(p)), span), share(busy(back), span));
  };
}

PathHeat path_heat(Machine& machine, const ordered_json& why) {
  std::map<std::string, std::int64_t> on_links;
  for (const ordered_json& piece : why["pieces"]) {
    if (piece["on_link"] == true) on_links[piece["place"]] += piece["ps"].get<std::int64_t>();
  }
  const std::map<Causes::Place, NamedLink> links = links_by_place(machine, machine.end());
  const auto on = [&machine, on_links, links](std::uint32_t s, std::size_t p) {
    fabric::Fabric& network = machine.network();
    const fabric::Topology::Neighbour& to = network.topology().switches[s].ports[p];
    const fabric::Transmitter& back = to.is_end ? machine.nic(static_cast<int>(to.index)).transmitter()
                                                : network.switch_at(to.index).transmitter(to.port);
    const fabric::Transmitter& there = network.switch_at(s).transmitter(p);
    std::int64_t sum = 0;
    for (const fabric::Transmitter* each : {&there, &back}) {
      const auto found = on_links.find(links.at(each->place()).name);
      if (found != on_links.end()) sum += found->second;
    }
    return sum;
  };
  std::int64_t most = 0;
  const fabric::Topology& topology = machine.network().topology();
  for (std::uint32_t s = 0; s < topology.switches.size(); ++s) {
    for (std::size_t p = 0; p < topology.switches[s].ports.size(); ++p) most = std::max(most, on(s, p));
  }
  return {[on, most](std::uint32_t s, std::size_t p) {
            return most == 0 ? 0 : static_cast<double>(on(s, p)) / static_cast<double>(most);
          },
          Time(most)};
}

}  // namespace weft::platforms
