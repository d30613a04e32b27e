// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/why_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/core/cause/causes.h"
#include "hw/memory/remote/remote_memory.h"
#include "hw/nic/host_link.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// Of a wait and of a collective, what has a piece of its own. The rest is by kind.
constexpr std::size_t kMostPieces = 12;

/// An object whose members are not copied as more are added, up to so many.
ordered_json with_room(std::size_t members, ordered_json object = ordered_json::object()) {
  object.get_ref<ordered_json::object_t&>().reserve(members);
  return object;
}

class Names {
 public:
  Names(Machine& machine, const WhySpan& span)
      : causes_(*machine.causes()), links_(links_by_place(machine, span.until - span.from, span.since)) {
    for (const auto& [place, link] : links_)
      alike_[{link.network, link.joins}].emplace_back(link.utilisation, link.name);
    for (auto& [joined, links] : alike_) std::sort(links.begin(), links.end());
  }

  [[nodiscard]] ordered_json piece(const Why& why, Time time) {
    named_.insert(why.place);
    const Causes::Context& about = causes_.context_of(why.context);
    constexpr std::size_t kMembers = 9;  // with `times` and `step` of the path's
    ordered_json piece = with_room(kMembers);
    piece["of"] = about.is_kernel ? "kernel" : "thread";
    piece["about"] = about.name.empty() ? "the start" : about.name;
    piece["kind"] = name_of(why.kind);
    piece["place"] = place(why.place);
    piece["on_link"] = Causes::is_link(why.place);
    piece["network"] = network(why.place);
    piece["ps"] = time.count();
    return piece;
  }
  [[nodiscard]] std::string place(Causes::Place place) const {
    const auto found = links_.find(place);
    return found == links_.end() ? causes_.place_name(place) : found->second.name;
  }
  [[nodiscard]] std::string network(Causes::Place place) const {
    if (const auto found = links_.find(place); found != links_.end()) return found->second.network;
    const std::string& name = causes_.place_name(place);
    if (name.starts_with("nic") || name.starts_with("network")) return "fabric";
    if (name.starts_with("port") || name.starts_with("node")) return "scale_up";
    return "";
  }
  /// Links that pieces so far name, by their names in links.csv, with what they are and how they compare with those
  /// that join what they join.
  [[nodiscard]] ordered_json links() const {
    ordered_json json = ordered_json::object();
    for (const Causes::Place place : named_) {
      const auto found = links_.find(place);
      if (found == links_.end()) continue;
      const NamedLink& link = found->second;
      json[link.name] = {{"network", link.network},
                         {"joins", link.joins},
                         {"rate", to_text(link.transmitter->rate())},
                         {"had", link.had},
                         {"faults", link.faults},
                         {"propagation", to_text(link.transmitter->propagation())},
                         {"buffer", to_text(Bytes(static_cast<std::uint64_t>(link.transmitter->buffer())))},
                         {"fills", fills(*link.transmitter)},
                         {"utilisation", link.utilisation},
                         {"alike", compared(link)}};
    }
    return json;
  }

  /// Of a network's links the most that one was busy, and that one of an end's would be that sends as much at its full
  /// rate, as shares.
  [[nodiscard]] std::pair<double, double> most_used(const std::string& network) const {
    std::pair<double, double> most;
    for (const auto& [place, link] : links_) {
      if (link.network != network) continue;
      most.first = std::max(most.first, link.utilisation);
      if (link.joins == "from ends") most.second = std::max(most.second, link.utilisation * link.had);
    }
    return most;
  }
  /// Of links that lose packets those that lose most.
  [[nodiscard]] ordered_json lossy() const {
    std::vector<const NamedLink*> lossy;
    for (const auto& [place, link] : links_) {
      if (link.lost > 0) lossy.push_back(&link);
    }
    std::stable_sort(lossy.begin(), lossy.end(), [](const NamedLink* a, const NamedLink* b) {
      return std::tuple(-a->lost, a->name) < std::tuple(-b->lost, b->name);
    });
    ordered_json json = ordered_json::array();
    for (const NamedLink* link : lossy) {
      if (json.size() == kMostPieces) break;
      json.push_back(
          {{"link", link->name}, {"network", link->network}, {"packets", link->packets}, {"lost", link->lost}});
    }
    return json;
  }

 private:
  /// The share of its rate that the buffer behind a link lets through over its flight, at most.
  static double fills(const fabric::Transmitter& link) {
    const Time full = transfer_time(Bytes(static_cast<std::uint64_t>(link.buffer())), link.rate());
    return std::min(1.0, static_cast<double>(full.count()) / static_cast<double>(2 * link.propagation().count()));
  }

  using Alike = std::vector<std::pair<double, std::string>>;  ///< utilisations, the least first, with links' names

  /// With those that join what it joins, itself included. `as_busy` has others that are at least half as busy, where
  /// most are not.
  [[nodiscard]] ordered_json compared(const NamedLink& link) const {
    const Alike& alike = alike_.at({link.network, link.joins});
    const auto busy = std::lower_bound(alike.begin(), alike.end(), std::pair(link.utilisation / 2, std::string()));
    ordered_json as_busy = ordered_json::array();
    if (alike.end() - busy <= busy - alike.begin()) {
      for (auto it = busy; it != alike.end(); ++it) {
        if (it->second != link.name) as_busy.push_back(it->second);
      }
    }
    return {{"links", alike.size()},
            {"least", alike.front().first},
            {"median", alike[alike.size() / 2].first},
            {"most", alike.back().first},
            {"as_busy", as_busy}};
  }

  const Causes& causes_;
  std::map<Causes::Place, NamedLink> links_;
  std::map<std::pair<std::string, std::string>, Alike> alike_;  ///< by network and `joins`
  std::set<Causes::Place> named_;
};

ordered_json largest(Names& names, const CauseSums& sums) {
  std::vector<std::pair<Why, Time>> sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
  ordered_json list = ordered_json::array();
  std::map<std::pair<std::string, std::string>, Time> rest;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [why, time] = sorted[i];
    if (i < kMostPieces) {
      list.push_back(names.piece(why, time));
    } else {
      rest[{name_of(why.kind), names.network(why.place)}] += time;
    }
  }
  for (const auto& [of, time] : rest) {
    list.push_back({{"of", "others"},
                    {"about", "others"},
                    {"kind", of.first},
                    {"place", "others"},
                    {"on_link", false},
                    {"network", of.second},
                    {"ps", time.count()}});
  }
  return list;
}

Time total(const CauseSums& sums) {
  Time time;
  for (const auto& [why, each] : sums) time += each;
  return time;
}

/// How long those on the path have computed, and the median of all: whether the path is on one because it is slower.
ordered_json computed(Machine& machine, const WhySpan& span, const std::set<Causes::Place>& places) {
  std::vector<std::int64_t> all;
  ordered_json on_path = ordered_json::object();
  for (const AcceleratorUse& use : used_so_far(machine, machine.end())) {
    const std::size_t i = all.size();
    all.push_back((use.busy - (span.used.empty() ? Time() : span.used[i].busy)).count());
    const Causes::Place place = Dispatcher::place_of(machine.accelerator(static_cast<int>(i)));
    if (places.contains(place)) on_path[machine.causes()->place_name(place)] = all.back();
  }
  if (all.empty()) return ordered_json::object();
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return {{"median_ps", *middle}, {"on_path", on_path}};
}

/// What bytes pass one behind the other on their way between ends of a network, with what each stage sustains, in bytes
/// per second: who widens one has the next in its way.
struct Stages {
  double link = 0;
  double interface = 0;
};
Stages stages_of(const fabric::FabricConfig& network, const nic::NicConfig& nic) {
  const Time passage = nic::HostLink::passage(nic.host_link(), network.segment);
  return {static_cast<double>(network.payload_rate().count()) / 8,
          static_cast<double>(network.segment.count()) / (static_cast<double>(passage.count()) * 1e-12)};
}
ordered_json stages(Machine& machine) {
  const MachineConfig& config = machine.config();
  const Stages fabric = stages_of(config.fabric, config.nic);
  ordered_json json = {{"fabric", {{"link", fabric.link}, {"nic", fabric.interface}}}};
  if (machine.node_count() == 0) return json;
  const Stages node = stages_of(config.scale_up.fabric, config.scale_up.port);
  json["scale_up"] = {{"scale-up-link", node.link}, {"port", node.interface}};
  return json;
}

/// Of a cap of power, what an array draws all the time; 0: there is no cap, or not so much below it.
double idle_share(const accelerator::PowerConfig& power) {
  if (power.cap <= power.idle) return 0;
  return static_cast<double>(power.idle.count()) / static_cast<double>(power.cap.count());
}

/// The most that one of them has grown by.
Time most_grown(const std::vector<Time>& before, const std::vector<Time>& now) {
  Time most;
  for (std::size_t i = 0; i < now.size(); ++i) most = std::max(most, now[i] - (i < before.size() ? before[i] : Time()));
  return most;
}

/// Of memories beyond the accelerators' own, and of what is between.
Time busiest_of(const memory::RemoteMemory& remote, int accelerators) {
  using memory::RemoteMemory;
  Time most;
  for (std::size_t m = 0; m < remote.memories(); ++m) most = std::max(most, remote.memory(m).busy);
  if (!remote.has_links()) return most;
  for (const auto direction : {RemoteMemory::kLoad, RemoteMemory::kStore}) {
    for (int s = 0; s < remote.config().hierarchy.switches; ++s) {
      for (int n = 0; n < remote.nodes(); ++n) most = std::max(most, remote.link(direction, s, n).busy);
    }
    for (int i = 0; i < accelerators; ++i)
      most = std::max(most, remote.port(direction, static_cast<std::size_t>(i)).busy);
  }
  return most;
}

/// The longest that one of each resource was in use, on the path or beside it.
ordered_json longest_used(Machine& machine, const WhySpan& span, const Names& names) {
  AcceleratorUse most;
  Time copying;
  Time firmware;
  const std::vector<AcceleratorUse> all = used_so_far(machine, machine.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const AcceleratorUse before = span.used.empty() ? AcceleratorUse() : span.used[i];
    most.memory = std::max(most.memory, all[i].memory - before.memory);
    most.launches = std::max(most.launches, all[i].launches - before.launches);
    copying = std::max(copying, most_grown(before.copying, all[i].copying));
    firmware = std::max(firmware, most_grown(before.firmware, all[i].firmware));
  }
  const Time whole = span.until - span.from;
  ordered_json json = {{"hbm", most.memory.count()},
                       {"launch", most.launches.count()},
                       {"copy", copying.count()},
                       {"firmware", std::min(firmware, whole).count()}};
  if (const auto* remote = dynamic_cast<const memory::RemoteMemory*>(machine.remote_memory());
      remote != nullptr && span.from == Time()) {
    json["remote-memory"] = std::min(busiest_of(*remote, machine.size()), whole).count();
  }
  const auto add = [&](const char* network, const char* link, const char* interface, const Stages& stages) {
    const auto& [busy, bytes] = names.most_used(network);
    json[link] = std::llround(busy * static_cast<double>(whole.count()));
    json[interface] = std::llround(bytes * static_cast<double>(whole.count()) * stages.link / stages.interface);
  };
  add("fabric", "link", "nic", stages_of(machine.config().fabric, machine.config().nic));
  if (machine.node_count() == 0) return json;
  add("scale_up", "scale-up-link", "port", stages_of(machine.config().scale_up.fabric, machine.config().scale_up.port));
  return json;
}

ordered_json waits(Machine& machine, Names& names) {
  ordered_json list = ordered_json::array();
  for (const auto& [place, sums] : machine.causes()->tables().waits) {
    list.push_back({{"place", names.place(place)}, {"ps", total(sums).count()}, {"for", largest(names, sums)}});
  }
  return list;
}

ordered_json collectives(Machine& machine, Names& names) {
  ordered_json list = ordered_json::array();
  for (const auto& [key, all] : machine.causes()->tables().collectives) {
    if (all.calls == 0) continue;
    ordered_json last = ordered_json::array();
    std::vector<std::pair<int, std::pair<std::int64_t, Time>>> ranks(all.last.begin(), all.last.end());
    std::stable_sort(ranks.begin(), ranks.end(),
                     [](const auto& a, const auto& b) { return a.second.second > b.second.second; });
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostPieces); ++i) {
      last.push_back(
          {{"rank", ranks[i].first}, {"times", ranks[i].second.first}, {"ps", ranks[i].second.second.count()}});
    }
    list.push_back({{"group", key.group},
                    {"operation", key.operation},
                    {"bytes", key.bytes},
                    {"members", all.members},
                    {"calls", all.calls},
                    {"ps", all.spent.count()},
                    {"late_ps", all.late.count()},
                    {"transfer", largest(names, all.transfer)},
                    {"last", last},
                    {"lateness", largest(names, all.lateness)}});
  }
  std::stable_sort(list.begin(), list.end(), [](const ordered_json& a, const ordered_json& b) {
    return a["ps"].get<std::int64_t>() > b["ps"].get<std::int64_t>();
  });
  return list;
}

}  // namespace

AcceleratorUse use_of(const MachineConfig& config, const accelerator::Accelerator::Counters& counters,
                      const std::vector<memory::Memory::Traffic>& memory, Time busy) {
  AcceleratorUse use;
  use.busy = busy;
  for (const memory::Memory::Traffic& traffic : memory) use.memory += traffic.busy;
  use.launches = config.accelerator.array.compute.launch * counters.kernels;
  use.copying = counters.copying;
  return use;
}

std::vector<AcceleratorUse> used_so_far(Machine& machine, Time now) {
  std::vector<AcceleratorUse> used;
  for (int i = 0; i < machine.config().accelerators; ++i) {
    std::vector<memory::Memory::Traffic> traffic;
    for (std::size_t m = 0; m < machine.memory(i).masters(); ++m) traffic.push_back(machine.memory(i).traffic(m));
    accelerator::Accelerator& its = machine.accelerator(i);
    used.push_back(use_of(machine.config(), its.counters(), traffic, its.busy(now)));
    const firmware::Processor& processor = *machine.rank(i).processor;
    const int threads = std::max(1, processor.config().threads);
    for (int core = 0; core < processor.config().cores; ++core)
      used.back().firmware.push_back(Time(processor.busy(static_cast<std::size_t>(core)).count() / threads));
  }
  return used;
}

ordered_json why_summary(Machine& machine, const WhySpan& span, ordered_json head) {
  const Causes& causes = *machine.causes();
  std::vector<Causes::Step> path = causes.path(span.until);
  if (!path.empty() && span.until.count() > path.back().until) {
    path.push_back({span.until.count(), CauseKind::kFirmware, path.back().place, path.back().context});
  }
  struct Sum {
    std::int64_t ps = 0;
    std::int64_t times = 0;
  };
  std::map<std::tuple<std::size_t, Why>, Sum> sums;
  std::int64_t at = span.from.count();
  std::size_t in_step = 0;
  for (const Causes::Step& step : path) {
    while (step.until > at) {  // a piece that crosses the end of a training step is of both
      while (in_step < span.steps.size() && span.steps[in_step].count() <= at) ++in_step;
      const bool is_within = in_step >= span.steps.size() || step.until <= span.steps[in_step].count();
      const std::int64_t until = is_within ? step.until : span.steps[in_step].count();
      Sum& sum = sums[{in_step, Why{step.context, step.kind, step.place}}];
      sum.ps += until - at;
      ++sum.times;
      at = until;
    }
  }
  std::vector<std::pair<std::tuple<std::size_t, Why>, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.ps > b.second.ps; });
  Names names(machine, span);
  ordered_json pieces = ordered_json::array();
  std::set<Causes::Place> places;
  for (const auto& [key, sum] : sorted) {
    const auto& [step, why] = key;
    places.insert(why.place);
    ordered_json piece = names.piece(why, Time(sum.ps));
    piece["times"] = sum.times;
    if (span.steps.size() > 1) piece["step"] = step + 1;
    pieces.push_back(std::move(piece));
  }
  ordered_json ends = ordered_json::array();
  for (const Time end : span.steps) ends.push_back(end.count());
  ordered_json waited = waits(machine, names);
  ordered_json spent = collectives(machine, names);
  constexpr std::size_t kMembers = 19;
  ordered_json why = with_room(kMembers, std::move(head));
  why["from_ps"] = span.from.count();
  why["until_ps"] = at;
  why["training_steps_ps"] = std::move(ends);
  why["steps"] = path.size();
  why["pieces"] = std::move(pieces);
  why["links"] = names.links();
  why["lossy"] = names.lossy();
  why["computed"] = computed(machine, span, places);
  why["used_ps"] = longest_used(machine, span, names);
  why["stages"] = stages(machine);
  why["power_cap"] = machine.config().accelerator.array.compute.power.cap > Power();
  why["lowest_voltage"] = machine.config().accelerator.array.compute.power.lowest_voltage;
  why["idle_share"] = idle_share(machine.config().accelerator.array.compute.power);
  why["waits"] = std::move(waited);
  why["collectives"] = std::move(spent);
  return why;
}

}  // namespace weft::platforms
