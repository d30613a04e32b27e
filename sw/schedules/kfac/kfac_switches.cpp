// SPDX-License-Identifier: Apache-2.0
// What the switches of a schedule come to, and which are refused.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/config/number_limits.h"
#include "sw/schedules/kfac/schedule.h"

namespace weft::schedules {

const Schedule& KfacConfig::schedule() const {
  return schedule_of(algorithm);
}

bool KfacConfig::second_order() const {
  return schedule().second_order.has_value();
}

bool KfacConfig::factored_damping() const {
  const auto& how = schedule().second_order;
  // What is damped is the product of both.
  if (inverse == kfac::Inversion::kEigen && training.damping_form == DampingForm::kAlgorithm) return false;
  const DampingForm form = training.damping_form != DampingForm::kAlgorithm ? training.damping_form
                           : how                                            ? how->damping
                                                                            : DampingForm::kPlain;
  return form == DampingForm::kFactored;
}

bool KfacConfig::local_factors() const {
  const auto& how = schedule().second_order;
  return how && how->local;
}

bool KfacConfig::pipelined() const {
  if (pipelining != KfacSwitch::kAlgorithm) return pipelining == KfacSwitch::kOn;
  const auto& how = schedule().second_order;
  return how && how->pipelined;
}

namespace {

bool merges(FactorFusion how) {
  return how == FactorFusion::kDynamic || how == FactorFusion::kOptimal;
}

}  // namespace

FactorFusion KfacConfig::factor_fusion() const {
  if (fusion != FactorFusion::kAlgorithm) return fusion;
  const auto& how = schedule().second_order;
  if (!how || (merges(how->fusion) && !pipelined())) return FactorFusion::kThreshold;
  return how->fusion;
}

bool KfacConfig::merges_factors() const {
  return merges(factor_fusion());
}

InversePlacement KfacConfig::inverse_placement() const {
  if (placement != InversePlacement::kAlgorithm) return placement;
  const auto& how = schedule().second_order;
  return how ? how->placement : InversePlacement::kEverywhere;
}

bool KfacConfig::profiles() const {
  if (!second_order() || local_factors()) return false;
  return merges_factors() || inverse_placement() == InversePlacement::kBalanced;
}

namespace {

[[noreturn]] void refuse(const std::string& field, const std::string& expected, std::int64_t got) {
  throw ConfigError("workload." + field, "expected " + expected + ", got " + std::to_string(got));
}

/// "one averages", "one and other average".
std::string names_of_averaging() {
  std::vector<std::string> names;
  for (const Schedule& each : schedules()) {
    if (each.averages) names.push_back(each.name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text + (names.size() == 1 ? " averages" : " average");
}

/// Switches that would have no effect are mistaken.
void check_switches(const KfacConfig& config) {
  const std::string name(name_of(config.algorithm));
  const auto expect_algorithms = [&name](const char* field, auto value, const std::string& why) {
    if (value == decltype(value)::kAlgorithm) return;
    throw ConfigError("workload." + std::string(field),
                      "expected algorithm with " + name + ", " + why + ", got " + std::string(name_of(value)));
  };
  if (!config.second_order()) {
    const std::string why = "which has no factors";
    expect_algorithms("pipelining", config.pipelining, why);
    expect_algorithms("fusion", config.fusion, why);
    expect_algorithms("placement", config.placement, why);
    for (const auto& [field, interval] : {std::pair("factor_interval", config.factor_interval),
                                          std::pair("inverse_interval", config.inverse_interval)}) {
      if (interval != 1) refuse(field, "1 with " + name + ", " + why, interval);
    }
  }
  if (config.inverse == kfac::Inversion::kEigen && config.second_order()) {
    const std::string eigen = "with workload.inverse eigen, which damps the product of both factors";
    if (config.training.damping_form == DampingForm::kFactored) {
      throw ConfigError("workload.training.damping_form", "expected algorithm or plain " + eigen + ", got factored");
    }
    if (config.training.damping_stays) {
      throw ConfigError("workload.training.damping_stays", "expected false " + eigen);
    }
  }
  if (config.local_factors()) {
    expect_algorithms("fusion", config.fusion, "which sends no factors");
    expect_algorithms("placement", config.placement, "whose layers' owners invert");
  }
  if (config.second_order() && config.schedule().second_order->places) {
    expect_algorithms("placement", config.placement, "which places inverses itself");
  }
  if (config.second_order() && config.merges_factors() && !config.pipelined()) {
    throw ConfigError(
        "workload.fusion",
        "expected none, threshold or all with factors that are sent after the backward pass (pipelining), "
        "got " +
            std::string(name_of(config.fusion)));
  }
  if (config.schedule().averages) return;
  const std::string why = "1 with " + name + ", since only " + names_of_averaging() + " weights";
  if (config.delay != 1) refuse("delay", why, config.delay);
  if (config.averaging_interval != 1) refuse("averaging_interval", why, config.averaging_interval);
}

}  // namespace

KfacConfig checked(KfacConfig config) {
  check_numbers(config, "workload");
  check_switches(config);
  const std::unique_ptr<Trainer> trainer = trainer_of(config);
  trainer->check();
  if (config.steps == 0) {
    config.steps = static_cast<int>(std::min<std::int64_t>(trainer->lag() + trainer->period(), KfacConfig::kMostSteps));
  }
  if (config.steps < trainer->fewest_steps()) {
    refuse("steps",
           "at least " + std::to_string(trainer->fewest_steps()) + ", the first that has what an earlier step of " +
               std::string(name_of(config.algorithm)) + " sent",
           config.steps);
  }
  if (!config.compression.on()) return config;
  compression::check(config.compression, "workload.compression");
  if (compression::plan_of({.elements = 1}, config.compression).wire == compression::Wire::kHops) {
    throw ConfigError("workload.compression.method",
                      "expected one whose messages are gathered or summed, since this one works hop by hop "
                      "(collectives.compression), got " +
                          std::string(name_of(config.compression.method)));
  }
  if (!config.schedule().may_be_sparse) {
    throw ConfigError("workload.compression.method",
                      "expected none with " + std::string(name_of(config.algorithm)) +
                          ", whose schedule does not say that it sums gradients by AllReduces "
                          "(may_be_sparse is false), got " +
                          config.compression.method.text());
  }
  return config;
}

}  // namespace weft::schedules
