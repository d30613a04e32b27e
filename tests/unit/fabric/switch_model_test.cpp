// SPDX-License-Identifier: Apache-2.0
// Models of the switch by name, with one of a user's own: Weft's behind another name, which has neither groups nor
// other routes.
#include "hw/fabric/switch/switch_model.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "hw/fabric/fabric.h"
#include "tests/support/kernel.h"

namespace weft::fabric {
namespace {

using namespace weft::literals;

struct OwnSwitchConfig {
  Time latency = 3_us;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("latency", latency, "Of a packet");
  }
};

std::vector<std::string>& made() {
  static std::vector<std::string> names;
  return names;
}

void provide_own_switch() {
  if (switch_models().find("own-switch") != nullptr) return;
  fabric::provide(
      {.name = "own-switch",
       .doc = "for tests",
       .config = OwnSwitchConfig(),
       .check =
           [](const Switch::Config& config, const std::string& path) {
             if (config.sections.of<OwnSwitchConfig>().latency < 1_ms) return;
             throw ConfigError(path + ".own_switch.latency", "expected less than 1ms");
           },
       .latency = [](const Switch::Config& config) { return config.sections.of<OwnSwitchConfig>().latency; },
       .make = [](const SwitchSite& site) -> std::unique_ptr<AnySwitch> {
         made().push_back(site.name);
         Switch::Config config = site.config;
         config.latency = site.own<OwnSwitchConfig>().latency;
         return std::make_unique<Switch>(site.name.c_str(), config, site.dispatcher, site.packets, site.routes,
                                         site.links, site.stall, site.joined);
       }});
}

FabricConfig own_network() {
  provide_own_switch();
  FabricConfig config;
  config.topology = Shape::kRing;
  config.switch_config.implementation = "own-switch";
  return config;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(SwitchModel, OfAUserIsMadeForEachPlace) {
  test::fresh_kernel();
  made().clear();
  Dispatcher dispatcher("dispatcher");
  PacketPool packets;
  const FabricConfig config = own_network();
  EXPECT_EQ(config.switch_config.total_latency(), 3_us);
  EXPECT_EQ(Switch::Config().total_latency(), Switch::Config().latency);
  Fabric network("network", config, 4, dispatcher, packets, {}, "fabric");
  EXPECT_EQ(made().size(), 4U);
  EXPECT_EQ(network.switch_count(), 4U);
  // It says that it has no groups: multicast is refused, and for sums there is no room.
  EXPECT_EQ(message_of([&] {
              static_cast<void>(network.create_group({0, 1}, {}));
            }),
            "fabric.switch.implementation: expected model, since the network multicasts, got own-switch");
  EXPECT_EQ(network.create_group({0, 1}, {.reduces = true}), std::nullopt);
}

TEST(SwitchModel, IsRefusedWhereItDoesNotFit) {
  const auto fails = [](const FabricConfig& config) {
    return message_of([&] { static_cast<void>(Plan(config, 4, "scale_up.fabric", 1)); });
  };
  EXPECT_EQ(fails(own_network()), "");
  FabricConfig config = own_network();
  config.switch_config.sections.of<OwnSwitchConfig>().latency = 1_ms;
  EXPECT_EQ(fails(config), "scale_up.fabric.switch.own_switch.latency: expected less than 1ms");
  config = own_network();
  config.link.flow_control = FlowControl::kPfc;
  EXPECT_EQ(fails(config),
            "scale_up.fabric.switch.implementation: expected model, since links have pfc (link.flow_control), got "
            "own-switch");
  config = own_network();
  config.switch_config.implementation = "own-swtch";
  EXPECT_EQ(fails(config),
            "fabric.switch.implementation: expected one of model, own-switch, got \"own-swtch\"; did you mean "
            "\"own-switch\"?");
  EXPECT_EQ(message_of([] {
              const SwitchModel again = model_of(Switch::Config());
              fabric::provide(again);
            }),
            "model of switch: expected a name that no other has, got \"model\"");
}

}  // namespace
}  // namespace weft::fabric
