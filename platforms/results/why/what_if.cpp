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
#include <optional>
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
/// The largest change whose gain is not loose, and the largest such gain.
constexpr double kTwice = 2;
constexpr double kQuarter = 0.25;

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

std::optional<FoundField> field_called(const std::string& field) {
  MachineConfig config;
  return find_field([&config](FieldVisitor& visitor) { config.fields(visitor); }, field);
}

/// How much of the field's unit a text is; nothing if it is no value of it.
std::optional<double> amount_of(const std::string& field, const std::string& text) {
  const auto found = field_called(field);
  return found ? amount_in(found->scalar, text) : std::nullopt;
}

/// The value that the field can have which is nearest to this one.
std::string allowed(const std::string& field, const std::string& value) {
  const auto found = field_called(field);
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

/// Fields that stand in place of `field` elsewhere: of edges and dimensions with a link of their own
/// ("fabric.link.rate"), of accelerators of another kind ("accelerator.hbm.rate").
std::vector<std::string> own_fields(const std::string& field, const ordered_json& values) {
  std::vector<std::string> own;
  if (values.is_null()) return own;
  const std::size_t link = field.rfind(".link.");
  const bool is_link = link != std::string::npos;
  const std::string network = is_link ? field.substr(0, link) : "";
  for (const auto& [name, value] : values.items()) {
    const bool is_own_link = is_link && name.ends_with(field.substr(link)) &&
                             (name.starts_with(network + ".edges.") || name.starts_with(network + ".dimensions.")) &&
                             value.value("source", "default") != "default";
    if (is_own_link || (name.starts_with("others.") && name.ends_with("." + field))) own.push_back(name);
  }
  return own;
}

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
    change.is_partial = !change.field.empty() && !own_fields(change.field, values).empty();
    change.factor = factor_in(value, is_rate);
    if (change.factor != 0) return change;
    const ordered_json now = change.field.empty() ? ordered_json() : value_of(values, name);
    if (!now.is_null()) {
      const std::string present = now.is_string() ? now.get<std::string>() : now.dump();
      const auto from = amount_of(name, present);
      const auto to = amount_of(name, value);
      if (from && to && *from > 0 && *to > 0) {
        change.factor = is_rate ? *to / *from : *from / *to;
        return change;
      }
      throw std::invalid_argument(
          fmt::format("{}: expected xN, inf or a value like {}, got \"{}\"", name, present, value));
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
  const auto add = [&](const std::string& field, bool is_rate) {
    const ordered_json now = value_of(values, field);
    if (now.is_null() || is_idle(field, values)) return;
    const auto number = number_in(now.is_string() ? now.get<std::string>() : now.dump());
    if (!number || number->value == 0) return;
    const bool endless = std::isinf(change.factor) && is_rate;
    double factor = endless ? kVeryMuch : change.factor;
    if (!is_rate) factor = 1 / factor;
    const std::string scaled = fmt::format("{:.10g}{}", number->value * factor, number->unit);
    std::string value = allowed(field, scaled);
    std::string asked = endless ? "inf" : value != scaled ? scaled : "";
    settings.push_back({field, std::move(value), std::move(asked)});
  };
  for (const Resource::Setting& setting : change.resource->settings) {
    const std::string field(setting.field);
    if (!change.field.empty() && change.field != field) continue;
    add(field, setting.is_rate);
    if (!change.field.empty()) continue;
    for (const std::string& own : own_fields(field, values)) add(own, setting.is_rate);
  }
  return settings;
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
  has_power_cap_ = why.value("power_cap", false);
  if (const ordered_json& computed = member_of(why, "computed"); !computed.empty()) {
    computed_ps_ = computed["median_ps"];
    for (const auto& [name, ps] : computed["on_path"].items())
      computed_ps_ = std::max(computed_ps_, ps.get<std::int64_t>());
    computed_ps_ = std::min(computed_ps_, before_ps_);
  }
  add(path_, why["pieces"], 1);
  for (const ordered_json& collective : member_of(why, "collectives")) {
    const double share = 1 / collective["members"].get<double>();
    add(groups_[collective["group"]], collective["transfer"], share);
    late_ps_ += share * collective["late_ps"].get<double>();
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
      if (other != &resource) factor = std::min(factor, std::max(1.0, rate * factor_of(other) / (mine->second * had)));
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
    double between = ps;
    if (const auto at_end = chain.at_end_ps.find(resource); at_end != chain.at_end_ps.end()) {
      for (const auto& [had, its] : at_end->second) {
        between -= its;
        sum += its / let_through(*resource, had, factors);
      }
    }
    if (uplinks != factors.end() && resource == &resource_called("link")) between /= uplinks->second;
    sum += found == factors.end() ? between : between / found->second;
  }
  for (const auto& [starved, ps] : chain.loops_ps) {
    const auto& [network, fills] = starved;
    const auto factor_of = [&](const char* name) {
      const auto found = factors.find(&resource_within(network, name));
      return found == factors.end() ? 1 : found->second;
    };
    sum += ps * fills / std::min(factor_of("link"), fills * factor_of("buffer") * factor_of("cable"));
  }
  return sum;
}

double WhatIf::shorter_collectives(const Factors& factors) const {
  double before = late_ps_;
  double after = late_ps_;
  for (const auto& [group, chain] : groups_) {
    before += scaled(chain, {});
    after += scaled(chain, factors);
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
  Foretold result = longest([this](const Chain& chain) { return scaled(chain, {}) - chain.faults_ps; });
  result.other_ps = std::min(result.other_ps, before_ps_);
  return result;
}

Foretold WhatIf::foretell(const std::vector<ResourceChange>& changes) const {
  Factors factors;
  for (const ResourceChange& change : changes) factors.try_emplace(change.resource, 1).first->second *= change.factor;
  factors[&resource_called("cores")] = shorter_collectives(factors);
  Foretold result = longest([&](const Chain& chain) { return scaled(chain, factors); });
  const auto any = [&changes](const auto& is) { return std::any_of(changes.begin(), changes.end(), is); };
  const auto before = static_cast<double>(before_ps_);
  const bool is_partial = any([](const ResourceChange& it) { return it.is_partial; });
  if (any([](const ResourceChange& it) { return it.factor < 1; })) {
    result.is_loose = is_partial || static_cast<double>(result.ps()) > before * (1 + kNear);
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
  // How much of the time under a cap HBM would take anyway is not known.
  const bool lifts_cap = any([](const ResourceChange& it) { return it.resource == &resource_called("cap"); });
  const bool is_much = static_cast<double>(result.ps()) < before * (1 - kQuarter) ||
                       any([](const ResourceChange& it) { return it.factor > kTwice; });
  const bool changes_kernels = any([](const ResourceChange& it) {
    const auto is = [&it](const char* name) { return it.resource == &resource_called(name); };
    return is("compute") || is("hbm") || is("cap") || is("cores") || is("launch");
  });
  const bool computes_on = !changes_kernels && computed_ps_ > result.ps();
  if (computes_on) {
    result.other_ps = computed_ps_;
    result.other = "kernels of an accelerator";
  }
  // What an interface's bytes gain ends at its link's rate. What its latencies gain does not, and the path does not
  // tell them apart.
  const bool has_latencies = any([&](const ResourceChange& it) {
    const bool is_interface = it.resource == &resource_called("nic") || it.resource == &resource_called("port");
    const auto ps = path_.ps.find(it.resource);
    return is_interface && ps != path_.ps.end() && ps->second > before * kNear &&
           let_through(*it.resource, 1, factors) < factors.at(it.resource);
  });
  result.is_loose = is_partial || has_latencies || (gains && lifts_cap) ||
                    (computes_faster && (path_.at_cap_ps > 0 || (has_power_cap_ && gains))) ||
                    (gains && (widens_node || has_rival || is_much || computes_on));
  return result;
}

}  // namespace weft::platforms
