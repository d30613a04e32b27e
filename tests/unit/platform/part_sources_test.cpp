// SPDX-License-Identifier: Apache-2.0
// Every field of every part of the catalogue has a source with a grade.
#include "platforms/config/part_sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "platforms/config/catalogue.h"
#include "tests/support/config.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test_config::error_of;

TEST(PartSources, EveryFieldOfTheCatalogueHasOne) {
  Catalogue catalogue{WEFT_SOURCE_DIR "/platforms/parts"};
  const std::vector<std::string> names = catalogue.names("");
  EXPECT_GT(names.size(), 40U);
  std::size_t count = 0;
  for (const std::string& name : names) {
    const std::vector<PartField> fields = fields_of(catalogue, *catalogue.find(name));
    EXPECT_FALSE(fields.empty()) << name;
    count += fields.size();
    for (const PartField& field : fields) {
      ASSERT_NE(field.source, nullptr) << name << ": " << field.path;
      EXPECT_FALSE(field.source->text.empty()) << name << ": " << field.path;
    }
  }
  EXPECT_GT(count, 1000U);
}

/// Each grade is explained on one page, which has no others.
TEST(PartSources, GradesAreThoseOfTheDocs) {
  std::ifstream page(WEFT_SOURCE_DIR "/docs/reference/models/README.md");
  std::set<std::string> explained;
  bool is_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_table = line == "## Grades of sources";
    if (!is_table || !line.starts_with("| ") || line.starts_with("| ---") || line.starts_with("| grade")) continue;
    explained.insert(line.substr(2, line.find(" |") - 2));
  }
  EXPECT_EQ(explained, std::set<std::string>(kSourceGrades.begin(), kSourceGrades.end()));
}

/// Parts of a user's own, in a folder of their own.
class OwnPart : public testing::Test {
 protected:
  OwnPart() { fs::create_directories(folder_); }
  ~OwnPart() override { fs::remove_all(folder_); }

  void write(const std::string& name, const json& part) { std::ofstream(folder_ / (name + ".json")) << part.dump(); }
  const Part& find(const std::string& name) { return *catalogue_.find(name); }

  /// What is wrong with the sources of a part that has these.
  std::string error(const json& sources) {
    write("odd", {{"kind", "engine"},
                  {"source", "test"},
                  {"fields", {{"clock", "1GHz"}, {"store", {{"size", "1GiB"}, {"rate", "8Gbps"}}}}},
                  {"sources", sources}});
    Catalogue catalogue{folder_};
    const std::string text = error_of([&] { catalogue.find("odd"); });
    const std::size_t at = text.find("odd.json");
    return at == std::string::npos ? text : text.substr(at);
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "weft_part_sources";
  Catalogue catalogue_{folder_};
};

TEST_F(OwnPart, TakesTheNearestSourceAndThoseOfTheOneBeneath) {
  write("base", {{"kind", "engine"},
                 {"source", "test"},
                 {"fields", {{"clock", "1.5GHz"}, {"store", {{"part", "stack"}, {"rate", "8Gbps"}, {"banks", 4}}}}},
                 {"sources",
                  {{{"grade", "published"}, {"source", "a page"}, {"fields", {"store"}}},
                   {{"grade", "measured"}, {"source", "a run"}, {"fields", {"store.rate"}}}}}});
  write("derived", {{"kind", "engine"}, {"source", "test"}, {"fields", {{"part", "base"}, {"clock", "2GHz"}}}});
  std::vector<std::string> rows;
  for (const PartField& field : fields_of(catalogue_, find("derived"))) {
    const UnitValue value = split_unit(field.value);
    rows.push_back(field.path + " " + value.value.dump() + " " + value.unit + " " + field.part + " " +
                   (field.source == nullptr ? "-" : field.source->grade + " " + field.source->text));
  }
  EXPECT_EQ(rows, (std::vector<std::string>{"clock 2 GHz derived -", "store \"stack\"  base published a page",
                                            "store.banks 4  base published a page",
                                            "store.rate 8 Gbps base measured a run"}));
  write("loop", {{"kind", "engine"}, {"source", "test"}, {"fields", {{"part", "loop"}}}});
  EXPECT_NE(error_of([&] {
              fields_of(catalogue_, find("loop"));
            }).find("loop.json: fields.part: expected a part that is not derived from itself, got \"loop\""),
            std::string::npos);
  write("lost", {{"kind", "engine"}, {"source", "test"}, {"fields", {{"part", "nothing"}}}});
  EXPECT_NE(error_of([&] {
              fields_of(catalogue_, find("lost"));
            }).find("lost.json: fields.part: expected a part of kind engine, got \"nothing\""),
            std::string::npos);
}

TEST_F(OwnPart, RefusesSourcesThatAreNone) {
  const json good = {{"grade", "derived"}, {"source", "x"}, {"fields", json::array({"clock"})}};
  EXPECT_EQ(error(json::array({good})), "no error");
  EXPECT_EQ(error(7), "odd.json: sources: expected an array of objects with grade, source and fields, got 7");
  EXPECT_EQ(error(json::array({"a page"})),
            "odd.json: sources.0: expected an object with grade, source and fields, got \"a page\"");
  const auto with = [&good](const char* key, const json& value) {
    json source = good;
    source[key] = value;
    return json::array({source});
  };
  EXPECT_EQ(error(with("grade", "sure")),
            "odd.json: sources.0.grade: expected one of measured, published, fitted, derived, recalled, assumed, got "
            "\"sure\"");
  EXPECT_EQ(error(with("source", 1)), "odd.json: sources.0.source: expected a string, got 1");
  EXPECT_EQ(error(with("from", "x")), "odd.json: sources.0.from: expected one of grade, source, fields, got \"from\"");
  EXPECT_EQ(error(with("fields", json::array())), "odd.json: sources.0.fields: expected paths of fields, got an array");
  EXPECT_EQ(error(with("fields", json::array({1}))), "odd.json: sources.0.fields: expected paths of fields, got 1");
  EXPECT_EQ(error(with("fields", {"store", "stor"})),
            "odd.json: sources.0.fields: expected fields that the part sets, got \"stor\"");
  EXPECT_EQ(error(json::array({good, good})),
            "odd.json: sources.1.fields: expected fields that no other source names, got \"clock\"");
  EXPECT_EQ(error(json::array({{{"grade", "derived"}, {"fields", json::array({"clock"})}}})),
            "odd.json: sources.0.source: expected a string, got nothing");
}

TEST(PartSources, SplitsQuantities) {
  const auto split = [](const json& value) {
    const UnitValue result = split_unit(value);
    return result.value.dump() + "|" + result.unit;
  };
  EXPECT_EQ(split("1980MHz"), "1980|MHz");
  EXPECT_EQ(split("0.876pJ"), "0.876|pJ");
  EXPECT_EQ(split("450GB/s"), "450|GB/s");
  EXPECT_EQ(split(0.5), "0.5|");
  EXPECT_EQ(split(true), "true|");
  EXPECT_EQ(split("hbm3-80g"), "\"hbm3-80g\"|");
  EXPECT_EQ(split("fp16, fp8"), "\"fp16, fp8\"|");
}

}  // namespace
}  // namespace weft::platforms
