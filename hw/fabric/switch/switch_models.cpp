// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "hw/core/config/provide_beside.h"
#include "hw/fabric/switch/switch_model.h"

namespace weft::fabric {
namespace {

constexpr const char* kSwitchModel = "model of switch";

SwitchModel modelled_switch() {
  SwitchModel model;
  model.name = "model";
  model.doc = "Weft's, with virtual output queues";
  model.groups = true;
  model.reroutes = true;
  model.credits_only = false;
  model.measures_load = true;
  model.repeats = true;
  model.make = [](const SwitchSite& site) {
    return std::make_unique<Switch>(site.name.c_str(), site.config, site.dispatcher, site.packets, site.routes,
                                    site.links, site.stall, site.joined);
  };
  return model;
}

Registry<SwitchModel>& registry() {
  static Registry<SwitchModel> all(kSwitchModel, {modelled_switch});
  return all;
}

}  // namespace

void provide(SwitchModel model) {
  provide_beside<Switch::Config>(registry(), std::move(model), kSwitchModel, "fabric.switch");
}

const Registry<SwitchModel>& switch_models() {
  return registry();
}

const Names& registered(const SwitchModel* /*kind*/) {
  return registry();
}

const SwitchModel& model_of(const Switch::Config& config) {
  return registry().at(config.implementation.text(), "fabric.switch.implementation");
}

bool SwitchModel::follows_marking() const {
  return std::none_of(ignores.begin(), ignores.end(),
                      [](const std::string& field) { return field == "marking" || field == "marking.min"; });
}

Time Switch::Config::total_latency() const {
  if (const SwitchModel& own = model_of(*this); own.latency) return own.latency(*this);
  return latency + parse.latency + route.latency + admission.latency + arbitration.latency + crossbar.latency +
         egress.latency;
}

}  // namespace weft::fabric
