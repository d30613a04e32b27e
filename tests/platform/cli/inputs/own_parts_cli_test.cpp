// SPDX-License-Identifier: Apache-2.0
// Parts of a user's own: mistakes in them, and what a run's config.json knows of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ran;

class OwnParts : public test::CliTest {
 protected:
  static constexpr const char* kPlatform = R"({"name": "ring", "accelerators": 4, "per_node": 1,
    "accelerator": "my-gpu", "nic": "my-nic",
    "fabric": {"topology": "ring", "switch": "my-switch", "link": {"lanes": 2}},
    "workload": {"kind": "fsdp", "model": "nano", "sequence": 128}})";

  OwnParts() {
    write("ring.json", kPlatform);
    write_nic("100Gbps");
    write("my-gpu.json", R"({"kind": "accelerator", "source": "mine", "fields": {"part": "h100-sxm",
      "hbm": {"part": "my-hbm", "latency": "300ns"}, "compute": {"lacks": "fp8", "clock": "1500MHz"}}})");
    write("my-switch.json",
          R"({"kind": "switch", "source": "mine", "fields": {"part": "quantum-2", "weights": [2, 1]}})");
    write("my-hbm.json", R"({"kind": "hbm", "source": "mine", "fields": {"part": "hbm3-80g", "efficiency": 0.5}})");
  }

  void write_nic(const std::string& rate, const std::string& more = "") {
    write("my-nic.json", R"({"kind": "nic", "source": "mine", "fields": {"part": "connectx-6", "dma_rate": ")" + rate +
                             "\"" + more + "}}");
  }
};

/// Warnings that `run` has and `other` has not.
std::vector<std::string> more_warnings(const json& run, const json& other) {
  std::vector<std::string> more;
  for (const json& line : run["warnings"]) {
    const json& known = other["warnings"];
    if (std::find(known.begin(), known.end(), line) == known.end()) more.push_back(line);
  }
  return more;
}

TEST_F(OwnParts, AConfigurationKnowsWhatTheyWere) {
  const std::vector<std::string> none;
  const json first = run_json("../ring.json --out first");
  const json same = run_json("first/config.json --out same");
  EXPECT_EQ(same["simulator"]["digest"], first["simulator"]["digest"]);
  EXPECT_EQ(more_warnings(same, first), none);
  // One that has changed since is taken as it is now, with a warning.
  write_nic("50Gbps");
  const json changed = run_json("first/config.json --out changed");
  EXPECT_NE(changed["simulator"]["digest"], first["simulator"]["digest"]);
  EXPECT_EQ(more_warnings(changed, first),
            std::vector{(folder_ / "my-nic.json").string() +
                        " has changed since the run that wrote first/config.json: nic.dma_rate was \"100Gbps\", is "
                        "\"50Gbps\""});
  // Where something else stands in its place, nothing has changed.
  EXPECT_EQ(more_warnings(run_json("first/config.json --out other --set nic.dma_rate=100Gbps"), first), none);
  EXPECT_EQ(more_warnings(run_json("first/config.json --out other --set nic=connectx-6"), first), none);
  // What is not there any more has its values in the file.
  for (const char* name : {"my-nic.json", "my-gpu.json", "my-hbm.json", "my-switch.json"}) fs::remove(folder_ / name);
  const json without = run_json("first/config.json --out without");
  EXPECT_EQ(without["simulator"]["digest"], first["simulator"]["digest"]);
  std::vector<std::string> told;
  for (const char* part : {"my-gpu", "my-hbm", "my-nic", "my-switch"}) {
    told.push_back(std::string("the part ") + part + " is not there: its values are those that first/config.json has");
  }
  EXPECT_EQ(more_warnings(without, first), told);
  EXPECT_EQ(run_json("without/config.json --out again")["simulator"]["digest"], first["simulator"]["digest"]);
  // It has none of what was never there.
  const Ran unknown = weft("run first/config.json --out none --set nic=my-nick");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("nic: expected a part of kind nic, one of "), std::string::npos) << unknown.err;
}

TEST_F(OwnParts, ShowRefusesWhatARunDoes) {
  fs::copy(folder_ / "my-gpu.json", folder_ / "work" / "my-gpu.json");
  fs::copy(folder_ / "my-hbm.json", folder_ / "work" / "my-hbm.json");
  EXPECT_EQ(weft("parts show my-gpu").code, 0);
  const auto refused = [this](const char* text, const std::string& message) {
    write("work/broken.json", text);
    const Ran ran = weft("parts show broken");
    EXPECT_EQ(ran.code, 2) << text;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
  };
  refused(R"({"kind": "nic", "source": "mine", "fields": {"dma_rat": "1Gbps"}})",
          "broken.json: fields.dma_rat: expected a known key, got \"dma_rat\". Did you mean \"dma_rate\"?");
  refused(R"({"kind": "nic", "source": "mine", "fields": {"dma_rate": "1GHz"}})",
          "broken.json: fields.dma_rate: expected a rate");
  refused(R"({"kind": "nick", "source": "mine", "fields": {}})", "broken.json: kind: expected one of accelerator, ");
}

TEST_F(OwnParts, TheFileThatHidesTheCataloguesIsNamed) {
  write("connectx-7.json", R"({"kind": "link", "source": "mine", "fields": {}})");
  const Ran ran = weft("run ../ring.json --set nic=connectx-7");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(
      ran.err.find("got \"connectx-7\", which is of kind link in ../connectx-7.json, which hides the catalogue's of "
                   "that name"),
      std::string::npos)
      << ran.err;
  const Ran ending = weft("run ../ring.json --set nic=my-nic.json");
  EXPECT_NE(ending.err.find("got \"my-nic.json\": a part is named without .json"), std::string::npos) << ending.err;
}

TEST_F(OwnParts, AFileThatIsNoPartIsSaidToBeNone) {
  const std::string part = R"({"kind": "nic", "source": "mine", "fields": {}})";
  for (const char* name : {"n\u00fctze.json", "a b.json"}) write(name, part);
  write("list.json", "[]");
  write("other.json", "{}");
  fs::create_directories(folder_ / "zz.json");
  const std::string letters = " is no part: the name of one has letters, digits, -, _ and . and does not begin with .";
  const std::string object = " is no part: expected an object with kind, source and fields, got ";
  for (const auto& [name, why] : {
           std::pair<std::string, std::string>{"n\u00fctze", letters},
           {"a b", letters},
           {"list", object + "an array"},
           {"other", object + "another object"},
           {"zz", " is no file"},
       }) {
    const Ran ran = weft("run ../ring.json --set 'nic=" + name + "'");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("got \"" + name + "\": ../" + name + ".json" + why + "\n"), std::string::npos) << ran.err;
  }
  write("work/list.json", "[]");
  EXPECT_EQ(
      weft("parts show list").err,
      "weft: NAME: expected a part of the catalogue (weft parts), got \"list\": ./list.json" + object + "an array\n");
}

TEST_F(OwnParts, AFolderThatIsNotThereIsSaidToBeAbsent) {
  const Ran parts = run("WEFT_PATH=nosuch " WEFT_BINARY " parts");
  EXPECT_EQ(parts.err, "weft: WEFT_PATH: expected folders separated by colons, got \"nosuch\", which is not there\n");
  const Ran data = run("WEFT_DATA=nosuch " WEFT_BINARY " parts");
  EXPECT_EQ(data.code, 2);
  EXPECT_EQ(data.err, "weft: WEFT_DATA: expected a folder, got \"nosuch\", which is not there\n");
  const Ran file = run("WEFT_DATA=../ring.json " WEFT_BINARY " models");
  EXPECT_EQ(file.err, "weft: WEFT_DATA: expected a folder, got \"../ring.json\", which is no folder\n");
}

/// Beside what WEFT_DATA has the rest is found.
TEST_F(OwnParts, TheFolderOfDataHasPartsToo) {
  fs::create_directories(folder_ / "data" / "parts");
  write("data/parts/connectx-7.json", R"({"kind": "nic", "source": "mine", "fields": {"part": "connectx-6"}})");
  const std::string with = "WEFT_DATA=" + (folder_ / "data").string() + " " WEFT_BINARY " parts ";
  const Ran own = run(with + "show connectx-7 --json");
  EXPECT_EQ(json::parse(own.out)["file"], (folder_ / "data" / "parts" / "connectx-7.json").string());
  EXPECT_EQ(run(with + "show connectx-6").code, 0);
  EXPECT_EQ(run(with + "--names").out, weft("parts --names").out);
}

TEST_F(OwnParts, TopologyDrawsMachinesOfModules) {
  const Ran ran = weft("topology themis-2d-sw-sw");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(
      ran.err,
      "weft: themis-2d-sw-sw: expected a machine of modules, whose networks weft topology draws, got an analytical "
      "network\n");
}

}  // namespace
}  // namespace weft
