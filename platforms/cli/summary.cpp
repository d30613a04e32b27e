// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platforms/cli/output.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kBusiest = 10;

struct Used {
  std::string name;
  double utilisation;
  std::int64_t bytes;
};

double share(Time part, Time span) {
  return span > Time() ? static_cast<double>(part.count()) / static_cast<double>(span.count()) : 0;
}

/// {"count", "mean", "max", "bytes"} of things of one kind.
ordered_json aggregate(const std::vector<Used>& all) {
  double sum = 0;
  double max = 0;
  std::int64_t bytes = 0;
  for (const Used& used : all) {
    sum += used.utilisation;
    max = std::max(max, used.utilisation);
    bytes += used.bytes;
  }
  const double mean = all.empty() ? 0 : sum / static_cast<double>(all.size());
  return {{"count", all.size()}, {"mean", mean}, {"max", max}, {"bytes", bytes}};
}

ordered_json busiest(std::vector<Used> all) {
  std::stable_sort(all.begin(), all.end(), [](const Used& a, const Used& b) { return a.utilisation > b.utilisation; });
  all.resize(std::min(all.size(), kBusiest));
  ordered_json list = ordered_json::array();
  for (const Used& used : all) {
    list.push_back({{"name", used.name}, {"utilisation", used.utilisation}, {"bytes", used.bytes}});
  }
  return list;
}

/// The links of one or more networks of the same kind.
struct Links {
  std::vector<Used> from_ends;
  std::vector<Used> to_ends;
  std::vector<Used> between_switches;

  static Used used(std::string name, const fabric::Transmitter& transmitter, Time span) {
    return {std::move(name), share(transmitter.busy(), span), transmitter.counters().wire_bytes};
  }

  void add_switches(fabric::Fabric& network, const std::string& name, const std::string& end, Time span) {
    for (std::size_t s = 0; s < network.switch_count(); ++s) {
      const fabric::Topology::Node& node = network.topology().switches[s];
      for (std::size_t p = 0; p < node.ports.size(); ++p) {
        const fabric::Topology::Neighbour& neighbour = node.ports[p];
        const std::string other = neighbour.is_end ? end + std::to_string(neighbour.index)
                                                   : network.topology().switches[neighbour.index].name;
        std::string link = fmt::format("{}.{}.port{} to {}", name, node.name, p, other);
        auto& kind = neighbour.is_end ? to_ends : between_switches;
        kind.push_back(used(std::move(link), network.switch_at(s).transmitter(p), span));
      }
    }
  }

  [[nodiscard]] ordered_json to_json() const {
    std::vector<Used> all = from_ends;
    all.insert(all.end(), to_ends.begin(), to_ends.end());
    all.insert(all.end(), between_switches.begin(), between_switches.end());
    ordered_json json = {{"from_ends", aggregate(from_ends)}, {"to_ends", aggregate(to_ends)}};
    if (!between_switches.empty()) json["between_switches"] = aggregate(between_switches);
    json["busiest"] = busiest(std::move(all));
    return json;
  }
};

void add(ordered_json& json, const nic::Nic::Counters& counters) {
  const auto sum = [&json](const char* key, std::int64_t value) {
    json[key] = json.contains(key) ? json[key].get<std::int64_t>() + value : value;
  };
  sum("messages_sent", counters.messages_sent);
  sum("messages_received", counters.messages_received);
  sum("bytes_sent", counters.bytes_sent);
  sum("bytes_received", counters.bytes_received);
  sum("packets_sent", counters.packets_sent);
  sum("packets_received", counters.packets_received);
  sum("not_ready", counters.not_ready);
  sum("dropped", counters.dropped);
}

}  // namespace

ordered_json link_summary(Machine& machine, Time span) {
  Links out;
  Links up;
  for (int i = 0; i < machine.size(); ++i) {
    const std::string number = std::to_string(i);
    out.from_ends.push_back(Links::used("nic" + number + " out", machine.nic(i).transmitter(), span));
    if (nic::Nic* port = machine.scale_up_port(i)) {
      up.from_ends.push_back(Links::used("port" + number + " out", port->transmitter(), span));
    }
  }
  out.add_switches(machine.network(), "network", "nic", span);
  for (std::size_t n = 0; n < machine.node_count(); ++n) {
    up.add_switches(machine.node_network(n), "node" + std::to_string(n), "local port", span);
  }
  ordered_json json = {{"fabric", out.to_json()}};
  if (machine.node_count() > 0) json["scale_up"] = up.to_json();
  return json;
}

ordered_json memory_summary(Machine& machine, Time span) {
  ordered_json masters;
  std::vector<Used> totals;
  for (int i = 0; i < machine.size(); ++i) {
    const memory::Hbm& hbm = machine.memory(i);
    Time busy;
    std::int64_t bytes = 0;
    for (std::size_t m = 0; m < hbm.masters(); ++m) {
      busy += hbm.counters(m).busy;
      bytes += hbm.counters(m).read_bytes + hbm.counters(m).written_bytes;
    }
    totals.push_back({"hbm" + std::to_string(i), share(busy, span), bytes});
  }
  const memory::Hbm& first = machine.memory(0);
  for (std::size_t m = 0; m < first.masters(); ++m) {
    std::vector<Used> all;
    for (int i = 0; i < machine.size(); ++i) {
      const memory::Hbm::Counters& counters = machine.memory(i).counters(m);
      all.push_back({"", share(counters.busy, span), counters.read_bytes + counters.written_bytes});
    }
    masters[first.master_name(m)] = aggregate(all);
  }
  return {{"all", aggregate(totals)}, {"by_master", masters}, {"busiest", busiest(std::move(totals))}};
}

ordered_json counter_summary(Machine& machine, Time span) {
  ordered_json nics = ordered_json::object();
  ordered_json ports = ordered_json::object();
  std::vector<Used> arrays;
  std::int64_t kernels = 0;
  std::int64_t copies = 0;
  std::int64_t copied = 0;
  for (int i = 0; i < machine.size(); ++i) {
    add(nics, machine.nic(i).counters());
    if (nic::Nic* port = machine.scale_up_port(i)) add(ports, port->counters());
    const accelerator::Accelerator::Counters& counters = machine.accelerator(i).counters();
    arrays.push_back({"", share(counters.busy, span), 0});
    kernels += counters.kernels;
    copies += counters.copies;
    copied += counters.copied_bytes;
  }
  const ordered_json busy = aggregate(arrays);
  ordered_json json = {{"accelerator",
                        {{"utilisation_mean", busy["mean"]},
                         {"utilisation_max", busy["max"]},
                         {"kernels", kernels},
                         {"copies", copies},
                         {"copied_bytes", copied}}},
                       {"nic", nics}};
  if (!ports.empty()) json["scale_up_port"] = ports;
  return json;
}

ordered_json simulator_summary(Machine& machine, double build_seconds, double run_seconds) {
  const auto events = static_cast<double>(machine.dispatcher().handled());
  const std::int64_t hops = machine.hops();
  const double per_second = run_seconds > 0 ? 1 / run_seconds : 0;
  return {{"events", machine.dispatcher().handled()},
          {"hops", hops},
          {"digest", to_hex(machine.dispatcher().digest())},
          {"build_s", build_seconds},
          {"wall_s", run_seconds},
          {"events_per_s", events * per_second},
          {"hops_per_s", static_cast<double>(hops) * per_second}};
}

}  // namespace weft::platforms
