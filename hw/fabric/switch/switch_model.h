// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "hw/core/dispatcher.h"
#include "hw/core/packet.h"
#include "hw/core/stall.h"
#include "hw/fabric/switch/switch.h"

/// Models of the switch by the names that `fabric.switch.implementation` gives them. Weft's own is `model` (Switch); a
/// user provides others before the platform is read:
///
///     fabric::provide({.name = "my-switch",
///                      .doc = "one queue for each output",
///                      .config = MySwitch::Config(),  // fields at fabric.switch.my_switch
///                      .make = [](const fabric::SwitchSite& site) {
///                        return std::make_unique<MySwitch>(site.name.c_str(), site);
///                      }});
namespace weft::fabric {

/// Where a switch is built in. The dispatcher, the pool and the routes outlive it.
struct SwitchSite {
  std::string name;  ///< of the module
  const Switch::Config& config;
  Dispatcher& dispatcher;
  PacketPool& packets;
  const Routes& routes;
  const std::vector<LinkConfig>& links;  ///< the outgoing direction of each port, all with as many lanes
  const Stall::Config& stall;
  const std::vector<bool>& joined;  ///< which ports lead to other switches

  /// The fields of this model.
  template <typename C>
  [[nodiscard]] const C& own() const {
    return config.sections.of<C>();
  }
};

/// A way of modelling the switch.
struct SwitchModel {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `fabric.switch.implementation`

  /// The fields that it has for itself, at `fabric.switch.NAME` with _ for -. May be none.
  AnyConfig config = {};
  std::string config_doc = {};
  /// Fields of `fabric.switch` that it does not follow: if a user sets them, a remark says so.
  std::vector<std::string> ignores = {};

  bool groups = false;         ///< it multicasts, and reduces if it has an engine
  bool reroutes = false;       ///< its routes may change in the run
  bool credits_only = true;    ///< its inputs have no PFC, and drop nothing
  bool measures_load = false;  ///< follows Switch::Config::load_window
  /// Nothing in it goes on by itself, so that steps of training repeat themselves and `steady` may leave some out.
  bool repeats = false;

  /// Throws ConfigError; `path` is where the switch stands, such as "fabric.switch". May be null.
  std::function<void(const Switch::Config&, const std::string& path)> check = {};
  /// First byte in to first byte out of an idle switch, which buffers of links are made to fit. Null: that of the
  /// fields of `fabric.switch`.
  std::function<Time(const Switch::Config&)> latency = {};

  /// Makes a switch when elaborating. Throws ConfigError.
  std::function<std::unique_ptr<AnySwitch>(const SwitchSite&)> make;

  /// Whether it marks packets by `fabric.switch.marking`; otherwise by rules of its own, or none.
  [[nodiscard]] bool follows_marking() const;
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken.
void provide(SwitchModel model);

/// All there are.
[[nodiscard]] const Registry<SwitchModel>& switch_models();
/// Throws ConfigError if there is none of this name.
[[nodiscard]] const SwitchModel& model_of(const Switch::Config& config);

}  // namespace weft::fabric
