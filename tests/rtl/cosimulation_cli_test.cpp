// SPDX-License-Identifier: Apache-2.0
// The platform of the catalogue with RTL in its spine, as a user meets it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;

class CosimulationCli : public test::CliTest {
 protected:
  double time_of(const std::string& arguments) {
    const test::Ran ran = weft("collective rtl-16 --op all_reduce --bytes 64KiB --json " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const json row = json::parse(ran.out).at("rows").at(0);
    EXPECT_EQ(row.at("wrong"), arguments.starts_with("--data") ? json(0) : json()) << arguments;
    return row.at("time_us").get<double>();
  }
};

TEST_F(CosimulationCli, OneLineTakesTheModelsPlace) {
  const double rtl = time_of("--data");
  EXPECT_EQ(time_of(""), rtl);
  const double model = time_of("--data --set fabric.switch.reduction.implementation=model");
  EXPECT_NE(model, rtl);
  EXPECT_NEAR(model, rtl, 0.01 * model);
}

/// What the pins of RTL show in a machine is what the model's would, and tells the latency that the platform gives it.
TEST_F(CosimulationCli, ShowsItsPins) {
  const std::string engine = "network.spine0.reduction";
  const auto record = [&](const std::string& file, const std::string& arguments) {
    std::string out = (folder_ / file).string();
    const test::Ran ran = weft("collective rtl-16 --op all_reduce --bytes 16KiB --data --no-warmup --vcd-scope " +
                               engine + " --vcd " + out + " " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return out;
  };
  const std::string rtl = record("rtl.vcd", "");
  const std::string model = record("model.vcd", "--set fabric.switch.reduction.implementation=model");
  const test::Ran same = weft("vcd compare " + model + " " + rtl + " --clock " + engine + ".clk --valid " + engine +
                              ".out_valid --data " + engine + ".out_data --last " + engine + ".out_last --map '" +
                              engine + ".*=" + engine + ".lane.*' --tolerance 4 --packet-times --json");
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  const test::Ran found = weft("vcd calibrate " + rtl + " --clock " + engine + ".lane.clk --reset " + engine +
                               ".lane.reset --input " + engine + ".lane.in_ --split 4 --output " + engine +
                               ".lane.out_ --kind " + engine + ".lane.kind --out " + (folder_ / "lane.json").string());
  EXPECT_EQ(found.code, 0) << found.err;
  const json patch = json::parse(test::read_file(folder_ / "lane.json"));
  EXPECT_EQ(patch.at("/fabric/switch/reduction/latency"_json_pointer), "9ns");
  EXPECT_EQ(patch.at("/fabric/switch/reduction/fp32"_json_pointer), 64);
  // Of which there are single beats alone, those of barriers.
  EXPECT_FALSE(patch.contains("/fabric/switch/reduction/int32"_json_pointer));
  EXPECT_EQ(patch.at("/fabric/switch/reduction/pipeline/queue"_json_pointer), "0B");
}

/// A user's way: one line for the arbiters, and their pins beside those of the rule at the same clock.
TEST_F(CosimulationCli, ArbitersInRtlGrantWhatTheirRuleGrants) {
  const std::string arbiter = "network.spine0.arbiter2";
  const auto record = [&](const std::string& implementation) {
    std::string out = (folder_ / (implementation + ".vcd")).string();
    const test::Ran ran = weft(
        "collective rtl-16 --op all_to_all --algorithm dimensions --bytes 64KiB --data --no-warmup --set "
        "fabric.link.buffer=8KiB --set fabric.switch.reduction.implementation=model --set "
        "fabric.switch.arbiter.implementation=" +
        implementation + " --vcd-scope " + arbiter + " --vcd " + out);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return out;
  };
  const std::string clocked = record("clocked");
  const std::string rtl = record("rtl");
  const auto compare = [&](const std::string& data) {
    return weft("vcd compare " + clocked + " " + rtl + " --clock " + arbiter + ".clk --valid " + arbiter +
                ".grant_valid --ready " + arbiter + ".take --data " + arbiter + "." + data + " --json");
  };
  for (const char* data : {"grant_input", "grant_lane"}) {
    const test::Ran same = compare(data);
    EXPECT_EQ(same.code, 0) << same.out << same.err;
  }
  const json result = json::parse(compare("grant_input").out);
  EXPECT_GT(result.at("reference").at("items").get<int>(), 40) << result;
}

TEST_F(CosimulationCli, RefusesWhatItDoesNotHave) {
  for (const auto& bad : {
           test::BadInput{"another name",
                          "collective rtl-16 --op all_reduce --set fabric.switch.reduction.implementation=verilog",
                          {"fabric.switch.reduction.implementation: expected one of model, rtl, got verilog"}},
           test::BadInput{"a switch that is not there",
                          "collective rtl-16 --op all_reduce --set fabric.switch.reduction.switches.0=leaf4",
                          {"fabric.switch.reduction.switches.0: expected a switch of the network, such as leaf0 or "
                           "spine0, got leaf4"}},
           test::BadInput{
               "more children than it has inputs",
               "collective rtl-16 --op all_reduce --bytes 64KiB --set fabric.hosts_per_leaf=2",
               {"expected model, or one that adds 8 operands, which a tree has in spine0; got rtl, which adds "
                "4 at the most"}},
       }) {
    expect_refused(bad);
  }
}

}  // namespace
}  // namespace weft
