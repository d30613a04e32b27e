// SPDX-License-Identifier: Apache-2.0
// How far what a critical path says of a change can be off: bounds, and what is loose. With paths made by hand.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "platforms/results/what_if/resource_change.h"
#include "platforms/results/what_if/what_if.h"
#include "tests/support/why_path.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using test::path;
using test::piece;
using test::values;

TEST(WhatIfBounds, IsNotBelowTheCollectivesOfAGroup) {
  // A member spends 800 us in collectives without the waiting.
  const Foretold told =
      WhatIf(path()).foretell({read_change("compute=inf", values()), read_change("hbm=inf", values())});
  EXPECT_EQ(told.path_ps, 300'000'000);
  EXPECT_EQ(told.ps(), 800'000'000);
  EXPECT_EQ(told.other, "collectives of world");
  EXPECT_TRUE(told.is_loose);
  EXPECT_EQ(WhatIf(path()).foretell({read_change("link=x4", values())}).other_ps, 200'000'000);
}

/// The least is the path with all that a change can do; the most is what is slower, on the path and beside it.
TEST(WhatIfBounds, HasBounds) {
  ordered_json why = path();
  why["pieces"].back()["kind"] = "serialisation";
  why["collectives"][0]["transfer"][0]["kind"] = "serialisation";
  why["used_ps"] = {{"link", 500'000'000}, {"hbm", 700'000'000}};
  const auto told = [&why](const char* text) { return WhatIf(why).foretell(read_changes(text, values())); };
  EXPECT_EQ(told("link=x2").least_ps, 850'000'000);
  EXPECT_EQ(told("link=x2").most_ps, 1'000'000'000);
  const Foretold slower = told("link=x0.5");
  EXPECT_EQ(slower.least_ps, 1'600'000'000);  // what the collectives of the group spend
  EXPECT_EQ(slower.most_ps, 1'600'000'000);
  why["collectives"] = ordered_json::array();
  EXPECT_EQ(told("link=x0.5").least_ps, 1'300'000'000);
  EXPECT_EQ(told("link=x0.5").most_ps, 1'500'000'000);
  EXPECT_TRUE(told("link=x0.5").is_loose);
  why["used_ps"]["link"] = 310'000'000;
  EXPECT_FALSE(told("link=x0.5").is_loose);
  EXPECT_FALSE(told("firmware=x0.5").most_ps.has_value());  // nothing says how long that was in use
  why["used_ps"]["firmware"] = 0;
  EXPECT_EQ(told("firmware=x0.5").most_ps, 1'000'000'000);
}

/// Whoever comes later waits less: of a queue nothing says that it is longer with a slower link.
TEST(WhatIfBounds, AWaitMayBeHidden) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["used_ps"] = {{"link", 300'000'000}, {"copy", 0}};
  const auto told = [&why](const char* text) { return WhatIf(why).foretell(read_changes(text, values())); };
  EXPECT_EQ(told("link=x0.5").path_ps, 1'300'000'000);
  EXPECT_EQ(told("link=x0.5").least_ps, 1'000'000'000);
  EXPECT_TRUE(told("link=x0.5").is_loose);
  // A longer flight before the queue is time that packets do not wait there.
  why["pieces"].push_back(piece("all-gather thread", "propagation", "nic0 out", "fabric", 200'000'000));
  why["until_ps"] = 1'200'000'000;
  EXPECT_EQ(told("cable=x0.5").path_ps, 1'400'000'000);
  EXPECT_EQ(told("cable=x0.5").least_ps, 1'200'000'000);
  why["pieces"][2]["kind"] = "serialisation";
  EXPECT_EQ(told("cable=x0.5").least_ps, 1'400'000'000);
}

/// What serves one after the other takes that long at least, also where the path hardly has it.
TEST(WhatIfBounds, IsNotShorterThanWhatIsSlowedDown) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["used_ps"] = {{"remote-memory", 960'000'000}};
  const Foretold told = WhatIf(why).foretell(read_changes("remote-memory=x0.5", values()));
  EXPECT_EQ(told.ps(), 1'920'000'000);
  EXPECT_EQ(told.least_ps, 1'920'000'000);
  EXPECT_EQ(told.most_ps, 1'960'000'000);
  EXPECT_EQ(told.other, "the busiest remote-memory");
  EXPECT_FALSE(told.is_loose);
}

/// A path through several links, one after the other, has more of them than the busiest is used for: another path may
/// have what that one does beside it as well.
TEST(WhatIfBounds, APathThroughSeveralMayHaveMoreOfThem) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"].back()["kind"] = "serialisation";
  why["pieces"].back()["ps"] = 150'000'000;
  why["pieces"].push_back(piece("all-gather thread", "serialisation", "nic0 out", "fabric", 150'000'000));
  why["used_ps"] = {{"link", 350'000'000}};
  const auto most = [&why] { return WhatIf(why).foretell(read_changes("link=x0.5", values())).most_ps; };
  EXPECT_EQ(most(), 1'350'000'000);
  why["used_ps"]["link"] = 250'000'000;
  EXPECT_EQ(most(), 1'400'000'000);
}

/// Bytes of groups pass an engine and links at the same time: the links limit what a faster engine gains.
TEST(WhatIfBounds, AnEngineToGroupsIsAStage) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"] = {piece("ring", "group", "port3", "scale_up", 800'000'000),
                   piece("product", "kernel", "accelerator3", "", 200'000'000)};
  why["used_ps"] = {{"port-group", 800'000'000}, {"scale-up-link", 700'000'000}};
  const auto told = [&why](const char* text) { return WhatIf(why).foretell(read_changes(text, values())); };
  EXPECT_EQ(told("port-group=x2").ps(), 900'000'000);
  EXPECT_EQ(told("port-group=x0.5").ps(), 1'800'000'000);
  EXPECT_EQ(told("port-group=x0.5").most_ps, 1'800'000'000);  // all that it does is known
}

/// Of what is hidden nothing says what it is when it is many times as long.
TEST(WhatIfBounds, IsLooseWhereLittleBecomesMuch) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"].push_back(piece("all-gather thread", "propagation", "nic0 out", "fabric", 5'000'000));
  why["until_ps"] = 1'005'000'000;
  why["used_ps"] = {{"nic", 1'000'000}};
  const auto told = [&why](const char* text) { return WhatIf(why).foretell(read_changes(text, values())); };
  EXPECT_FALSE(told("cable=x0.5").is_loose);
  EXPECT_TRUE(told("cable=x0.2").is_loose);
  EXPECT_FALSE(told("nic=x0.5").is_loose);
  EXPECT_TRUE(told("nic=x0.1").is_loose);
  EXPECT_FALSE(told("nic=x0.1").most_ps.has_value());
}

/// Kernels that a lower cap of power would hold are not known before it does.
TEST(WhatIfBounds, IsLooseWhereKernelsMayBeNearTheirPower) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["power_cap"] = true;
  ordered_json set = values();
  set["accelerator.compute.power.cap"]["value"] = "700W";
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  EXPECT_EQ(told("accelerator.compute.power.cap=x0.7").ps(), 1'000'000'000);
  EXPECT_TRUE(told("accelerator.compute.power.cap=x0.7").is_loose);
  EXPECT_FALSE(told("accelerator.compute.power.cap=x0.95").is_loose);
}

/// What hides behind the path is a bound as soon as the path is shorter.
TEST(WhatIfBounds, IsNotShorterThanTheBusiestOfAnything) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["used_ps"] = {{"link", 500'000'000}, {"hbm", 900'000'000}};
  const Foretold told = WhatIf(why).foretell(read_changes("link=x2", values()));
  EXPECT_EQ(told.ps(), 900'000'000);
  EXPECT_EQ(told.least_ps, 900'000'000);
  EXPECT_EQ(told.other, "the busiest hbm");
}

/// Which packets are lost is luck, in another run other ones.
TEST(WhatIfBounds, IsLooseWhereTimersRun) {
  ordered_json why = path();
  why["pieces"].push_back(piece("ring", "recovery", "nic3", "fabric", 500'000'000));
  why["until_ps"] = 1'500'000'000;
  why["used_ps"] = {{"link", 300'000'000}, {"scale-up-link", 0}};
  ordered_json set = values();
  set["fabric.uplinks"]["value"] = 4;
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  for (const char* change : {"link=x2", "link=x1.01", "link=x0.99", "hbm=x0.99", "uplink=x2"}) {
    EXPECT_TRUE(told(change).is_loose) << change;
    EXPECT_FALSE(told(change).most_ps.has_value()) << change;
  }
  EXPECT_EQ(told("link=x2").least_ps, 850'000'000);
  EXPECT_FALSE(told("scale-up-link=x2").is_loose);
}

/// Jobs that share a machine meet at other times with a gain: what of the path is for another job may not be on it
/// then, and another job may end last.
TEST(WhatIfBounds, IsLooseWhereJobsMeet) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["used_ps"] = {{"link", 300'000'000}};
  const auto told = [&why](const char* text) { return WhatIf(why).foretell(read_changes(text, values())); };
  EXPECT_EQ(told("link=x2").least_ps, 850'000'000);
  EXPECT_FALSE(told("link=x2").is_loose);
  for (ordered_json& each : why["pieces"]) each["job"] = each["about"] == "norm" ? "a" : "b";
  why["jobs"] = {{"ends_with", "b"}, {"shares", {{{"job", "b"}, {"ps", 700'000'000}}}}};
  EXPECT_EQ(told("link=x2").ps(), 850'000'000);
  EXPECT_EQ(told("link=x2").least_ps, 550'000'000);
  EXPECT_TRUE(told("link=x2").is_loose);
  EXPECT_FALSE(told("link=x1.1").is_loose);
}

/// Copies and links work on the same bytes. A link that is as busy as copies hides behind those of the path.
TEST(WhatIfBounds, StagesMayHideBehindEachOther) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"].back()["kind"] = "serialisation";
  why["pieces"].push_back(piece("all-gather thread", "copy", "accelerator3", "", 200'000'000));
  why["until_ps"] = 1'200'000'000;
  why["used_ps"] = {{"link", 300'000'000}, {"copy", 200'000'000}};
  const auto told = [&why](const char* text) { return WhatIf(why).foretell(read_changes(text, values())); };
  EXPECT_EQ(told("link=x0.5").path_ps, 1'500'000'000);
  EXPECT_EQ(told("link=x0.5").least_ps, 1'500'000'000);
  EXPECT_EQ(told("link=x0.5").most_ps, 1'700'000'000);
  EXPECT_TRUE(told("link=x0.5").is_loose);
  EXPECT_EQ(told("link=x0.5,copy=x0.5").least_ps, 1'700'000'000);
  // One that is seldom used does not come out.
  why["used_ps"]["copy"] = 240'000'000;
  why["used_ps"]["scale-up-link"] = 100'000'000;
  EXPECT_EQ(told("scale-up-link=x0.5").ps(), 1'200'000'000);
  // The path leads through several links: copies may take up what they lose.
  why["used_ps"]["link"] = 200'000'000;
  EXPECT_EQ(told("link=x0.5").least_ps, 1'300'000'000);
}

}  // namespace
}  // namespace weft::platforms
