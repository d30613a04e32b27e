// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "hw/core/config/provide_beside.h"
#include "hw/nic/nic.h"
#include "hw/nic/nic_model.h"

namespace weft::nic {
namespace {

constexpr const char* kNicModel = "model of network interface";

NicModel modelled_nic() {
  NicModel model;
  model.name = "model";
  model.doc = "Weft's";
  model.repeats = true;
  model.make = [](const NicSite& site) {
    return std::make_unique<Nic>(site.name.c_str(), site.config, site.network, site.end, site.dispatcher, site.packets,
                                 site.data, site.stall);
  };
  return model;
}

Registry<NicModel>& known_models() {
  static Registry<NicModel> all(kNicModel, {modelled_nic});
  return all;
}

}  // namespace

void provide(NicModel model) {
  provide_beside<NicConfig>(known_models(), std::move(model), kNicModel, "nic");
}

const Registry<NicModel>& nic_models() {
  return known_models();
}

const Names& registered(const NicModel* /*kind*/) {
  return known_models();
}

const NicModel& model_of(const NicConfig& config) {
  return known_models().at(config.implementation.text(), "nic.implementation");
}

void Verbs::lacks(const char* what) const {
  throw ConfigError(
      name(), std::string("expected an interface that has ") + what + ": implementation model, or other collectives");
}

}  // namespace weft::nic
