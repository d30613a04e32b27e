// SPDX-License-Identifier: Apache-2.0
// How long resources are in use, on the path and beside it, and what that says of changes.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "platforms/results/what_if/what_if.h"

namespace weft::platforms {

using nlohmann::ordered_json;

void WhatIf::set_used_at(const ordered_json& why) {
  const auto take = [this](const Resource& resource, const std::string& own, double ps) {
    double& its = used_at_ps_[&resource].try_emplace(own, 0).first->second;
    its = std::max(its, ps);
  };
  std::map<std::string, int> directions;
  for (const auto& [name, link] : member_of(why, "links").items()) {
    const std::string own = own_path(link);
    const double ps = link.value("utilisation", 0.0) * static_cast<double>(before_ps_);
    take(resource_within(link.value("network", ""), "link"), own, ps);
    if (own.find(".edges.") == std::string::npos) continue;
    used_by_edge_ps_[own] += ps;
    ++directions[own];
  }
  // Of a direction that no piece names nothing is known.
  for (const auto& [own, known] : directions) {
    const Resource& link = resource_within(own.starts_with("fabric.") ? "fabric" : "scale_up", "link");
    if (known < 2) used_by_edge_ps_[own] += in_use_ps(link);
  }
  for (const std::string& own : parts_.names()) {
    for (const auto& [name, ps] : parts_.called(own)->used_ps) take(resource_called(name), own, ps);
  }
}

double WhatIf::used_then(const Resource& resource, double ps, const FactorsByPlace& factors) const {
  const bool is_memory = &resource == &resource_called("hbm");
  const bool computes = &resource == &resource_called("compute");
  const double cores = computes ? path_.of(resource_called("cores")) : 0;
  const auto then = [&](double now, const Factors& its) {
    if (computes && its.are_of_kernels()) return 0.0;
    const double factor = its.of(resource) * its.of_uplinks(resource);
    return (now - cores) / (is_memory ? std::max(factor, its.of_memory_at_interfaces()) : factor);
  };
  if (factors.is_same_everywhere()) return then(ps, factors.best());
  const auto known = used_at_ps_.find(&resource);
  if (known == used_at_ps_.end()) return then(ps, factors.best());
  double most = 0;
  for (const auto& [own, its] : known->second) most = std::max(most, then(its, factors.at(own)));
  return most;
}

std::pair<double, const Resource*> WhatIf::busiest(const FactorsByPlace& factors) const {
  std::pair<double, const Resource*> most{0, nullptr};
  for (const auto& [resource, ps] : used_ps_) {
    if (!is_served_in_turn(*resource)) continue;
    if (const double then = used_then(*resource, ps, factors); then > most.first) most = {then, resource};
  }
  return most;
}

bool WhatIf::stands_out(const ResourceChange& change) const {
  if (change.own.empty() && change.without.empty()) return true;
  const auto known = used_at_ps_.find(change.resource);
  if (known == used_at_ps_.end()) return false;
  double its = 0;
  double of_others = 0;
  for (const auto& [own, ps] : known->second) {
    const bool has_a_value = std::find(change.without.begin(), change.without.end(), own) != change.without.end();
    double& most = (change.own.empty() ? !has_a_value : own == change.own) ? its : of_others;
    most = std::max(most, ps);
  }
  return of_others < kRival * its;
}

double WhatIf::used(const Resource& resource) const {
  const auto known = used_ps_.find(&resource);
  double in_groups = 0;
  for (const auto& [group, chain] : groups_) in_groups += chain.of(resource);
  const double in_kernels = &resource == &resource_called("hbm") ? path_.bound_by_memory() : 0;
  return std::max(known == used_ps_.end() ? in_groups : known->second, path_.of(resource) + in_kernels);
}

WhatIf::Others WhatIf::others_on_path(const FactorsByPlace& factors) const {
  std::vector<const Resource*> slower;
  Others others;
  for (const auto& [changed, own] : factors.costs()) {
    const Resource& resource = in_use(*changed);
    if (!passes_bytes(resource)) continue;
    slower.push_back(&resource);
    if (const Resource* const partner = partner_of(resource)) slower.push_back(partner);
  }
  if (slower.empty()) return others;
  double busiest = 0;
  for (const auto& [portion, ps] : path_.ps) {
    const bool is_one = std::find(slower.begin(), slower.end(), portion.resource) != slower.end();
    if (!passes_bytes(*portion.resource) || is_one) continue;
    others.ps += ps;
    busiest = std::max(busiest, in_use_ps(*portion.resource));
  }
  for (const auto& [changed, own] : factors.costs()) {
    const Resource& resource = in_use(*changed);
    if (!passes_bytes(resource)) continue;
    const double used_ps = in_use_ps(resource);
    // What is as busy as they are hides behind all of them.
    const double hidden = busiest == 0 ? 1 : std::min(1.0, used_ps / busiest);
    const double then = hidden / factors.at(own).of(*changed);
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

double WhatIf::elsewhere(const Resource& resource, const std::string& own) const {
  const double used_ps = in_use_ps(resource);
  if (&resource == &resource_called("compute")) return std::max(0.0, used_ps - path_.in_kernels());
  if (!own.empty()) return elsewhere_at(resource, own);
  const double its = on_path(resource);
  if (its <= used_ps) return used_ps - its;
  // A path that leads through several has more of them than any one. Then another may have what one does beside it.
  return std::max(0.0, std::min(used_ps - path_.most_at_one(resource), static_cast<double>(before_ps_) - its));
}

double WhatIf::elsewhere_at(const Resource& resource, const std::string& own) const {
  const double its = path_.of(resource, own);
  // A path may lead through both directions of an edge.
  if (const auto edge = used_by_edge_ps_.find(own); edge != used_by_edge_ps_.end() && is_called(resource, "link"))
    return std::max(0.0, std::min(edge->second, static_cast<double>(before_ps_)) - its);
  double used_ps = in_use_ps(resource);
  if (const auto known = used_at_ps_.find(&resource); known != used_at_ps_.end()) {
    if (const auto there = known->second.find(own); there != known->second.end()) used_ps = there->second;
  }
  if (its <= used_ps) return used_ps - its;
  return std::max(0.0, std::min(used_ps - path_.most_at_one(resource, own), static_cast<double>(before_ps_) - its));
}

double WhatIf::most(const FactorsByPlace& factors) const {
  const auto before = static_cast<double>(before_ps_);
  double most = before;
  bool has_less_power = false;
  for (const auto& [name, pieces] : path_.kernels) {
    const KernelFactors kernels = factors.at(name.own).of_kernels();
    const KernelFactors slower = {std::min(1.0, kernels.compute), std::min(1.0, kernels.cap),
                                  std::min(1.0, kernels.memory), std::min(1.0, kernels.clock_cap)};
    most += pieces.at_most(slower, power_of(name.own)) - pieces.whole();
  }
  for (const auto& [portion, ps] : path_.ps) most += ps / speeds_.at_least(portion, factors.at(portion.own)) - ps;
  most += std::max(0.0, scaled_loops(path_, factors, Reach::kEstimate) - scaled_loops(path_, {}, Reach::kEstimate));
  double slowest = 1;
  std::map<const Resource*, double> beside;
  for (const auto& [changed, own] : factors.costs()) {
    const Factors& its = factors.at(own);
    double& longer = beside.try_emplace(changed, 0).first->second;
    longer = std::max(longer, (1 / speeds_.hidden(*changed, own, its) - 1) * elsewhere(in_use(*changed), own));
    slowest = std::min(slowest, its.of(*changed));
    has_less_power = has_less_power || its.of_kernels().cap < 1;
  }
  for (const auto& [changed, longer] : beside) most += longer;
  most += others_on_path(factors).most_longer;
  // At most all of the run is so many times as slow. Less power than what is drawn all the time slows down more.
  return has_less_power ? most : std::min(most, before / slowest);
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

}  // namespace weft::platforms
