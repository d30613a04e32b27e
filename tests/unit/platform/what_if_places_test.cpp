// SPDX-License-Identifier: Apache-2.0
// Changes of one dimension, one edge or one entry of `others`. With paths made by hand.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "platforms/results/what_if/own_fields.h"
#include "platforms/results/what_if/resource_change.h"
#include "platforms/results/what_if/what_if.h"
#include "platforms/results/why/set_by.h"
#include "sw/firmware/program_fields.h"
#include "tests/support/why_path.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using test::path;
using test::piece;
using test::values;

TEST(OwnFields, AreNamesOfOneDimensionEdgeOrEntry) {
  const auto read = [](const std::string& name) -> std::string {
    const auto own = own_field(name);
    if (!own) return "";
    EXPECT_EQ(name_of(*own), name);
    return own->usually + " of " + own->own;
  };
  EXPECT_EQ(read("fabric.edges.12.link.rate"), "fabric.link.rate of fabric.edges.12.link");
  EXPECT_EQ(read("scale_up.fabric.dimensions.0.link.propagation"),
            "scale_up.fabric.link.propagation of scale_up.fabric.dimensions.0.link");
  EXPECT_EQ(read("others.3.accelerator.hbm.rate"), "accelerator.hbm.rate of others.3");
  for (const char* none : {"fabric.link.rate", "fabric.edges.1.between", "fabric.edges.x.link.rate",
                           "others.accelerator", "fabric.edges.link.rate"}) {
    EXPECT_EQ(read(none), "") << none;
  }
}

/// 1 ms: 400 us of kernels on accelerator3 and 200 us on accelerator7, which is of another kind, and 400 us on two
/// edges.
ordered_json path_of_places() {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"] = {piece("product", "kernel", "accelerator3", "", 400'000'000),
                   piece("product", "kernel", "accelerator7", "", 200'000'000),
                   piece("ring", "serialisation", "nic3 out", "fabric", 300'000'000),
                   piece("ring", "serialisation", "network.a.port0 to b", "fabric", 100'000'000)};
  for (ordered_json& each : why["pieces"]) each["on_link"] = each["kind"] == "serialisation";
  const auto link = [](const char* joins, const char* where, double utilisation) {
    return ordered_json{
        {"network", "fabric"}, {"joins", joins}, {"path", where}, {"payload", 5e9}, {"utilisation", utilisation}};
  };
  why["links"] = {{"nic3 out", link("from ends", "fabric.edges.3.link", 0.32)},
                  {"network.a.port0 to b", link("between switches", "fabric.edges.8.link", 0.05)},
                  {"network.b.port0 to a", link("between switches", "fabric.edges.8.link", 0.1)}};
  const auto part = [](double busy) {
    return ordered_json{
        {"memory", {{"rate", 3e12}}}, {"power_cap", false}, {"used_ps", {{"compute", busy}, {"hbm", 100'000'000}}}};
  };
  why["parts"] = {part(450'000'000), part(260'000'000)};
  why["parts"][1]["first"] = 6;
  why["parts"][1]["count"] = 2;
  why["computed"] = {{"median_ps", 300'000'000},
                     {"on_path", {{"accelerator3", 450'000'000}, {"accelerator7", 260'000'000}}}};
  why["used_ps"] = {{"link", 320'000'000}, {"hbm", 100'000'000}};
  return why;
}
ordered_json values_of_places() {
  ordered_json set = values();
  set["fabric.edges.3.link.rate"] = {{"value", "40Gbps"}, {"source", "file"}};
  set["fabric.edges.8.link.rate"] = {{"value", "400Gbps"}, {"source", "default"}};
  set["fabric.edges.3.link.propagation"] = {{"value", "10ns"}, {"source", "default"}};
  set["others.0.accelerator.compute.tensor_16bit"] = {{"value", "100TFLOPS"}, {"source", "default"}};
  set["others.0.accelerator.hbm.latency"] = {{"value", "90ns"}, {"source", "default"}};
  set["others.0.accelerator.hbm.stacks.count"] = {{"value", 5}, {"source", "default"}};
  return set;
}

TEST(WhatIfPlaces, AFieldOfOneChangesThatAlone) {
  const ordered_json why = path_of_places();
  const ordered_json set = values_of_places();
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  EXPECT_EQ(told("fabric.edges.3.link.rate=x2").ps(), 850'000'000);
  EXPECT_EQ(told("fabric.edges.3.link.rate=80Gbps").ps(), 850'000'000);
  EXPECT_EQ(told("fabric.edges.8.link.rate=x2").ps(), 950'000'000);
  EXPECT_EQ(told("fabric.edges.3.link.rate=x2,fabric.edges.8.link.rate=x0.5").path_ps, 950'000'000);
  EXPECT_EQ(told("others.0.accelerator.compute.tensor_16bit=x2").ps(), 900'000'000);
  EXPECT_EQ(told("others.0.accelerator.compute.tensor_16bit=x0.5").ps(), 1'200'000'000);
  EXPECT_EQ(told("compute=x2").ps(), 700'000'000);
  // Of all that have no rate of their own: an edge that is as `fabric.link` has none.
  EXPECT_EQ(told("fabric.link.rate=x2").ps(), 950'000'000);
  // Its own goes before that of all.
  EXPECT_EQ(told("fabric.link.rate=x2,fabric.edges.8.link.rate=x4").ps(), 925'000'000);
}

/// Those that do not change are as busy as they were.
TEST(WhatIfPlaces, OthersStayAsTheyAre) {
  ordered_json why = path_of_places();
  const ordered_json set = values_of_places();
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  why["links"]["network.b.port0 to a"]["utilisation"] = 0.9;
  why["used_ps"]["link"] = 900'000'000;
  // The same bytes pass both links.
  EXPECT_EQ(told("fabric.edges.3.link.rate=x2").ps(), 1'000'000'000);
  EXPECT_EQ(told("fabric.edges.3.link.rate=x2").least_ps, 900'000'000);
  EXPECT_TRUE(told("fabric.edges.3.link.rate=x2").is_loose);
  EXPECT_EQ(told("fabric.edges.8.link.rate=x0.5").least_ps, 1'800'000'000);
  why = path_of_places();
  why["parts"][0]["used_ps"]["compute"] = 980'000'000;
  EXPECT_EQ(told("others.0.accelerator.compute.tensor_16bit=x2").ps(), 980'000'000);
  why["parts"][0]["used_ps"]["compute"] = 450'000'000;
  why["parts"][1]["used_ps"]["compute"] = 980'000'000;
  EXPECT_EQ(told("others.0.accelerator.compute.tensor_16bit=x2").ps(), 900'000'000);
}

/// A gain of links that others are nearly as busy as is uncertain.
TEST(WhatIfPlaces, IsLooseWhereOthersAreAsBusy) {
  ordered_json why = path_of_places();
  const ordered_json set = values_of_places();
  const auto told = [&] { return WhatIf(why).foretell(read_changes("fabric.edges.3.link.rate=x2", set)); };
  EXPECT_FALSE(told().is_loose);
  why["links"]["network.b.port0 to a"]["utilisation"] = 0.26;
  EXPECT_TRUE(told().is_loose);
  why.erase("links");  // nothing says on which of them the path is
  EXPECT_EQ(told().path_ps, 800'000'000);
  EXPECT_TRUE(told().is_loose);
}

/// A path with a slower edge may lead through both of its directions, and packets that come at other times may not wait
/// for others.
TEST(WhatIfPlaces, HasBounds) {
  ordered_json why = path_of_places();
  const ordered_json set = values_of_places();
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  EXPECT_EQ(told("fabric.edges.8.link.rate=x0.5").most_ps, 1'150'000'000);
  EXPECT_EQ(told("fabric.edges.3.link.rate=x0.5").most_ps, 1'640'000'000);  // the other direction is not known
  EXPECT_EQ(told("fabric.edges.3.link.rate=x2").least_ps, 850'000'000);
  why["pieces"][3]["kind"] = "queue";
  EXPECT_EQ(told("fabric.edges.3.link.rate=x2").least_ps, 800'000'000);
}

/// Rates and interfaces: which of both is the slower one is that of the end's own link.
TEST(WhatIfPlaces, AnEndHasItsOwnLink) {
  ordered_json why = path_of_places();
  why["stages"] = {{"fabric", {{"link", 50e9}, {"nic", 40e9}}}};
  const ordered_json set = values_of_places();
  EXPECT_EQ(WhatIf(why).foretell(read_changes("link=x2", set)).path_ps, 800'000'000);
  why["links"]["nic3 out"]["payload"] = 50e9;
  EXPECT_EQ(WhatIf(why).foretell(read_changes("fabric.edges.3.link.rate=x2", set)).path_ps, 1'000'000'000);
}

/// Launches are the host's, whatever launches. Times that other fields set as well are not.
TEST(WhatIfPrograms, WhatOneResourceSetsIsOfIt) {
  static const firmware::ProgramFields kLaunches({"thread of launches"}, {"workload.launch"});
  static const firmware::ProgramFields kOthers({"thread of launches and more"}, {"workload.launch", "workload.other"});
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"][2] = piece("job: thread of launches", "software", "firmware0", "", 200'000'000);
  why["pieces"].push_back(piece("thread of launches and more", "software", "firmware0", "", 100'000'000));
  ordered_json set = values();
  set["workload.launch"]["value"] = "5us";
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  EXPECT_EQ(told("host=x2").ps(), 900'000'000);
  EXPECT_EQ(told("workload.launch=x1.5").ps(), 1'100'000'000);
  EXPECT_EQ(settings_text(why, set, resource_called("host")), "workload.launch 5us");
}

TEST(WhatIfPlaces, IsASettingOfThePlatform) {
  const ordered_json set = values_of_places();
  const auto all = settings_of(read_change("fabric.edges.3.link.rate=x2", set), set);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].field + "=" + all[0].value, "fabric.edges.3.link.rate=80Gbps");
  EXPECT_EQ(settings_of(read_change("fabric.edges.3.link.propagation=x0", set), set)[0].value, "0ns");
  EXPECT_EQ(settings_of(read_change("others.0.accelerator.compute.tensor_16bit=x2", set), set)[0].value, "200TFLOPS");
  EXPECT_EQ(to_text(read_change("fabric.edges.3.link.rate=x2", set)), "fabric.edges.3.link.rate=x2");
}

TEST(WhatIfPlaces, RefusesByName) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      (void)read_changes(text, values_of_places());
    } catch (const std::invalid_argument& wrong) {
      return wrong.what();
    }
    return "";
  };
  EXPECT_EQ(message("fabric.edges.9.link.rate=x2"),
            "expected a resource or a field of one, got \"fabric.edges.9.link.rate\"; did you mean "
            "\"fabric.edges.3.link.rate\", \"fabric.edges.8.link.rate\" or \"fabric.link.rate\"?");
  EXPECT_EQ(message("fabric.edges.3.link.rate=fast"),
            "fabric.edges.3.link.rate: expected xN, inf or a value like 40Gbps, got \"fast\"");
  EXPECT_EQ(message("fabric.edges.3.link.rate=x2,fabric.edges.3.link.rate=x4"),
            "expected each name once, got fabric.edges.3.link.rate twice");
  EXPECT_EQ(message("link=x2,fabric.edges.3.link.rate=x4"),
            "expected a resource or a field of it, got both: link and fabric.edges.3.link.rate");
  EXPECT_EQ(message("others.0.accelerator.hbm.latency=x2"),
            "expected a field that has an effect on this machine, got others.0.accelerator.hbm.latency");
}

}  // namespace
}  // namespace weft::platforms
