// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/parts.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>

#include "platforms/machine/machine.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kRate = "accelerator.hbm.rate";
constexpr std::string_view kInterconnectRate = "accelerator.hbm.interconnect_rate";
constexpr std::string_view kCoreRate = "accelerator.hbm.core_rate";

double bytes_per_s(Rate rate) {
  return static_cast<double>(rate.count()) / 8;
}

ordered_json part_of(const AcceleratorPart& part) {
  memory::HbmConfig alone = part.hbm;
  alone.interconnect_rate = Rate();
  alone.core_rate = Rate();
  ordered_json memory = {{"rate", bytes_per_s(alone.sustained())}};
  if (part.hbm.interconnect_rate > Rate()) memory["interconnect_rate"] = bytes_per_s(part.hbm.interconnect_rate);
  if (part.hbm.core_rate > Rate()) memory["core_rate"] = bytes_per_s(part.hbm.core_rate);
  ordered_json json = {{"memory", std::move(memory)}};
  const accelerator::ComputeConfig& compute = part.array.compute;
  if (compute.clock_cap > Frequency())
    json["clock_cap"] = static_cast<double>(compute.clock_cap.count()) / static_cast<double>(compute.clock.count());
  json["power_cap"] = compute.power.cap > Power();
  return json;
}

std::string name_of_others(std::size_t entry) {
  return "others." + std::to_string(entry);
}

}  // namespace

std::pair<std::string_view, std::optional<int>> numbered(std::string_view place) {
  const std::size_t digits = place.find_last_not_of("0123456789") + 1;
  int number = 0;
  const auto [end, error] = std::from_chars(place.data() + digits, place.data() + place.size(), number);
  if (digits == place.size() || error != std::errc()) return {place, std::nullopt};
  return {place.substr(0, digits), number};
}

double MemoryRates::of_interfaces() const {
  return std::min(rate, interconnect_rate);
}

double MemoryRates::of_cores() const {
  return std::min(of_interfaces(), core_rate);
}

std::string_view MemoryRates::field_of_interfaces() const {
  return interconnect_rate < rate ? kInterconnectRate : kRate;
}

std::string_view MemoryRates::field_of_cores() const {
  return core_rate < of_interfaces() ? kCoreRate : field_of_interfaces();
}

double* MemoryRates::named(std::string_view field) {
  return field == kRate               ? &rate
         : field == kInterconnectRate ? &interconnect_rate
         : field == kCoreRate         ? &core_rate
                                      : nullptr;
}

Parts::Parts(const ordered_json& why) {
  for (const ordered_json& its : member_of(why, "parts")) {
    const ordered_json& memory = its["memory"];
    parts_.push_back({its.value("first", 0),
                      its.value("count", 0),
                      {memory["rate"], memory.value("interconnect_rate", MemoryRates::kNoLimit),
                       memory.value("core_rate", MemoryRates::kNoLimit)},
                      its.value("clock_cap", MemoryRates::kNoLimit),
                      its["power_cap"]});
    for (const auto& [name, ps] : member_of(its, "used_ps").items()) parts_.back().used_ps[name] = ps.get<double>();
  }
}

const AcceleratorLimits* Parts::at(std::string_view place) const {
  const std::optional<int> number = numbered(place).second;
  const auto is_its = [&number](const AcceleratorLimits& part) {
    return number && *number >= part.first && *number - part.first < part.count;
  };
  // Later entries go before earlier ones.
  const auto found = std::find_if(parts_.rbegin(), parts_.rend(), is_its);
  return found == parts_.rend() ? usual() : &*found;
}

std::string Parts::name_at(std::string_view place) const {
  const AcceleratorLimits* const part = at(place);
  return part == usual() ? "" : name_of_others(static_cast<std::size_t>(part - parts_.data()) - 1);
}

const AcceleratorLimits* Parts::called(std::string_view name) const {
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    if (name_of_others(i - 1) == name) return &parts_[i];
  }
  return usual();
}

std::vector<std::string> Parts::names() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < parts_.size(); ++i) all.push_back(i == 0 ? "" : name_of_others(i - 1));
  return all;
}

Caps::Kernel Caps::kernel_of(const ordered_json& piece) {
  constexpr double kUnknown = -1;
  return {piece["about"], piece.value("memory_share", kUnknown), piece["place"]};
}

Caps::Caps(const ordered_json& why) : has_power_cap_(why.value("power_cap", false)) {
  const Parts parts(why);
  struct Times {
    double at_full_clock = 0;
    double waited = 0;
    double all = 0;
  };
  std::map<Kernel, Times> kernels;
  for (const ordered_json& piece : why["pieces"]) {
    if (piece["of"] != "kernel") continue;
    const std::string_view kind = word_of(piece, "kind");
    const bool computes = kind == "kernel" || kind == "lost cores";
    if (!computes && kind != "cap" && kind != "memory") continue;
    Times& its = kernels[kernel_of(piece)];
    its.all += piece["ps"].get<double>();
    if (computes) its.at_full_clock += piece["ps"].get<double>();
    if (kind == "memory") its.waited += piece["ps"].get<double>();
  }
  // Waits for memory at the end of a kernel make its clock look a little lower than it is.
  constexpr double kNear = 0.98;
  for (const auto& [kernel, its] : kernels) {
    const AcceleratorLimits* const part = parts.at(std::get<2>(kernel));
    // Of a kernel that memory binds at the full clock, it hides what the array takes there.
    const double at_most = std::get<1>(kernel) >= 1 ? its.at_full_clock + its.waited : its.at_full_clock;
    const bool is_at_cap = part != nullptr && at_most >= kNear * part->clock_cap * its.all;
    by_clock_[kernel] = part == nullptr ? !has_power_cap_ : !part->has_power_cap || is_at_cap;
  }
}

bool Caps::is_by_clock(const ordered_json& piece) const {
  const auto found = by_clock_.find(kernel_of(piece));
  return found == by_clock_.end() ? !has_power_cap_ : found->second;
}

CopyEngines::CopyEngines(const ordered_json& why) {
  const ordered_json& engines = member_of(why, "copy_engines");
  all_ = engines.value("of", 0.0);
  used_ = engines.value("used", 0.0);
}

double CopyEngines::with(double times) const {
  if (all_ == 0 || are_all_used()) return times;
  return std::min(1.0, times * all_ / std::max(1.0, used_));
}

ordered_json parts_of(const MachineConfig& config) {
  ordered_json parts = ordered_json::array({part_of(config.accelerator)});
  for (const OtherAccelerators& other : config.others) {
    ordered_json part = part_of(other.accelerator);
    part["first"] = other.first;
    part["count"] = other.count;
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace weft::platforms
