// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/set_by.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// A field with less of a resource is not named.
constexpr double kLeastOfResource = 0.1;
constexpr std::size_t kMostNamed = 3;

/// "accelerator3" as "accelerator" and 3.
std::pair<std::string_view, std::optional<int>> numbered(std::string_view place) {
  const std::size_t digits = place.find_last_not_of("0123456789") + 1;
  int number = 0;
  const auto [end, error] = std::from_chars(place.data() + digits, place.data() + place.size(), number);
  if (digits == place.size() || error != std::errc()) return {place, std::nullopt};
  return {place.substr(0, digits), number};
}

/// The field in place of which another entry of the list has one of its own, or the field itself.
std::string own_of_accelerator(const std::string& field, const std::string& place, const ordered_json& values) {
  const auto [name, number] = numbered(place);
  if (!number || (name != "accelerator" && name != "nic" && name != "port")) return field;
  std::string own = field;
  for (int entry = 0;; ++entry) {  // later ones go before earlier ones
    const std::string path = "others." + std::to_string(entry) + ".";
    const std::string first = configured(values, path + "first");
    const std::string count = configured(values, path + "count");
    const std::optional<int> from = numbered(first).second;
    const std::optional<int> all = numbered(count).second;
    if (!from || !all) return own;
    if (*number >= *from && *number - *from < *all && values.contains(path + field)) own = path + field;
  }
}

std::string own_of_link(const std::string& field, const std::string& network, const std::string& place,
                        const ordered_json& why, const ordered_json& values) {
  const ordered_json& links = member_of(why, "links");
  if (!links.contains(place)) return field;
  const std::string own = links[place].value("path", network + "link") + field.substr(network.size() + 4);
  return values.contains(own) && values[own].value("source", "default") != "default" ? own : field;
}

std::string own_field(const std::string& field, const ordered_json& piece, const ordered_json& why,
                      const ordered_json& values) {
  const std::string place = piece["place"];
  if (field.starts_with("accelerator.")) return own_of_accelerator(field, place, values);
  for (const char* const network : {"fabric.", "scale_up.fabric."}) {
    if (field.starts_with(std::string(network) + "link.")) return own_of_link(field, network, place, why, values);
  }
  return field;
}

bool is_something(const ordered_json& values, const std::string& field) {
  return configured(values, field).find_first_of("123456789") != std::string::npos && !is_idle(values, field);
}

/// Whether interfaces wait for memory far longer than the busiest was in use: for its latency.
bool waits_for_latency(const ordered_json& why) {
  const ordered_json& used = member_of(why, "used_ps");
  if (!used.contains("hbm")) return false;
  std::int64_t waits = 0;
  for (const ordered_json& piece : why["pieces"]) {
    if (piece["of"] == "thread" && piece["kind"] == "memory") waits += piece["ps"].get<std::int64_t>();
  }
  return waits / 2 > used["hbm"].get<std::int64_t>();
}

bool sets(const Resource::Setting& setting, const ordered_json& piece) {
  if (!setting.kind.empty() && piece["kind"] != setting.kind) return false;
  return setting.place.empty() || numbered(piece["place"].get_ref<const std::string&>()).first == setting.place;
}

/// Calls `take` with the first settings of a piece, as many as the resource shows.
template <typename Take>
void each_of(const ordered_json& why, const ordered_json& values, const Resource& resource, const ordered_json& piece,
             const Take& take) {
  int left = resource.shown;
  for (const Resource::Setting& setting : resource.settings) {
    if (left == 0) return;
    if (!sets(setting, piece)) continue;
    const std::string usually(setting.field);
    const std::string field = own_field(usually, piece, why, values);
    if (!is_something(values, field)) continue;
    --left;
    take(SetBy{field, usually, setting.is_rate, piece["ps"].get<std::int64_t>()});
  }
}

}  // namespace

std::vector<SetBy> set_by(const ordered_json& why, const ordered_json& values, const Resource& resource) {
  std::vector<SetBy> all;
  if (resource.name == "hbm" && waits_for_latency(why)) {
    if (is_something(values, "accelerator.hbm.latency"))
      all.push_back({"accelerator.hbm.latency", "accelerator.hbm.latency", false, 1});
    return all;
  }
  for (const ordered_json& piece : why["pieces"]) {
    if (&resource_of(piece) != &resource) continue;
    each_of(why, values, resource, piece, [&all](SetBy its) {
      const auto known = std::find_if(all.begin(), all.end(), [&](const SetBy& it) { return it.field == its.field; });
      if (known == all.end()) {
        all.push_back(std::move(its));
      } else {
        known->ps += its.ps;
      }
    });
  }
  std::stable_sort(all.begin(), all.end(), [](const SetBy& a, const SetBy& b) { return a.ps > b.ps; });
  return all;
}

SetBy set_by(const ordered_json& why, const ordered_json& values, const Resource& resource, const ordered_json& piece) {
  SetBy first;
  each_of(why, values, resource, piece, [&first](SetBy its) {
    if (first.field.empty()) first = std::move(its);
  });
  return first;
}

std::string settings_text(const ordered_json& why, const ordered_json& values, const Resource& resource) {
  std::string list;
  const std::vector<SetBy> all = set_by(why, values, resource);
  double most = 0;
  for (const SetBy& each : all) most = std::max(most, static_cast<double>(each.ps));
  for (std::size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) {
    const std::string& field = all[i].field;
    if (static_cast<double>(all[i].ps) < kLeastOfResource * most) break;
    list += (list.empty() ? "" : ", ") + field + " " + configured(values, field);
    if (values[field].value("source", "") == "command line") list += " (--set)";
  }
  for (const std::string_view also : resource.also) {
    const std::string field(also);
    const std::string text = configured(values, field);
    if (!text.empty() && text != "0") list += (list.empty() ? "" : ", ") + field + " " + text;
  }
  return list;
}

}  // namespace weft::platforms
