// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/what_if.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft::platforms {

using nlohmann::ordered_json;

namespace {

constexpr double kPicosecondsPerMicrosecond = 1e6;

}  // namespace

Foretold WhatIf::with_left_out(Foretold told) const {
  const auto whole = [this](std::int64_t ps) { return std::llround(whole_ * static_cast<double>(ps)); };
  for (std::int64_t* const ps : {&told.before_ps, &told.path_ps, &told.other_ps, &told.least_ps}) *ps = whole(*ps);
  if (told.most_ps) told.most_ps = whole(*told.most_ps);
  return told;
}

WhatIf::WhatIf(const ordered_json& why)
    : before_ps_(why["until_ps"].get<std::int64_t>() - why["from_ps"].get<std::int64_t>()),
      whole_(before_ps_ == 0
                 ? 1
                 : 1 + kPicosecondsPerMicrosecond * why.value("left_out_us", 0.0) / static_cast<double>(before_ps_)),
      are_several_jobs_(why.contains("jobs")),
      parts_(why),
      copy_engines_(why),
      speeds_(why) {
  power_.is_capped = why.value("power_cap", false);
  power_.idle_share = why.value("idle_share", 0.0);
  power_.lowest_voltage = why.value("lowest_voltage", power_.lowest_voltage);
  if (const ordered_json& computed = member_of(why, "computed"); !computed.empty()) {
    std::int64_t most = computed["median_ps"];
    for (const auto& [name, ps] : computed["on_path"].items()) most = std::max(most, ps.get<std::int64_t>());
    used_ps_[&resource_called("compute")] = static_cast<double>(std::min(most, before_ps_));
  }
  for (const auto& [name, ps] : member_of(why, "used_ps").items()) used_ps_[&resource_called(name)] = ps.get<double>();
  set_used_at(why);
  const ChainReader reader(why);
  reader.add(path_, why["pieces"], 1);
  if (are_several_jobs_) {
    ordered_json of_last = ordered_json::array();
    std::copy_if(why["pieces"].begin(), why["pieces"].end(), std::back_inserter(of_last),
                 [&](const ordered_json& piece) { return piece.value("job", "") == why["jobs"]["ends_with"]; });
    reader.add(of_last_job_, of_last, 1);
    set_latency_apart(of_last_job_);
  }
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

ArrayPower WhatIf::power_of(const std::string& own) const {
  ArrayPower power = power_;
  const AcceleratorLimits* const part = parts_.called(own);
  if (part == nullptr) return power;
  power.clock_cap = part->clock_cap;
  if (!own.empty()) power.is_capped = part->has_power_cap;
  return power;
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

double WhatIf::scaled_loops(const Chain& chain, const FactorsByPlace& factors, Reach reach) const {
  double sum = 0;
  for (const auto& [starved, ps] : chain.loops_ps) {
    const double fills = starved.fills;
    const auto factor = [&its = factors.at(starved.own), of = starved.network](const char* name) {
      return its.of(resource_within(of, name));
    };
    const double estimate = fills / std::min(factor("link"), fills * factor("buffer") * factor("cable"));
    // A round trip is flight and bytes. The buffer holds whole packets: one of room for one and a half holds three with
    // twice the room.
    const double room = factor("buffer") > 1 ? kTwice * factor("buffer") : 1;
    const double least = 1 / std::max({1.0, factor("link"), factor("cable")}) / room;
    sum += ps * (reach == Reach::kLeast ? std::min(estimate, least) : estimate);
  }
  return sum;
}

double WhatIf::scaled(const Chain& chain, const FactorsByPlace& factors, Reach reach) const {
  double sum = scaled_loops(chain, factors, reach);
  for (const auto& [name, pieces] : chain.kernels) {
    const KernelFactors kernels = factors.at(name.own).of_kernels();
    const ArrayPower power = power_of(name.own);
    sum += reach == Reach::kLeast  ? pieces.at_least(kernels, power)
           : reach == Reach::kMost ? pieces.at_most(kernels, power)
                                   : pieces.with(kernels, power);
  }
  const Resource& memory = resource_called("hbm");
  // Where interfaces wait for memory, a faster one empties what is behind them, too.
  const Resource& latency = resource_called("memory-latency");
  const Factors& best = factors.best();
  const double behind_memory =
      std::max(chain.of(memory) > 0 ? best.of(memory) : 1, chain.of(latency) > 0 ? best.of(latency) : 1);
  for (const auto& [portion, ps] : chain.ps) {
    const Factors& its = factors.at(portion.own);
    const bool may_be_behind = portion.part == Portion::Part::kWait || is_interface(*portion.resource);
    const double at_most = std::max(speeds_.at_most(portion, its), may_be_behind ? behind_memory : 0);
    sum += ps / (reach == Reach::kLeast ? at_most : speeds_.expected(portion, its));
  }
  return sum;
}

double WhatIf::held_by_stages(const FactorsByPlace& factors) const {
  double on_path = 0;
  double scaled = 0;
  for (const auto& [portion, ps] : path_.ps) {
    if (!passes_bytes(*portion.resource)) continue;
    on_path += ps;
    scaled += ps / speeds_.expected(portion, factors.at(portion.own));
  }
  double busiest = 0;
  double then_busiest = 0;
  for (const auto& [resource, ps] : used_ps_) {
    if (!passes_bytes(*resource)) continue;
    busiest = std::max(busiest, ps);
    then_busiest = std::max(then_busiest, used_then(*resource, ps, factors));
  }
  if (busiest == 0) return 0;
  return std::max(0.0, std::min(1.0, on_path / busiest) * then_busiest - scaled);
}

double WhatIf::shorter_collectives(const FactorsByPlace& factors) const {
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
  return with_left_out(result);
}

bool WhatIf::has_timers() const {
  return path_.of(resource_called("timeout")) + path_.of(resource_called("scale-up-timeout")) >
         kNear * static_cast<double>(before_ps_);
}

double WhatIf::least(const FactorsByPlace& factors, bool costs) const {
  const double others = others_on_path(factors).may_take_up;
  const auto length = [&](const Chain& chain) {
    const double its = scaled(chain, factors, Reach::kLeast);
    return costs ? its - chain.waits() - others : its;
  };
  // Of a group's pieces many have no place, so that nothing says what they may gain.
  return costs ? static_cast<double>(longest(length).ps()) : length(path_);
}

bool WhatIf::may_lose_others(const std::vector<ResourceChange>& changes) const {
  return has_timers() && std::any_of(changes.begin(), changes.end(), [this](const ResourceChange& it) {
           return it.factor != 1 && used(in_use(*it.resource)) > 0;
         });
}

double WhatIf::otherwise(const FactorsByPlace& factors) const {
  return scaled(path_, factors, Reach::kMost) - scaled(path_, factors, Reach::kEstimate);
}

bool WhatIf::is_loose_cost(const Foretold& told, const std::vector<ResourceChange>& changes,
                           const FactorsByPlace& factors) const {
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
                           const FactorsByPlace& factors) const {
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
    return it.own.empty() && set_ps_.contains(it.field) && path_.of(*it.resource) > 0;
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
  FactorsByPlace factors(of_their_parts(changes), parts_);
  const auto any = [&changes](const auto& is) { return std::any_of(changes.begin(), changes.end(), is); };
  const auto before = static_cast<double>(before_ps_);
  const bool costs = any([](const ResourceChange& it) { return it.factor < 1; });
  const bool has_luck = may_lose_others(changes);
  const bool knows_most = is_cost_known(changes) && !has_luck;
  const double at_most = most(factors.with_slowest_memory());
  // Collectives have cores for as long as they take, or as the kernels beside them do.
  factors.set_cores(shorter_collectives(factors));

  Foretold result = longest([&](const Chain& chain) { return scaled(chain, factors, Reach::kEstimate); });
  result.path_ps += std::llround(held_by_stages(factors));
  const auto [busy, resource] = busiest(factors);
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
    if (has_luck) timers += path_.of(*timer) / factors.at("").of(*timer);
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

  // Others of the kind may be nearly as much in the way.
  const bool is_partial = any([this](const ResourceChange& it) { return it.factor > 1 && !stands_out(it); });
  const bool is_far = std::abs(static_cast<double>(result.ps()) - before) > kNear * before;
  // Copies go to engines by their channels, and engines have cores that kernels lose.
  const bool is_of_engines = any([](const ResourceChange& it) { return it.field == kCopyEngines && it.factor != 1; });
  result.is_loose = ((is_partial || is_part || are_several_jobs_) && is_far) || is_of_engines || has_luck ||
                    (costs ? is_loose_cost(result, changes, factors) : is_loose_gain(result, changes, factors));
  if (!costs && are_several_jobs_) {
    const double alone = std::max(scaled(of_last_job_, factors, Reach::kLeast) - timers, busy);
    result.least_ps = std::min<std::int64_t>(result.least_ps, std::llround(alone));
  }
  return with_left_out(result);
}

}  // namespace weft::platforms
