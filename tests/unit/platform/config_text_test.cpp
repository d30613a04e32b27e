// SPDX-License-Identifier: Apache-2.0
// Names and texts that read as numbers: a release of 2.30 is not one of 2.3.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "platforms/config/document.h"
#include "tests/support/config.h"

namespace weft::platforms {
namespace {

using namespace test_config;

constexpr const char* kNoParts = WEFT_TEST_DATA "/parts";

enum class Release { k20, k28 };
EnumNames<Release> enum_names(Release) {
  return {{"2.20", Release::k20}, {"2.28", Release::k28}};
}

struct ReleaseConfig {
  Release release = Release::k28;
  std::string label;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("release", release, "Which one");
    visit("label", label, "Name in reports");
  }
};

TEST(ConfigTexts, AreWhatWasTyped) {
  const auto read_release = [](const std::string& text, const Overrides& overrides, nlohmann::json* kept = nullptr) {
    Document document = Document::from_text(text, "p.json", overrides, Catalogue(kNoParts));
    ReleaseConfig config;
    document.root().read_part("engine", config);
    if (kept != nullptr) *kept = document.configuration()["platform"]["engine"];
    return config;
  };
  const auto error = [&](const std::string& text, const Overrides& overrides) {
    return error_of([&] { read_release(text, overrides); });
  };
  nlohmann::json kept;
  const ReleaseConfig config = read_release("{}", {"engine.release=2.20", "engine.label=1.50"}, &kept);
  EXPECT_EQ(config.release, Release::k20);
  EXPECT_EQ(config.label, "1.50");
  EXPECT_EQ(kept, (nlohmann::json{{"release", "2.20"}, {"label", "1.50"}})) << "a later run reads the same";
  EXPECT_EQ(read_release("{}", {"engine.label=true"}).label, "true");
  EXPECT_EQ(read_release("{}", {"engine.release=\"2.20\""}).release, Release::k20);
  EXPECT_EQ(read_release("{}", {"engine.label=1.50", "engine={\"label\":\"b\"}"}).label, "b");
  EXPECT_EQ(error("{}", {"engine.release=2.30"}), "--set: engine.release: expected one of 2.20, 2.28, got 2.30");
  EXPECT_EQ(error("{}", {"engine.release=\"2.30\""}),
            "--set: engine.release: expected one of 2.20, 2.28, got \"2.30\"");
  EXPECT_EQ(
      error(R"({"engine": {"release": 2.30}})", {}),
      "p.json: engine.release: expected one of 2.20, 2.28, got 2.3, a number, which keeps no last zero: put it in "
      "quotes");
  EXPECT_EQ(read_release(R"({"engine": {"release": 2.20}})", {}).release, Release::k20);
}

}  // namespace
}  // namespace weft::platforms
