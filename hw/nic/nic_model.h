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
#include "hw/fabric/fabric_config.h"
#include "hw/nic/any_nic.h"

/// Models of the network interface by the names that `nic.implementation` and `scale_up.port.implementation` give them.
/// Weft's own is `model` (Nic); a user provides others before the platform is read:
///
///     nic::provide({.name = "my-nic",
///                   .doc = "two engines",
///                   .config = MyNic::Config(),  // fields at nic.my_nic
///                   .make = [](const nic::NicSite& site) {
///                     return std::make_unique<MyNic>(site.name.c_str(), site);
///                   }});
namespace weft::nic {

/// Where an interface is built in. What it refers to outlives it.
struct NicSite {
  std::string name;  ///< of the module
  const NicConfig& config;
  const fabric::FabricConfig& network;  ///< with the link of this end
  std::uint32_t end = 0;                ///< its number in the fabric
  Dispatcher& dispatcher;
  PacketPool& packets;
  bool data = false;  ///< packets carry bytes, not their times alone
  Stall::Config stall;

  /// The fields of this model.
  template <typename C>
  [[nodiscard]] const C& own() const {
    return config.of_implementations.of<C>();
  }
};

/// A way of modelling the interface.
struct NicModel {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `nic.implementation`

  /// The fields that it has for itself, at `nic.NAME` with _ for -. May be none.
  AnyConfig config = {};
  std::string config_doc = {};
  /// Fields of `nic` that it does not follow: if a user sets them, a remark says so.
  std::vector<std::string> ignores = {};
  /// Nothing in it goes on by itself, so that steps of training repeat themselves and `steady` may leave some out.
  bool repeats = false;

  /// Throws ConfigError; `path` is where the interface stands, such as "nic". May be null.
  std::function<void(const NicConfig&, const std::string& path)> check = {};

  /// Makes an interface when elaborating. Throws ConfigError.
  std::function<std::unique_ptr<AnyNic>(const NicSite&)> make;
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken.
void provide(NicModel model);

/// All there are.
[[nodiscard]] const Registry<NicModel>& nic_models();
/// Throws ConfigError if there is none of this name.
[[nodiscard]] const NicModel& model_of(const NicConfig& config);

}  // namespace weft::nic
