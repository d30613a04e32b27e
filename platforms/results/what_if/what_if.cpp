// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/what_if.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// An estimate this near to the run as it was, or to a bound, is within it whatever happens.
constexpr double kNear = 0.05;
/// Another chain this near to the path may bind once the path is shorter.
constexpr double kRival = 0.8;
/// The largest change whose gain is not loose, and the largest such gain; the largest whose loss is not.
constexpr double kTwice = 2;
constexpr double kQuarter = 0.25;
constexpr double kHalf = 0.5;

/// Whether it passes the same bytes at the same time as others do.
bool passes(const Resource& resource) {
  return resource.is == Resource::Is::kStage;
}

/// Of an interface its link, of a link the interface: the same bytes pass both. Else nothing.
const Resource* partner_of(const Resource& resource) {
  for (const char* network : {"fabric", "scale_up"}) {
    if (&resource == &interface_of(network)) return &resource_within(network, "link");
    if (&resource == &resource_within(network, "link")) return &interface_of(network);
  }
  return nullptr;
}

/// Whether one of them has one after the other, so that no run is shorter than that takes. Threads of a core may wait
/// for others while they run, launches of several streams are at the same time, and what interfaces need is reckoned.
bool is_served_in_turn(const Resource& resource) {
  const auto is = [&resource](const char* name) { return &resource == &resource_called(name); };
  return is("compute") || is("hbm") || is("copy") || is("link") || is("scale-up-link") || is("remote-memory") ||
         is("nic-group") || is("port-group");
}

/// More uplinks are links.
const Resource& in_use(const Resource& resource) {
  return &resource == &resource_called("uplink") ? resource_called("link") : resource;
}

}  // namespace

WhatIf::WhatIf(const ordered_json& why)
    : before_ps_(why["until_ps"].get<std::int64_t>() - why["from_ps"].get<std::int64_t>()),
      are_several_jobs_(why.contains("jobs")),
      parts_(why),
      copy_engines_(why),
      speeds_(why) {
  if (const AcceleratorLimits* const part = parts_.usual()) power_.clock_cap = part->clock_cap;
  power_.is_capped = why.value("power_cap", false);
  power_.idle_share = why.value("idle_share", 0.0);
  power_.lowest_voltage = why.value("lowest_voltage", power_.lowest_voltage);
  if (const ordered_json& computed = member_of(why, "computed"); !computed.empty()) {
    std::int64_t most = computed["median_ps"];
    for (const auto& [name, ps] : computed["on_path"].items()) most = std::max(most, ps.get<std::int64_t>());
    used_ps_[&resource_called("compute")] = static_cast<double>(std::min(most, before_ps_));
  }
  for (const auto& [name, ps] : member_of(why, "used_ps").items()) used_ps_[&resource_called(name)] = ps.get<double>();
  const ChainReader reader(why);
  reader.add(path_, why["pieces"], 1);
  for (const ordered_json& collective : member_of(why, "collectives")) {
    const double share = 1 / collective["members"].get<double>();
    reader.add(groups_[collective["group"]], collective["transfer"], share);
    late_ps_ += share * collective["late_ps"].get<double>();
    in_groups_ps_[collective["group"]] += share * collective["ps"].get<double>();
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

void WhatIf::set_latency_apart(Chain& chain) const {
  const Resource& memory = resource_called("hbm");
  const Resource& interfaces = resource_called("memory-latency");
  const auto used = used_ps_.find(&memory);
  const double waits = chain.of(memory) + chain.of(interfaces);
  const double latency = used == used_ps_.end() ? 0 : std::max(0.0, waits - used->second);
  double left = latency;
  std::map<const Resource*, double> of_rate;
  for (const Resource* const resource : {&interfaces, &memory}) {
    for (auto& [portion, ps] : chain.ps) {
      if (portion.resource != resource) continue;
      const double its = std::min(ps, left);
      left -= its;
      of_rate[resource] += ps - its;
      ps = 0;
    }
  }
  for (const auto& [place, ps] : chain.by_place[&interfaces]) chain.by_place[&memory][place] += ps;
  chain.by_place.erase(&interfaces);
  if (latency > 0) chain.ps[{&interfaces}] += latency;
  if (of_rate[&memory] > 0) chain.ps[{&memory}] += of_rate[&memory];
  constexpr bool kAtInterface = true;
  if (of_rate[&interfaces] > 0) chain.ps[{&memory, Portion::Part::kWhole, kAtInterface}] += of_rate[&interfaces];
}

double WhatIf::scaled_loops(const Chain& chain, const Factors& factors, Reach reach) const {
  double sum = 0;
  for (const auto& [starved, ps] : chain.loops_ps) {
    const auto& [network, fills] = starved;
    const auto factor = [&factors, of = network](const char* name) { return factors.of(resource_within(of, name)); };
    const double estimate = fills / std::min(factor("link"), fills * factor("buffer") * factor("cable"));
    // A round trip is flight and bytes. The buffer holds whole packets: one of room for one and a half holds three with
    // twice the room.
    const double room = factor("buffer") > 1 ? kTwice * factor("buffer") : 1;
    const double least = 1 / std::max({1.0, factor("link"), factor("cable")}) / room;
    sum += ps * (reach == Reach::kLeast ? std::min(estimate, least) : estimate);
  }
  return sum;
}

double WhatIf::scaled(const Chain& chain, const Factors& factors, Reach reach) const {
  double sum = scaled_loops(chain, factors, reach);
  const KernelFactors kernels = factors.of_kernels();
  for (const auto& [name, pieces] : chain.kernels)
    sum += reach == Reach::kLeast  ? pieces.at_least(kernels, power_)
           : reach == Reach::kMost ? pieces.at_most(kernels, power_)
                                   : pieces.with(kernels, power_);
  const Resource& memory = resource_called("hbm");
  // Where interfaces wait for memory, a faster one empties what is behind them, too.
  const Resource& latency = resource_called("memory-latency");
  const double behind_memory =
      std::max(chain.of(memory) > 0 ? factors.of(memory) : 1, chain.of(latency) > 0 ? factors.of(latency) : 1);
  for (const auto& [portion, ps] : chain.ps) {
    const bool may_be_behind = portion.part == Portion::Part::kWait || is_interface(*portion.resource);
    const double at_most = std::max(speeds_.at_most(portion, factors), may_be_behind ? behind_memory : 0);
    sum += ps / (reach == Reach::kLeast ? at_most : speeds_.expected(portion, factors));
  }
  return sum;
}

double WhatIf::held_by_stages(const Factors& factors) const {
  double on_path = 0;
  double scaled = 0;
  for (const auto& [portion, ps] : path_.ps) {
    if (!passes(*portion.resource)) continue;
    on_path += ps;
    scaled += ps / speeds_.expected(portion, factors);
  }
  double busiest = 0;
  double then_busiest = 0;
  for (const auto& [resource, ps] : used_ps_) {
    if (!passes(*resource)) continue;
    busiest = std::max(busiest, ps);
    then_busiest = std::max(then_busiest, ps / factors.of(*resource) / factors.of_uplinks(*resource));
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

std::pair<double, const Resource*> WhatIf::busiest(const Factors& factors, bool changes_kernels) const {
  std::pair<double, const Resource*> most{0, nullptr};
  for (const auto& [resource, ps] : used_ps_) {
    const bool computes = resource == &resource_called("compute");
    if (!is_served_in_turn(*resource) || (computes && changes_kernels)) continue;
    const double busy = ps - (computes ? path_.of(resource_called("cores")) : 0);
    const double factor = resource == &resource_called("hbm")
                              ? std::max(factors.of(*resource), factors.of_memory_at_interfaces())
                              : factors.of(*resource);
    const double then = busy / factor / factors.of_uplinks(*resource);
    if (then > most.first) most = {then, resource};
  }
  return most;
}

template <typename Length>
Foretold WhatIf::longest(const Length& length) const {
  Foretold result;
  result.before_ps = before_ps_;
  result.path_ps = std::llround(length(path_));
  for (const auto& [group, chain] : groups_) {
    // Those that take longer than the run are not one after the other.
    if (in_groups_ps_.at(group) > static_cast<double>(before_ps_)) continue;
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

double WhatIf::used(const Resource& resource) const {
  const auto known = used_ps_.find(&resource);
  double in_groups = 0;
  for (const auto& [group, chain] : groups_) in_groups += chain.of(resource);
  const double in_kernels = &resource == &resource_called("hbm") ? path_.bound_by_memory() : 0;
  return std::max(known == used_ps_.end() ? in_groups : known->second, path_.of(resource) + in_kernels);
}

WhatIf::Others WhatIf::others_on_path(const Factors& factors) const {
  std::vector<const Resource*> slower;
  Others others;
  for (const Resource* changed : factors.costs()) {
    const Resource& resource = in_use(*changed);
    if (!passes(resource)) continue;
    slower.push_back(&resource);
    if (const Resource* const partner = partner_of(resource)) slower.push_back(partner);
  }
  if (slower.empty()) return others;
  double busiest = 0;
  for (const auto& [portion, ps] : path_.ps) {
    const bool is_one = std::find(slower.begin(), slower.end(), portion.resource) != slower.end();
    if (!passes(*portion.resource) || is_one) continue;
    others.ps += ps;
    busiest = std::max(busiest, in_use_ps(*portion.resource));
  }
  for (const Resource* changed : factors.costs()) {
    const Resource& resource = in_use(*changed);
    if (!passes(resource)) continue;
    const double used_ps = in_use_ps(resource);
    // What is as busy as they are hides behind all of them.
    const double hidden = busiest == 0 ? 1 : std::min(1.0, used_ps / busiest);
    const double then = hidden / factors.of(*changed);
    others.most_longer = std::max(others.most_longer, others.ps * std::max(0.0, then - 1));
    // A path that leads through several of a resource is of many short stretches, which others may be as well.
    if (on_path(resource) > used_ps * (1 + kNear)) others.may_take_up = others.ps;
  }
  return others;
}

double WhatIf::in_use_ps(const Resource& resource) const {
  const auto known = used_ps_.find(&resource);
  return known == used_ps_.end() ? used(resource) : known->second;
}

double WhatIf::on_path(const Resource& resource) const {
  const Resource* const partner = partner_of(resource);
  return path_.of(resource) + (partner == nullptr ? 0 : path_.of(*partner)) +
         (&resource == &resource_called("hbm") ? path_.bound_by_memory() : 0);
}

double WhatIf::least(const Factors& factors, bool costs) const {
  const double others = others_on_path(factors).may_take_up;
  const auto length = [&](const Chain& chain) {
    const double its = scaled(chain, factors, Reach::kLeast);
    return costs ? its - chain.waits() - others : its;
  };
  // Of a group's pieces many have no place, so that nothing says what they may gain.
  return costs ? static_cast<double>(longest(length).ps()) : length(path_);
}

double WhatIf::elsewhere(const Resource& resource) const {
  const double used_ps = in_use_ps(resource);
  if (&resource == &resource_called("compute")) return std::max(0.0, used_ps - path_.in_kernels());
  const double its = on_path(resource);
  if (its <= used_ps) return used_ps - its;
  // A path that leads through several has more of them than any one. Then another may have what one does beside it.
  return std::max(0.0, std::min(used_ps - path_.most_at_one(resource), static_cast<double>(before_ps_) - its));
}

double WhatIf::most(const Factors& factors) const {
  const auto before = static_cast<double>(before_ps_);
  double most = before;
  const KernelFactors kernels = factors.of_kernels();
  const KernelFactors slower = {std::min(1.0, kernels.compute), std::min(1.0, kernels.cap),
                                std::min(1.0, kernels.memory), std::min(1.0, kernels.clock_cap)};
  for (const auto& [name, pieces] : path_.kernels) most += pieces.at_most(slower, power_) - pieces.whole();
  for (const auto& [portion, ps] : path_.ps) most += ps / speeds_.at_least(portion, factors) - ps;
  most += std::max(0.0, scaled_loops(path_, factors, Reach::kEstimate) - scaled_loops(path_, {}, Reach::kEstimate));
  double slowest = 1;
  for (const Resource* changed : factors.costs()) {
    most += (1 / speeds_.hidden(*changed, factors) - 1) * elsewhere(in_use(*changed));
    slowest = std::min(slowest, factors.of(*changed));
  }
  most += others_on_path(factors).most_longer;
  // At most all of the run is so many times as slow. Less power than what is drawn all the time slows down more.
  return kernels.cap < 1 ? most : std::min(most, before / slowest);
}

bool WhatIf::may_lose_others(const std::vector<ResourceChange>& changes) const {
  return has_timers() && std::any_of(changes.begin(), changes.end(), [this](const ResourceChange& it) {
           return it.factor != 1 && used(in_use(*it.resource)) > 0;
         });
}

bool WhatIf::is_cost_known(const std::vector<ResourceChange>& changes) const {
  return std::all_of(changes.begin(), changes.end(), [this](const ResourceChange& it) {
    if (it.factor >= 1) return true;
    const Resource& resource = in_use(*it.resource);
    // What is little now and hidden may be much when it is many times as long.
    const bool is_all = is_served_in_turn(resource) || is_of_kernels(resource) || used(resource) == 0;
    return used_ps_.contains(&resource) && (is_all || it.factor >= kHalf);
  });
}

double WhatIf::otherwise(const Factors& factors) const {
  return scaled(path_, factors, Reach::kMost) - scaled(path_, factors, Reach::kEstimate);
}

bool WhatIf::is_loose_cost(const Foretold& told, const std::vector<ResourceChange>& changes,
                           const Factors& factors) const {
  const auto its = static_cast<double>(told.ps());
  if (its > static_cast<double>(told.least_ps) * (1 + kNear)) return true;
  if (told.most_ps) return static_cast<double>(*told.most_ps) > its * (1 + kNear);
  const bool is_much = std::any_of(changes.begin(), changes.end(), [this](const ResourceChange& it) {
    return it.factor < kHalf && used(in_use(*it.resource)) > 0;
  });
  const auto before = static_cast<double>(before_ps_);
  return is_much || its > before * (1 + kNear) || otherwise(factors) > kNear * before;
}

bool WhatIf::is_loose_gain(const Foretold& told, const std::vector<ResourceChange>& changes,
                           const Factors& factors) const {
  const auto any = [&changes](const auto& is) { return std::any_of(changes.begin(), changes.end(), is); };
  const auto before = static_cast<double>(before_ps_);
  const auto its = static_cast<double>(told.ps());
  if (its > static_cast<double>(told.least_ps) * (1 + kNear)) return true;
  if (its >= before * (1 - kNear)) return false;
  // Within a node links, ports and copy engines have rates of one order: the path is silent on those that hide behind
  // it.
  const bool widens_node = any([](const ResourceChange& it) {
    return it.resource->network == "scale_up" || it.resource == &resource_called("copy");
  });
  const bool has_rival = static_cast<double>(told.other_ps) > kRival * static_cast<double>(told.path_ps);
  const bool is_much =
      its < before * (1 - kQuarter) || any([](const ResourceChange& it) { return it.factor > kTwice; });
  return widens_node || has_rival || is_much || otherwise(factors) > kNear * before;
}

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

Foretold WhatIf::foretell(const std::vector<ResourceChange>& asked) const {
  std::vector<ResourceChange> changes = asked;
  for (ResourceChange& it : changes) {
    if (it.field == kCopyEngines) it.factor = copy_engines_.with(it.factor);
  }
  const AcceleratorLimits* const part = parts_.usual();
  Factors factors(of_their_parts(changes), part == nullptr ? nullptr : &part->memory);
  const auto any = [&changes](const auto& is) { return std::any_of(changes.begin(), changes.end(), is); };
  const auto before = static_cast<double>(before_ps_);
  const bool costs = any([](const ResourceChange& it) { return it.factor < 1; });
  const bool changes_kernels = any([](const ResourceChange& it) { return is_of_kernels(*it.resource); });
  const bool has_luck = may_lose_others(changes);
  const bool knows_most = is_cost_known(changes) && !has_luck;
  const double at_most = most(factors.with_slowest_memory());
  // Collectives have cores for as long as they take, or as the kernels beside them do.
  factors.set(resource_called("cores"),
              shorter_collectives(factors) * std::max(1.0, factors.of(resource_called("compute"))));

  Foretold result = longest([&](const Chain& chain) { return scaled(chain, factors, Reach::kEstimate); });
  result.path_ps += std::llround(held_by_stages(factors));
  const auto [busy, resource] = busiest(factors, changes_kernels);
  if (const std::int64_t then = std::llround(busy); then > result.ps()) {
    result.other_ps = then;
    result.other = resource == &resource_called("compute") ? "kernels of an accelerator"
                                                           : "the busiest " + std::string(resource->name);
  }
  if (!costs) {
    result.path_ps = std::min(result.path_ps, before_ps_);
    result.other_ps = std::min(result.other_ps, before_ps_);
  }
  // Packets that come at other times may find other timers run, or none.
  double timers = 0;
  for (const Resource* timer : {&resource_called("timeout"), &resource_called("scale-up-timeout")}) {
    if (has_luck) timers += path_.of(*timer) / factors.of(*timer);
  }
  // Jobs that share a machine meet at other times.
  double at_least = std::max(costs && are_several_jobs_ ? 0.0 : least(factors, costs) - timers, busy);
  if (costs) at_least = std::max(at_least, before - timers);
  // What fields of a memory do together is known.
  const bool is_part = any([part](const ResourceChange& it) {
    return it.is_one_of_several && (part == nullptr || it.resource != &resource_called("hbm"));
  });
  if (is_part) at_least = std::min(at_least, before);
  result.least_ps = std::min<std::int64_t>(std::llround(at_least), result.ps());
  if (knows_most) result.most_ps = std::max<std::int64_t>(result.ps(), std::llround(at_most));

  const bool is_partial = any([](const ResourceChange& it) { return it.is_partial; });
  const bool is_far = std::abs(static_cast<double>(result.ps()) - before) > kNear * before;
  // Copies go to engines by their channels, and engines have cores that kernels lose.
  const bool is_of_engines = any([](const ResourceChange& it) { return it.field == kCopyEngines && it.factor != 1; });
  result.is_loose = is_partial || is_of_engines || (is_part && is_far) || has_luck ||
                    (costs ? is_loose_cost(result, changes, factors) : is_loose_gain(result, changes, factors));
  return result;
}

}  // namespace weft::platforms
