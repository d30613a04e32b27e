// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/set_by.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// A field with less of a resource is not named.
constexpr double kLeastOfResource = 0.1;
constexpr std::size_t kMostNamed = 3;

bool sets(const Resource::Setting& setting, const Settings::Alike& pieces) {
  if (!setting.kind.empty() && pieces.kind != setting.kind) return false;
  return setting.place.empty() || numbered(pieces.place).first == setting.place;
}

}  // namespace

Settings::Settings(const ordered_json& why, const FieldValues& values) : why_(why), values_(values), parts_(why) {
  for (int entry = 0;; ++entry) {
    const std::string path = "others." + std::to_string(entry) + ".";
    const std::optional<int> first = numbered(values.text(path + "first")).second;
    const std::optional<int> count = numbered(values.text(path + "count")).second;
    if (!first || !count) break;
    others_.push_back({path, *first, *count});
  }
  std::map<std::tuple<const Resource*, std::string_view, std::string_view>, std::size_t> known;
  const Caps caps(why);
  for (const ordered_json& piece : why["pieces"]) {
    const Resource* const resource = &resource_of(piece);
    const std::string_view kind =
        resource->name == "cap" && caps.is_by_clock(piece) ? kClockCap : word_of(piece, "kind");
    const std::string_view place = word_of(piece, "place");
    const auto [at, is_new] = known.try_emplace({resource, kind, place}, pieces_.size());
    if (is_new) pieces_.push_back({resource, kind, place});
    pieces_[at->second].ps += piece["ps"].get<std::int64_t>();
  }
}

std::string Settings::own_of_accelerator(const std::string& field, std::string_view place) const {
  const auto [name, number] = numbered(place);
  if (!number || (name != "accelerator" && name != "nic" && name != "port")) return field;
  std::string own = field;
  for (const Others& each : others_) {  // later ones go before earlier ones
    const bool is_one = *number >= each.first && *number - each.first < each.count;
    if (is_one && values_.contains(each.path + field)) own = each.path + field;
  }
  return own;
}

std::string Settings::own_of_link(const std::string& field, std::string_view network, std::string_view place) const {
  const ordered_json& links = member_of(why_, "links");
  const auto link = links.find(place);
  if (link == links.end()) return field;
  const std::string own = link->value("path", std::string(network) + "link") + field.substr(network.size() + 4);
  const std::string_view source = values_.source(own);
  return values_.contains(own) && !source.empty() && source != "default" ? own : field;
}

std::string Settings::own_field(const std::string& field, std::string_view place) const {
  if (field.starts_with("accelerator.")) return own_of_accelerator(field, place);
  for (const std::string_view network : {"fabric.", "scale_up.fabric."}) {
    if (field.starts_with(std::string(network) + "link.")) return own_of_link(field, network, place);
  }
  return field;
}

bool Settings::waits_for_latency() const {
  const ordered_json& used = member_of(why_, "used_ps");
  const auto hbm = used.find("hbm");
  if (hbm == used.end()) return false;
  std::int64_t waits = 0;
  for (const ordered_json& piece : why_["pieces"]) {
    if (resource_of(piece).name == "memory-latency") waits += piece["ps"].get<std::int64_t>();
  }
  return waits / 2 > hbm->get<std::int64_t>();
}

bool Settings::binds(const Resource::Setting& setting, const Alike& pieces) const {
  if (pieces.resource->name != "hbm") return true;
  const AcceleratorLimits* const part = parts_.at(pieces.place);
  return part == nullptr || part->memory.field_of_cores() == setting.field;
}

template <typename Take>
void Settings::each_of(const Alike& pieces, const Take& take) const {
  int left = pieces.resource->shown;
  for (const Resource::Setting& setting : pieces.resource->settings) {
    if (left == 0) return;
    if (setting.is_apart || !sets(setting, pieces) || !binds(setting, pieces)) continue;
    const std::string usually(setting.field);
    const std::string field = own_field(usually, pieces.place);
    if (!values_.is_something(field)) continue;
    --left;
    take(SetBy{field, usually, setting.is_rate, pieces.ps});
  }
}

std::vector<SetBy> Settings::of(const Resource& resource) const {
  std::vector<SetBy> all;
  if (resource.name == "memory-latency" && !waits_for_latency()) return of_rate(resource);
  for (const Alike& pieces : pieces_) {
    if (pieces.resource != &resource) continue;
    each_of(pieces, [&all](SetBy its) {
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

std::vector<SetBy> Settings::of_rate(const Resource& latency) const {
  const AcceleratorLimits* const part = parts_.usual();
  const std::string field(part == nullptr ? "accelerator.hbm.rate" : part->memory.field_of_interfaces());
  const auto is_its = [&latency](const Alike& pieces) { return pieces.resource == &latency; };
  if (!values_.is_something(field) || std::none_of(pieces_.begin(), pieces_.end(), is_its)) return {};
  return {{field, field, true, 1}};
}

SetBy Settings::first_of(const Alike& pieces) const {
  SetBy first;
  each_of(pieces, [&first](SetBy its) {
    if (first.field.empty()) first = std::move(its);
  });
  return first;
}

std::string Settings::engines_text() const {
  const std::string engines = values_.text(kCopyEngines);
  if (engines.empty() || !CopyEngines(why_).are_all_used()) return "";
  // Without `accelerator`, which is before it on the same line: the line has to fit a screen.
  const std::string name(kCopyEngines.substr(kCopyEngines.find('.') + 1));
  return ", " + name + " " + engines + (values_.source(kCopyEngines) == "command line" ? " (--set)" : "");
}

std::string Settings::text(const Resource& resource) const {
  std::string list;
  const std::vector<SetBy> all = of(resource);
  double most = 0;
  for (const SetBy& each : all) most = std::max(most, static_cast<double>(each.ps));
  for (std::size_t i = 0; i < std::min(all.size(), kMostNamed); ++i) {
    const std::string& field = all[i].field;
    if (static_cast<double>(all[i].ps) < kLeastOfResource * most) break;
    list += (list.empty() ? "" : ", ") + field + " " + values_.text(field);
    if (values_.source(field) == "command line") list += " (--set)";
    if (i == 0 && resource.name == "copy") list += engines_text();
  }
  for (const std::string_view field : resource.also) {
    if (!values_.is_something(field)) continue;
    list += (list.empty() ? "" : ", ") + std::string(field) + " " + values_.text(field);
  }
  return list;
}

std::string settings_text(const ordered_json& why, const FieldValues& values, const Resource& resource) {
  return Settings(why, values).text(resource);
}

}  // namespace weft::platforms
