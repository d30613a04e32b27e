// SPDX-License-Identifier: Apache-2.0
// What a file of a configuration may be: of which kind, and that those of Weft's own may have comments and a `$schema`.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/config/document.h"
#include "platforms/config/text.h"
#include "tests/support/config.h"
#include "traces/files/gzip_file.h"
#include "traces/json/json_depth.h"

namespace weft::platforms {
namespace {

using namespace test_config;
namespace fs = std::filesystem;

struct LaneConfig {
  static constexpr std::string_view kPartKind = "lane";
  Time start = 10_ns;
  int width = 1;
  std::vector<int> list;
  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("start", start, "When it begins");
    visit("width", width, "Bits");
    visit("list", list, "Numbers");
  }
};

/// A platform may be in gzip, and of a file that is something else it is said what that is.
TEST(ConfigFile, MayBeGzipAndSaysWhatElseItIs) {
  const auto file = std::filesystem::path(testing::TempDir()) / ("weft_config_" + std::to_string(getpid()) + ".gz");
  const auto write = [&](const std::string& text) {
    traces::GzipFile packed(file);
    packed.write(text);
    packed.close();
  };
  const auto load = [&] { return error_of([&] { Document document(file.string()); }); };
  write(R"({"name": "packed"})");
  EXPECT_EQ(Document(file.string()).root().get<std::string>("name", ""), "packed");
  const std::string expected = file.string() + ": expected a platform in JSON, got ";
  write("MICRO\n1\n");
  EXPECT_TRUE(
      load().starts_with(expected + "a text workload of ASTRA-sim 1.0 or SimAI, packed with gzip; weft trace convert "))
      << load();
  write(R"({"traceEvents": [], "deviceProperties": []})");
  EXPECT_TRUE(load().starts_with(expected + "a trace of PyTorch's profiler")) << load();
  write(R"({"metadata": {}, "nodes": []})");
  EXPECT_TRUE(load().ends_with("; weft trace info " + file.string() + " reads it")) << load();
  std::filesystem::remove(file);
}

TEST(ConfigFile, ErrorsNameTheFile) {
  const auto load = [](const std::string& file) { return error_of([&] { Document document(file); }); };
  EXPECT_EQ(load("/nowhere/p.json"), "/nowhere/p.json: expected a platform in JSON, got no such file");
  EXPECT_EQ(load("/tmp"), "/tmp: expected a platform in JSON, got a folder");

  const auto file = std::filesystem::path(testing::TempDir()) / ("weft_config_" + std::to_string(getpid()) + ".json");
  const auto load_text = [&](const std::string& text) {
    std::ofstream(file) << text;
    const std::string error = load(file.string());
    std::filesystem::remove(file);
    return error.starts_with(file.string()) ? error.substr(file.string().size()) : error;
  };
  EXPECT_EQ(load_text("[1]"), ": expected a platform in JSON, an object, got an array");
  EXPECT_EQ(load_text("{}"), "no error");
  EXPECT_EQ(load_text("{\n  \"a\": 1,\n  \"b\": }"),
            ": line 3, column 8: expected JSON, got a syntax error while parsing value - unexpected '}'; expected '[', "
            "'{', or a literal");
  EXPECT_TRUE(load_text("").starts_with(": line 1, column 1: expected JSON, got a syntax error"));
  EXPECT_EQ(load_text(R"({"a": {"b": 1, "b": 2}})"), ": a.b: expected each key once, got \"b\" twice");
}

class ConfigComments : public testing::Test {
 protected:
  ConfigComments() : folder_(fs::path(testing::TempDir()) / ("weft_comments_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ConfigComments() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  /// Of the file's "lane".
  static LaneConfig read(const std::string& file, const std::vector<std::string>& patches = {}) {
    Document document(file, {}, Catalogue(fs::path("/nowhere")), patches);
    LaneConfig config;
    document.root().read_part("lane", config);
    document.check_unused();
    return config;
  }
  std::string error_in(const std::string& text) {
    const std::string error = error_of([&] { read(write("p.json", text)); });
    const std::string file = (folder_ / "p.json").string() + ": ";
    return error.starts_with(file) ? error.substr(file.size()) : error;
  }

  fs::path folder_;
};

TEST_F(ConfigComments, StandInPlatformsPartsPatchesAndLists) {
  write("wide.json",
        "// A part.\n{\"$schema\": \"part.schema.json\", \"kind\": \"lane\", /* mine */ \"source\": \"me\",\n"
        " \"fields\": {\"width\": 8 // bits\n }}");
  write("list.json", "/* [ */ [1, // two\n 2]\n// the end");
  const std::string file = write("p.json",
                                 "// { \"not\": this\n/* nor \"this\": [ **/\n{ // \"\n  \"$schema\": \"x\",\n"
                                 "  \"lane\": {\"part\": \"wide\", \"list\": \"list.json\"} /*{*/ }\n//");
  const std::string patch = write("patch.json", "{\"$schema\": \"x\", \"lane\": {\"start\": \"1us\" /* late */}}");
  const LaneConfig config = read(file, {patch});
  EXPECT_EQ(config.width, 8);
  EXPECT_EQ(config.start, 1_us);
  EXPECT_EQ(config.list, (std::vector{1, 2}));
}

TEST_F(ConfigComments, SchemaIsNoField) {
  Document document(write("p.json", R"({"$schema": "x", "lane": {"width": 2}})"));
  LaneConfig config;
  document.root().read_part("lane", config);
  document.check_unused();
  EXPECT_EQ(document.configuration().dump().find("$schema"), std::string::npos);
  EXPECT_EQ(error_in(R"({"$schema": 7})"), "$schema: expected a string, for editors, got 7");
  EXPECT_EQ(error_in(R"({"lane": {"$schema": "x"}})"),
            "lane.$schema: expected one of list, part, start, width, got \"$schema\"");
}

TEST_F(ConfigComments, ErrorsBehindThemSayWhere) {
  EXPECT_EQ(error_in("// one\n/* two\n three */ {\n  \"lane\": // [\n  }"),
            "line 5, column 3: expected JSON, got a syntax error while parsing value - unexpected '}'; expected '[', "
            "'{', or a literal");
  EXPECT_EQ(error_in("{\"a\": /* \"a\": */ {\"b\": 1, // \"b\"\n \"b\": 2}}"),
            "a.b: expected each key once, got \"b\" twice");
  EXPECT_TRUE(error_in("{\"lane\": {} /* never ends").starts_with("line 1, column 26: expected JSON, got "))
      << error_in("{\"lane\": {} /* never ends");
  EXPECT_TRUE(error_in("{\"lane\": {} / 1}").starts_with("line 1, column 14: expected JSON, got "))
      << error_in("{\"lane\": {} / 1}");
}

/// Brackets in comments do not count, and none that counts hides behind one.
TEST_F(ConfigComments, DepthIsBounded) {
  const std::string many(traces::kDeepestJson + 1, '[');
  EXPECT_EQ(error_in("{ // " + many + "\n/* " + many + " */ \"lane\": {}}"), "no error");
  for (const std::string begins : {"// \n", "// \r", "/**/", "/*/*/", "\"//\": 1, "}) {
    const std::string text = "{" + begins + "\"lane\": " + many;
    EXPECT_TRUE(traces::too_deep_at(text)) << begins;
    EXPECT_NE(error_in(text).find(": expected JSON in which at most 256 arrays and objects stand within each other"),
              std::string::npos)
        << error_in(text);
  }
  EXPECT_FALSE(traces::too_deep_at("// " + many));
}

TEST_F(ConfigComments, AreRefusedInFilesOfOthers) {
  const std::string file = write("system.json", "{\"scheduling-policy\": \"LIFO\" /* no */}");
  EXPECT_EQ(error_of([&] { load_json_object(file, "a file of ASTRA-sim"); }).substr(file.size()),
            ": line 1, column 30: expected JSON, got a syntax error while parsing object - invalid literal; last read: "
            "'\"LIFO\" /'; expected '}'");
}

}  // namespace
}  // namespace weft::platforms
