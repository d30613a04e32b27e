// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "hw/nic/host_link.h"
#include "platforms/config/field_visitor.h"
#include "platforms/config/find_field.h"
#include "platforms/machine/machine.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// A rate that is to be infinite is so many times as high: fields have limits.
constexpr double kVeryMuch = 100;
/// An estimate this near to the run as it was is within it whatever happens.
constexpr double kNear = 0.05;
/// Another chain this near to the path may bind once the path is shorter.
constexpr double kRival = 0.8;

struct Number {
  double value = 0;
  std::string unit;
};

std::optional<Number> number_in(const std::string& text) {
  Number number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error != std::errc()) return std::nullopt;
  number.unit = std::string(end, text.data() + text.size());
  return number;
}

ordered_json value_of(const ordered_json& values, const std::string& field) {
  return values.contains(field) ? values[field].value("value", ordered_json()) : ordered_json();
}

std::string names() {
  std::string text;
  for (const Resource& resource : resources()) {
    if (!resource.settings.empty()) text += (text.empty() ? "" : ", ") + std::string(resource.name);
  }
  return text;
}

/// The value that the field can have which is nearest to this one.
std::string allowed(const std::string& field, const std::string& value) {
  MachineConfig config;
  const auto found = find_field([&config](FieldVisitor& visitor) { config.fields(visitor); }, field);
  if (!found) return value;
  std::string within = within_limits(found->scalar, found->range, value);
  if (!field.ends_with(".pcie.lanes")) return within;
  const auto& widths = nic::PcieConfig::kWidths;
  const auto wider = std::upper_bound(widths.begin(), widths.end(), std::stoi(within));
  return std::to_string(*std::prev(wider));
}

/// Lanes of a link that is none.
bool is_idle(const std::string& field, const ordered_json& values) {
  return field.ends_with(".pcie.lanes") &&
         value_of(values, field.substr(0, field.rfind('.')) + ".generation") == ordered_json(0);
}

double factor_in(const std::string& value, bool is_rate) {
  if (value == "inf") return kInfinite;
  if (!value.empty() && value.front() == 'x') {
    const auto number = number_in(value.substr(1));
    if (number && number->unit.empty() && number->value > 0 && std::isfinite(number->value)) {
      return number->value;
    }
  }
  if (const auto number = number_in(value); number && number->value == 0 && !is_rate) return kInfinite;
  return 0;
}

}  // namespace

ResourceChange read_change(const std::string& text, const ordered_json& values) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  ResourceChange change;
  for (const Resource& resource : resources()) {
    bool is_rate = true;
    bool is_it = name == resource.name && !resource.settings.empty();
    for (const Resource::Setting& setting : resource.settings) {
      if (name != setting.field) continue;
      is_it = true;
      is_rate = setting.is_rate;
      change.field = name;
    }
    if (!is_it) continue;
    change.resource = &resource;
    if (change.field.empty()) is_rate = resource.settings.front().is_rate;
    change.factor = factor_in(value, is_rate);
    if (change.factor != 0) return change;
    const ordered_json now = change.field.empty() ? ordered_json() : value_of(values, name);
    if (!now.is_null()) {
      const auto from = number_in(now.is_string() ? now.get<std::string>() : now.dump());
      const auto to = number_in(value);
      if (from && to && from->unit == to->unit && from->value > 0 && to->value > 0) {
        change.factor = is_rate ? to->value / from->value : from->value / to->value;
        return change;
      }
      throw std::invalid_argument(fmt::format("{}: expected xN, inf or a value like {}, got \"{}\"", name,
                                              now.is_string() ? now.get<std::string>() : now.dump(), value));
    }
    throw std::invalid_argument(fmt::format("{}: expected xN or inf, got \"{}\"", name, value));
  }
  throw std::invalid_argument(fmt::format("expected one of {}, or a field of these, got \"{}\"", names(), name));
}

std::string to_text(const ResourceChange& change) {
  const std::string name = change.field.empty() ? std::string(change.resource->name) : change.field;
  return std::isinf(change.factor) ? name + "=inf" : fmt::format("{}=x{:.4g}", name, change.factor);
}

std::vector<ChangedSetting> settings_of(const ResourceChange& change, const ordered_json& values) {
  std::vector<ChangedSetting> settings;
  for (const Resource::Setting& setting : change.resource->settings) {
    const std::string field(setting.field);
    if (!change.field.empty() && change.field != field) continue;
    const ordered_json now = value_of(values, field);
    if (now.is_null() || is_idle(field, values)) continue;
    const auto number = number_in(now.is_string() ? now.get<std::string>() : now.dump());
    if (!number || number->value == 0) continue;
    const bool endless = std::isinf(change.factor) && setting.is_rate;
    double factor = endless ? kVeryMuch : change.factor;
    if (!setting.is_rate) factor = 1 / factor;
    const std::string scaled = fmt::format("{:.10g}{}", number->value * factor, number->unit);
    std::string value = allowed(field, scaled);
    std::string asked = endless ? "inf" : value != scaled ? scaled : "";
    settings.push_back({field, std::move(value), std::move(asked)});
  }
  return settings;
}

WhatIf::WhatIf(const ordered_json& why)
    : before_ps_(why["until_ps"].get<std::int64_t>() - why["from_ps"].get<std::int64_t>()) {
  const ordered_json networks = why.value("stages", ordered_json::object());
  for (const auto& [network, its] : networks.items()) {
    Stages& stages = stages_.emplace_back();
    for (const auto& [name, rate] : its.items()) stages[&resource_called(name)] = rate.get<double>();
  }
  const ordered_json links = why.value("links", ordered_json::object());
  for (const auto& [name, link] : links.items()) {
    if (link["joins"] != "between switches") ends_.insert(name);
  }
  has_power_cap_ = why.value("power_cap", false);
  add(path_, why["pieces"], 1);
  for (const ordered_json& collective : why.value("collectives", ordered_json::array())) {
    add(groups_[collective["group"]], collective["transfer"], 1 / collective["members"].get<double>());
  }
}

void WhatIf::add(Chain& chain, const ordered_json& pieces, double share) const {
  // A faster array gains such kernels little: they take their energy at the cap's power.
  std::set<std::string> at_cap;
  for (const ordered_json& piece : pieces) {
    if (piece["kind"] == "cap") at_cap.insert(piece["about"]);
  }
  for (const ordered_json& piece : pieces) {
    const double ps = share * piece["ps"].get<double>();
    if (piece["kind"] == "kernel" && at_cap.contains(piece["about"])) {
      chain.at_cap_ps += ps;
      continue;
    }
    const Resource& resource = resource_of(piece);
    chain.ps[&resource] += ps;
    if (!piece.value("on_link", false) || ends_.contains(piece["place"].get<std::string>()))
      chain.at_end_ps[&resource] += ps;
  }
}

double WhatIf::let_through(const Resource& resource, const Factors& factors) const {
  const auto factor_of = [&factors](const Resource* its) {
    const auto found = factors.find(its);
    return found == factors.end() ? 1 : found->second;
  };
  double factor = factor_of(&resource);
  if (factor <= 1) return factor;
  for (const Stages& stages : stages_) {
    const auto mine = stages.find(&resource);
    if (mine == stages.end()) continue;
    for (const auto& [other, rate] : stages) {
      if (other != &resource) factor = std::min(factor, std::max(1.0, rate * factor_of(other) / mine->second));
    }
  }
  return factor;
}

double WhatIf::scaled(const Chain& chain, const Factors& factors) const {
  const auto computing = factors.find(&resource_of("kernel", ""));
  const auto uplinks = factors.find(&resource_called("uplink"));
  double sum = chain.at_cap_ps;
  if (computing != factors.end() && computing->second < 1) sum /= computing->second;
  for (const auto& [resource, ps] : chain.ps) {
    const auto found = factors.find(resource);
    const auto at_end = chain.at_end_ps.find(resource);
    const double limited = at_end == chain.at_end_ps.end() ? 0 : at_end->second;
    double between = ps - limited;
    if (uplinks != factors.end() && resource == &resource_called("link")) between /= uplinks->second;
    sum += found == factors.end() ? between + limited
                                  : between / found->second + limited / let_through(*resource, factors);
  }
  return sum;
}

Foretold WhatIf::foretell(const std::vector<ResourceChange>& changes) const {
  Foretold result;
  result.before_ps = before_ps_;
  Factors factors;
  for (const ResourceChange& change : changes) factors.try_emplace(change.resource, 1).first->second *= change.factor;
  result.path_ps = std::llround(scaled(path_, factors));
  for (const auto& [group, chain] : groups_) {
    const std::int64_t ps = std::llround(scaled(chain, factors));
    if (ps <= result.other_ps) continue;
    result.other_ps = ps;
    result.other = "collectives of " + group;
  }
  const auto any = [&changes](const auto& is) { return std::any_of(changes.begin(), changes.end(), is); };
  const auto before = static_cast<double>(before_ps_);
  if (any([](const ResourceChange& it) { return it.factor < 1; })) {
    result.is_loose = static_cast<double>(result.ps()) > before * (1 + kNear);
    return result;
  }
  result.other_ps = std::min(result.other_ps, before_ps_);
  const bool gains = static_cast<double>(result.ps()) < before * (1 - kNear);
  const bool computes_faster = any([](const ResourceChange& it) { return it.resource == &resource_of("kernel", ""); });
  // Within a node links, ports and copy engines have rates of one order: the path is silent on those that hide behind
  // it.
  const bool widens_node = any([](const ResourceChange& it) {
    return it.resource->network == "scale_up" || it.resource == &resource_of("copy", "");
  });
  const bool has_rival = static_cast<double>(result.other_ps) > kRival * static_cast<double>(result.path_ps);
  result.is_loose =
      (computes_faster && (path_.at_cap_ps > 0 || (has_power_cap_ && gains))) || (gains && (widens_node || has_rival));
  return result;
}

}  // namespace weft::platforms
