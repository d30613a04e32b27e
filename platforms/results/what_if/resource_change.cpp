// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/what_if/resource_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "hw/nic/host_link.h"
#include "platforms/config/find_field.h"
#include "platforms/results/what_if/own_fields.h"
#include "traces/nearest_names.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// A rate that is to be infinite is so many times as high: fields have limits.
constexpr double kVeryMuch = 100;
/// What xN multiplies by, beside 0 of a time: times of 292 years and more have no room.
constexpr double kLeastTimes = 1e-6;
constexpr double kMostTimes = 1e6;

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

std::string names() {
  std::string text;
  for (const Resource& resource : resources()) {
    if (!resource.settings.empty()) text += (text.empty() ? "" : ", ") + std::string(resource.name);
  }
  return text;
}

/// What is said of a name that is neither a resource nor a field of one: names like it, or else all resources.
std::string unknown_name(const std::string& name, const FieldValues& values) {
  traces::NearestNames near(name);
  const auto is_setting = [](const std::string& field) {
    return std::any_of(resources().begin(), resources().end(), [&field](const Resource& resource) {
      return std::any_of(resource.settings.begin(), resource.settings.end(),
                         [&field](const Resource::Setting& it) { return it.field == field; });
    });
  };
  for (const auto& [each, value] : values) {
    if (const auto own = own_field(each); own && is_setting(own->usually)) near.look_at(each);
  }
  for (const Resource& resource : resources()) {
    if (resource.settings.empty()) continue;
    near.look_at(resource.name);
    for (const Resource::Setting& setting : resource.settings) near.look_at(setting.field);
  }
  if (const std::string question = near.question(); !question.empty())
    return fmt::format("expected a resource or a field of one, got \"{}\"{}", name, question);
  return fmt::format("expected one of {}, or a field of these, got \"{}\"", names(), name);
}

std::string without_spaces_around(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

/// The value that the field can have which is nearest to this one.
std::string allowed(const std::string& field, const std::string& value) {
  const auto found = field_of_machine(field);
  if (!found) return value;
  std::string within = within_limits(found->scalar, found->range, value);
  if (field == "fabric.uplinks" && within == "0") return "1";  // 0: as many as fit
  if (!field.ends_with(".pcie.lanes")) return within;
  const auto& widths = nic::PcieConfig::kWidths;
  const auto wider = std::upper_bound(widths.begin(), widths.end(), std::stoi(within));
  return std::to_string(*std::prev(wider));
}

std::string name_of(const ResourceChange& change) {
  if (change.field.empty()) return std::string(change.resource->name);
  return change.own.empty() ? change.field : name_of(OwnField{change.field, change.own});
}

/// What a field is; nothing if it is 0 or has no effect.
std::optional<Number> number_set(const std::string& field, const FieldValues& values) {
  if (values.is_idle(field)) return std::nullopt;
  auto number = number_in(values.text(field));
  if (number && number->value == 0) return std::nullopt;
  return number;
}

/// Whether a resource has other fields that are more than nothing.
bool has_others(const Resource& resource, const OwnField& field, const FieldValues& values) {
  return std::any_of(resource.settings.begin(), resource.settings.end(), [&](const Resource::Setting& it) {
    const std::string other(it.field);
    if (other == field.usually) return false;
    return values.is_something(field.own.empty() ? other : name_of(OwnField{other, field.own}));
  });
}

/// "x2" as 2; nothing if it is not that.
std::optional<double> times_in(const std::string& value) {
  if (value.empty() || value.front() != 'x') return std::nullopt;
  const auto number = number_in(value.substr(1));
  if (!number || !number->unit.empty()) return std::nullopt;
  const bool is_within = number->value >= kLeastTimes && number->value <= kMostTimes;
  return is_within || number->value == 0 ? std::optional(number->value) : std::nullopt;
}

/// "xN" in what is expected, and of an N that is too much or too little, what it is to be.
std::string times_expected(const std::string& got) {
  const bool is_number = got.starts_with('x') && number_in(got.substr(1)).has_value();
  return is_number ? "xN with N from 1e-6 to 1e6" : "xN";
}

/// So many times as fast. Nothing if the text is neither xN, nor inf, nor the 0 of what is a time.
std::optional<double> speed_in(const std::string& value, bool is_rate) {
  if (value == "inf") return kInfinite;
  if (const auto times = times_in(value); times && *times > 0) return times;
  if (const auto number = number_in(value); number && number->value == 0 && !is_rate) return kInfinite;
  return std::nullopt;
}

/// The same of a field, whose value is multiplied. A time becomes none with 0 or x0, and not with inf.
std::optional<double> speed_of_field(const std::string& value, bool is_rate) {
  if (is_rate) return speed_in(value, true);
  if (const auto times = times_in(value)) return 1 / *times;
  return value == "inf" ? std::nullopt : speed_in(value, false);
}

}  // namespace

ResourceChange read_change(const std::string& text, const FieldValues& values) {
  const std::size_t equals = text.find('=');
  const std::string name = without_spaces_around(text.substr(0, equals));
  const std::string value = equals == std::string::npos ? "" : without_spaces_around(text.substr(equals + 1));
  const OwnField field = own_field(name).value_or(OwnField{name, ""});
  const bool is_there = field.own.empty() || values.empty() || values.contains(name);
  for (const Resource& resource : resources()) {
    if (resource.settings.empty() || !is_there) continue;
    if (name == resource.name) {
      const auto speed = speed_in(value, resource.settings.front().is_rate);
      if (!speed) {
        throw std::invalid_argument(
            fmt::format("{}: expected {} or inf, got \"{}\"", name, times_expected(value), value));
      }
      return {&resource, "", *speed};
    }
    const auto setting = std::find_if(resource.settings.begin(), resource.settings.end(),
                                      [&field](const Resource::Setting& it) { return it.field == field.usually; });
    if (setting == resource.settings.end()) continue;
    if (values.is_idle(name)) {
      throw std::invalid_argument(fmt::format("expected a field that has an effect on this machine, got {}", name));
    }
    const std::string present = values.text(name);
    auto speed = speed_of_field(value, setting->is_rate);
    if (!speed && !present.empty()) speed = speed_at(field.usually, present, value, setting->is_rate);
    if (speed) {
      ResourceChange change{&resource, field.usually, *speed, !setting->is_rate};
      change.is_one_of_several = setting->kind.empty() && has_others(resource, field, values);
      change.own = field.own;
      if (!field.own.empty()) return change;
      for (OwnField& own : own_fields(name, values)) change.without.push_back(std::move(own.own));
      return change;
    }
    const std::string example = present.empty() ? "" : " or a value like " + present;
    throw std::invalid_argument(
        fmt::format("{}: expected {}{} {}{}, got \"{}\"", name, setting->is_rate ? times_expected(value) : "xN",
                    example.empty() ? " or" : ",", setting->is_rate ? "inf" : "0", example, value));
  }
  throw std::invalid_argument(unknown_name(name, values));
}

std::vector<ResourceChange> read_changes(const std::string& text, const FieldValues& values) {
  std::vector<ResourceChange> changes;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const ResourceChange next = read_change(text.substr(from, comma - from), values);
    for (const ResourceChange& other : changes) {
      if (next.resource != other.resource) continue;
      if (next.field == other.field && next.own == other.own)
        throw std::invalid_argument("expected each name once, got " + name_of(next) + " twice");
      if (next.field.empty() || other.field.empty()) {
        throw std::invalid_argument(
            fmt::format("expected a resource or a field of it, got both: {} and {}", name_of(other), name_of(next)));
      }
    }
    changes.push_back(next);
    from = comma + 1;
  }
  return changes;
}

std::string to_text(const ResourceChange& change) {
  const double times = change.is_time ? 1 / change.factor : change.factor;
  if (std::isinf(times)) return name_of(change) + "=inf";
  return times == 0 ? name_of(change) + "=0" : fmt::format("{}=x{:.4g}", name_of(change), times);
}

bool has_settings(const Resource& resource, const FieldValues& values) {
  const auto is_set = [&values](const std::string& field) { return number_set(field, values).has_value(); };
  return std::any_of(resource.settings.begin(), resource.settings.end(), [&](const Resource::Setting& setting) {
    if (setting.is_apart) return false;
    const std::string field(setting.field);
    if (is_set(field)) return true;
    const std::vector<OwnField> own = own_fields(field, values);
    return std::any_of(own.begin(), own.end(), [&is_set](const OwnField& it) { return is_set(name_of(it)); });
  });
}

std::vector<ChangedSetting> settings_of(const ResourceChange& change, const FieldValues& values) {
  std::vector<ChangedSetting> settings;
  const auto add = [&](const OwnField& field, bool is_rate) {
    const std::string name = field.own.empty() ? field.usually : name_of(field);
    const auto number = number_set(name, values);
    if (!number) return;
    const bool endless = std::isinf(change.factor) && is_rate;
    double factor = endless ? kVeryMuch : change.factor;
    if (!is_rate) factor = 1 / factor;
    const std::string scaled = fmt::format("{:.10g}{}", number->value * factor, number->unit);
    std::string value = allowed(field.usually, scaled);
    std::string asked = endless ? "inf" : value != scaled ? scaled : "";
    settings.push_back({name, std::move(value), std::move(asked)});
  };
  for (const Resource::Setting& setting : change.resource->settings) {
    const std::string field(setting.field);
    if (change.field.empty() ? setting.is_apart : change.field != field) continue;
    add({field, change.own}, setting.is_rate);
    if (!change.field.empty()) continue;
    for (const OwnField& own : own_fields(field, values)) add(own, setting.is_rate);
  }
  return settings;
}

}  // namespace weft::platforms
