// SPDX-License-Identifier: Apache-2.0
#include "hw/core/config/registry.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/fields.h"

namespace weft {
namespace {

struct Shape {
  std::string name;
  int sides = 0;
};

Registry<Shape> shapes() {
  Registry<Shape> all("shape");
  all.provide({"triangle", 3});
  all.provide({"square", 4});
  return all;
}

template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Registry, HasWhatWasProvidedInItsOrder) {
  Registry<Shape> all = shapes();
  all.provide({"my-hexagon_2", 6});
  EXPECT_EQ(all.names(), (std::vector<std::string>{"triangle", "square", "my-hexagon_2"}));
  ASSERT_NE(all.find("square"), nullptr);
  EXPECT_EQ(all.find("square")->sides, 4);
  EXPECT_EQ(all.at("my-hexagon_2", "drawing.shape").sides, 6);
  EXPECT_EQ(all.find("circle"), nullptr);
}

/// Who keeps an entry keeps it when others come.
TEST(Registry, LeavesEntriesInTheirPlaces) {
  Registry<Shape> all = shapes();
  const Shape* first = all.find("triangle");
  for (int i = 0; i < 1000; ++i) all.provide({"shape" + std::to_string(i), i});
  EXPECT_EQ(all.find("triangle"), first);
  EXPECT_EQ(first->sides, 3);
}

TEST(Registry, NamesThoseThatAnUnknownNameMayMean) {
  const Registry<Shape> all = shapes();
  EXPECT_EQ(message_of([&] { static_cast<void>(all.at("sqare", "drawing.shape")); }),
            "drawing.shape: expected one of triangle, square, got \"sqare\"; did you mean \"square\"?");
  EXPECT_EQ(message_of([&] { static_cast<void>(all.at("circle", "drawing.shape")); }),
            "drawing.shape: expected one of triangle, square, got \"circle\"");
}

TEST(Registry, RefusesANameTwice) {
  Registry<Shape> all = shapes();
  EXPECT_EQ(message_of([&] {
              all.provide({"square", 5});
            }),
            "shape: expected a name that no other has, got \"square\"");
  EXPECT_EQ(all.find("square")->sides, 4);
  EXPECT_EQ(all.names().size(), 2U);
}

/// It stands in paths of fields.
TEST(Registry, RefusesANameThatAPathCannotHave) {
  Registry<Shape> all = shapes();
  for (const char* name : {"", "my.shape", "my shape", "ring\n"}) {
    EXPECT_EQ(message_of([&] {
                all.provide({name, 5});
              }),
              "shape: expected a name of letters, digits, - and _, got \"" + std::string(name) + "\"");
  }
}

struct WindowConfig {
  int window = 4;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("window", window, "How many", Range{1, 8});
  }
};

/// Doubles all integers.
class Doubler : public FieldVisitor {
 public:
  std::vector<std::string> names;

 protected:
  void scalar(std::string_view name, std::string_view, const Scalar& member, Range) override {
    names.emplace_back(name);
    const auto& integer = std::get<IntegerRef>(member);
    integer.store(2 * integer.load());
  }
  void nested(std::string_view, std::string_view, std::string_view, const Fields&) override {}
  void list(std::string_view, std::string_view, const ListRef&) override {}
};

TEST(AnyConfig, IsVisitedAndCopiedLikeItsConfig) {
  AnyConfig one = WindowConfig();
  AnyConfig other = one;
  Doubler doubler;
  other.fields(doubler);
  EXPECT_EQ(doubler.names, std::vector<std::string>{"window"});
  EXPECT_EQ(other.as<WindowConfig>().window, 8);
  EXPECT_EQ(one.as<WindowConfig>().window, 4);
  EXPECT_TRUE(one.is<WindowConfig>());
  EXPECT_FALSE(one.is<int>());
}

TEST(AnyConfig, MayBeNone) {
  AnyConfig none;
  Doubler doubler;
  none.fields(doubler);
  EXPECT_FALSE(none.exists());
  EXPECT_TRUE(doubler.names.empty());
}

struct Tool {
  std::string name;
  AnyConfig config;
  std::string config_doc;
};

/// As a configuration that another registry keeps: what it has been given stays.
TEST(Sections, HaveEntriesThatAreProvidedLater) {
  Registry<Tool> tools("tool");
  tools.provide({"my-saw", WindowConfig(), "saw"});
  tools.provide({"plain", {}, {}});
  Sections sections(tools);
  for (Section& section : sections) section.config.as<WindowConfig>().window = 7;
  struct OtherConfig : WindowConfig {};
  tools.provide({"my-drill", OtherConfig(), "drill"});
  std::vector<std::string> keys;
  sections.fields(
      [&](const std::string& key, AnyConfig& /*config*/, const std::string& doc) { keys.push_back(key + " " + doc); });
  EXPECT_EQ(keys, (std::vector<std::string>{"my_saw saw", "my_drill drill"}));
  EXPECT_EQ(sections.of<WindowConfig>().window, 7);
  EXPECT_EQ(sections.of<OtherConfig>().window, 4);
}

}  // namespace
}  // namespace weft
