// SPDX-License-Identifier: Apache-2.0
// Limits of doubles, which may be excluded: what is refused, and how each place says it.
#include "hw/core/config/number_limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/config/own_fields.h"
#include "platforms/config/commented.h"
#include "platforms/config/document.h"
#include "platforms/config/other_values.h"
#include "platforms/config/schema.h"
#include "tests/support/config.h"

namespace weft::platforms {
namespace number_limits_test {
namespace {

using namespace test_config;

struct NumbersConfig {
  double share = 0.5;
  double positive = 0.1;
  double momentum = 0.9;
  double weight = 0.5;
  double most = 2;
  std::vector<double> shares = {0.5, 1};
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("share", share, "Share", kShareAboveZero);
    visit("positive", positive, "Rate", kAboveZero);
    visit("momentum", momentum, "Momentum", kShareBelowOne);
    visit("weight", weight, "Weight", Range{0, 1});
    visit("most", most, "Multiple", Range{1});
    visit("shares", shares, "Shares", kShareAboveZero);
  }
};

std::string said(const std::string& field) {
  return error_of([&] {
    Document document = Document::from_text("{" + field + "}", "p.json", {}, Catalogue(WEFT_TEST_DATA "/parts"));
    NumbersConfig config;
    document.root().read(config);
    document.check_unused();
  });
}

constexpr const char* kShare = "expected a number, more than 0 and at most 1, got ";

TEST(NumberLimits, ARefusedNumberIsToldBothLimitsAndWhichAreExcluded) {
  for (const char* got : {"-1", "0", "1.5"}) {
    EXPECT_EQ(said(std::string(R"("share": )") + got), std::string("p.json: share: ") + kShare + got);
    EXPECT_EQ(said(std::string(R"("shares": [1, )") + got + "]"), std::string("p.json: shares.1: ") + kShare + got);
  }
  for (const char* got : {"-1", "0"}) {
    EXPECT_EQ(said(std::string(R"("positive": )") + got),
              std::string("p.json: positive: expected a number, more than 0, got ") + got);
  }
  for (const char* got : {"-0.5", "1", "2"}) {
    EXPECT_EQ(said(std::string(R"("momentum": )") + got),
              std::string("p.json: momentum: expected a number, at least 0 and less than 1, got ") + got);
  }
  EXPECT_EQ(said(R"("weight": 1.5)"), "p.json: weight: expected a number from 0 to 1, got 1.5");
  EXPECT_EQ(said(R"("most": 0.5)"), "p.json: most: expected a number, at least 1, got 0.5");
  EXPECT_EQ(said(R"("share": "0%")"), std::string("p.json: share: ") + kShare + "\"0%\"");
}

TEST(NumberLimits, WhatIsIncludedIsTaken) {
  for (const char* taken :
       {R"("share": 1)", R"("share": 1e-300)", R"("share": "100%")", R"("positive": 1e300)", R"("momentum": 0)",
        R"("momentum": 0.999)", R"("weight": 0)", R"("weight": 1)", R"("most": 1)"}) {
    EXPECT_EQ(said(taken), "no error") << taken;
  }
}

TEST(NumberLimits, AConfigOfCppIsCheckedInTheSameWords) {
  const auto refusal = [](auto change) -> std::string {
    NumbersConfig config;
    change(config);
    try {
      check_numbers(config, "here");
      return "no error";
    } catch (const ConfigError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal([](NumbersConfig&) {}), "no error");
  EXPECT_EQ(refusal([](NumbersConfig& config) { config.share = 0; }), std::string("here.share: ") + kShare + "0");
  EXPECT_EQ(refusal([](NumbersConfig& config) { config.shares[1] = 2; }),
            std::string("here.shares.1: ") + kShare + "2");
  EXPECT_EQ(refusal([](NumbersConfig& config) { config.share = std::nan(""); }),
            std::string("here.share: ") + kShare + "nan");
}

TEST(NumberLimits, ADefaultAtAnExcludedLimitIsAMistake) {
  struct Mistaken {
    double share = 0;
    void fields(FieldVisitor& visit) { visit("share", share, "", kShareAboveZero); }
  };
  EXPECT_NO_THROW(check_own_fields("mine", NumbersConfig()));
  try {
    check_own_fields("mine", Mistaken());
    FAIL() << "was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "mine.share: expected a default that is a number, more than 0 and at most 1, got 0");
  }
}

TEST(NumberLimits, AreDescribed) {
  NumbersConfig config;
  std::vector<std::string> limits;
  for (const FieldDoc& field : describe(config)) {
    limits.push_back(field.limits);
  }
  EXPECT_EQ(limits, (std::vector<std::string>{"more than 0 and at most 1", "more than 0", "at least 0 and less than 1",
                                              "0 to 1", "at least 1", "more than 0 and at most 1"}));
}

TEST(NumberLimits, AreOfTheSchemaAndOfTheCommentsThatFollowIt) {
  NumbersConfig config;
  Catalogue catalogue(WEFT_TEST_DATA "/parts");
  SchemaBuilder builder(catalogue);
  const nlohmann::ordered_json schema = builder.object("", [&](FieldVisitor& visitor) { config.fields(visitor); });
  const auto limits_of = [&](const char* field) {
    nlohmann::json limits = nlohmann::json::object();
    for (const char* key : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
      if (schema["properties"][field].contains(key)) limits[key] = schema["properties"][field][key];
    }
    return limits;
  };
  EXPECT_EQ(limits_of("share"), nlohmann::json({{"exclusiveMinimum", 0}, {"maximum", 1}}));
  EXPECT_EQ(limits_of("positive"), nlohmann::json({{"exclusiveMinimum", 0}}));
  EXPECT_EQ(limits_of("momentum"), nlohmann::json({{"minimum", 0}, {"exclusiveMaximum", 1}}));
  EXPECT_EQ(limits_of("weight"), nlohmann::json({{"minimum", 0}, {"maximum", 1}}));
  const std::string text =
      commented({{"share", 1}, {"positive", 1}, {"momentum", 0}, {"weight", 0}, {"most", 1}}, schema);
  for (const char* line :
       {"// Share; more than 0 and at most 1\n", "// Rate; more than 0\n", "// Momentum; at least 0 and less than 1\n",
        "// Weight; 0 to 1\n", "// Multiple; at least 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

TEST(NumberLimits, OtherValuesAreWithinThem) {
  NumbersConfig config;
  const auto fields = [&config](FieldVisitor& visitor) { config.fields(visitor); };
  for (const auto& [field, member] : {std::pair{"share", &config.share}, std::pair{"positive", &config.positive},
                                      std::pair{"momentum", &config.momentum}}) {
    std::set<double> tried;
    const auto all = [&, at = member] {
      EXPECT_NO_THROW(check_numbers(config, field));
      tried.insert(*at);
      return std::uint64_t{0};
    };
    EXPECT_TRUE(is_indifferent(fields, field, all, Extremes::kTried));
    EXPECT_GT(tried.size(), 4U) << field;
    for (const bool up : {false, true}) {
      const NumbersConfig before = config;
      move_far(fields, field, up);
      EXPECT_NO_THROW(check_numbers(config, field)) << field << up;
      config = before;
    }
  }
  EXPECT_EQ(within_limits(make_scalar(config.share), kShareAboveZero, "2"), "1");
  EXPECT_EQ(within_limits(make_scalar(config.share), kShareAboveZero, "0.7"), "0.7");
  EXPECT_EQ(within_limits(make_scalar(config.momentum), kShareBelowOne, "-1"), "0");
}

}  // namespace
}  // namespace number_limits_test
}  // namespace weft::platforms
