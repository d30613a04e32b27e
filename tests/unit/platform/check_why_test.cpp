// SPDX-License-Identifier: Apache-2.0
// Results that somebody has edited, or that were cut short, are refused with their file and the key that is wrong.
#include "platforms/results/why/check_why.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "platforms/config/input_error.h"
#include "tests/support/why_path.h"

namespace weft::platforms {
namespace {

/// What is said of a path with a change, a merge patch; empty if nothing.
std::string said_of(const char* patch) {
  nlohmann::ordered_json why = test::path();
  why["links"] = {{"nic0 out",
                   {{"joins", "from ends"},
                    {"rate", "400Gbps"},
                    {"utilisation", 0.5},
                    {"alike", {{"links", 1}, {"median", 0.5}}}}}};
  why.merge_patch(nlohmann::ordered_json::parse(patch));
  try {
    check_why(why, "why.json");
  } catch (const InputError& wrong) {
    return wrong.what();
  }
  return "";
}

TEST(CheckWhy, TakesWhatWeftWrites) {
  EXPECT_EQ(said_of("{}"), "");
  EXPECT_EQ(said_of(R"({"waits": null, "collectives": null, "links": null, "left_out_us": 1.5, "later": [1]})"), "");
}

TEST(CheckWhy, LooksIntoParts) {
  EXPECT_EQ(said_of(R"({"parts": [{"memory": {"rate": 1e12, "core_rate": 1e11}, "clock_cap": 0.5, "power_cap": true},
                                  {"memory": {"rate": 1e12}, "power_cap": false, "first": 3, "count": 2}]})"),
            "");
  EXPECT_EQ(said_of(R"({"parts": [{"memory": {"rate": 0}, "power_cap": true}]})"),
            "why.json: parts.0.memory.rate: expected a number above 0, got 0");
  EXPECT_EQ(said_of(R"({"parts": [{"memory": {"rate": 1, "core_rate": "1"}, "power_cap": true}]})"),
            "why.json: parts.0.memory.core_rate: expected a number that is not negative, got \"1\"");
}

TEST(CheckWhy, AddsUpThePieces) {
  EXPECT_EQ(said_of(R"({"pieces": []})"),
            "why.json: pieces: expected pieces that add up to until_ps less from_ps, 1000000000 ps, got 0 ps");
  EXPECT_EQ(said_of(R"({"until_ps": 1000000001})"),
            "why.json: pieces: expected pieces that add up to until_ps less from_ps, 1000000001 ps, got 1000000000 ps");
  EXPECT_EQ(said_of(R"({"from_ps": 2000000000})"),
            "why.json: until_ps: expected a time that is not before from_ps, got 1000000000");
  EXPECT_EQ(said_of(R"({"pieces": [
                {"of": "a", "about": "b", "kind": "queue", "place": "c", "on_link": true, "ps": 9223372036854775807},
                {"of": "a", "about": "b", "kind": "queue", "place": "c", "on_link": true, "ps": 1000000001}]})"),
            "why.json: pieces.1.ps: expected a time that the sum of all can hold, got 1000000001");
}

TEST(CheckWhy, LooksIntoJobsHostsAndWhatLinksCarried) {
  EXPECT_EQ(said_of(R"({"jobs": {"ends_with": "a", "shares": [{"job": "a", "ps": 1}]},
                        "computed": {"median_ps": 1, "of": 2, "on_path": {"accelerator0": 2},
                                     "job_of": {"accelerator0": "a"}, "jobs": {"a": {"median_ps": 1, "of": 2}}},
                        "hosts": {"firmware": {}, "software": {"median_ps": 1, "on_path": {"firmware0": 2}}},
                        "links": {"nic0 out": {"carried": {"bytes": 1, "flow_count": 1,
                                  "flows": [{"from": "nic0", "to": "nic1", "share": 1}]}}}})"),
            "");
  EXPECT_EQ(said_of(R"({"jobs": {"ends_with": 1, "shares": []}})"),
            "why.json: jobs.ends_with: expected a string, got 1");
  EXPECT_EQ(said_of(R"({"computed": {"median_ps": 1, "on_path": {}, "job_of": {"accelerator0": "b"}, "jobs": {}}})"),
            "why.json: computed.jobs.b: expected a value, got none");
  EXPECT_EQ(said_of(R"({"hosts": {"software": {"median_ps": -1}}})"),
            "why.json: hosts.software.median_ps: expected an integer that is not negative, got -1");
  EXPECT_EQ(said_of(R"({"links": {"nic0 out": {"rate": "fast"}}})"),
            R"(why.json: links.nic0 out.rate: expected a rate, got "fast")");
  EXPECT_EQ(said_of(R"({"links": {"nic0 out": {"carried": {"flows": []}}}})"),
            "why.json: links.nic0 out.carried.flow_count: expected a value, got none");
  EXPECT_EQ(said_of(R"({"overlapping": [1]})"), "why.json: overlapping.0: expected an object, got 1");
}

TEST(CheckWhy, NamesWhatIsNoTime) {
  EXPECT_EQ(
      said_of(R"({"pieces": [{"of": "a", "about": "b", "kind": "queue", "place": "c", "on_link": true, "ps": -1}]})"),
      "why.json: pieces.0.ps: expected an integer that is not negative, got -1");
  EXPECT_EQ(said_of(R"({"from_ps": -5})"), "why.json: from_ps: expected an integer that is not negative, got -5");
  EXPECT_EQ(said_of(R"({"until_ps": 18446744073709551615})"),
            "why.json: until_ps: expected an integer that is not negative, got 18446744073709551615");
  EXPECT_EQ(said_of(R"({"until_ps": 1.5})"), "why.json: until_ps: expected an integer that is not negative, got 1.5");
}

TEST(CheckWhy, NamesWhatIsOfAnotherType) {
  EXPECT_EQ(said_of(R"({"links": []})"), "why.json: links: expected an object, got []");
  EXPECT_EQ(said_of(R"({"links": {"nic0 out": {"joins": 3}}})"),
            "why.json: links.nic0 out.joins: expected a string, got 3");
  EXPECT_EQ(said_of(R"({"links": {"nic0 out": {"rate": null}}})"),
            "why.json: links.nic0 out.rate: expected a value, got none");
  EXPECT_EQ(said_of(R"({"left_out_us": "much"})"),
            "why.json: left_out_us: expected a number that is not negative, got \"much\"");
  EXPECT_EQ(said_of(R"({"collectives": [{"group": "world"}]})"),
            "why.json: collectives.0.operation: expected a value, got none");
  EXPECT_EQ(said_of(R"({"waits": 3})"), "why.json: waits: expected a list, got 3");
  EXPECT_EQ(said_of(R"({"stages": {"fabric": {"wheel": 3}}})"),
            "why.json: stages.fabric.wheel: expected the name of a resource, got wheel");
  EXPECT_EQ(said_of(R"({"used_ps": {"link": -3}})"),
            "why.json: used_ps.link: expected an integer that is not negative, got -3");
}

/// Not null either: only a key that is missing is fine.
TEST(CheckWhy, RefusesNull) {
  nlohmann::ordered_json why = test::path();
  why["links"] = nullptr;
  EXPECT_THROW(check_why(why, "why.json"), InputError);
}

TEST(CheckConfig, HasAValueForEachField) {
  const auto said = [](const char* text) -> std::string {
    try {
      check_config(nlohmann::ordered_json::parse(text), "config.json");
    } catch (const InputError& wrong) {
      return wrong.what();
    }
    return "";
  };
  EXPECT_EQ(said(R"({"values": {"seed": {"value": 1, "source": "default"}}})"), "");
  EXPECT_EQ(said(R"({"values": 3})"), "config.json: values: expected an object, got 3");
  EXPECT_EQ(said(R"({"values": {"seed": 1}})"), "config.json: values.seed: expected an object, got 1");
  EXPECT_EQ(said(R"({"values": {"seed": {}}})"), "config.json: values.seed.value: expected a value, got none");
}

}  // namespace
}  // namespace weft::platforms
