// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/reduction_engines.h"

#include <algorithm>
#include <map>
#include <utility>

#include "hw/fabric/modelled_lane.h"
#include "hw/fabric/reduction_lane_engine.h"
#include "hw/fabric/reduction_model.h"

namespace weft::fabric {
namespace {

constexpr const char* kModel = "model";
constexpr const char* kOwnRtl = "rtl";

std::map<std::string, ReductionMaker>& makers() {
  static std::map<std::string, ReductionMaker> all;
  return all;
}

}  // namespace

void provide_reduction_engine(const std::string& name, ReductionMaker make) {
  makers()[name] = std::move(make);
}

std::vector<std::string> reduction_engines() {
  std::vector<std::string> names = {kModel};
  for (const auto& [name, make] : makers()) names.push_back(name);
  return names;
}

void check_reduction_engine(const std::string& name, const std::string& path) {
  if (name == kModel || makers().contains(name)) return;
  std::string known;
  for (const std::string& each : reduction_engines()) known += (known.empty() ? "" : ", ") + each;
  std::string expected = "expected one of " + known + ", got " + name;
  if (name == kOwnRtl) {
    expected +=
        ", which the command weft has if it was built with Verilator: install the package verilator, configure and "
        "build "
        "again";
  }
  throw ConfigError(path, expected);
}

std::unique_ptr<ReductionEngine> make_reduction_engine(const ReductionSite& site) {
  const auto found = makers().find(site.config.implementation);
  if (found != makers().end()) return found->second(site);
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

}  // namespace weft::fabric
