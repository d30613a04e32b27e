// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/field_values.h"

#include <nlohmann/json.hpp>

#include "platforms/config/field_visitor.h"
#include "platforms/machine/machine.h"

namespace weft::platforms {

using nlohmann::ordered_json;

FieldValues::FieldValues(const ordered_json& values) : FieldValues(values, {}) {}

FieldValues::FieldValues(const ordered_json& values, const std::unordered_set<std::string_view>& without) {
  if (!values.is_object()) return;
  fields_.reserve(values.size());
  by_name_.reserve(values.size());
  for (const auto& [name, value] : values.items()) {
    if (without.contains(name)) continue;
    fields_.emplace_back(name, &value);
    by_name_.emplace(name, &value);
  }
}

FieldValues FieldValues::followed(const ordered_json& why, const ordered_json& values) {
  std::unordered_set<std::string_view> without;
  if (const auto ignored = why.find("kernels_ignore"); ignored != why.end()) {
    for (const ordered_json& field : *ignored) without.insert(field.get_ref<const std::string&>());
  }
  return {values, without};
}

const ordered_json* FieldValues::value(std::string_view field) const {
  const auto found = by_name_.find(field);
  if (found == by_name_.end()) return nullptr;
  const auto value = found->second->find("value");
  return value == found->second->end() ? nullptr : &*value;
}

std::string FieldValues::text(std::string_view field) const {
  const ordered_json* const its = value(field);
  if (its == nullptr) return "";
  return its->is_string() ? its->get<std::string>() : its->dump();
}

std::string_view FieldValues::source(std::string_view field) const {
  const auto found = by_name_.find(field);
  if (found == by_name_.end()) return "";
  const auto source = found->second->find("source");
  return source == found->second->end() ? std::string_view() : source->get_ref<const std::string&>();
}

bool FieldValues::is_something(std::string_view field) const {
  return text(field).find_first_of("123456789") != std::string::npos && !is_idle(field);
}

bool FieldValues::is_idle(std::string_view field) const {
  if (field.ends_with(".pcie.lanes")) {
    return text(std::string(field.substr(0, field.rfind('.'))) + ".generation") == "0";
  }
  if (field.ends_with(".ack_timeout")) {
    const std::string interface(field.substr(0, field.rfind('.')));
    return text(interface + ".recovery") == "false" && text(interface + ".transport") != "uet";
  }
  // A workload of another kind has it.
  if (field.starts_with("workload.")) return !empty() && !contains(field);
  // The stacks say it.
  constexpr std::string_view kLatency = "accelerator.hbm.latency";
  if (field.ends_with(kLatency)) {
    const std::string part(field.substr(0, field.size() - kLatency.size()));
    return text(part + "accelerator.hbm.stacks.count") != "0";
  }
  if (field.starts_with("remote_memory.") && contains("remote_memory.kind")) {
    if (text("remote_memory.kind") == "none") return true;
    const bool is_cxl = text("remote_memory.kind") == "cxl";
    if (field.starts_with("remote_memory.cxl.")) return !is_cxl;
    return is_cxl && (field == "remote_memory.rate" || field == "remote_memory.latency");
  }
  return false;
}

std::optional<FoundField> field_of_machine(const std::string& field) {
  MachineConfig config;
  return find_field([&config](FieldVisitor& visitor) { config.fields(visitor); }, field);
}

std::optional<double> speed_at(const std::string& field, const std::string& present, const std::string& value,
                               bool is_rate) {
  const auto found = field_of_machine(field);
  if (!found) return std::nullopt;
  const std::optional<double> from = amount_in(found->scalar, present);
  const std::optional<double> to = amount_in(found->scalar, value);
  if (!from || !to || *from <= 0 || *to <= 0) return std::nullopt;
  return is_rate ? *to / *from : *from / *to;
}

}  // namespace weft::platforms
