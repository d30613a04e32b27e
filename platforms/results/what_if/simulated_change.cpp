// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/simulated_change.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "platforms/results/what_if/own_fields.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// So many times as fast. A time that has become 0 takes no time.
double factor_of(const ChangedSetting& setting, bool is_rate, const FieldValues& values) {
  const auto own = own_field(setting.field);
  const auto times = speed_at(own ? own->usually : setting.field, values.text(setting.field), setting.value, is_rate);
  return times.value_or(std::numeric_limits<double>::infinity());
}

/// How many times as much a stage sustains; nothing: it is none.
std::optional<double> of_stages(const Resource& resource, const ordered_json& before, const ordered_json& after) {
  const auto sustained = [&resource](const ordered_json& why) {
    const ordered_json& network = member_of(member_of(why, "stages"), resource.network);
    return network.value(std::string(resource.name), 0.0);
  };
  if (sustained(before) <= 0 || sustained(after) <= 0) return std::nullopt;
  return sustained(after) / sustained(before);
}

/// Of the resource's fields with the change, in the order of settings_of().
std::vector<const Resource::Setting*> settings_in(const ResourceChange& change,
                                                  const std::vector<ChangedSetting>& made) {
  std::vector<const Resource::Setting*> all;
  for (const ChangedSetting& each : made) {
    const auto own = own_field(each.field);
    const std::string usually = own ? own->usually : each.field;
    const auto& settings = change.resource->settings;
    all.push_back(&*std::find_if(settings.begin(), settings.end(),
                                 [&usually](const Resource::Setting& it) { return it.field == usually; }));
  }
  return all;
}

}  // namespace

std::vector<ResourceChange> simulated_changes(const std::vector<ResourceChange>& changes, const FieldValues& values,
                                              const ordered_json& before, const ordered_json& after) {
  std::vector<ResourceChange> all;
  for (const ResourceChange& change : changes) {
    const std::vector<ChangedSetting> made = settings_of(change, values);
    const bool is_made = std::all_of(made.begin(), made.end(), [](const auto& it) { return it.asked.empty(); });
    if (is_made) {
      all.push_back(change);
      continue;
    }
    const std::vector<const Resource::Setting*> settings = settings_in(change, made);
    const bool sets_parts =
        std::all_of(settings.begin(), settings.end(), [](const auto* it) { return !it->kind.empty(); });
    ResourceChange least = change;
    least.factor = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < made.size(); ++i) {
      const double its = factor_of(made[i], settings[i]->is_rate, values);
      least.factor = std::min(least.factor, its);
      if (!sets_parts || !change.own.empty()) continue;
      ResourceChange part{change.resource, std::string(settings[i]->field), its, !settings[i]->is_rate};
      part.without = change.without;
      all.push_back(std::move(part));
    }
    if (sets_parts && change.own.empty()) continue;
    // One of several fields binds, and their limits are not alike.
    if (change.own.empty()) least.factor = of_stages(*change.resource, before, after).value_or(least.factor);
    all.push_back(std::move(least));
  }
  return all;
}

}  // namespace weft::platforms
