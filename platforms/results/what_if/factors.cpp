// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/factors.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace weft::platforms {

const Resource& resource_within(std::string_view network, std::string_view name) {
  return resource_called((network == "scale_up" ? "scale-up-" : "") + std::string(name));
}

const Resource& interface_of(std::string_view network) {
  return resource_called(network == "scale_up" ? "port" : "nic");
}

bool is_called(const Resource& resource, std::string_view name) {
  constexpr std::string_view kWithin = "scale-up-";
  return resource.name == name || (resource.name.starts_with(kWithin) && resource.name.substr(kWithin.size()) == name);
}

bool is_interface(const Resource& resource) {
  return resource.name == "nic" || resource.name == "port";
}

bool is_of_kernels(const Resource& resource) {
  const auto is = [&resource](const char* name) { return &resource == &resource_called(name); };
  return is("compute") || is("hbm") || is("cap") || is("cores") || is("launch");
}

bool is_of_accelerator(const Resource& resource) {
  if (&resource == &resource_called("cores")) return true;
  return !resource.settings.empty() && resource.settings.front().field.starts_with("accelerator.");
}

bool passes_bytes(const Resource& resource) {
  return resource.is == Resource::Is::kStage;
}

const Resource* partner_of(const Resource& resource) {
  for (const char* network : {"fabric", "scale_up"}) {
    if (&resource == &interface_of(network)) return &resource_within(network, "link");
    if (&resource == &resource_within(network, "link")) return &interface_of(network);
  }
  return nullptr;
}

bool is_served_in_turn(const Resource& resource) {
  const auto is = [&resource](const char* name) { return &resource == &resource_called(name); };
  return is("compute") || is("hbm") || is("copy") || is("link") || is("scale-up-link") || is("remote-memory") ||
         is("nic-group") || is("port-group");
}

const Resource& in_use(const Resource& resource) {
  return &resource == &resource_called("uplink") ? resource_called("link") : resource;
}

Factors::Factors(const std::vector<ResourceChange>& changes, const MemoryRates* rates) {
  for (const ResourceChange& change : changes) {
    Most& its = of_[change.resource];
    its.better = std::max(its.better, change.factor);
    its.worse = std::min(its.worse, change.factor);
    are_of_kernels_ = are_of_kernels_ || is_of_kernels(*change.resource);
    if (change.resource != &resource_called("cap")) continue;
    if (change.field != "accelerator.compute.clock_cap") power_cap_ = change.factor;
    if (change.field != "accelerator.compute.power.cap") clock_cap_ = change.factor;
  }
  memory_at_interfaces_ = slowest_memory_ = of(resource_called("hbm"));
  if (rates != nullptr) set_memory(changes, *rates);
}

void Factors::set_memory(const std::vector<ResourceChange>& changes, const MemoryRates& rates) {
  const Resource& memory = resource_called("hbm");
  MemoryRates then = rates;
  double slowest = 1;
  for (const ResourceChange& change : changes) {
    if (change.resource != &memory) continue;
    double* const its = then.named(change.field);
    if (its == nullptr) return;  // all of the memory
    *its *= change.factor;
    slowest = std::min(slowest, change.factor);
  }
  if (!of_.contains(&memory)) return;
  const double cores = then.of_cores() / rates.of_cores();
  of_[&memory] = {std::max(1.0, cores), std::min(1.0, cores)};
  memory_at_interfaces_ = then.of_interfaces() / rates.of_interfaces();
  slowest_memory_ = std::min({slowest, cores, memory_at_interfaces_});
}

Factors Factors::with_slowest_memory() const {
  Factors slowest = *this;
  if (slowest_memory_ < 1) {
    slowest.of_[&resource_called("hbm")] = {1, slowest_memory_};
    slowest.memory_at_interfaces_ = slowest_memory_;
  }
  return slowest;
}

double Factors::of(const Resource& resource) const {
  const auto found = of_.find(&resource);
  return found == of_.end() ? 1 : found->second.better * found->second.worse;
}

double Factors::of_uplinks(const Resource& link) const {
  return &link == &resource_called("link") ? of(resource_called("uplink")) : 1;
}

KernelFactors Factors::of_kernels() const {
  return {of(resource_called("compute")), power_cap_, of(resource_called("hbm")), clock_cap_};
}

double Factors::most_gained(std::string_view network) const {
  double most = gained_elsewhere(network);
  for (const auto& [resource, its] : of_) {
    if (resource->network == network) most = std::max(most, its.better);
  }
  return most;
}

double Factors::gained_elsewhere(std::string_view network) const {
  const auto found = gained_elsewhere_.find(network);
  return found == gained_elsewhere_.end() ? 1 : found->second;
}

void Factors::take_better(const Factors& other) {
  for (auto& [resource, its] : of_) {
    if (!other.of_.contains(resource)) its = {its.better, 1};
  }
  for (const auto& [resource, its] : other.of_) {
    const auto [known, is_new] = of_.try_emplace(resource, Most{its.better, 1});
    if (!is_new) known->second = {std::max(known->second.better, its.better), std::max(known->second.worse, its.worse)};
  }
  power_cap_ = std::max(power_cap_, other.power_cap_);
  clock_cap_ = std::max(clock_cap_, other.clock_cap_);
  memory_at_interfaces_ = std::max(memory_at_interfaces_, other.memory_at_interfaces_);
  slowest_memory_ = std::max(slowest_memory_, other.slowest_memory_);
  are_of_kernels_ = are_of_kernels_ || other.are_of_kernels_;
}

std::vector<const Resource*> Factors::costs() const {
  std::vector<const Resource*> all;
  for (const auto& [resource, its] : of_) {
    if (its.worse < 1) all.push_back(resource);
  }
  return all;
}

}  // namespace weft::platforms
