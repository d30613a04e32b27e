// SPDX-License-Identifier: Apache-2.0
// Lists in configurations: of scalars, of configurations, in files of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/config/document.h"
#include "tests/support/config.h"

namespace weft::platforms {
namespace {

using namespace literals;
using namespace test_config;

constexpr const char* kListOfParts = WEFT_TEST_DATA "/parts";

struct StageConfig {
  static constexpr std::string_view kShorthand = "kind";
  std::string kind = "copy";
  TimingConfig timing;
  int width = 1;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("kind", kind, "What it does");
    visit("timing", timing, "Latencies");
    visit("width", width, "Lanes", Range{1, 8});
  }
};

struct PipelineConfig {
  TimingConfig timing;
  std::vector<int> sizes;
  std::vector<std::string> names;
  std::vector<StageConfig> stages;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("timing", timing, "Of all");
    visit("sizes", sizes, "Sizes", Range{2, 99});
    visit("names", names, "Names");
    visit("stages", stages, "Stages", StageConfig{"copy", timing, 1});
  }
};

PipelineConfig read_pipeline(const std::string& text, const Overrides& overrides = {},
                             nlohmann::json* effective = nullptr) {
  Document document = Document::from_text(text, testing::TempDir() + "/p.json", overrides, Catalogue(kListOfParts));
  PipelineConfig config;
  document.root().read(config);
  document.check_unused();
  if (effective != nullptr) *effective = document.effective();
  return config;
}

TEST(ConfigLists, OfScalars) {
  const PipelineConfig config = read_pipeline(R"({"sizes": [2, 4], "names": ["a"]})");
  EXPECT_EQ(config.sizes, (std::vector<int>{2, 4}));
  EXPECT_EQ(config.names, (std::vector<std::string>{"a"}));
  EXPECT_EQ(read_pipeline("{}").sizes.size(), 0u);
  EXPECT_EQ(read_pipeline(R"({"sizes": [2, 4]})", {"sizes.1=8"}).sizes, (std::vector<int>{2, 8}));
  EXPECT_EQ(read_pipeline("{}", {"sizes=[3, 3]"}).sizes, (std::vector<int>{3, 3}));
}

TEST(ConfigLists, OfConfigsOrOfWhatStandsForThem) {
  nlohmann::json effective;
  const PipelineConfig config =
      read_pipeline(R"({"timing": {"start": "2us"}, "stages": ["sort", {"kind": "merge", "width": 3}, {}]})",
                    {"stages.0.timing.start=3us", "stages.2.width=2"}, &effective);
  ASSERT_EQ(config.stages.size(), 3u);
  EXPECT_EQ(config.stages[0].kind, "sort");
  EXPECT_EQ(config.stages[0].timing.start, 3_us);
  EXPECT_EQ(config.stages[1].kind, "merge");
  EXPECT_EQ(config.stages[1].width, 3);
  // What is not given is as the prototype, which knows what was read before.
  EXPECT_EQ(config.stages[1].timing.start, 2_us);
  EXPECT_EQ(config.stages[2].kind, "copy");
  EXPECT_EQ(config.stages[2].width, 2);
  const auto expect = [&](const std::string& path, const nlohmann::json& value, const std::string& source) {
    EXPECT_EQ(effective.value(path, nlohmann::json()), nlohmann::json({{"value", value}, {"source", source}})) << path;
  };
  expect("stages.0.kind", "sort", "file");
  expect("stages.0.timing.start", "3us", "command line");
  expect("stages.1.timing.start", "2us", "default");
  expect("sizes", nlohmann::json::array(), "default");
}

TEST(ConfigLists, FromAFileBesideThePlatform) {
  const auto folder = std::filesystem::path(testing::TempDir());
  std::ofstream(folder / "weft_stages.json") << R"(["sort", {"kind": "merge", "width": 3}])";
  nlohmann::json effective;
  const PipelineConfig config = read_pipeline(R"({"stages": "weft_stages.json"})", {"stages.0.width=5"}, &effective);
  ASSERT_EQ(config.stages.size(), 2u);
  EXPECT_EQ(config.stages[0].kind, "sort");
  EXPECT_EQ(config.stages[0].width, 5);
  EXPECT_EQ(config.stages[1].width, 3);
  EXPECT_EQ(effective["stages.1.width"]["source"], "file weft_stages.json");
  EXPECT_EQ(effective["stages.0.width"]["source"], "command line");

  const auto error = [&](const std::string& text) {
    std::ofstream(folder / "weft_stages.json") << text;
    const std::string what = error_of([&] { read_pipeline(R"({"stages": "weft_stages.json"})"); });
    const std::size_t at = what.find("weft_stages.json");
    return at == std::string::npos ? what : what.substr(at);
  };
  EXPECT_EQ(error("{}"), "weft_stages.json: expected a list in JSON, got an object");
  EXPECT_EQ(error(R"([{"width": 9}])"), "weft_stages.json: 0.width: expected an integer from 1 to 8, got 9");
  EXPECT_EQ(error(R"([{"widht": 1}])"),
            "weft_stages.json: 0.widht: expected a known key, got \"widht\". Did you mean \"width\"?");
  std::filesystem::remove(folder / "weft_stages.json");
  const std::string absent = error_of([&] { read_pipeline(R"({"stages": "sort merge"})"); });
  EXPECT_TRUE(absent.ends_with(
      "p.json: stages: expected a list, or the name of a file with one in JSON or CSV, got \"sort merge\""))
      << absent;
}

TEST(ConfigLists, InACsvFile) {
  const auto folder = std::filesystem::path(testing::TempDir());
  const auto write = [&](const std::string& text) { std::ofstream(folder / "weft_stages.csv") << text; };
  write("kind,width,timing.start\n# the first one\nsort,3,4us\nmerge,,\n");
  nlohmann::json effective;
  const PipelineConfig config =
      read_pipeline(R"({"timing": {"start": "2us"}, "stages": "weft_stages.csv"})", {}, &effective);
  ASSERT_EQ(config.stages.size(), 2u);
  EXPECT_EQ(config.stages[0].kind, "sort");
  EXPECT_EQ(config.stages[0].width, 3);
  EXPECT_EQ(config.stages[0].timing.start, 4_us);
  EXPECT_EQ(config.stages[1].kind, "merge");
  EXPECT_EQ(config.stages[1].timing.start, 2_us) << "as the prototype";
  EXPECT_EQ(effective["stages.0.width"]["source"], "file weft_stages.csv");
  const auto error = [&](const std::string& text) {
    write(text);
    const std::string what = error_of([&] { read_pipeline(R"({"stages": "weft_stages.csv"})"); });
    const std::size_t at = what.find("weft_stages.csv");
    return at == std::string::npos ? what : what.substr(at);
  };
  EXPECT_EQ(error("kind,width\nsort,3\n\nmerge,9\n"),
            "weft_stages.csv:4: 1.width: expected an integer from 1 to 8, got 9");
  EXPECT_EQ(error("kind,widht\nsort,3\n"),
            "weft_stages.csv:2: 0.widht: expected a known key, got \"widht\". Did you mean \"width\"?");
  // Of a column and of those below it the first is a part's name.
  EXPECT_EQ(error("kind,timing,timing.start\nsort,5,4us\n"),
            "weft_stages.csv:2: timing: expected the name of a part beside column \"timing.start\", got 5");
  EXPECT_EQ(error("kind,timing.start,timing\nsort,4us,5\n"),
            "weft_stages.csv:2: 0.timing.part: expected the name of a part of kind timing, got 5");
  EXPECT_NE(error("kind,timing.start,timing\nsort,4us,fast\n").find("weft_stages.csv:2: 0.timing.part: expected"),
            std::string::npos);
  std::filesystem::remove(folder / "weft_stages.csv");
}

struct Holder {
  std::vector<int> sizes;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("sizes", sizes, "Sizes");
  }
};

TEST(ConfigLists, OverridesOfAListInAPart) {
  // Read from a part, a list is not in the document; elements of it can be overridden all the same.
  const auto folder = std::filesystem::path(testing::TempDir()) / "weft_list_parts";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "three.json") << R"({"kind": "holder", "source": "x", "fields": {"sizes": [1, 2, 3]}})";
  const auto read_sizes = [&](const Overrides& overrides) {
    Document document = Document::from_text(R"({"holder": "three"})", "p.json", overrides, Catalogue(folder));
    Holder holder;
    document.root().read_part("holder", holder);
    document.check_unused();
    return holder.sizes;
  };
  EXPECT_EQ(read_sizes({}), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(read_sizes({"holder.sizes.1=7"}), (std::vector<int>{1, 7, 3}));
  EXPECT_EQ(error_of([&] { read_sizes({"holder.sizes.3=7"}); }),
            "--set: holder.sizes.3: expected an index below 3, got \"3\"");
  std::filesystem::remove_all(folder);
}

TEST(ConfigLists, TellWhatIsWrong) {
  const auto error = [](const std::string& text, const Overrides& overrides = {}) {
    const std::string what = error_of([&] { read_pipeline(text, overrides); });
    const std::size_t at = what.find("p.json: ");
    return at == std::string::npos ? what : what.substr(at);
  };
  EXPECT_EQ(error(R"({"sizes": 3})"),
            "p.json: sizes: expected a list, or the name of a JSON or CSV file with one, got 3");
  EXPECT_EQ(error(R"({"sizes": [2, 1]})"), "p.json: sizes.1: expected an integer from 2 to 99, got 1");
  EXPECT_EQ(error(R"({"names": [2]})"), "p.json: names.0: expected a string, got 2");
  EXPECT_EQ(error(R"({"stages": [2]})"), "p.json: stages.0: expected an object, or a string for its kind, got 2");
  EXPECT_EQ(error(R"({"stages": [{"timing": {"start": 3}}]})"),
            "p.json: stages.0.timing.start: expected a time from \"1ns\" to \"8us\", got 3");
  EXPECT_EQ(error(R"({"stages": ["a", {"kidn": "b"}]})"),
            "p.json: stages.1.kidn: expected a known key, got \"kidn\". Did you mean \"kind\"?");
  EXPECT_EQ(error(R"({"stages": ["a"]})", {"stages.1.width=3"}),
            "--set: stages.1: expected an index below 1, got \"1\"");
  EXPECT_EQ(error("{}", {"stages.0.width=3"}), "--set: stages.0: expected a list that has it at stages, got \"0\"");
}

TEST(ConfigLists, AreDescribed) {
  std::vector<std::string> rows;
  for (const FieldDoc& row : describe(PipelineConfig())) {
    rows.push_back(row.path + " | " + row.type + " | " + row.default_text + " | " + row.limits);
  }
  const std::vector<std::string> expected = {
      "sizes | list of integers | [] | 2 to 99",
      "names | list of strings | [] | ",
      "stages | list of objects, or of strings for their `kind` |  | ",
      "stages.N.kind | string | \"copy\" | ",
  };
  for (const std::string& row : expected) EXPECT_NE(std::find(rows.begin(), rows.end(), row), rows.end()) << row;
}

}  // namespace
}  // namespace weft::platforms
