// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/config/document.h"
#include "tests/support/config.h"

namespace weft::platforms {
namespace {

using namespace literals;
using namespace test_config;

enum class Order { kRing, kTree };
EnumNames<Order> enum_names(Order) {
  return {{"ring", Order::kRing}, {"tree", Order::kTree}};
}

struct StoreConfig {
  static constexpr std::string_view kPartKind = "store";
  Bytes size = 16_GiB;
  Rate rate = 900_GBps;
  int channels = 32;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("size", size, "Capacity", Range{1LL << 20, 1LL << 40});
    visit("rate", rate, "Peak rate");
    visit("channels", channels, "Independent channels", Range{1, 128});
  }
};

struct EngineConfig {
  Frequency clock = 1000_MHz;
  Compute peak = Compute(1'000'000'000'000);
  double efficiency = 0.5;
  bool sparse = false;
  std::string label = "plain";
  Order order = Order::kRing;
  std::int8_t offset = 0;
  StoreConfig memory;
  TimingConfig timing;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("clock", clock, "Core clock");
    visit("peak", peak, "Peak arithmetic");
    visit("efficiency", efficiency, "Share of the peak that is reached", Range{0, 1});
    visit("sparse", sparse, "Skips zeros");
    visit("label", label, "Name in reports");
    visit("order", order, "Order of work");
    visit("offset", offset, "First lane", Range{-4, INT64_MAX});
    visit("store", memory, "Memory");
    visit("timing", timing, "Latencies");
  }
};

constexpr const char* kParts = WEFT_TEST_DATA "/parts";
constexpr const char* kBroken = WEFT_TEST_DATA "/broken";

/// Reads the document's "engine", and checks that nothing is left over.
EngineConfig read(const std::string& text, const Overrides& overrides = {}, const char* parts = kParts) {
  Document document = Document::from_text(text, "p.json", overrides, Catalogue(parts));
  EngineConfig config;
  document.root().read_part("engine", config);
  document.check_unused();
  return config;
}

std::string error_in(const std::string& text, const Overrides& overrides = {}, const char* parts = kParts) {
  return error_of([&] { read(text, overrides, parts); });
}

/// The error of one field of the engine.
std::string field_error(const std::string& field) {
  return error_in(R"({"engine": {)" + field + "}}");
}

std::string part_file(const std::string& name) {
  return std::string(kParts) + "/" + name + ".json";
}

TEST(Config, AbsentFieldsKeepDefaults) {
  const EngineConfig config = read("{}");
  EXPECT_EQ(config.clock, 1000_MHz);
  EXPECT_EQ(config.memory.channels, 32);
}

TEST(Config, ReadsEveryType) {
  const EngineConfig config = read(R"({"engine": {
      "clock": "1.5GHz", "peak": "2PFLOPS", "efficiency": 0.75, "sparse": true, "label": "fast", "order": "tree",
      "offset": -4, "store": {"size": "8GiB", "rate": "400Gbps", "channels": 1},
      "timing": {"start": "1.5us", "seed": 9223372036854775807}}})");
  EXPECT_EQ(config.clock, 1500_MHz);
  EXPECT_EQ(config.peak.count(), 2'000'000'000'000'000);
  EXPECT_EQ(config.efficiency, 0.75);
  EXPECT_TRUE(config.sparse);
  EXPECT_EQ(config.label, "fast");
  EXPECT_EQ(config.order, Order::kTree);
  EXPECT_EQ(config.offset, -4);
  EXPECT_EQ(config.memory.size, 8_GiB);
  EXPECT_EQ(config.memory.rate, 400_Gbps);
  EXPECT_EQ(config.memory.channels, 1);
  EXPECT_EQ(config.timing.start, 1500_ns);
  EXPECT_EQ(config.timing.seed, 9'223'372'036'854'775'807U);
}

TEST(ConfigErrors, QuantitiesNeedUnits) {
  EXPECT_EQ(field_error(R"("clock": 1980)"),
            "p.json: engine.clock: expected a frequency with its unit, such as \"1980MHz\", got 1980");
  EXPECT_EQ(field_error(R"("peak": "989")"),
            "p.json: engine.peak: expected a compute rate with its unit, such as \"989TFLOPS\" (in FLOPS, GFLOPS, "
            "TFLOPS, PFLOPS), got \"989\"");
  EXPECT_EQ(field_error(R"("store": {"rate": "400Gb"})"),
            "p.json: engine.store.rate: expected a rate with its unit, such as \"400Gbps\" (in bps, B/s, KB/s, MB/s, "
            "GB/s, TB/s, Kbps, Mbps, Gbps, Tbps), got \"400Gb\"");
  EXPECT_EQ(field_error(R"("store": {"rate": "99999999999Tbps"})"),
            "p.json: engine.store.rate: expected a rate from \"0bps\" to \"9223372036854775807bps\", got "
            "\"99999999999Tbps\"");
}

TEST(ConfigErrors, WhatRoundsToNothingIsRefused) {
  Time time;
  EXPECT_FALSE(assign(make_scalar(time), {}, "0.4ps"));
  EXPECT_FALSE(assign(make_scalar(time), {}, "0.0004ns"));
  EXPECT_EQ(expectation(make_scalar(time), {}, "0.4ps"), "a time of 0 or at least \"1ps\"");
  EXPECT_TRUE(assign(make_scalar(time), {}, "0.6ps"));
  EXPECT_EQ(time, Time(1));
  EXPECT_TRUE(assign(make_scalar(time), {}, "0.0ps"));
  EXPECT_EQ(time, Time());
}

TEST(ConfigErrors, LimitsArePrintedInTheUnit) {
  EXPECT_EQ(field_error(R"("timing": {"start": "9us"})"),
            "p.json: engine.timing.start: expected a time from \"1ns\" to \"8us\", got \"9us\"");
  EXPECT_EQ(field_error(R"("timing": {"start": 5})"),
            "p.json: engine.timing.start: expected a time from \"1ns\" to \"8us\", got 5");
  EXPECT_EQ(field_error(R"("store": {"size": "1KiB"})"),
            "p.json: engine.store.size: expected a size from \"1MiB\" to \"1TiB\", got \"1KiB\"");
  EXPECT_EQ(field_error(R"("store": {"channels": 129})"),
            "p.json: engine.store.channels: expected an integer from 1 to 128, got 129");
  EXPECT_EQ(field_error(R"("efficiency": 1.01)"), "p.json: engine.efficiency: expected a number from 0 to 1, got 1.01");
}

TEST(ConfigErrors, ASignIsWhatIsWrongWithANegativeQuantity) {
  EXPECT_EQ(field_error(R"("store": {"rate": "-5Gbps"})"),
            "p.json: engine.store.rate: expected a rate of at least \"0bps\", got \"-5Gbps\"");
  Time time;
  EXPECT_EQ(expectation(make_scalar(time), {}, "-5us"), "a time of at least \"0ps\"");
  EXPECT_EQ(expectation(make_scalar(time), {}, "-5"), "a time with its unit, such as \"1.5us\"");
}

TEST(ConfigErrors, NumbersWithoutARangeHaveTheLimitThatRefusesThem) {
  double real = 0.5;
  std::int64_t whole = 1;
  EXPECT_FALSE(assign(make_scalar(real), {}, -1));
  EXPECT_EQ(limits_text(make_scalar(real), {}), "at least 0");
  EXPECT_EQ(limits_text(make_scalar(whole), {}), "at least 0");
}

TEST(ConfigLimits, TheNearestValueWithinThem) {
  Rate rate;
  Time time;
  double share = 0;
  int lanes = 1;
  const Range kRates{1'000'000'000, 1'000'000'000'000'000};
  EXPECT_EQ(within_limits(make_scalar(rate), kRates, "400Gbps"), "400Gbps");
  EXPECT_EQ(within_limits(make_scalar(rate), kRates, "3840000Gbps"), "1000Tbps");
  EXPECT_EQ(within_limits(make_scalar(rate), kRates, "1e+30Gbps"), "1000Tbps");
  EXPECT_EQ(within_limits(make_scalar(rate), kRates, "0.5Gbps"), "1Gbps");
  EXPECT_EQ(within_limits(make_scalar(time), {}, "0.01ps"), "0ps");
  EXPECT_EQ(within_limits(make_scalar(time), {5, 100}, "0ns"), "5ps");
  EXPECT_EQ(within_limits(make_scalar(lanes), {1, 32}, "1600"), "32");
  EXPECT_EQ(within_limits(make_scalar(lanes), {1, 32}, "17.6"), "17");
  EXPECT_EQ(within_limits(make_scalar(lanes), {1, 32}, "0.2"), "1");
  EXPECT_EQ(within_limits(make_scalar(share), {0, 1}, "0.7"), "0.7");
  EXPECT_EQ(within_limits(make_scalar(share), {0, 1}, "2"), "1");
}

TEST(ConfigErrors, IntegersFitTheirMember) {
  EXPECT_EQ(field_error(R"("offset": 128)"), "p.json: engine.offset: expected an integer from -4 to 127, got 128");
  EXPECT_EQ(field_error(R"("timing": {"seed": -1})"),
            "p.json: engine.timing.seed: expected an integer, at least 0, got -1");
  EXPECT_EQ(field_error(R"("timing": {"seed": 18446744073709551615})"),
            "p.json: engine.timing.seed: expected an integer from 0 to 9223372036854775807, got 18446744073709551615");
  EXPECT_EQ(field_error(R"("timing": {"seed": 1e30})"),
            "p.json: engine.timing.seed: expected an integer from 0 to 9223372036854775807, got 1e+30");
  EXPECT_EQ(field_error(R"("store": {"channels": 1.5})"),
            "p.json: engine.store.channels: expected an integer from 1 to 128, got 1.5");
}

TEST(ConfigErrors, OtherTypes) {
  EXPECT_EQ(field_error(R"("sparse": "yes")"), "p.json: engine.sparse: expected true or false, got \"yes\"");
  EXPECT_EQ(field_error(R"("label": 7)"), "p.json: engine.label: expected a string, got 7");
  EXPECT_EQ(field_error(R"("order": "star")"), "p.json: engine.order: expected one of ring, tree, got \"star\"");
  EXPECT_EQ(field_error(R"("label": {})"), "p.json: engine.label: expected a string, got an object");
  EXPECT_EQ(field_error(R"("efficiency": null)"), "p.json: engine.efficiency: expected a number from 0 to 1, got null");
  EXPECT_EQ(field_error(R"("timing": [])"), "p.json: engine.timing: expected an object, got an array");
  EXPECT_EQ(field_error(R"("timing": "slow")"),
            "p.json: engine.timing: expected an object (the catalogue has no part of kind timing), got \"slow\"");
}

TEST(ConfigParts, NameAlone) {
  const EngineConfig config = read(R"({"engine": "engine-a"})");
  EXPECT_EQ(config.clock, 1980_MHz);
  EXPECT_EQ(config.memory.size, 80_GiB);
  EXPECT_EQ(config.memory.channels, 80);
  EXPECT_EQ(config.efficiency, 0.5);
}

TEST(ConfigParts, FieldsOverridePart) {
  const EngineConfig config = read(R"({"engine": {"part": "engine-a", "clock": "1GHz", "store": {"channels": 4}}})");
  EXPECT_EQ(config.clock, 1000_MHz);
  EXPECT_EQ(config.peak.count(), 989'000'000'000'000);
  EXPECT_EQ(config.memory.channels, 4);
  EXPECT_EQ(config.memory.size, 80_GiB);
}

TEST(ConfigParts, AnotherPartReplacesTheNestedOne) {
  const EngineConfig config = read(R"({"engine": {"part": "engine-a", "store": "stack-40"}})");
  EXPECT_EQ(config.memory.size, 40_GiB);
  EXPECT_EQ(config.memory.channels, 32) << "stack-40 leaves the default, whatever stack-80 says";
}

TEST(ConfigParts, DerivedPart) {
  const EngineConfig config = read(R"({"engine": "engine-b"})");
  EXPECT_EQ(config.clock, 1600_MHz);
  EXPECT_EQ(config.peak.count(), 989'000'000'000'000);
  EXPECT_EQ(config.memory.channels, 96);
  EXPECT_EQ(config.memory.size, 80_GiB);
}

TEST(ConfigParts, ElementsOfAnArray) {
  Document document = Document::from_text(R"({"nodes": ["engine-a", {"part": "engine-b", "clock": "1GHz"}]})", "p.json",
                                          Overrides{"nodes.1.store.channels=7"}, Catalogue(kParts));
  std::vector<EngineConfig> configs;
  for (const Node& node : document.root().child("nodes").elements())
    node.as_part("engine").read(configs.emplace_back());
  document.check_unused();
  ASSERT_EQ(configs.size(), 2U);
  EXPECT_EQ(configs[0].clock, 1980_MHz);
  EXPECT_EQ(configs[1].clock, 1000_MHz);
  EXPECT_EQ(configs[1].memory.channels, 7);
  EXPECT_EQ(document.effective()["nodes.1.store.channels"]["source"], "command line");
}

TEST(ConfigParts, ErrorsListKnownNames) {
  EXPECT_EQ(error_in(R"({"engine": {"store": "stack-8"}})"),
            "p.json: engine.store: expected a part of kind store, one of stack-40, stack-80, got \"stack-8\". Did you "
            "mean \"stack-80\"?");
  EXPECT_EQ(
      error_in(R"({"engine": {"store": {"part": "engine-a"}}})"),
      "p.json: engine.store.part: expected a part of kind store, one of stack-40, stack-80, got \"engine-a\", which "
      "is of kind engine");
  EXPECT_EQ(error_in(R"({"engine": "../parts/engine-a"})"),
            "p.json: engine: expected a part of kind engine, one of engine-a, engine-b, engine-loop, engine-typo, "
            "engine-unit, got \"../parts/engine-a\"");
  EXPECT_EQ(error_in(R"({"engine": {"part": 5}})"),
            "p.json: engine.part: expected the name of a part of kind engine, got 5");
  EXPECT_EQ(error_in(R"({"engine": 5})"),
            "p.json: engine: expected an object or the name of a part of kind engine, got 5");
}

TEST(ConfigParts, ErrorsInsideAPartNameItsFile) {
  EXPECT_EQ(error_in(R"({"engine": "engine-unit"})"),
            part_file("engine-unit") + ": fields.store.size: expected a size from \"1MiB\" to \"1TiB\", got 80");
  EXPECT_EQ(error_in(R"({"engine": "engine-typo"})"),
            part_file("engine-typo") + ": fields.clok: expected a known key, got \"clok\". Did you mean \"clock\"?");
  EXPECT_EQ(error_in(R"({"engine": "engine-loop"})"),
            part_file("engine-loop") +
                ": fields.part: expected a part that is not derived from itself, got "
                "\"engine-loop\"");
}

TEST(ConfigParts, MalformedParts) {
  const auto broken = [](const std::string& name) {
    Catalogue catalogue{kBroken};
    const std::string error = error_of([&] { catalogue.find(name); });
    return error.substr(error.rfind('/') + 1);
  };
  EXPECT_EQ(broken("no-kind"), "no-kind.json: kind: expected a string, got nothing");
  EXPECT_EQ(broken("no-fields"), "no-fields.json: fields: expected an object, got nothing");
  EXPECT_EQ(broken("extra"), "extra.json: clock: expected one of kind, source, fields, sources, got \"clock\"");
}

TEST(ConfigParts, AreFoundInTheFoldersOfTheEnvironment) {
  setenv("WEFT_PATH", (std::string("/:") + kParts).c_str(), 1);
  EXPECT_EQ(Catalogue().find("engine-a")->kind, "engine");
  setenv("WEFT_PATH", "/:/nowhere", 1);
  EXPECT_EQ(error_of([] { Catalogue(); }),
            "WEFT_PATH: expected folders separated by colons, got \"/nowhere\", which is not there");
  unsetenv("WEFT_PATH");
  EXPECT_EQ(Catalogue().find("engine-a"), nullptr);
}

TEST(ConfigOverrides, ReplaceTheFile) {
  const EngineConfig config = read(R"({"engine": {"clock": "1GHz", "label": "a"}})",
                                   {"engine.clock=2GHz", "engine.efficiency=1", "engine.timing.seed=3",
                                    "engine.label=b=c", "engine.sparse=true", "engine.store={\"channels\": 3}"});
  EXPECT_EQ(config.clock, 2000_MHz);
  EXPECT_EQ(config.efficiency, 1.0);
  EXPECT_EQ(config.timing.seed, 3U);
  EXPECT_EQ(config.label, "b=c");
  EXPECT_TRUE(config.sparse);
  EXPECT_EQ(config.memory.channels, 3);
}

TEST(ConfigOverrides, GoIntoAPart) {
  EXPECT_EQ(read(R"({"engine": "engine-a"})", {"engine.store.channels=5"}).memory.channels, 5);
  EXPECT_EQ(read(R"({"engine": "engine-a"})", {"engine.store.channels=5"}).memory.size, 80_GiB);
  EXPECT_EQ(read(R"({"engine": "engine-a"})", {"engine=engine-b"}).clock, 1600_MHz);
  EXPECT_EQ(read(R"({"engine": "engine-a"})", {"engine.store=stack-40"}).memory.size, 40_GiB);
  // Another part, and the file's own fields stay.
  const EngineConfig config = read(R"({"engine": {"part": "engine-a", "label": "mine"}})", {"engine.part=engine-b"});
  EXPECT_EQ(config.clock, 1600_MHz);
  EXPECT_EQ(config.label, "mine");
}

TEST(ConfigOverrides, Errors) {
  EXPECT_EQ(error_in("{}", {"engine.clock"}), "--set: expected path=value, got \"engine.clock\"");
  EXPECT_EQ(error_in("{}", {"engine..clock=1GHz"}), "--set: expected path=value, got \"engine..clock=1GHz\"");
  EXPECT_EQ(error_in("{}", {"engine.clock=3"}),
            "--set: engine.clock: expected a frequency with its unit, such as \"1980MHz\", got 3");
  EXPECT_EQ(error_in("{}", {"engine.clok=1GHz"}),
            "--set: engine.clok: expected a known key, got \"clok\". Did you mean \"clock\"?");
  EXPECT_EQ(error_in(R"({"engine": {"label": "a"}})", {"engine.label.x=1"}),
            "--set: engine.label: expected a string, got an object");
  EXPECT_EQ(error_in(R"({"engine": {"efficiency": 1}})", {"engine.efficiency.x=1"}),
            "--set: engine.efficiency.x: expected a place in the platform, got 1 at engine.efficiency");
  EXPECT_EQ(error_in("{}", {R"(engine={"label": "a", "label": "b"})"}),
            "--set: engine.label: expected each key once, got \"label\" twice");
  // What an override put there around its value is the override's as well.
  EXPECT_EQ(error_in("{}", {"enjine.clock=1GHz"}),
            "--set: enjine: expected a known key, got \"enjine\". Did you mean \"engine\"?");
  EXPECT_EQ(error_in("{}", {"engine.timming.start=1us"}),
            "--set: engine.timming: expected a known key, got \"timming\". Did you mean \"timing\"?");
  EXPECT_EQ(error_in(R"({"enjine": {}})", {"enjine.clock=1GHz"}),
            "p.json: enjine: expected a known key, got \"enjine\". Did you mean \"engine\"?");
  EXPECT_EQ(error_in(R"({"list": [1, 2]})", {"list.2=1"}), "--set: list.2: expected an index below 2, got \"2\"");
}

TEST(ConfigUnused, SuggestsTheNearestKey) {
  EXPECT_EQ(field_error(R"("store": {"chanels": 3})"),
            "p.json: engine.store.chanels: expected a known key, got \"chanels\". Did you mean \"channels\"?");
  EXPECT_EQ(field_error(R"("timing": {"zzz": 3})"),
            "p.json: engine.timing.zzz: expected one of part, seed, start, got \"zzz\"");
  EXPECT_EQ(error_in(R"({"engin": {}})"),
            "p.json: engin: expected a known key, got \"engin\". Did you mean \"engine\"?");
}

TEST(ConfigUnused, NotYetReadOrOnlyAskedForIsUnused) {
  Document document = Document::from_text(R"({"a": {"b": 1}, "c": [{"d": 1}]})", "p.json", {}, Catalogue(kParts));
  EXPECT_TRUE(document.root().has("a"));
  EXPECT_EQ(error_of([&] { document.check_unused(); }), "p.json: a: expected no keys here, got \"a\"");
  EXPECT_EQ(document.root().child("a").raw()["b"], 1);
  EXPECT_EQ(error_of([&] { document.check_unused(); }), "p.json: c: expected one of a, got \"c\"");
  EXPECT_EQ(document.root().child("c").elements().size(), 1U);
  EXPECT_EQ(error_of([&] { document.check_unused(); }), "p.json: c.0.d: expected no keys here, got \"d\"");
}

TEST(ConfigNodes, SingleValues) {
  Document document =
      Document::from_text(R"({"seed": 3, "map": {"x": "1us", "y": "2us"}})", "p.json", {}, Catalogue(kParts));
  const Node root = document.root();
  EXPECT_EQ(root.get("seed", 0), 3);
  EXPECT_EQ(root.get("limit", 5_ns), 5_ns);
  Time sum;
  for (const auto& [name, node] : root.child("map").members()) sum += root.child("map").require<Time>(name);
  EXPECT_EQ(sum, 3_us);
  EXPECT_FALSE(root.child("none").exists());
  EXPECT_TRUE(root.child("none").elements().empty());
  EXPECT_EQ(error_of([&] { (void)root.require<std::string>("name"); }), "p.json: name: expected a string, got nothing");
  EXPECT_EQ(error_of([&] { (void)root.child("map").elements(); }), "p.json: map: expected an array, got an object");
  EXPECT_EQ(error_of([&] { root.child("seed").fail("a prime above 3"); }),
            "p.json: seed: expected a prime above 3, got 3");
  document.check_unused();
}

TEST(ConfigProvenance, AllFourSources) {
  Document document = Document::from_text(R"({"engine": {"part": "engine-a", "label": "mine", "order": "tree"}})",
                                          "p.json", Overrides{"engine.store.channels=5"}, Catalogue(kParts));
  EngineConfig config;
  document.root().read_part("engine", config);
  const nlohmann::json effective = document.effective();
  const auto expect = [&](const std::string& path, const nlohmann::json& value, const std::string& source) {
    EXPECT_EQ(effective.value(path, nlohmann::json()), nlohmann::json({{"value", value}, {"source", source}})) << path;
  };
  expect("engine.efficiency", 0.5, "default");
  expect("engine.timing.start", "10ns", "default");
  expect("engine.clock", "1980MHz", "part engine-a");
  expect("engine.store.part", "stack-80", "part engine-a");
  expect("engine.store.size", "80GiB", "part stack-80");
  expect("engine.part", "engine-a", "file");
  expect("engine.label", "mine", "file");
  expect("engine.order", "tree", "file");
  expect("engine.store.channels", 5, "command line");
  EXPECT_EQ(effective.size(), 14U);
}

/// A run of what a run wrote knows what was set by hand.
TEST(ConfigProvenance, OutlivesARun) {
  Document first = Document::from_text(R"({"engine": {"part": "engine-a", "label": "mine"}})", "p.json",
                                       Overrides{"engine.store.channels=5"}, Catalogue(kParts));
  EngineConfig config;
  first.root().read_part("engine", config);
  EXPECT_TRUE(first.gives("engine.store.channels"));
  EXPECT_TRUE(first.gives("engine.clock"));
  EXPECT_FALSE(first.gives("engine.efficiency"));
  nlohmann::json written = first.configuration();
  for (int run = 0; run < 2; ++run) {
    Document again = Document::from_text(written.dump(), "config.json", Overrides{}, Catalogue(kParts));
    again.root().read_part("engine", config);
    written = again.configuration();
    EXPECT_EQ(written["values"], first.configuration()["values"]);
  }
}

TEST(ConfigProvenance, SettingsThatAnotherReplacesAreKnown) {
  Document document =
      Document::from_text("{}", "p.json", Overrides{"engine.label=a", "engine.clock=1GHz", "engine.label=b"});
  EXPECT_TRUE(document.is_set_again("engine.label"));
  EXPECT_FALSE(document.is_set_again("engine.clock"));
}

TEST(ConfigProvenance, ErrorsOfModulesGetTheirFile) {
  Document document = Document::from_text(R"({"engine": {"label": "mine"}})", "p.json",
                                          Overrides{"engine.efficiency=1"}, Catalogue(kParts));
  EngineConfig config;
  document.root().read_part("engine", config);
  EXPECT_STREQ(document.explain(ConfigError("engine.label", "a label in use")).what(),
               "p.json: engine.label: expected a label in use, got \"mine\"");
  EXPECT_STREQ(document.explain(ConfigError("engine.efficiency", "less for this engine")).what(),
               "--set: engine.efficiency: expected less for this engine, got 1.0");
  EXPECT_STREQ(document.explain(ConfigError("engine", "another")).what(), "p.json: engine: expected another");
}

TEST(ConfigDescribe, ListsEveryField) {
  std::vector<std::string> rows;
  for (const FieldDoc& row : describe(EngineConfig(), "engine")) {
    rows.push_back(row.path + " | " + row.type + " | " + row.part_kind + " | " + row.default_text + " | " + row.limits +
                   " | " + row.doc);
  }
  EXPECT_EQ(rows, (std::vector<std::string>{
                      "engine.clock | frequency |  | \"1GHz\" |  | Core clock",
                      "engine.peak | compute rate |  | \"1TFLOPS\" |  | Peak arithmetic",
                      "engine.efficiency | number |  | 0.5 | 0 to 1 | Share of the peak that is reached",
                      "engine.sparse | true or false |  | false |  | Skips zeros",
                      "engine.label | string |  | \"plain\" |  | Name in reports",
                      "engine.order | one of ring, tree |  | \"ring\" |  | Order of work",
                      "engine.offset | integer |  | 0 | at least -4 | First lane",
                      "engine.store | object | store |  |  | Memory",
                      "engine.store.size | size |  | \"16GiB\" | 1MiB to 1TiB | Capacity",
                      "engine.store.rate | rate |  | \"7200Gbps\" |  | Peak rate",
                      "engine.store.channels | integer |  | 32 | 1 to 128 | Independent channels",
                      "engine.timing | object | timing |  |  | Latencies",
                      "engine.timing.start | time |  | \"10ns\" | 1ns to 8us | Latency of the first operation",
                      "engine.timing.seed | integer |  | 1 | at least 0 | Seed",
                  }));
}

}  // namespace
}  // namespace weft::platforms
