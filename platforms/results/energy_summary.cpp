// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/energy_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// Four significant digits with a prefix that suits them: "1.234 kJ".
std::string with_prefix(double value, const char* unit) {
  constexpr std::array<std::pair<double, const char*>, 6> kPrefixes{
      {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "u"}}};
  for (const auto& [factor, prefix] : kPrefixes) {
    if (value >= factor) return fmt::format("{:.4g} {}{}", value / factor, prefix, unit);
  }
  return fmt::format("{:.4g} {}", value, unit);
}

std::vector<std::pair<const char*, double>> kinds_of(const EnergyAccount& account) {
  const AcceleratorEnergy accelerators = account.all_accelerators();
  std::vector<std::pair<const char*, double>> kinds = {{"compute", accelerators.compute},
                                                       {"hbm", accelerators.hbm},
                                                       {"links", account.all_links().active},
                                                       {"switches", account.all_switches().active},
                                                       {"nics", account.nics.active}};
  if (account.has_pool) kinds.emplace_back("pools", account.pool.active);
  kinds.emplace_back("idle", account.idle());
  return kinds;
}

double power_of(double energy, Time span) {
  return span > Time() ? energy / to_seconds(span) : 0;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

ordered_json energy_summary(const EnergyAccount& account) {
  double highest = 0;
  for (const AcceleratorEnergy& each : account.accelerators) highest = std::max(highest, each.total());
  const AcceleratorEnergy accelerators = account.all_accelerators();
  const auto count = static_cast<double>(account.accelerators.size());
  ordered_json json = {{"total_j", account.total()},
                       {"power_mean_w", power_of(account.total(), account.span)},
                       {"machine_j_per_accelerator", account.total() / count},
                       {"accelerator_power_mean_w", power_of(accelerators.total() / count, account.span)},
                       {"accelerator_power_max_w", power_of(highest, account.span)}};
  ordered_json& kinds = json["by_kind_j"];
  for (const auto& [name, energy] : kinds_of(account)) kinds[name] = energy;
  json["idle_j"] = {{"accelerators", accelerators.idle},
                    {"links", account.all_links().idle},
                    {"switches", account.all_switches().idle},
                    {"nics", account.nics.idle}};
  if (account.has_pool) json["idle_j"]["pools"] = account.pool.idle;
  ordered_json& masters = json["hbm_by_master_j"];
  for (const auto& [master, energy] : account.hbm_by_master) masters[master] = energy;
  ordered_json& networks = json["networks_j"];
  for (const NetworkEnergy& network : account.networks) {
    networks[network.name] = {{"links", network.links.total()}, {"switches", network.switches.total()}};
  }
  json["without_figures"] = account.unknown();
  return json;
}

std::string joules_text(double joules) {
  return with_prefix(joules, "J");
}

std::string energy_text(const EnergyAccount& account, const std::string& of) {
  const double total = account.total();
  std::string text =
      fmt::format("energy                  {:>10}  {}{}{} on average, {} for each accelerator\n",
                  with_prefix(total, "J"), of, of.empty() ? "" : ", ", with_prefix(power_of(total, account.span), "W"),
                  with_prefix(power_of(total / static_cast<double>(account.accelerators.size()), account.span), "W"));
  for (const auto& [name, energy] : kinds_of(account)) {
    text += fmt::format("  {:<22}{:>10}  {:5.1f} %\n", name, with_prefix(energy, "J"),
                        total > 0 ? energy / total * 100 : 0);
  }
  text += fmt::format("    of accelerators {}, links {}, switches {}, nics {}{}\n",
                      with_prefix(account.all_accelerators().idle, "J"), with_prefix(account.all_links().idle, "J"),
                      with_prefix(account.all_switches().idle, "J"), with_prefix(account.nics.idle, "J"),
                      account.has_pool ? ", pools " + with_prefix(account.pool.idle, "J") : "");
  const std::vector<std::string> unknown = account.unknown();
  if (!unknown.empty()) text += "  without figures: " + joined(unknown) + "\n";
  return text;
}

}  // namespace weft::platforms
