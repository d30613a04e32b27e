// SPDX-License-Identifier: Apache-2.0
// Values that fields do not have, tried on a Config.
#include "platforms/config/other_values.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "platforms/config/document.h"

namespace weft::platforms {
namespace other_values {
namespace {

using namespace literals;

enum class Order : std::uint8_t { kRing, kTree };
EnumNames<Order> enum_names(Order /*tag*/) {
  return {{"ring", Order::kRing}, {"tree", Order::kTree}};
}

struct EngineConfig {
  Frequency clock = 1000_MHz;
  double efficiency = 0.5;
  bool sparse = false;
  std::string label = "plain";
  Order order = Order::kRing;
  Bytes size = 1_GiB;
  int channels = 32;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("clock", clock, "Core clock");
    visit("efficiency", efficiency, "Share of the peak that is reached", Range{0, 1});
    visit("sparse", sparse, "Skips zeros");
    visit("label", label, "Name in reports");
    visit("order", order, "Order of work");
    visit("size", size, "Capacity", Range{1LL << 20, 1LL << 40});
    visit("channels", channels, "Independent channels", Range{1, 128});
  }
};

TEST(ConfigValues, AreIndifferentWhereNoOtherChangesAResult) {
  EngineConfig config;
  const auto is_indifferent_to = [&config](const char* field, const std::function<std::uint64_t()>& result) {
    return is_indifferent([&](FieldVisitor& visitor) { config.fields(visitor); }, field, result, Extremes::kTried);
  };
  const auto channels = [&config] {
    if (config.channels > 64) throw ConfigError("channels", "expected at most 64");
    return static_cast<std::uint64_t>(config.channels >= 4);
  };
  EXPECT_FALSE(is_indifferent_to("channels", channels));
  EXPECT_TRUE(is_indifferent_to("channels", [&] { return channels() * 0; }));
  EXPECT_TRUE(is_indifferent_to("size", channels));
  EXPECT_TRUE(is_indifferent_to("sparse", channels));
  EXPECT_FALSE(is_indifferent_to("sparse", [&] { return std::uint64_t{config.sparse}; }));
  EXPECT_FALSE(is_indifferent_to("order", [&] { return static_cast<std::uint64_t>(config.order); }));
  EXPECT_FALSE(is_indifferent_to("efficiency", [&] { return static_cast<std::uint64_t>(config.efficiency * 10); }));
  EXPECT_FALSE(is_indifferent_to("label", channels));
  EXPECT_FALSE(is_indifferent_to("nothing", channels));
  // Where everything else is refused, nothing is known.
  EXPECT_FALSE(is_indifferent_to("clock", [&] {
    return config.clock == 1000_MHz ? std::uint64_t{1} : throw ConfigError("clock", "expected 1000MHz");
  }));
  EXPECT_EQ(config_to_json(config), config_to_json(EngineConfig()));
  config.clock = Frequency(INT64_MAX);
  EXPECT_TRUE(is_indifferent_to("clock", [] { return std::uint64_t{0}; })) << "no neighbour above it";
}

TEST(ConfigValues, AreMovedFarWithinTheirLimits) {
  EngineConfig config;
  const auto move = [&config](const char* field, bool up) {
    move_far([&](FieldVisitor& visitor) { config.fields(visitor); }, field, up);
  };
  config.clock = 2048_MHz;
  move("clock", false);
  EXPECT_EQ(config.clock, 2_MHz);
  config.clock = Frequency(INT64_MAX - 1);
  move("clock", true);
  EXPECT_EQ(config.clock, Frequency(INT64_MAX)) << "no product beyond it";
  config.channels = 5;
  move("channels", false);
  EXPECT_EQ(config.channels, 1) << "its least";
  config.efficiency = 0.5;
  move("efficiency", false);
  EXPECT_DOUBLE_EQ(config.efficiency, 0.5 / 1024);
  const auto before = config_to_json(config);
  move("label", true);
  move("nothing", true);
  EXPECT_EQ(config_to_json(config), before);
}

}  // namespace
}  // namespace other_values
}  // namespace weft::platforms
