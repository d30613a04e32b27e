// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/what_if.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// An estimate this near to the run as it was is within it whatever happens.
constexpr double kNear = 0.05;
/// Another chain this near to the path may bind once the path is shorter.
constexpr double kRival = 0.8;
/// The largest change whose gain is not loose, and the largest such gain.
constexpr double kTwice = 2;
constexpr double kQuarter = 0.25;

bool carries_bytes(const Resource& resource) {
  return &resource == &resource_called("link") || &resource == &resource_called("scale-up-link");
}

/// "buffer" of a network.
const Resource& resource_within(const std::string& network, const std::string& name) {
  return resource_called((network == "scale_up" ? "scale-up-" : "") + name);
}

/// What passes a link while its credit comes back.
bool is_of_loop(const Resource& resource) {
  if (carries_bytes(resource)) return true;
  for (const char* network : {"fabric", "scale_up"}) {
    if (&resource == &resource_within(network, "buffer") || &resource == &resource_within(network, "cable"))
      return true;
  }
  return false;
}

/// What passes the same bytes at the same time.
const std::array<const Resource*, 5>& passing() {
  static const std::array<const Resource*, 5> kPassing = {&resource_called("copy"), &resource_called("port"),
                                                          &resource_called("scale-up-link"), &resource_called("nic"),
                                                          &resource_called("link")};
  return kPassing;
}

bool is_of_kernels(const Resource& resource) {
  const auto is = [&resource](const char* name) { return &resource == &resource_called(name); };
  return is("compute") || is("hbm") || is("cap") || is("cores") || is("launch");
}

/// Whether one of them has one after the other, so that no run is shorter than that takes. Threads of a core may wait
/// for others while they run, launches of several streams are at the same time, and what interfaces need is reckoned.
bool is_served_in_turn(const Resource& resource) {
  const auto is = [&resource](const char* name) { return &resource == &resource_called(name); };
  return is("compute") || is("hbm") || is("copy") || is("link") || is("scale-up-link") || is("remote-memory");
}

double factor_of(const std::map<const Resource*, double>& factors, const Resource& resource) {
  const auto found = factors.find(&resource);
  return found == factors.end() ? 1 : found->second;
}

/// More uplinks share what links between switches carry.
double factor_of_links(const std::map<const Resource*, double>& factors, const Resource& resource) {
  const double more = &resource == &resource_called("link") ? factor_of(factors, resource_called("uplink")) : 1;
  return more * factor_of(factors, resource);
}

KernelFactors of_kernels(const std::map<const Resource*, double>& factors) {
  return {factor_of(factors, resource_called("compute")), factor_of(factors, resource_called("cap")),
          factor_of(factors, resource_called("hbm"))};
}

/// The most that something which packets meet on their way is faster: whoever waits for room or for others to pass may
/// gain as much.
double most_gained(const std::map<const Resource*, double>& factors) {
  double most = 1;
  for (const auto& [resource, factor] : factors) {
    if (!is_of_kernels(*resource)) most = std::max(most, factor);
  }
  return most;
}

/// "fabric.link.rate=x2,fabric.link.buffer=x2" as factors of resources: of two fields of one the one that does more.
std::map<const Resource*, double> factors_of(const std::vector<ResourceChange>& changes) {
  std::map<const Resource*, std::pair<double, double>> most;
  for (const ResourceChange& change : changes) {
    auto& [better, worse] = most.try_emplace(change.resource, 1, 1).first->second;
    better = std::max(better, change.factor);
    worse = std::min(worse, change.factor);
  }
  std::map<const Resource*, double> factors;
  for (const auto& [resource, its] : most) factors[resource] = its.first * its.second;
  return factors;
}

}  // namespace

double WhatIf::Chain::of(const Resource& resource) const {
  const auto found = ps.find(&resource);
  return found == ps.end() ? 0 : found->second;
}

WhatIf::WhatIf(const ordered_json& why)
    : before_ps_(why["until_ps"].get<std::int64_t>() - why["from_ps"].get<std::int64_t>()) {
  for (const auto& [network, its] : member_of(why, "stages").items()) {
    Stages& stages = stages_.emplace_back();
    for (const auto& [name, rate] : its.items()) stages[&resource_called(name)] = rate.get<double>();
  }
  for (const auto& [name, link] : member_of(why, "links").items()) {
    links_[name] = {link.value("network", ""), link["joins"] != "between switches", link.value("had", 1.0),
                    link.value("fills", 1.0)};
  }
  std::map<std::string, std::pair<double, double>> fills;
  for (const auto& [name, link] : links_) {
    auto& [least, most] = fills.try_emplace(link.network, link.fills, link.fills).first->second;
    least = std::min(least, link.is_starved() ? link.fills : 0);
    most = std::max(most, link.fills);
  }
  for (const auto& [network, its] : fills) {
    if (its.first == its.second) all_starved_[network] = its.first;
  }
  power_.is_capped = why.value("power_cap", false);
  power_.idle_share = why.value("idle_share", 0.0);
  power_.lowest_voltage = why.value("lowest_voltage", power_.lowest_voltage);
  if (const ordered_json& computed = member_of(why, "computed"); !computed.empty()) {
    std::int64_t most = computed["median_ps"];
    for (const auto& [name, ps] : computed["on_path"].items()) most = std::max(most, ps.get<std::int64_t>());
    used_ps_[&resource_called("compute")] = static_cast<double>(std::min(most, before_ps_));
  }
  for (const auto& [name, ps] : member_of(why, "used_ps").items()) used_ps_[&resource_called(name)] = ps.get<double>();
  add(path_, why["pieces"], 1);
  for (const ordered_json& collective : member_of(why, "collectives")) {
    const double share = 1 / collective["members"].get<double>();
    add(groups_[collective["group"]], collective["transfer"], share);
    late_ps_ += share * collective["late_ps"].get<double>();
  }
  for (const ordered_json& piece : why["pieces"]) {
    for (const Resource::Setting& setting : resource_of(piece).settings) {
      if (!setting.kind.empty() && piece["kind"] == setting.kind)
        set_ps_[std::string(setting.field)] += piece["ps"].get<double>();
    }
  }
  set_latency_apart(path_);
  for (auto& [group, chain] : groups_) set_latency_apart(chain);
}

/// An interface that waits longer for memory than the busiest was in use waits for its latency, which no rate sets.
void WhatIf::set_latency_apart(Chain& chain) const {
  const Resource& memory = resource_called("hbm");
  const auto used = used_ps_.find(&memory);
  const double latency = used == used_ps_.end() ? 0 : chain.of(memory) - used->second;
  if (latency <= 0) return;
  chain.ps[&memory] -= latency;
  chain.at_end_ps[&memory][1] -= latency;
  chain.ps[&resource_called("other")] += latency;
}

void WhatIf::add(Chain& chain, const ordered_json& pieces, double share) const {
  for (const ordered_json& piece : pieces) {
    const double ps = share * piece["ps"].get<double>();
    if (piece["of"] == "kernel" && piece["kind"] != "launch" && piece["kind"] != "lost cores") {
      const double memory_share = piece.value("memory_share", KernelPieces::kUnknown);
      KernelPieces& kernel = chain.kernels[{piece["about"], memory_share}];
      kernel.memory_share = memory_share;
      double* part = piece["kind"] == "kernel"   ? &kernel.computing
                     : piece["kind"] == "cap"    ? &kernel.capped
                     : piece["kind"] == "memory" ? &kernel.waiting
                                                 : nullptr;
      if (part != nullptr) {
        *part += ps;
        continue;
      }
    }
    const Resource& resource = resource_of(piece);
    const auto starved = all_starved_.find(piece.value("network", ""));
    if (piece["place"] == "others" && starved != all_starved_.end() && is_of_loop(resource)) {
      chain.loops_ps[{starved->first, starved->second}] += ps;
      continue;
    }
    if (!piece.value("on_link", false)) {
      chain.ps[&resource] += ps;
      chain.at_end_ps[&resource][1] += ps;
      continue;
    }
    const auto found = links_.find(piece["place"].get<std::string>());
    const Link link = found == links_.end() ? Link() : found->second;
    if (link.is_starved() && is_of_loop(resource)) {
      chain.loops_ps[{link.network, link.fills}] += ps;
      continue;
    }
    chain.ps[&resource] += ps;
    if (carries_bytes(resource)) chain.faults_ps += ps * (1 - link.had);
    if (link.at_end) chain.at_end_ps[&resource][link.had] += ps;
  }
}

double WhatIf::let_through(const Resource& resource, double had, const Factors& factors) const {
  double factor = factor_of(factors, resource);
  if (factor <= 1) return factor;
  for (const Stages& stages : stages_) {
    const auto mine = stages.find(&resource);
    if (mine == stages.end()) continue;
    for (const auto& [other, rate] : stages) {
      if (other == &resource) continue;
      factor = std::min(factor, std::max(1.0, rate * factor_of(factors, *other) / (mine->second * had)));
    }
  }
  return factor;
}

double WhatIf::scaled_loops(const Chain& chain, const Factors& factors, Reach reach) const {
  double sum = 0;
  for (const auto& [starved, ps] : chain.loops_ps) {
    const auto& [network, fills] = starved;
    const auto factor = [&factors, of = network](const char* name) {
      return factor_of(factors, resource_within(of, name));
    };
    const double estimate = fills / std::min(factor("link"), fills * factor("buffer") * factor("cable"));
    // A round trip is flight and bytes; the buffer holds what it holds.
    const double least = 1 / std::max({1.0, factor("link"), factor("cable")}) / std::max(1.0, factor("buffer"));
    sum += ps * (reach == Reach::kLeast ? std::min(estimate, least) : estimate);
  }
  return sum;
}

double WhatIf::scaled(const Chain& chain, const Factors& factors, Reach reach) const {
  const bool is_least = reach == Reach::kLeast;
  double sum = scaled_loops(chain, factors, reach);
  const KernelFactors kernels = of_kernels(factors);
  for (const auto& [name, pieces] : chain.kernels)
    sum += is_least                ? pieces.at_least(kernels, power_)
           : reach == Reach::kMost ? pieces.at_most(kernels, power_)
                                   : pieces.with(kernels, power_);
  const double gained = is_least ? most_gained(factors) : 1;
  const double more_uplinks = factor_of(factors, resource_called("uplink"));
  for (const auto& [resource, ps] : chain.ps) {
    const double factor = factor_of(factors, *resource);
    double between = ps;
    if (const auto at_end = chain.at_end_ps.find(resource); at_end != chain.at_end_ps.end()) {
      for (const auto& [had, its] : at_end->second) {
        between -= its;
        sum += its / (is_least ? factor : let_through(*resource, had, factors));
      }
    }
    if (resource == &resource_called("link")) between /= more_uplinks;
    // Nothing says how long a buffer is full when packets come at other times.
    const bool is_full = resource == &resource_called("buffer") || resource == &resource_called("scale-up-buffer");
    sum += between / (is_full ? std::max(factor, gained) : factor);
  }
  return sum;
}

double WhatIf::held_by_stages(const Factors& factors) const {
  double on_path = 0;
  double scaled = 0;
  double busiest = 0;
  double then_busiest = 0;
  for (const Resource* resource : passing()) {
    const double factor = factor_of_links(factors, *resource);
    on_path += path_.of(*resource);
    scaled += path_.of(*resource) / factor;
    const auto used = used_ps_.find(resource);
    if (used == used_ps_.end()) continue;
    busiest = std::max(busiest, used->second);
    then_busiest = std::max(then_busiest, used->second / factor);
  }
  if (busiest == 0) return 0;
  return std::max(0.0, std::min(1.0, on_path / busiest) * then_busiest - scaled);
}

double WhatIf::shorter_collectives(const Factors& factors) const {
  double before = late_ps_;
  double after = late_ps_;
  for (const auto& [group, chain] : groups_) {
    before += scaled(chain, {}, Reach::kEstimate);
    after += scaled(chain, factors, Reach::kEstimate);
  }
  return before == after ? 1 : before / after;
}

template <typename Length>
Foretold WhatIf::longest(const Length& length) const {
  Foretold result;
  result.before_ps = before_ps_;
  result.path_ps = std::llround(length(path_));
  for (const auto& [group, chain] : groups_) {
    const std::int64_t ps = std::llround(length(chain));
    if (ps <= result.other_ps) continue;
    result.other_ps = ps;
    result.other = "collectives of " + group;
  }
  return result;
}

Foretold WhatIf::repaired() const {
  Foretold result =
      longest([this](const Chain& chain) { return scaled(chain, {}, Reach::kEstimate) - chain.faults_ps; });
  result.other_ps = std::min(result.other_ps, before_ps_);
  return result;
}

bool WhatIf::has_timers() const {
  return path_.of(resource_called("timeout")) + path_.of(resource_called("scale-up-timeout")) >
         kNear * static_cast<double>(before_ps_);
}

double WhatIf::bound_by_memory() const {
  double sum = 0;
  for (const auto& [name, kernel] : path_.kernels) sum += kernel.in_memory();
  return sum;
}

double WhatIf::used(const Resource& resource) const {
  const auto known = used_ps_.find(&resource);
  double in_groups = 0;
  for (const auto& [group, chain] : groups_) in_groups += chain.of(resource);
  const double in_kernels = &resource == &resource_called("hbm") ? bound_by_memory() : 0;
  return std::max(known == used_ps_.end() ? in_groups : known->second, path_.of(resource) + in_kernels);
}

double WhatIf::most(const Factors& factors) const {
  double most = static_cast<double>(before_ps_);
  const KernelFactors kernels = of_kernels(factors);
  const KernelFactors slower = {std::min(1.0, kernels.compute), std::min(1.0, kernels.cap),
                                std::min(1.0, kernels.memory)};
  double in_kernels = 0;
  for (const auto& [name, pieces] : path_.kernels) {
    in_kernels += pieces.computing + pieces.capped + pieces.waiting;
    most += pieces.at_most(slower, power_) - pieces.computing - pieces.capped - pieces.waiting;
  }
  for (const auto& [resource, factor] : factors) {
    if (factor >= 1) continue;
    const bool computes = resource == &resource_called("compute");
    const bool is_uplink = resource == &resource_called("uplink");
    double ps = used(is_uplink ? resource_called("link") : *resource);
    if (computes) ps = std::max(0.0, ps - in_kernels);
    if (resource == &resource_called("hbm")) ps -= bound_by_memory();
    most += (1 / factor - 1) * ps;
  }
  return most;
}

bool WhatIf::waits_for_timers(const std::vector<ResourceChange>& changes) const {
  return has_timers() && std::any_of(changes.begin(), changes.end(),
                                     [this](const ResourceChange& it) { return used(*it.resource) > 0; });
}

bool WhatIf::is_cost_known(const Factors& factors) const {
  return std::all_of(factors.begin(), factors.end(), [this](const auto& its) {
    const auto& [resource, factor] = its;
    const bool is_uplink = resource == &resource_called("uplink");
    return factor >= 1 || used_ps_.contains(is_uplink ? &resource_called("link") : resource);
  });
}

bool WhatIf::is_loose_gain(const Foretold& told, const std::vector<ResourceChange>& changes,
                           const Factors& factors) const {
  const auto any = [&changes](const auto& is) { return std::any_of(changes.begin(), changes.end(), is); };
  const auto before = static_cast<double>(before_ps_);
  // What an interface's bytes gain ends at its link's rate. What its latencies gain does not, and the path does not
  // tell them apart.
  const bool has_latencies = any([&](const ResourceChange& it) {
    const bool is_interface = it.resource == &resource_called("nic") || it.resource == &resource_called("port");
    return is_interface && path_.of(*it.resource) > before * kNear &&
           let_through(*it.resource, 1, factors) < factors.at(it.resource);
  });
  const auto its = static_cast<double>(told.ps());
  const bool may_gain_more = its - static_cast<double>(told.least_ps) > kNear * before;
  if (has_latencies || may_gain_more) return true;
  if (its >= before * (1 - kNear)) return false;
  // Within a node links, ports and copy engines have rates of one order: the path is silent on those that hide behind
  // it.
  const bool widens_node = any([](const ResourceChange& it) {
    return it.resource->network == "scale_up" || it.resource == &resource_called("copy");
  });
  const bool has_rival = static_cast<double>(told.other_ps) > kRival * static_cast<double>(told.path_ps);
  const bool is_much =
      its < before * (1 - kQuarter) || any([](const ResourceChange& it) { return it.factor > kTwice; });
  // How near other kernels are to a cap of power is not known.
  const double otherwise = scaled(path_, factors, Reach::kMost) - scaled(path_, factors, Reach::kEstimate);
  return widens_node || has_rival || is_much || otherwise > kNear * before;
}

/// A field of which the path says how much of its resource it sets changes that much of it.
std::vector<ResourceChange> WhatIf::of_their_parts(std::vector<ResourceChange> changes) const {
  std::map<const Resource*, double> left;
  const auto sets_part = [this](const ResourceChange& it) {
    return set_ps_.contains(it.field) && path_.of(*it.resource) > 0;
  };
  for (const ResourceChange& it : changes) {
    if (!sets_part(it)) continue;
    left.try_emplace(it.resource, 1).first->second -=
        set_ps_.at(it.field) / path_.of(*it.resource) * (1 - 1 / it.factor);
  }
  for (ResourceChange& it : changes) {
    if (sets_part(it)) it.factor = 1 / left.at(it.resource);
  }
  return changes;
}

Foretold WhatIf::foretell(const std::vector<ResourceChange>& changes) const {
  Factors factors = factors_of(of_their_parts(changes));
  const auto any = [&changes](const auto& is) { return std::any_of(changes.begin(), changes.end(), is); };
  const auto before = static_cast<double>(before_ps_);
  const bool costs = any([](const ResourceChange& it) { return it.factor < 1; });
  const bool changes_kernels = any([](const ResourceChange& it) { return is_of_kernels(*it.resource); });
  const bool has_luck = waits_for_timers(changes);
  const bool knows_most = is_cost_known(factors) && !has_luck;
  const double at_most = most(factors);
  const double lost_cores = path_.of(resource_called("cores"));
  factors[&resource_called("cores")] = shorter_collectives(factors);

  Foretold result = longest([&](const Chain& chain) { return scaled(chain, factors, Reach::kEstimate); });
  result.path_ps += std::llround(held_by_stages(factors));
  // Packets that come at other times may find other timers run.
  const std::array timers = {&resource_called("timeout"), &resource_called("scale-up-timeout")};
  const bool may_lose_others = any([this](const ResourceChange& it) {
    return it.resource != &resource_called("compute") && used(*it.resource) > 0;
  });
  const auto timers_of = [&](const Chain& chain) {
    double sum = 0;
    for (const Resource* timer : timers) sum += chain.of(*timer) / factor_of(factors, *timer);
    return may_lose_others ? sum : 0;
  };
  result.least_ps =
      longest([&](const Chain& chain) { return scaled(chain, factors, Reach::kLeast) - timers_of(chain); }).ps();
  for (const auto& [resource, ps] : used_ps_) {
    if (!is_served_in_turn(*resource) || (resource == &resource_called("compute") && changes_kernels)) continue;
    const double busy = ps - (resource == &resource_called("compute") ? lost_cores : 0);
    const std::int64_t then = std::llround(busy / factor_of_links(factors, *resource));
    result.least_ps = std::max(result.least_ps, then);
    if (costs || then <= result.ps()) continue;
    result.other_ps = then;
    result.other = resource == &resource_called("compute") ? "kernels of an accelerator"
                                                           : "the busiest " + std::string(resource->name);
  }
  if (!costs) {
    result.path_ps = std::min(result.path_ps, before_ps_);
    result.other_ps = std::min(result.other_ps, before_ps_);
  }
  const bool is_part = any([](const ResourceChange& it) { return it.is_one_of_several; });
  if (is_part) result.least_ps = std::min(result.least_ps, before_ps_);
  result.least_ps = std::min(result.least_ps, result.ps());
  if (knows_most) result.most_ps = std::max<std::int64_t>(result.ps(), std::llround(at_most));

  const auto its = static_cast<double>(result.ps());
  const bool is_partial = any([](const ResourceChange& it) { return it.is_partial; });
  const bool is_far = std::abs(its - before) > kNear * before;
  result.is_loose = is_partial || (is_part && is_far) || has_luck;
  if (costs) {
    result.is_loose = result.is_loose || at_most > its * (1 + kNear) || (!knows_most && is_far);
  } else {
    result.is_loose = result.is_loose || is_loose_gain(result, changes, factors);
  }
  return result;
}

}  // namespace weft::platforms
