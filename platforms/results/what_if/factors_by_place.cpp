// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/factors_by_place.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace weft::platforms {
namespace {

/// Whether a change is one of what is at a place: its own field goes before that of all.
bool is_at(const ResourceChange& change, const std::string& own, const std::vector<ResourceChange>& all) {
  if (!change.own.empty()) return change.own == own;
  const bool has_a_value = std::find(change.without.begin(), change.without.end(), own) != change.without.end();
  const bool has_a_change = std::any_of(all.begin(), all.end(), [&](const ResourceChange& it) {
    return it.own == own && !own.empty() && it.field == change.field;
  });
  return !has_a_value && !has_a_change;
}

}  // namespace

FactorsByPlace::FactorsByPlace(const std::vector<ResourceChange>& changes, const Parts& parts) {
  std::set<std::string> places;
  const auto changes_memory = [](const ResourceChange& it) {
    return it.resource == &resource_called("hbm") && !it.field.empty();
  };
  for (const ResourceChange& change : changes) {
    if (!change.own.empty()) places.insert(change.own);
    places.insert(change.without.begin(), change.without.end());
    // Which of several rates binds may be another one there.
    if (!changes_memory(change)) continue;
    for (const std::string& own : parts.names()) places.insert(own);
  }
  places.erase("");
  const auto factors_at = [&](const std::string& own) {
    std::vector<ResourceChange> here;
    std::copy_if(changes.begin(), changes.end(), std::back_inserter(here),
                 [&](const ResourceChange& it) { return is_at(it, own, changes); });
    const AcceleratorLimits* const part = parts.called(own);
    return Factors(here, part == nullptr ? nullptr : &part->memory);
  };
  usual_ = best_ = factors_at("");
  for (const std::string& own : places) best_.take_better(own_.emplace(own, factors_at(own)).first->second);
  if (is_same_everywhere()) return;
  for (const char* const network : {"fabric", "scale_up"}) {
    const double most = best_.most_gained(network);
    each([&](Factors& its) { its.let_gain(network, most); });
  }
}

template <typename Each>
void FactorsByPlace::each(const Each& take) {
  take(usual_);
  take(best_);
  for (auto& [own, its] : own_) take(its);
}

const Factors& FactorsByPlace::at(std::string_view own) const {
  if (own == kSomewhere) return best();
  const auto found = own_.find(own);
  return found == own_.end() ? usual_ : found->second;
}

std::vector<std::pair<const Resource*, std::string>> FactorsByPlace::costs() const {
  std::vector<std::pair<const Resource*, std::string>> all;
  for (const Resource* const resource : usual_.costs()) all.emplace_back(resource, "");
  for (const auto& [own, its] : own_) {
    for (const Resource* const resource : its.costs()) all.emplace_back(resource, own);
  }
  return all;
}

FactorsByPlace FactorsByPlace::with_slowest_memory() const {
  FactorsByPlace slowest = *this;
  slowest.each([](Factors& its) { its = its.with_slowest_memory(); });
  return slowest;
}

void FactorsByPlace::set_cores(double factor) {
  each([factor](Factors& its) {
    its.set(resource_called("cores"), factor * std::max(1.0, its.of(resource_called("compute"))));
  });
}

}  // namespace weft::platforms
