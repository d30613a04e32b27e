// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/reduction/reduction_engines.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "hw/core/config/own_fields.h"
#include "hw/core/config/registry.h"
#include "hw/fabric/implementations.h"
#include "hw/fabric/reduction/modelled_lane.h"
#include "hw/fabric/reduction/reduction_lane_engine.h"
#include "hw/fabric/reduction/reduction_model.h"

namespace weft::fabric {
namespace {

struct ReductionBlock {
  std::string name;
  ReductionMaker make;
};

std::unique_ptr<ReductionEngine> make_modelled_engine(const ReductionSite& site) {
  if (site.config.bounded()) {
    LaneShape shape = ModelledLane::shape_of(site.config);
    shape.children = std::min(shape.children, site.ports);
    const PinsMaker lane = [&site, shape](auto& /*clk*/, auto& /*reset*/) {
      return std::make_unique<ModelledLane>(site.config, shape);
    };
    return std::make_unique<ReductionLaneEngine>("reduction", shape, lane, site);
  }
  return std::make_unique<ReductionModel>(site.config, site.ports, site.packets);
}

Registry<ReductionBlock>& blocks() {
  static Registry<ReductionBlock> all = [] {
    Registry<ReductionBlock> own("reduction engine");
    own.provide({ReductionEngine::Config().implementation, make_modelled_engine});
    return own;
  }();
  return all;
}

}  // namespace

void provide_reduction_engine(const std::string& name, ReductionMaker make) {
  if (!make) throw std::invalid_argument("reduction engine \"" + name + "\": expected a make, got none");
  blocks().provide({name, std::move(make)});
}

void check_reduction_engine(const std::string& name, const std::string& path) {
  check_implementation(blocks().names(), name, path);
}

std::unique_ptr<ReductionEngine> make_reduction_engine(const ReductionSite& site) {
  const ReductionBlock& block = blocks().at(site.config.implementation, "reduction.implementation");
  return made(block.make(site), "reduction.implementation", block.name);
}

}  // namespace weft::fabric
