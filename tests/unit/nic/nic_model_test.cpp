// SPDX-License-Identifier: Apache-2.0
// Models of the network interface by name: Weft's own, and one of a user's that has queue pairs alone.
#include "hw/nic/nic_model.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "hw/nic/nic.h"
#include "tests/support/kernel.h"

namespace weft::nic {
namespace {

struct EnginesConfig {
  int engines = 2;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("engines", engines, "Side by side");
  }
};

/// Nothing is connected to it.
class OwnNic final : public AnyNic {
 public:
  OwnNic(sc_core::sc_module_name name, const NicSite& site)
      : AnyNic(name), engines(site.own<EnginesConfig>().engines), config_(site.config), end_(site.end) {}

  [[nodiscard]] std::uint32_t end() const override { return end_; }
  std::uint32_t create_queue_pair(std::uint64_t /*completion_address*/) override { return 7; }
  void connect(std::uint32_t /*pair*/, std::uint32_t /*peer_end*/, std::uint32_t /*peer_pair*/) override {}
  void provide(const WorkRequest& /*receive*/) override {}
  [[nodiscard]] Sockets sockets() override { throw std::logic_error("it has none"); }
  void use_phases() override {}
  [[nodiscard]] const Config& config() const override { return config_; }
  [[nodiscard]] const Counters& counters() const override { return counters_; }
  [[nodiscard]] const fabric::Transmitter& transmitter() const override { throw std::logic_error("it has none"); }
  [[nodiscard]] std::vector<std::string> left_over() override { return {}; }

  int engines;

 private:
  Config config_;
  Counters counters_;
  std::uint32_t end_;
};

void provide_own_nic() {
  if (nic_models().find("own-nic") != nullptr) return;
  provide({.name = "own-nic", .doc = "for tests", .config = EnginesConfig(), .make = [](const NicSite& site) {
             return std::make_unique<OwnNic>(site.name.c_str(), site);
           }});
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

class NicModels : public testing::Test {
 protected:
  NicModels() { provide_own_nic(); }

  std::unique_ptr<AnyNic> make(const NicConfig& config) {
    return model_of(config).make({"nic3", config, network_, 3, *dispatcher_, packets_, false, {}});
  }

 private:
  struct Fresh {
    Fresh() { test::fresh_kernel(); }
  } fresh_;
  fabric::FabricConfig network_;
  PacketPool packets_;
  std::unique_ptr<Dispatcher> dispatcher_ = std::make_unique<Dispatcher>("dispatcher");
};

TEST_F(NicModels, OneOfAUserIsMadeWithItsFields) {
  NicConfig config;
  config.implementation = "own-nic";
  config.of_implementations.of<EnginesConfig>().engines = 5;
  const std::unique_ptr<AnyNic> nic = make(config);
  EXPECT_STREQ(nic->name(), "nic3");
  EXPECT_EQ(nic->end(), 3U);
  EXPECT_EQ(dynamic_cast<OwnNic&>(*nic).engines, 5);
  EXPECT_EQ(nic->depths().sends, 0);
  EXPECT_EQ(message_of([&] { static_cast<void>(nic->create_group_sender(0, 1)); }),
            "nic3: expected an interface that has groups, which multicast takes: implementation model, or other "
            "collectives");
}

TEST_F(NicModels, WeftsOwnIsAnEntryLikeOthers) {
  EXPECT_EQ(NicConfig().implementation, "model");
  NicConfig config;
  config.send_queue_depth = 8;
  const std::unique_ptr<AnyNic> nic = make(config);
  ASSERT_NE(dynamic_cast<Nic*>(nic.get()), nullptr);
  EXPECT_EQ(nic->depths().sends, 8);
}

TEST_F(NicModels, AnUnknownNameAndOneThatIsTakenAreRefused) {
  NicConfig config;
  config.implementation = "own-nick";
  EXPECT_EQ(message_of([&] { static_cast<void>(model_of(config)); }),
            "nic.implementation: expected one of model, own-nic, got \"own-nick\"; did you mean \"own-nic\"?");
  EXPECT_EQ(message_of([] {
              const NicModel again = *nic_models().find("own-nic");
              provide(again);
            }),
            "model of network interface: expected a name that no other has, got \"own-nic\"");
}

}  // namespace
}  // namespace weft::nic
