// SPDX-License-Identifier: Apache-2.0
// What a study asks for: its points, and what is wrong with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "platforms/study/expression/expression.h"
#include "platforms/study/expression/quantity_value.h"
#include "tests/platform/study/study_cli.h"

namespace weft {
namespace {

using nlohmann::json;

class StudyFile : public test::StudyCli {};

json column(const json& points, const std::string& path) {
  json all = json::array();
  for (const json& point : points) all.push_back(point["parameters"][path]);
  return all;
}

TEST_F(StudyFile, AxesMakeEveryCombination) {
  const json made = points(R"({"axes": {"seed": [1, 2], "collective.bytes": ["4KiB", "8KiB", "16KiB"]}})");
  EXPECT_EQ(column(made, "seed"), json({1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(column(made, "collective.bytes"), json({"4KiB", "8KiB", "16KiB", "4KiB", "8KiB", "16KiB"}));
  std::set<std::string> keys;
  for (const json& point : made) keys.insert(point["key"]);
  EXPECT_EQ(keys.size(), 6U);
}

TEST_F(StudyFile, RangesHaveStepsOrAFactor) {
  const json made = points(R"({"zip": {"fabric.link.rate": {"from": "100Gbps", "to": "400Gbps", "steps": 4},
      "collective.bytes": {"from": "1KiB", "to": "8KiB", "factor": 2},
      "seed": {"from": 1, "to": 1000, "steps": 4, "log": true}}})");
  EXPECT_EQ(column(made, "fabric.link.rate"), json({"100Gbps", "200Gbps", "300Gbps", "400Gbps"}));
  EXPECT_EQ(column(made, "collective.bytes"), json({"1KiB", "2KiB", "4KiB", "8KiB"}));
  EXPECT_EQ(column(made, "seed"), json({1, 10, 100, 1000}));
}

TEST_F(StudyFile, ZipsGoTogetherAndWithAxes) {
  const json made = points(R"({"axes": {"seed": [1, 2]},
      "zip": [{"fabric.link.rate": ["100Gbps", "200Gbps"], "fabric.link.propagation": ["1us", "2us"]}]})");
  ASSERT_EQ(made.size(), 4U);
  for (const json& point : made) {
    EXPECT_EQ(point["parameters"]["fabric.link.rate"] == "100Gbps",
              point["parameters"]["fabric.link.propagation"] == "1us");
  }
}

/// A derived value is written as the field has it, and its own values and other fields are in its expression.
TEST_F(StudyFile, DerivedValuesFollow) {
  const json made = points(R"({"values": {"share": [0.5, 2]}, "axes": {"fabric.link.rate": ["100Gbps", "400Gbps"]},
      "derived": {"accelerators": "4 * share", "nic.dma_rate": "fabric.link.rate * share"}})");
  EXPECT_EQ(column(made, "accelerators"), json({2, 2, 8, 8}));
  EXPECT_EQ(column(made, "nic.dma_rate"), json({"50Gbps", "200Gbps", "200Gbps", "800Gbps"}));
}

TEST_F(StudyFile, ConstraintsLeavePointsOut) {
  write_study(R"({"values": {"radix": [2, 4, 8]}, "axes": {"seed": [1, 2]},
      "constraints": ["radix * seed >= accelerators", "fabric.topology == \"fat-tree\" && seed < 3"]})");
  const json listed = weft_json("sweep ../s.json --db s.db --dry-run");
  EXPECT_EQ(column(listed["points"], "radix"), json({2, 4, 4, 8, 8}));
  EXPECT_EQ(listed["left_out"], 1);
}

TEST_F(StudyFile, SamplesAreThoseOfTheirSeed) {
  for (const char* const kind : {"random", "latin_hypercube"}) {
    SCOPED_TRACE(kind);
    const auto sampled = [&](const char* seed) {
      return points(std::string("{\"") + kind + R"(": {"points": 20, "seed": )" + seed + R"(, "ranges": {
        "fabric.link.rate": {"from": "100Gbps", "to": "200Gbps"}, "seed": {"from": 1, "to": 20},
        "collective.algorithm": ["ring", "tree"], "fabric.link.propagation": {"from": "1ns", "to": "1us", "log": true}}}})");
    };
    const json once = sampled("1");
    ASSERT_EQ(once.size(), 20U);
    EXPECT_EQ(once, sampled("1"));
    EXPECT_NE(once, sampled("2"));
    std::set<json> seeds;
    for (const json& point : once) {
      seeds.insert(point["parameters"]["seed"]);
      const double rate = *study::number_of(point["parameters"]["fabric.link.rate"]);
      EXPECT_TRUE(rate >= 100e9 && rate < 200e9) << rate;
    }
    EXPECT_EQ(*std::min_element(seeds.begin(), seeds.end()) >= 1, true);
    // Each part of the range has one point.
    if (kind == std::string("latin_hypercube")) {
      EXPECT_EQ(seeds.size(), 20U);
    }
  }
}

/// However a value is written, it is the same point; one of another platform is not.
TEST_F(StudyFile, PointsAreNamedByWhatTheyAre) {
  const json one = points(R"({"axes": {"fabric.link.rate": ["400Gbps"]}})");
  EXPECT_EQ(one[0]["key"], points(R"({"axes": {"fabric.link.rate": ["400Gb/s"]}, "description": "x"})")[0]["key"]);
  EXPECT_NE(one[0]["key"], points(R"({"axes": {"fabric.link.rate": ["200Gbps"]}})")[0]["key"]);
  EXPECT_NE(one[0]["key"],
            points(R"({"axes": {"fabric.link.rate": ["400Gbps"]}, "collective": {"op": "all_gather"}})")[0]["key"]);
  const json platforms = points(R"({"axes": {"platform": ["small.json", "llama3-8b-fsdp-8xh100"]}})");
  EXPECT_NE(platforms[0]["key"], platforms[1]["key"]);
}

TEST_F(StudyFile, WhatIsWrongIsNamedWithItsPlace) {
  const struct {
    const char* members;
    std::vector<const char*> message;
  } kBad[] = {
      {R"({"axis": {}})", {"s.json: axis: "}},
      {R"({"budget": 1})",
       {"s.json: budget: expected one of axes, ", " constraints, derived, ", " fidelity, ", " latin_hypercube, ",
        " random, require, search, set, values, zip"}},
      {R"({"search": {"minimise": ["us"], "method": "grid"}, "axes": {"seed": [1]}, "fidelity": [{"cost": 1}]})",
       {"fidelity.0.cost: expected one of keep, set"}},
      {R"({"axes": {"fabric.link.rate": {"from": "100Gbps", "to": "400GB", "factor": 2}}})",
       {"axes.fabric.link.rate.to: expected a quantity of the same kind as from, \"100Gbps\", got \"400GB\""}},
      {R"({"random": {"points": 2, "ranges": {"fabric.link.rate": {"from": "100Gbps", "to": "400GB"}}}})",
       {"random.ranges.fabric.link.rate.to: expected a quantity of the same kind as from"}},
      {R"({"axes": {"fabric.link.propagation": {"from": 1, "to": "400s", "steps": 2}}})",
       {"axes.fabric.link.propagation.to: expected a quantity of the same kind as from, 1"}},
      {R"({"constraints": ["us < 5"]})",
       {"constraints.0: expected an axis, a value or a field of the platform, got \"us\", a metric, which is known "
        "after the simulation; require has expressions over metrics"}},
      {R"x({"values": {"k": [0, 0.5]}, "derived": {"fabric.link.rate": "4e11 / floor(k)"}})x",
       {"s.json: derived.fabric.link.rate: expected a finite number, got inf of \"4e11 / floor(k)\" with k 0"}},
      {R"({"values": {"k": [0]}, "constraints": ["0 / k"]})",
       {"s.json: constraints.0: expected a finite number, got nan of \"0 / k\" with k 0"}},
      {R"({"platform": null})", {"platform: expected a platform's file, or the name", "got nothing"}},
      {R"({"platform": "smal.json"})", {"smal.json"}},
      {R"({"metrics": null})", {"metrics: expected an object with a metric or more"}},
      {R"({"metrics": {"a b": "x"}})", {"metrics.a b: expected a name of letters, digits and _"}},
      {R"({"metrics": {"x": []}})", {"metrics.x: expected an expression in quotes, got an array"}},
      {R"({"values": {"x": 1}, "metrics": {"x": "1"}})", {"metrics.x: expected a name that is none of values"}},
      {R"({"values": {"x": "fast"}})", {"values.x: expected a number, or a quantity", "\"fast\""}},
      {R"({"axes": {"seed": 1}})", {"axes.seed: expected a list, or an object with from, to and steps or factor"}},
      {R"({"axes": {"seed": []}})", {"axes.seed: expected a list of one value or more"}},
      {R"({"axes": {"seed": {"from": 1, "to": 2}}})", {"axes.seed: expected a list, or an object"}},
      {R"({"axes": {"seed": {"from": 3, "to": 2, "steps": 2}}})", {"axes.seed.to: expected more than from, 3, got 2"}},
      {R"({"axes": {"seed": {"from": 1, "to": 9, "steps": 1}}})", {"axes.seed.steps: expected 2 or more"}},
      {R"({"axes": {"seed": {"from": 1, "to": 9, "factor": 1}}})", {"axes.seed.factor: expected more than 1"}},
      {R"({"axes": {"seed": {"from": 0, "to": 9, "factor": 2}}})", {"axes.seed.from: expected more than 0"}},
      {R"({"axes": {"seed": {"from": 1, "to": 9, "factor": 2, "steps": 2}}})", {"expected steps or factor, not both"}},
      {R"({"axes": {"seed": {"from": "a", "to": 9, "steps": 2}}})",
       {"axes.seed.from: expected a number, or a quantity"}},
      {R"({"axes": {"seed": {"from": 0, "to": 9, "steps": 2, "log": true}}})",
       {"axes.seed.from: expected more than 0"}},
      {R"({"zip": {"seed": [1, 2], "accelerators": [4]}})",
       {"zip.accelerators: expected as many values as seed has, 2, got 1"}},
      {R"({"axes": {"seed": [1]}, "zip": {"seed": [1]}})", {"zip.seed: expected one place that gives its values"}},
      {R"({"random": {"points": 2}})", {"random.ranges: expected an object with PATH"}},
      {R"({"random": {"ranges": {}}})", {"random.points: expected an integer"}},
      {R"({"constraints": ["nothing > 1"]})",
       {"constraints.0: expected an axis, a value or a field of the platform, got \"nothing\""}},
      {R"({"constraints": ["1 +"]})", {"constraints.0: expected an expression, got \"1 +\""}},
      {R"({"constraints": ["fabric.topology > 1"]})",
       {"constraints.0: expected a number or a quantity at fabric.topology"}},
      {R"({"constraints": ["accelerators > 8"]})",
       {"constraints: expected at least one point that meets them, got none of 1"}},
      {R"({"derived": {"seed": "2 * accelerators", "accelerators": "seed"}})",
       {"derived.", "does not need its own value"}},
      {R"({"collective": 1})", {"collective: expected an object with op and bytes"}},
      {R"({"collective": null, "axes": {"collective.bytes": ["1MiB"]}})",
       {"collective.bytes: expected collective beside it"}},
      {R"({"axes": {"platform": [1]}})", {"platform: expected a platform's name, got 1"}},
      {R"({"limits": {"time": "fast"}})", {"limits.time: expected a time with its unit"}},
      {R"({"search": {"minimise": ["us"], "method": "moead"}, "axes": {"seed": [1]}})",
       {"search.method: expected sga, de or annealing, since there is one metric"}},
      {R"({"search": {"maximise": ["us"], "method": "nsga2"}, "axes": {"seed": [1]}})",
       {"search.method: expected sga, de or annealing, since there is one metric"}},
      {R"({"search": {"minimise": ["us"], "maximise": ["us"]}, "axes": {"seed": [1]}})",
       {"search.maximise.0: expected a metric that minimise does not have"}},
      {R"({"search": {"minimise": ["us", "us"]}, "axes": {"seed": [1]}})",
       {"search.minimise.1: expected each metric once, got \"us\""}},
      {R"({"set": {"seed": 2}, "axes": {"seed": [1]}})",
       {"axes.seed: expected one place that gives its values, got a second one beside set"}},
      {R"({"set": {"seed": 2}, "derived": {"seed": "1"}})",
       {"derived.seed: expected one place that gives its values, got a second one beside set"}},
      {R"({"search": {"minimise": ["us"]}, "axes": {"seed": [1]}, "fidelity": [{"set": {"seed": 2}}]})",
       {"fidelity.0.set.seed: expected a path whose values nothing else of the study gives"}},
      {R"({"search": {"minimise": ["us"], "method": "grid"}, "axes": {"seed": {"from": 1, "to": 5}}})",
       {"axes.seed: expected a list, or from and to with steps or factor, since search.method is grid"}},
      {R"({"metrics": {"key": "rows.0.time_us"}})", {"metrics.key: expected another name than key, status,"}},
      {R"({"metrics": {"status": "rows.0.time_us"}})", {"metrics.status: expected another name than key, status,"}},
      {R"({"values": {"error": 1}})", {"values.error: expected another name than key, status,"}},
      {R"({"axes": {"seed": [1]}, "metrics": {"seed": "rows.0.time_us"}})",
       {"metrics.seed: expected a name that no axis has"}},
      {R"({"fidelity": []})", {"fidelity: expected search beside it"}},
      {R"({"search": {"minimise": ["us"]}})", {"search: expected axes to search over"}},
      {R"({"search": {}, "axes": {"seed": [1]}})", {"search.minimise: expected one metric or more"}},
      {R"({"search": {"minimise": ["s"]}, "axes": {"seed": [1]}})",
       {"search.minimise.0: expected one of the metrics, us, got \"s\""}},
      {R"({"search": {"minimise": ["us", "n"], "method": "de"}, "axes": {"seed": [1]},
           "metrics": {"us": "rows.0.time_us", "n": "us"}})",
       {"search.method: expected nsga2 or moead"}},
      {R"({"search": {"minimise": ["us"], "method": "best"}, "axes": {"seed": [1]}})",
       {"search.method: expected one of auto, nsga2"}},
      {R"({"search": {"minimise": ["us"]}, "random": {"points": 1, "ranges": {"seed": [1]}}})",
       {"search: expected axes, without random"}},
      {R"({"search": {"minimise": ["us"]}, "axes": {"seed": [1]}, "fidelity": [{"keep": 2}]})",
       {"fidelity.0.keep: expected"}},
  };
  for (const auto& bad : kBad) {
    write_study(bad.members);
    expect_refused({bad.members, "sweep ../s.json --db s.db --jobs 1", bad.message});
  }
  expect_refused({"no file", "sweep none.json", {"none.json", "a study"}});
  write("s.json", "[]");
  expect_refused({"no object", "sweep ../s.json", {"s.json: expected a study in JSON, an object, got an array"}});
  write("s.json", "{\"axes\": }");
  expect_refused({"no JSON", "sweep ../s.json", {"s.json: line 1"}});
}

TEST(StudyExpression, CountsInBaseUnits) {
  const auto value = [](const char* text) {
    return study::Expression(text).value([](const std::string& name) -> std::optional<json> {
      if (name == "fabric.link.rate") return "400Gbps";
      if (name == "size") return "64KiB";
      if (name == "wait") return "2us";
      if (name == "energy") return "5pJ";
      if (name == "draw") return "700W";
      if (name == "on") return true;
      if (name == "name") return "ring";
      return std::nullopt;
    });
  };
  EXPECT_EQ(value("fabric.link.rate / 8"), 5e10);
  EXPECT_EQ(value("size"), 65536);
  EXPECT_DOUBLE_EQ(value("wait"), 2e-6);
  EXPECT_DOUBLE_EQ(value("energy"), 5e-12);
  EXPECT_EQ(value("draw"), 700);
  EXPECT_EQ(value("on + 1"), 2);
  EXPECT_EQ(value("name == \"ring\" ? 3 : 4"), 3);
  EXPECT_EQ(value("(name != \"ring\") + ceil(1.5) + floor(1.5) + round(0.6) + mod(7, 4)"), 0 + 2 + 1 + 1 + 3);
  EXPECT_EQ(value("1e3 + 2.5*2"), 1005);
  EXPECT_THROW(static_cast<void>(value("name + 1")), study::ExpressionError);
  EXPECT_THROW(static_cast<void>(value("none")), study::ExpressionError);
  EXPECT_THROW(static_cast<void>(value("1 + ")), study::ExpressionError);
}

/// A name with a star stands for all values, which a function takes.
TEST(StudyExpression, AStarIsAllValues) {
  const auto value = [](const char* text) {
    return study::Expression(text).value([](const std::string& name) -> std::optional<json> {
      if (name == "rows.*.time_us") return json{3, 5, 4};
      if (name == "two") return 2;
      if (name == "rows.*.name") return json{"a"};
      return std::nullopt;
    });
  };
  EXPECT_EQ(value("max(rows.*.time_us)"), 5);
  EXPECT_EQ(value("two*min(rows.*.time_us, 9) + sum(rows.*.time_us)"), 2 * 3 + 12);
  EXPECT_EQ(value("avg(rows.*.time_us)"), 4);
  EXPECT_THROW(static_cast<void>(value("rows.*.time_us")), study::ExpressionError) << "three values";
  EXPECT_THROW(static_cast<void>(value("max(rows.*.name)")), study::ExpressionError);
  EXPECT_THROW(static_cast<void>(value("max(rows.*.none)")), study::ExpressionError);
}

TEST(StudyExpression, SampledNumbersAreRound) {
  EXPECT_EQ(study::round_like("64KiB", 1234567), json("1204KiB"));
  EXPECT_EQ(study::round_like("64KiB", 68864, true), json("67KiB"));
  EXPECT_EQ(study::round_like("64KiB", 1001), json("1KB")) << "whole elements of four bytes";
  EXPECT_EQ(study::round_like("100Gbps", 123456789012.0), json("123500Mbps"));
  EXPECT_EQ(study::round_like("100Gbps", 123456789012.0, true), json("123400Mbps"));
  EXPECT_EQ(study::round_like("1us", 3.21789e-6), json("3218ns"));
  EXPECT_EQ(study::round_like(0.5, 0.123456), json(0.1235));
  EXPECT_EQ(study::round_like(1, 100.0), json(100));
  EXPECT_EQ(study::round_like("1KiB", 4096), json("4KiB"));
}

TEST(StudyExpression, NumbersAreWrittenAsTheirFieldsAre) {
  EXPECT_EQ(study::value_like("400Gbps", 5e10), json("50Gbps"));
  EXPECT_EQ(study::value_like("64KiB", 1 << 20), json("1MiB"));
  EXPECT_EQ(study::value_like("1us", 2e-9), json("2ns"));
  EXPECT_EQ(study::value_like(3, 4.0), json(4));
  EXPECT_EQ(study::value_like(json(), 0.1 * 30), json(3));
  EXPECT_EQ(study::value_like(json(), 2.5), json(2.5));
  EXPECT_EQ(study::value_like(true, 1), json(true));
}

}  // namespace
}  // namespace weft
