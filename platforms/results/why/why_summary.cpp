// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/why_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hw/core/cause/causes.h"
#include "platforms/results/why/parts.h"

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

/// Of several the upper one, where they are an even number.
template <typename Value>
Value median(std::vector<Value>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Where most do nothing, such as those of a machine of which a pipeline has some, what the others do.
void leave_out_idle(std::vector<std::int64_t>& times) {
  const auto busy = static_cast<std::size_t>(std::count_if(times.begin(), times.end(), [](auto ps) { return ps > 0; }));
  if (busy > 0 && 2 * busy < times.size()) std::erase(times, 0);
}

/// Which of several jobs on a machine something is for; a job by its name, empty: none that is known.
class Jobs {
 public:
  explicit Jobs(Machine& machine) {
    for (const firmware::Rank* rank : machine.ranks()) {
      const std::string& owner = rank->processor->owner();
      owners_.push_back(owner);
      if (!owner.empty()) names_.insert(owner);
      accelerators_[Dispatcher::place_of(machine.accelerator(rank->place))] = rank->place;
    }
  }
  [[nodiscard]] bool are_several() const { return names_.size() > 1; }
  [[nodiscard]] std::size_t size() const { return owners_.size(); }
  /// Of the accelerator there.
  [[nodiscard]] std::string at(std::size_t place) const { return place < owners_.size() ? owners_[place] : ""; }
  /// Of a piece of the path.
  [[nodiscard]] std::string of(const Why& why, const Causes::Context& about) const {
    if (const auto found = accelerators_.find(why.place); about.is_kernel && found != accelerators_.end())
      return owners_[static_cast<std::size_t>(found->second)];
    // Threads are called after their owner.
    const auto named = std::find_if(names_.begin(), names_.end(),
                                    [&about](const std::string& name) { return about.name.starts_with(name + ": "); });
    return named == names_.end() ? "" : *named;
  }

 private:
  std::vector<std::string> owners_;  ///< by accelerator
  std::set<std::string> names_;
  std::map<Causes::Place, int> accelerators_;
};

class Names {
 public:
  Names(Machine& machine, const WhySpan& span)
      : causes_(*machine.causes()),
        config_(machine.config()),
        jobs_(machine),
        links_(links_by_place(machine, span.until - span.from, span.since)) {
    std::map<std::pair<std::string, std::string>, std::vector<Rate>> rates;
    for (const auto& [place, link] : links_) {
      alike_[{link.network, link.joins}].emplace_back(link.utilisation, link.name);
      rates[{link.network, link.joins}].push_back(link.transmitter->rate());
    }
    for (auto& [joined, links] : alike_) std::sort(links.begin(), links.end());
    for (auto& [joined, all] : rates) rates_[joined] = median(all);
  }

  [[nodiscard]] ordered_json piece(const Why& why, Time time) {
    named_.insert(why.place);
    const Causes::Context& about = causes_.context_of(why.context);
    constexpr std::size_t kMembers = 11;  // with `times` and `step` of the path's
    ordered_json piece = with_room(kMembers);
    piece["of"] = about.is_kernel ? "kernel" : "thread";
    piece["about"] = about.name.empty() ? "the start" : about.name;
    piece["kind"] = name_of(why.kind);
    piece["place"] = place(why.place);
    piece["on_link"] = Causes::is_link(why.place);
    piece["network"] = network(why.place);
    piece["ps"] = time.count();
    if (about.is_kernel) piece["memory_share"] = about.share.value();
    if (std::string job = jobs_.are_several() ? jobs_.of(why, about) : ""; !job.empty()) piece["job"] = std::move(job);
    return piece;
  }
  [[nodiscard]] const Jobs& jobs() const { return jobs_; }
  [[nodiscard]] std::string job_of(const Why& why) const { return jobs_.of(why, causes_.context_of(why.context)); }
  [[nodiscard]] std::string place(Causes::Place place) const {
    const auto found = links_.find(place);
    return found == links_.end() ? causes_.place_name(place) : found->second.name;
  }
  [[nodiscard]] std::string_view network(Causes::Place place) {
    const auto [known, is_new] = networks_.try_emplace(place);
    if (is_new) known->second = network_of(place);
    return known->second;
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
                         {"path", link.path},
                         {"rate", to_text(link.transmitter->rate())},
                         {"payload", payload(link)},
                         {"had", link.had},
                         {"faults", link.faults},
                         {"propagation", to_text(link.transmitter->propagation())},
                         {"buffer", to_text(Bytes(static_cast<std::uint64_t>(link.transmitter->buffer())))},
                         {"fills", link.fills},
                         {"utilisation", link.utilisation},
                         {"alike", compared(link)},
                         {"carried", carried(place, link)}};
    }
    return json;
  }

  [[nodiscard]] MostUsedLinks most_used(const std::string& network) const {
    MostUsedLinks most;
    const auto usual = static_cast<double>(network_config(network).link.rate.count());
    for (const auto& [place, link] : links_) {
      if (link.network != network) continue;
      most.busy = std::max(most.busy, link.utilisation);
      if (link.joins != "from ends") continue;
      const double rate = link.had * static_cast<double>(link.transmitter->rate().count()) / usual;
      most.sent = std::max(most.sent, link.utilisation * rate);
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
  [[nodiscard]] std::string_view network_of(Causes::Place place) const {
    if (const auto found = links_.find(place); found != links_.end()) return found->second.network;
    const std::string& name = causes_.place_name(place);
    if (name.starts_with("nic") || name.starts_with("network")) return "fabric";
    if (name.starts_with("port") || name.starts_with("node")) return "scale_up";
    return "";
  }
  /// Whose bytes have passed a link: of which jobs, where there are several, and of which flows, the most first, each
  /// with its share.
  [[nodiscard]] ordered_json carried(Causes::Place place, const NamedLink& link) const {
    std::vector<Carried::Flow> flows = causes_.carried(place);
    std::sort(flows.begin(), flows.end(), [](const auto& a, const auto& b) {
      return std::tuple(b.bytes, a.from, a.to) < std::tuple(a.bytes, b.from, b.to);
    });
    const std::string end = link.network == "fabric" ? "nic" : "port";
    const auto of = [&link](std::uint32_t which) { return static_cast<std::size_t>(link.first_place) + which; };
    const auto name_of_end = [&](std::uint32_t which) {
      return of(which) < jobs_.size() ? end + std::to_string(of(which)) : std::string("others");
    };
    std::int64_t all = 0;
    std::map<std::string, std::int64_t> by_job;
    for (const Carried::Flow& flow : flows) {
      all += flow.bytes;
      by_job[jobs_.at(of(flow.from))] += flow.bytes;
    }
    const auto share = [all](std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(all); };
    ordered_json json = {{"bytes", all}, {"flow_count", flows.size()}, {"flows", ordered_json::array()}};
    for (std::size_t i = 0; i < std::min(flows.size(), kMostPieces); ++i) {
      json["flows"].push_back(
          {{"from", name_of_end(flows[i].from)}, {"to", name_of_end(flows[i].to)}, {"share", share(flows[i].bytes)}});
    }
    if (!jobs_.are_several()) return json;
    std::vector<std::pair<std::string, std::int64_t>> jobs(by_job.begin(), by_job.end());
    std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    json["jobs"] = ordered_json::array();
    for (const auto& [job, bytes] : jobs) {
      json["jobs"].push_back({{"job", job.empty() ? "others" : job}, {"share", share(bytes)}});
    }
    return json;
  }

  using Alike = std::vector<std::pair<double, std::string>>;  ///< utilisations, the least first, with links' names

  /// With those that join what it joins, itself included. `busy` is how many others are at least half as busy,
  /// `as_busy` has their names where most are not so; `rate` is the median of their rates.
  [[nodiscard]] ordered_json compared(const NamedLink& link) const {
    const Alike& alike = alike_.at({link.network, link.joins});
    const auto busy = std::lower_bound(alike.begin(), alike.end(), std::pair(link.utilisation / 2, std::string()));
    const std::size_t half = alike.size() / 2;
    const double above = alike[half].first;
    ordered_json as_busy = ordered_json::array();
    if (alike.end() - busy <= busy - alike.begin()) {
      for (auto it = busy; it != alike.end(); ++it) {
        if (it->second != link.name) as_busy.push_back(it->second);
      }
    }
    return {{"links", alike.size()},
            {"least", alike.front().first},
            {"median", alike.size() % 2 == 1 ? above : (alike[half - 1].first + above) / 2},
            {"most", alike.back().first},
            {"busy", alike.end() - busy - (busy == alike.end() ? 0 : 1)},
            {"rate", to_text(rates_.at({link.network, link.joins}))},
            {"as_busy", as_busy}};
  }

  [[nodiscard]] const fabric::FabricConfig& network_config(const std::string& network) const {
    return network == "fabric" ? config_.fabric : config_.scale_up.fabric;
  }
  /// What it lets through of payload, in bytes per second.
  [[nodiscard]] double payload(const NamedLink& link) const {
    fabric::FabricConfig network = network_config(link.network);
    network.link.rate = link.transmitter->rate();
    return static_cast<double>(network.payload_rate().count()) / 8;
  }

  const Causes& causes_;
  const MachineConfig& config_;
  Jobs jobs_;
  std::map<Causes::Place, NamedLink> links_;
  std::map<std::pair<std::string, std::string>, Alike> alike_;  ///< by network and `joins`
  std::map<std::pair<std::string, std::string>, Rate> rates_;   ///< the same, the median
  std::set<Causes::Place> named_;
  std::unordered_map<Causes::Place, std::string_view> networks_;  ///< of those that were asked for
};

ordered_json largest(Names& names, const CauseSums& sums) {
  std::vector<const CauseSums::Sum*> sorted;
  for (const CauseSums::Sum& each : sums) sorted.push_back(&each);
  const std::size_t shown = std::min(sorted.size(), kMostPieces);
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(shown);
  std::partial_sort(sorted.begin(), end, sorted.end(), [](const CauseSums::Sum* a, const CauseSums::Sum* b) {
    return std::tie(b->second, a->first) < std::tie(a->second, b->first);
  });
  ordered_json list = ordered_json::array();
  for (auto each = sorted.begin(); each != end; ++each) list.push_back(names.piece((*each)->first, (*each)->second));
  std::map<std::pair<std::string_view, std::string_view>, Time> rest;
  for (auto each = end; each != sorted.end(); ++each) {
    const Why& why = (*each)->first;
    rest[{name_of(why.kind), names.network(why.place)}] += (*each)->second;
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

/// How long those on the path have done something, and the median of all: whether the path is on one because it is
/// slower, or has more to do. `places` are all, `times` what each has spent, `at` those on the path. Of several jobs,
/// each has a median of its own as well. `only_busy`: of those that do something, where most do nothing.
ordered_json beside_median(const Names& names, const std::vector<Causes::Place>& places, const std::vector<Time>& times,
                           const std::set<Causes::Place>& at, bool only_busy = false) {
  if (times.empty()) return ordered_json::object();
  std::vector<std::int64_t> all;
  std::map<std::string, std::vector<std::int64_t>> by_job;
  ordered_json on_path = ordered_json::object();
  ordered_json job_of = ordered_json::object();
  for (std::size_t i = 0; i < times.size(); ++i) {
    all.push_back(times[i].count());
    by_job[names.jobs().at(i)].push_back(all.back());
    if (!at.contains(places[i])) continue;
    on_path[names.place(places[i])] = all.back();
    job_of[names.place(places[i])] = names.jobs().at(i);
  }
  if (only_busy) leave_out_idle(all);
  ordered_json json = {{"median_ps", median(all)}, {"of", all.size()}, {"on_path", on_path}};
  if (!names.jobs().are_several()) return json;
  json["job_of"] = job_of;
  if (only_busy) {
    for (auto& [job, its] : by_job) leave_out_idle(its);
  }
  for (auto& [job, its] : by_job) json["jobs"][job] = {{"median_ps", median(its)}, {"of", its.size()}};
  return json;
}

/// Of a run, less what was before.
std::vector<Time> since(std::vector<Time> times, const std::vector<Time>& before) {
  for (std::size_t i = 0; i < before.size(); ++i) times[i] -= before[i];
  return times;
}

ordered_json waits(Machine& machine, Names& names) {
  ordered_json list = ordered_json::array();
  for (const auto& [place, sums] : machine.causes()->tables().waits) {
    list.push_back({{"place", names.place(place)}, {"ps", total(sums).count()}, {"for", largest(names, sums)}});
  }
  return list;
}

/// Of groups that do several at a time, or of all others.
ordered_json collectives(Machine& machine, Names& names, bool overlapping) {
  ordered_json list = ordered_json::array();
  const CauseTables& tables = machine.causes()->tables();
  for (const auto& [key, all] : tables.collectives) {
    if (all.calls == 0 || tables.overlapping.contains(key.group) != overlapping) continue;
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

/// What an interface sends to itself takes its share of what the interface sustains. `sent_ps` is how long its link
/// would send the rest.
void leave_to_links(ordered_json& stages, const char* link, const char* interface, double sent_ps,
                    const ordered_json& used_ps) {
  const double rate = stages[interface];
  const double of_links = sent_ps * stages[link].get<double>() / rate;
  const double all = used_ps[interface];
  constexpr double kRounded = 1;
  if (all > of_links + kRounded) stages[interface] = rate * of_links / all;
}

/// Of several jobs, to whose end the path leads, and what of it is whose.
ordered_json jobs_on_path(const Names& names, const std::map<std::string, std::int64_t>& by_job,
                          const Causes::Step& last) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(by_job.begin(), by_job.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  ordered_json shares = ordered_json::array();
  for (const auto& [job, ps] : sorted) shares.push_back({{"job", job.empty() ? "none" : job}, {"ps", ps}});
  return {{"ends_with", names.job_of({last.context, last.kind, last.place})}, {"shares", shares}};
}

}  // namespace

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
  std::map<std::string, std::int64_t> by_job;
  for (const auto& [key, sum] : sorted) {
    const auto& [step, why] = key;
    places.insert(why.place);
    ordered_json piece = names.piece(why, Time(sum.ps));
    piece["times"] = sum.times;
    if (names.jobs().are_several()) by_job[piece.value("job", std::string())] += sum.ps;
    if (span.steps.size() > 1) piece["step"] = step + 1;
    pieces.push_back(std::move(piece));
  }
  ordered_json ends = ordered_json::array();
  for (const Time end : span.steps) ends.push_back(end.count());
  std::vector<Causes::Place> accelerators;
  std::vector<Causes::Place> hosts;
  for (int i = 0; i < machine.size(); ++i) {
    accelerators.push_back(Dispatcher::place_of(machine.accelerator(i)));
    hosts.push_back(Dispatcher::place_of(*machine.rank(i).processor));
  }
  const HostTimes times = hosts_so_far(machine);
  ordered_json waited = waits(machine, names);
  ordered_json spent = collectives(machine, names, false);
  ordered_json overlapping = collectives(machine, names, true);
  constexpr std::size_t kMembers = 25;
  ordered_json why = with_room(kMembers, std::move(head));
  why["from_ps"] = span.from.count();
  why["until_ps"] = at;
  why["training_steps_ps"] = std::move(ends);
  why["steps"] = path.size();
  why["pieces"] = std::move(pieces);
  if (!by_job.empty()) why["jobs"] = jobs_on_path(names, by_job, path.back());
  why["links"] = names.links();
  why["lossy"] = names.lossy();
  std::vector<Time> computed;
  const std::vector<AcceleratorUse> used = used_so_far(machine, machine.end());
  for (std::size_t i = 0; i < used.size(); ++i)
    computed.push_back(used[i].busy - (span.used.empty() ? Time() : span.used[i].busy));
  why["computed"] = beside_median(names, accelerators, computed, places, true);
  why["hosts"] = {{"firmware", beside_median(names, hosts, since(times.ran, span.hosts.ran), places)},
                  {"software", beside_median(names, hosts, since(times.slept, span.hosts.slept), places)}};
  const MostUsedLinks fabric = names.most_used("fabric");
  const MostUsedLinks scale_up = names.most_used("scale_up");
  const UsedSpan in_use = {span.from, span.until, span.used, used};
  why["used_ps"] = longest_used(machine, in_use, fabric, scale_up);
  why["copy_engines"] = copy_engines_used(machine.config(), in_use);
  ordered_json sustained = stages(machine);
  const auto whole = static_cast<double>((span.until - span.from).count());
  leave_to_links(sustained["fabric"], "link", "nic", fabric.sent * whole, why["used_ps"]);
  if (sustained.contains("scale_up"))
    leave_to_links(sustained["scale_up"], "scale-up-link", "port", scale_up.sent * whole, why["used_ps"]);
  why["stages"] = std::move(sustained);
  why["power_cap"] = machine.config().accelerator.array.compute.power.cap > Power();
  why["lowest_voltage"] = machine.config().accelerator.array.compute.power.lowest_voltage;
  why["idle_share"] = idle_share(machine.config().accelerator.array.compute.power);
  why["parts"] = parts_of(machine.config());
  const std::vector<ordered_json> used_by_part = longest_used_by_part(machine.config(), in_use);
  for (std::size_t i = 0; i < used_by_part.size(); ++i) why["parts"][i]["used_ps"] = used_by_part[i];
  why["waits"] = std::move(waited);
  why["collectives"] = std::move(spent);
  why["overlapping"] = std::move(overlapping);
  return why;
}

}  // namespace weft::platforms
