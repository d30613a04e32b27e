// SPDX-License-Identifier: Apache-2.0
// Every field at its least and at its greatest value, and of enumerations at each: the command runs, or refuses the
// value with exit 2 and what is expected. Fields and limits are those that `weft describe` lists. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

/// What the greatest value of a quantity without limits is written in.
std::string unit_of(const std::string& type) {
  const std::vector<std::pair<std::string, std::string>> units = {
      {"time", "ps"},   {"size", "B"},   {"rate", "bps"}, {"frequency", "Hz"}, {"compute rate", "FLOPS"},
      {"energy", "fJ"}, {"power", "uW"}, {"integer", ""}, {"number", ""}};
  const auto found = std::find_if(units.begin(), units.end(), [&](const auto& each) { return each.first == type; });
  return found == units.end() ? "none" : found->second;
}

std::vector<std::string> extremes_of(const json& field) {
  const auto type = field["type"].get<std::string>();
  const auto limits = field["limits"].get<std::string>();
  if (type == "true or false") return {"true", "false"};
  if (type.starts_with("one of ")) {
    std::vector<std::string> values;
    std::istringstream names(type.substr(7));
    for (std::string name; std::getline(names >> std::ws, name, ',');) values.push_back(name);
    return values;
  }
  const std::string unit = unit_of(type);
  if (unit == "none") return {};  // strings, lists and objects
  const std::string greatest = type == "number" ? "1e300" : "9223372036854775807" + unit;
  std::smatch found;
  std::vector<std::string> values;
  if (std::regex_match(limits, found, std::regex("(\\S+) to (\\S+)"))) {
    values = {found[1], found[2]};
  } else if (std::regex_match(limits, found,
                              std::regex("(?:at least|more than) (\\S+)(?: and (?:at most|less than) (\\S+))?"))) {
    values = {found[1], found[2].matched ? found[2].str() : greatest};
  } else {
    values = {"0" + unit, greatest};
  }
  if (type == "number") values.emplace_back("1e-300");
  return values;
}

/// A run that takes longer is one.
constexpr int kOutOfTime = 128 + 24;  // SIGXCPU
std::string run_for_seconds(int seconds, const std::string& arguments) {
  return "--version >/dev/null; (ulimit -S -t " + std::to_string(seconds) + "; exec " WEFT_BINARY " " + arguments +
         " >/dev/null)";
}

struct FieldsCase {
  const char* name;
  const char* fields;   ///< with which the paths of its fields begin
  const char* command;  ///< of a machine in small.json
};

void PrintTo(const FieldsCase& each, std::ostream* out) {
  *out << each.fields;
}

using ExtremesOfKernels = test::CliTest;

class Extremes : public test::CliTest, public testing::WithParamInterface<FieldsCase> {};

TEST_P(Extremes, RunOrAreRefused) {
  // A machine of a million takes minutes and the memory of a large computer.
  const std::set<std::string> left_out = {"accelerators"};
  write("ring.json", R"({
    "name": "ring", "accelerators": 4, "per_node": 2, "accelerator": "h100-sxm", "nic": "connectx-7",
    "fabric": { "topology": "fat-tree", "radix": 4, "hosts_per_leaf": 2, "segment": "64KiB" },
    "workload": { "kind": "kfac", "network": "nano-conv", "steps": 1 }
  })");
  int tried = 0;
  for (const json& field : json::parse(weft("describe --json").out)) {
    const auto path = field["path"].get<std::string>();
    if (!path.starts_with(GetParam().fields) || left_out.contains(path)) continue;
    for (const std::string& value : extremes_of(field)) {
      const Ran ran = weft(run_for_seconds(1, std::string(GetParam().command) + " --set '" + path + "=" + value + "'"));
      EXPECT_TRUE(ran.code == 0 || ran.code == 2 || ran.code == kOutOfTime)
          << path << "=" << value << ": " << ran.code << " " << ran.err;
      if (ran.code == 2) {
        EXPECT_NE(ran.err.find("expected "), std::string::npos) << path << "=" << value << ": " << ran.err;
        EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << path << "=" << value << ": " << ran.err;
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 10);
}

/// Times and rates of kernels lead to what has no name of its own: the refusal has that of the field.
TEST_F(ExtremesOfKernels, ARefusalNamesTheField) {
  int tried = 0;
  for (const json& field : json::parse(weft("describe --json").out)) {
    const auto path = field["path"].get<std::string>();
    const auto type = field["type"].get<std::string>();
    const bool is_asked = type == "time" || type == "number" || type.ends_with("rate") || type == "frequency";
    if (!path.starts_with("accelerator.compute.") || !is_asked) continue;
    for (const std::string& value : extremes_of(field)) {
      const Ran ran = weft(run_for_seconds(1,
                                           "run ../small.json --timeline-ranks 0 --set accelerators=1 --set per_node=1 "
                                           "--set '" +
                                               path + "=" + value + "'"));
      EXPECT_TRUE(ran.code == 0 || ran.code == 2 || ran.code == kOutOfTime) << path << "=" << value << ": " << ran.err;
      if (ran.code == 2) {
        EXPECT_NE(ran.err.find(path), std::string::npos) << path << "=" << value << ": " << ran.err;
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 30);
}

constexpr const char* kTiny = "collective ../ring.json --op all_reduce --bytes 4KiB --no-warmup";

INSTANTIATE_TEST_SUITE_P(Fields, Extremes,
                         testing::Values(FieldsCase{"Accelerator", "accelerator.", kTiny},
                                         FieldsCase{"Nic", "nic.", kTiny}, FieldsCase{"Fabric", "fabric.", kTiny},
                                         FieldsCase{"ScaleUp", "scale_up.", kTiny},
                                         FieldsCase{"Collectives", "collectives.", kTiny},
                                         FieldsCase{"RemoteMemory", "remote_memory.", kTiny},
                                         FieldsCase{"Firmware", "firmware.", kTiny}, FieldsCase{"Dpa", "dpa.", kTiny},
                                         FieldsCase{"Workload", "workload.", "run ../ring.json --timeline-ranks 0"}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace weft
