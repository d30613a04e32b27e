// SPDX-License-Identifier: Apache-2.0
// weft describe --schema: it has what the reader has, and a validator agrees with the reader. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ran;

/// A key that is like no other, so that its error lists those that the reader knows.
constexpr const char* kUnknown = "zzzzzzzzzzzzzzzz";

class SchemaCli : public test::CliTest {
 protected:
  json schema(const std::string& of = "") {
    const Ran ran = weft("describe --schema " + of);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  }

  static json resolved(const json& whole, const json& schema) {
    if (!schema.contains("$ref")) return schema;
    const std::string name = schema["$ref"].get<std::string>().substr(std::string("#/$defs/").size());
    return resolved(whole, whole["$defs"][name]);
  }

  /// By the path of each object that the schema describes, "fabric.edges.0", the keys that it has there.
  static void collect(const json& whole, const json& place, const std::string& path,
                      std::map<std::string, std::set<std::string>>& found) {
    const json schema = resolved(whole, place);
    if (schema.contains("items")) return collect(whole, schema["items"], path + ".0", found);
    if (!schema.contains("properties")) return;
    for (const auto& [key, member] : schema["properties"].items()) {
      if (key != "$schema") found[path].insert(key);
      collect(whole, member, path.empty() ? key : path + "." + key, found);
    }
  }

  /// Numbers of the schema that have a default, wherever they are, by their place.
  static void collect_numbers(const json& schema, const std::string& path, std::map<std::string, json>& found) {
    if (!schema.is_structured()) return;
    if (schema.is_object() && schema.contains("default") && schema["default"].is_number()) found[path] = schema;
    for (const auto& [key, member] : schema.items()) collect_numbers(member, path + "/" + key, found);
  }

  /// What the reader expects in place of an unknown key.
  std::set<std::string> known_at(json platform, const std::string& path) {
    json* at = &platform;
    std::istringstream keys(path);
    for (std::string key; std::getline(keys, key, '.');) {
      if (key == "0") {
        if (!at->is_array()) *at = json::array({json::object()});
        at = &(*at)[0];
      } else {
        at = &(*at)[key];
      }
    }
    (*at)[kUnknown] = 1;
    write("p.json", platform.dump());
    const Ran ran = weft("run ../p.json");
    const std::string begin = "weft: ../p.json: " + path + (path.empty() ? "" : ".") + kUnknown + ": expected one of ";
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(ran.err.starts_with(begin)) << path << ": " << ran.err;
    if (!ran.err.starts_with(begin)) return {};
    std::istringstream names(ran.err.substr(begin.size(), ran.err.rfind(", got ") - begin.size()));
    std::set<std::string> known;
    for (std::string name; std::getline(names >> std::ws, name, ',');) known.insert(name);
    return known;
  }

  void expect_keys(const json& platform, const std::map<std::string, std::set<std::string>>& expected) {
    for (const auto& [path, keys] : expected) {
      EXPECT_EQ(known_at(platform, path), keys) << path;
    }
  }

  /// Says of each file whether it is valid; skips the test where nobody can.
  std::map<std::string, std::string> validate(const std::string& of, const std::vector<std::string>& files) {
    std::ofstream(folder_ / "schema.json") << schema(of).dump();
    std::string command =
        "python3 " WEFT_SOURCE_DIR "/tests/support/validate_schema.py " + (folder_ / "schema.json").string();
    for (const std::string& file : files) command += " " + file;
    const Ran ran = run(command);
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::map<std::string, std::string> found;
    std::istringstream lines(ran.out);
    for (std::string file, line; lines >> file && std::getline(lines >> std::ws, line);) found[file] = line;
    return found;
  }
  bool has_validator() { return run("python3 -c 'import jsonschema; jsonschema.Draft202012Validator'").code == 0; }

  static std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(std::string(WEFT_SOURCE_DIR "/") + folder)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
    return files;
  }
};

constexpr const char* kWithoutValidator = "python3-jsonschema is one of the packages that ./weft installs";

TEST_F(SchemaCli, HasTheKeysOfTheReader) {
  const json whole = schema();
  const json& machine = whole["$defs"]["machine"];
  std::map<std::string, std::set<std::string>> keys;
  collect(whole, machine, "", keys);
  keys.erase("workload");
  EXPECT_GT(keys.size(), 50U);
  const json base = {{"accelerators", 1}, {"per_node", 1}};
  json with_work = base;
  with_work["workload"] = {{"kind", "fsdp"}};
  expect_keys(with_work, keys);
  for (const json& kind : machine["properties"]["workload"]["allOf"]) {
    std::map<std::string, std::set<std::string>> of_kind;
    collect(whole, kind["then"], "workload", of_kind);
    json platform = base;
    const std::string name = kind["if"]["properties"]["kind"]["const"];
    platform["workload"] = {{"kind", name}};
    if (name == "transformer") platform["workload"]["model"] = "nano";
    if (name == "chakra") {
      platform["workload"]["traces"] = WEFT_SOURCE_DIR "/docs/inputs/ddp";
      platform["accelerators"] = 4;
      of_kind["workload"].insert("custom");
      of_kind.erase("workload.custom");  // its files are looked for first
    }
    expect_keys(platform, of_kind);
  }
}

TEST_F(SchemaCli, HasTheKeysOfAnalyticalPlatforms) {
  const json whole = schema();
  std::map<std::string, std::set<std::string>> keys;
  collect(whole, whole["$defs"]["analytical_platform"], "", keys);
  EXPECT_GT(keys.size(), 5U);
  keys.erase("workload.custom");
  const json dimension = {{"block", "Ring"}, {"size", 4}};
  expect_keys({{"network", "analytical"},
               {"analytical", {{"dimensions", {dimension}}}},
               {"workload", {{"kind", "chakra"}, {"traces", WEFT_SOURCE_DIR "/docs/inputs/ddp"}}}},
              keys);
}

TEST_F(SchemaCli, SaysWhatAFieldIs) {
  const json whole = schema();
  EXPECT_EQ(whole["$schema"], "https://json-schema.org/draft/2020-12/schema");
  const json& machine = whole["$defs"]["machine"]["properties"];
  EXPECT_EQ(machine["accelerators"]["type"], "integer");
  EXPECT_EQ(machine["accelerators"]["minimum"], 1);
  EXPECT_EQ(machine["accelerators"]["maximum"], 1 << 20);
  EXPECT_EQ(machine["accelerators"]["default"], 8);
  EXPECT_EQ(machine["accelerators"]["description"], "Accelerators in the machine");
  const json nic = resolved(whole, machine["nic"]);
  const json examples = nic["examples"];
  EXPECT_NE(std::find(examples.begin(), examples.end(), "connectx-7"), examples.end());
  const json link = resolved(whole, resolved(whole, machine["fabric"])["properties"]["link"]);
  EXPECT_EQ(link["properties"]["rate"]["$ref"], "#/$defs/quantity.rate");
  // Defaults are those of the place.
  EXPECT_EQ(resolved(whole, machine["dpa"])["properties"]["cores"]["default"], 0);
  EXPECT_NE(resolved(whole, machine["firmware"])["properties"]["cores"]["default"], 0);
}

TEST_F(SchemaCli, NoDefaultIsOutsideItsLimits) {
  const json whole = schema();
  std::map<std::string, json> numbers;
  collect_numbers(whole, "", numbers);
  int excluded = 0;
  for (const auto& [path, number] : numbers) {
    const auto usual = number["default"].get<double>();
    if (number.contains("minimum")) {
      EXPECT_GE(usual, number["minimum"].get<double>()) << path;
    }
    if (number.contains("maximum")) {
      EXPECT_LE(usual, number["maximum"].get<double>()) << path;
    }
    if (number.contains("exclusiveMinimum")) {
      EXPECT_GT(usual, number["exclusiveMinimum"].get<double>()) << path;
      EXPECT_FALSE(number.contains("minimum")) << path;
      ++excluded;
    }
    if (number.contains("exclusiveMaximum")) {
      EXPECT_LT(usual, number["exclusiveMaximum"].get<double>()) << path;
      EXPECT_FALSE(number.contains("maximum")) << path;
      ++excluded;
    }
  }
  EXPECT_GT(numbers.size(), 300U);
  EXPECT_GT(excluded, 20);
}

TEST_F(SchemaCli, CatalogueIsValid) {
  ASSERT_TRUE(has_validator()) << kWithoutValidator;
  std::vector<std::string> platforms = files_in("platforms");
  EXPECT_GT(platforms.size(), 40U);
  for (const auto& [file, found] : validate("", platforms)) EXPECT_EQ(found, "valid") << file;
  std::vector<std::string> parts = files_in("platforms/parts");
  EXPECT_GT(parts.size(), 40U);
  for (const auto& [file, found] : validate("part", parts)) EXPECT_EQ(found, "valid") << file;
}

/// What the reader refuses for its form the schema refuses, and what it takes is valid.
TEST_F(SchemaCli, ValidatorAgreesWithTheReader) {
  ASSERT_TRUE(has_validator()) << kWithoutValidator;
  const std::map<std::string, bool> cases = {
      {R"("nic": "my-own-nic")", true},
      {R"("nic": {"part": "connectx-7", "read_ahead": "64KiB"})", true},
      {R"("nic": {"part": "connectx-7", "reed_ahead": "64KiB"})", false},
      {R"("nic": 7)", false},
      {R"("nic": {"dctcp": {"g": 1}})", true},
      {R"("nic": {"dctcp": {"g": 0}})", false},
      {R"("nic": {"swift": {"most_cut": 0}})", true},
      {R"("nic": {"swift": {"most_cut": 1}})", false},
      {R"("nicc": "connectx-7")", false},
      {R"("accelerators": 0)", false},
      {R"("accelerators": 1048577)", false},
      {R"("accelerators": "8")", false},
      {R"("fabric": {"link": {"rate": "400Gbps"}})", true},
      {R"("fabric": {"link": {"rate": "400 Gbps"}})", true},
      {R"("fabric": {"link": {"rate": ".5Tbps"}})", true},
      {R"("fabric": {"link": {"rate": "400us"}})", false},
      {R"("fabric": {"link": {"rate": "Gbps"}})", false},
      {R"("fabric": {"link": {"rate": "400Gbps "}})", false},
      {R"("fabric": {"link": {"rate": 400}})", false},
      {R"("fabric": {"topology": "fat-tree"})", true},
      {R"("fabric": {"topology": "fat-three"})", false},
      {R"("fabric": {"edges": "edges.csv"})", true},
      {R"("fabric": {"edges": ["end0 - a", {"between": "a - end1", "links": 2}]})", true},
      {R"("fabric": {"edges": [{"betwen": "a - end1"}]})", false},
      {R"("fabric": {"edges": [7]})", false},
      {R"("fabric": {"sizes": [2, 4]})", true},
      {R"("fabric": {"sizes": ["2"]})", false},
      {R"("stall": "1us")", true},
      {R"("workload": {"kind": "fsdp", "model": "mine.csv:mine", "recompute": "none"})", true},
      {R"("workload": {"kind": "fsdp", "recompute": "nothing"})", false},
      {R"("workload": {"kind": "fsdp", "network": "resnet50"})", false},
      {R"("workload": {"kind": "kfac", "network": "resnet50"})", true},
      {R"("workload": {"kind": "train"})", false},
      {R"("workload": {"kind": "chakra", "traces": "t", "groups": {"1": [0, 1], "2": "all"}})", true},
      {R"("workload": {"kind": "chakra", "traces": "t", "custom": {"all_reduce": "a"}, "custom_nodes": {"7": "b"}})",
       true},
      {R"("workload": {"kind": "chakra", "traces": "t", "custom": {"all_reduced": "a"}})", false},
      {R"("workload": {"model": "llama3-8b"})", false},
      {R"("$schema": "x", "name": "a", "description": "b")", true},
      {R"("name": "a/b")", false},
      {R"("network": "analytical", "analytical": {"dimensions": [{"size": 4}]})", true},
      {R"("network": "analytical", "accelerators": 8)", false},
      {R"("analytical": {"dimensions": []})", false}};
  std::vector<std::string> files;
  std::map<std::string, std::pair<std::string, bool>> by_file;
  for (const auto& [text, is_valid] : cases) {
    const std::string name = "case" + std::to_string(files.size()) + ".json";
    write(name, "{" + text + "}");
    files.push_back((folder_ / name).string());
    by_file[files.back()] = {text, is_valid};
  }
  const std::map<std::string, std::string> found = validate("", files);
  EXPECT_EQ(found.size(), cases.size());
  for (const auto& [file, line] : found) {
    const auto& [text, is_valid] = by_file[file];
    EXPECT_EQ(line == "valid", is_valid) << text << ": " << line;
    // The reader refuses the same before it looks at what fits together.
    if (is_valid) continue;
    const Ran ran = weft("collective " + file + " --op all_gather --bytes 1KiB");
    const bool is_of_run = text.find("workload") != std::string::npos || text.find("analytical") != std::string::npos;
    EXPECT_TRUE(is_of_run || ran.code == 2) << text;
  }
  write("part.json", R"({"kind": "nic", "source": "me", "fields": {"part": "connectx-7", "read_ahead": "1KiB"}})");
  write("other.json", R"({"kind": "nic", "source": "me", "fields": {"rate": "1KiB"}})");
  write("kind.json", R"({"kind": "nick", "source": "me", "fields": {}})");
  const std::string folder = folder_.string();
  const std::map<std::string, std::string> parts =
      validate("part", {folder + "/part.json", folder + "/other.json", folder + "/kind.json"});
  EXPECT_EQ(parts.at(folder + "/part.json"), "valid");
  EXPECT_NE(parts.at(folder + "/other.json"), "valid");
  EXPECT_NE(parts.at(folder + "/kind.json"), "valid");
}

}  // namespace
}  // namespace weft
