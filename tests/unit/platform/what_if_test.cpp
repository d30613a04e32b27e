// SPDX-License-Identifier: Apache-2.0
// What a critical path says of a change: alone, with paths made by hand.
#include "platforms/results/what_if/what_if.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "platforms/results/what_if/advice.h"
#include "platforms/results/what_if/resource_change.h"
#include "platforms/results/why/set_by.h"
#include "tests/support/why_path.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using test::path;
using test::piece;
using test::values;

TEST(WhatIf, ScalesThePiecesThatAChangeIsAbout) {
  const auto told = [](const char* text) { return WhatIf(path()).foretell({read_change(text, values())}); };
  EXPECT_EQ(told("hbm=x2").path_ps, 850'000'000);
  EXPECT_EQ(told("accelerator.hbm.rate=53600Gbps").path_ps, 850'000'000);
  EXPECT_EQ(told("hbm=inf").path_ps, 700'000'000);
  EXPECT_EQ(told("hbm=x0.5").path_ps, 1'300'000'000);
  EXPECT_TRUE(told("hbm=x0.5").is_loose);
  EXPECT_EQ(told("link=x2").path_ps, 850'000'000);
  EXPECT_EQ(told("scale-up-link=x2").ps(), 1'000'000'000);
  EXPECT_FALSE(told("scale-up-link=x2").is_loose);
}

TEST(WhatIf, ReadsAnyUnit) {
  const auto factor = [](const char* text) { return read_change(text, values()).factor; };
  EXPECT_DOUBLE_EQ(factor("accelerator.hbm.rate=53.6Tbps"), 2);
  EXPECT_DOUBLE_EQ(factor("nic.read_latency=0.7us"), 0.5);
  EXPECT_DOUBLE_EQ(factor("fabric.link.propagation=20ns"), 0.5);
  EXPECT_THROW(read_change("nic.read_latency=7GB", values()), std::invalid_argument);
}

/// What hides behind the path is not on it: kernels that go on, and what else there is where the path shrinks to
/// little.
TEST(WhatIf, GainsNoMoreThanKernelsLeave) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["computed"] = {{"median_ps", 100}, {"on_path", {{"accelerator0", 900'000'000}}}};
  const auto told = [&why](const char* text) { return WhatIf(why).foretell({read_change(text, values())}); };
  EXPECT_EQ(told("link=x2").path_ps, 850'000'000);
  EXPECT_EQ(told("link=x2").ps(), 900'000'000);
  EXPECT_TRUE(told("link=x2").is_loose);
  EXPECT_EQ(told("hbm=x2").ps(), 850'000'000);
  EXPECT_FALSE(told("hbm=x2").is_loose);
  EXPECT_TRUE(told("hbm=x3").is_loose);
}

/// More uplinks help on links between switches, and more rate on all.
TEST(WhatIf, UplinksAreLinksBetweenSwitches) {
  ordered_json why = path();
  why["pieces"].push_back(piece("all-gather thread", "queue", "network.b.port0 to spine0", "fabric", 200'000'000));
  why["until_ps"] = 1'200'000'000;
  why["links"] = {{"network.b.port7 to nic7", {{"joins", "to ends"}}},
                  {"network.b.port0 to spine0", {{"joins", "between switches"}}}};
  ordered_json set = values();
  set["fabric.uplinks"]["value"] = 4;
  const auto told = [&](const char* first, const char* second) {
    return WhatIf(why).foretell({read_change(first, set), read_change(second, set)}).path_ps;
  };
  EXPECT_EQ(told("uplink=x2", "cable=x2"), 1'100'000'000);
  EXPECT_EQ(told("fabric.uplinks=8", "cable=x2"), 1'100'000'000);
  EXPECT_EQ(told("uplink=x2", "link=x2"), 900'000'000);
  EXPECT_EQ(settings_of(read_change("uplink=x2", set), set).front().value, "8");
  EXPECT_EQ(settings_of(read_change("uplink=x0.1", set), set).front().value, "1");  // 0: as many as fit
  why["used_ps"] = {{"link", 1'190'000'000}};                                       // of a link between switches
  EXPECT_EQ(WhatIf(why).foretell({read_change("uplink=x2", set)}).ps(), 1'100'000'000);
  why.erase("used_ps");
  const std::string text = advice_text(advice(why, set));
  EXPECT_NE(text.find("uplink (bytes on links between switches)"), std::string::npos) << text;
  EXPECT_EQ(settings_text(path(), set, resource_called("link")), "fabric.link.rate 400Gbps, fabric.uplinks 4");
  EXPECT_EQ(settings_text(path(), values(), resource_called("link")), "fabric.link.rate 400Gbps");
}

/// An end's link that a fault slows down gains from a higher rate, though its interface is slower than links without
/// faults.
TEST(WhatIf, ALinkAtFaultIsWhatItHad) {
  ordered_json why = path();
  why["stages"] = {{"fabric", {{"link", 50e9}, {"nic", 48e9}}}};
  why["links"] = {{"network.b.port7 to nic7", {{"joins", "to ends"}, {"had", 1.0}}}};
  const auto told = [&why] { return WhatIf(why).foretell({read_change("link=x2", values())}).path_ps; };
  EXPECT_EQ(told(), 1'000'000'000);
  EXPECT_EQ(WhatIf(why).repaired().ps(), 1'000'000'000);
  EXPECT_FALSE(advice(why, values()).contains("repaired_ps"));
  why["links"]["network.b.port7 to nic7"]["had"] = 0.25;
  EXPECT_EQ(told(), 850'000'000);
  EXPECT_EQ(WhatIf(why).repaired().path_ps, 775'000'000);
  const ordered_json its = advice(why, values());
  EXPECT_EQ(its["repaired_ps"], WhatIf(why).repaired().ps());
  EXPECT_NE(advice_text(its).find("Links without their faults would save "), std::string::npos) << advice_text(its);
}

/// Its latencies would shrink, but its bytes wait for the link: the path does not tell them apart.
TEST(WhatIf, AnInterfaceBehindASlowerLinkMayHaveLatencies) {
  ordered_json why = path();
  why["pieces"].push_back(piece("ring", "host link", "nic7", "fabric", 200'000'000));
  why["until_ps"] = 1'200'000'000;
  why["stages"] = {{"fabric", {{"link", 3e9}, {"nic", 12e9}}}};
  const auto told = [&why](const char* change) { return WhatIf(why).foretell({read_change(change, values())}); };
  EXPECT_TRUE(told("nic=x2").is_loose);
  why["stages"]["fabric"]["link"] = 24e9;
  EXPECT_FALSE(told("nic=x2").is_loose);
  why["stages"]["fabric"]["link"] = 3e9;
  why["pieces"].back()["ps"] = 20'000'000;
  EXPECT_FALSE(told("nic=x2").is_loose);
}

/// A buffer that holds a quarter of what is under way: four round trips for what one could carry.
TEST(WhatIf, ABufferThatIsTooSmallIsALoop) {
  ordered_json why = path();
  why["pieces"].push_back(piece("all-gather thread", "queue", "nic0 out", "fabric", 100'000'000));
  why["pieces"].push_back(piece("all-gather thread", "propagation", "nic0 out", "fabric", 300'000'000));
  why["pieces"].push_back(piece("all-gather thread", "credit", "nic0 out", "fabric", 400'000'000));
  why["until_ps"] = 1'800'000'000;
  why["links"] = {{"nic0 out", {{"network", "fabric"}, {"joins", "from ends"}, {"fills", 0.25}}}};
  ordered_json set = values();
  set["fabric.link.buffer"]["value"] = "128KiB";
  const auto told = [&](const char* first, const char* second) {
    return WhatIf(why).foretell({read_change(first, set), read_change(second, set)}).path_ps;
  };
  EXPECT_EQ(told("buffer=x2", "hbm=x1"), 1'400'000'000);
  EXPECT_EQ(told("cable=x2", "buffer=x2"), 1'200'000'000);
  EXPECT_EQ(told("buffer=inf", "cable=x2"), 1'200'000'000);  // the rate is left
  EXPECT_EQ(told("link=x2", "buffer=x1"), 1'650'000'000);    // of the other link alone
  EXPECT_EQ(told("buffer=x0.5", "hbm=x1"), 2'600'000'000);
}

/// Kernels beside collectives get their cores back when these end.
TEST(WhatIf, ShorterCollectivesGiveCoresBack) {
  ordered_json why = path();
  why["pieces"].push_back(piece("product", "lost cores", "accelerator3", "", 100'000'000));
  why["until_ps"] = 1'100'000'000;
  // Of 1,000 us that a member has cores for collectives, 200 wait for others, and half of the rest is saved.
  EXPECT_EQ(WhatIf(why).foretell({read_change("link=x2", values())}).path_ps, 850'000'000 + 60'000'000);
}

TEST(WhatIf, IsSettingsOfThePlatform) {
  const auto settings = [](const char* text) {
    std::string all;
    for (const auto& [field, value, asked] : settings_of(read_change(text, values()), values())) {
      all += field + "=" + value + (asked.empty() ? "" : " for " + asked) + " ";
    }
    return all;
  };
  EXPECT_EQ(settings("hbm=x2"), "accelerator.hbm.rate=53600Gbps ");
  EXPECT_EQ(settings("nic=x2"), "nic.dma_rate=880Gbps nic.pcie.lanes=32 ");
  // Links have 16 or 32 lanes and nothing between.
  EXPECT_EQ(settings("nic=x1.1"), "nic.dma_rate=484Gbps nic.pcie.lanes=16 for 17.6 ");
  EXPECT_EQ(settings("nic=x1.5"), "nic.dma_rate=660Gbps nic.pcie.lanes=16 for 24 ");
  EXPECT_EQ(settings("nic=x4"), "nic.dma_rate=1760Gbps nic.pcie.lanes=32 for 64 ");
  EXPECT_EQ(settings("nic=inf"), "nic.dma_rate=44000Gbps for inf nic.pcie.lanes=32 for inf ");
  EXPECT_EQ(settings("hbm=inf"), "accelerator.hbm.rate=1000Tbps for inf ");
  EXPECT_EQ(settings("hbm=x1000000"), "accelerator.hbm.rate=1000Tbps for 2.68e+10Gbps ");
  EXPECT_EQ(settings("nic=x0.001"), "nic.dma_rate=1Gbps for 0.44Gbps nic.pcie.lanes=1 for 0.016 ");
  EXPECT_EQ(settings("cable=x100000"), "fabric.link.propagation=0ps for 0.0001ns ");
  EXPECT_EQ(settings("cable=inf"), "fabric.link.propagation=0ns ");
  EXPECT_EQ(settings("cable=0"), "fabric.link.propagation=0ns ");
  EXPECT_EQ(settings("nic-latency=x1.1"), "nic.read_latency=318.1818182ns ");
  EXPECT_EQ(settings("nic-latency=inf"), "nic.read_latency=0ns ");
  EXPECT_EQ(settings("nic-latency=x0.001"), "nic.read_latency=100us for 350000ns ");
  EXPECT_EQ(settings("compute=x2"), "");
}

/// Of a read latency and a write latency each changes its own pieces.
TEST(WhatIf, AFieldChangesWhatItSets) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"].push_back(piece("ring", "read latency", "nic7", "fabric", 30'000'000));
  why["pieces"].push_back(piece("ring", "write latency", "nic7", "fabric", 10'000'000));
  why["until_ps"] = 1'040'000'000;
  ordered_json set = values();
  set["nic.write_latency"]["value"] = "250ns";
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  EXPECT_EQ(told("nic-latency=x2").path_ps, 1'020'000'000);
  EXPECT_EQ(told("nic.read_latency=x0.5").path_ps, 1'025'000'000);
  EXPECT_EQ(told("nic.read_latency=x0.5").least_ps, 1'025'000'000);
  EXPECT_FALSE(told("nic.read_latency=x0.5").is_loose);
  EXPECT_EQ(told("nic.write_latency=0").path_ps, 1'030'000'000);
  EXPECT_EQ(told("nic.read_latency=x0.5,nic.write_latency=x2").path_ps, 1'035'000'000);
  EXPECT_EQ(told("nic=x2").path_ps, 1'040'000'000);
}

/// The path, and an interface's wait for memory.
ordered_json with_wait_of_interface() {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  ordered_json wait = piece("ring", "memory", "nic7", "fabric", 100'000'000);
  wait["of"] = "thread";
  why["pieces"].push_back(wait);
  why["until_ps"] = 1'100'000'000;
  return why;
}

/// An interface that waits for memory for longer than any memory is in use waits for its latency.
TEST(WhatIf, ALatencyOfMemoryIsNoRate) {
  ordered_json why = with_wait_of_interface();
  const auto told = [&why](const char* text) { return WhatIf(why).foretell(read_changes(text, values())).path_ps; };
  EXPECT_EQ(told("hbm=x2"), 900'000'000);
  EXPECT_EQ(told("memory-latency=x2"), 1'100'000'000);
  why["used_ps"] = {{"hbm", 40'000'000}};
  EXPECT_EQ(told("hbm=x2"), 930'000'000);
  EXPECT_EQ(told("memory-latency=x2"), 1'070'000'000);
  ordered_json set = values();
  set["accelerator.hbm.latency"]["value"] = "90ns";
  const auto sets = [&] { return settings_text(why, set, resource_called("memory-latency")); };
  EXPECT_EQ(sets(), "");  // stacks say it
  set["accelerator.hbm.stacks.count"]["value"] = 0;
  EXPECT_EQ(sets(), "accelerator.hbm.latency 90ns");
  const Foretold gone = WhatIf(why).foretell(read_changes("accelerator.hbm.latency=0", set));
  EXPECT_EQ(gone.path_ps, 1'040'000'000);
  why["used_ps"]["hbm"] = 90'000'000;
  EXPECT_EQ(sets(), "accelerator.hbm.rate 26800Gbps");
  EXPECT_EQ(settings_text(why, set, resource_called("hbm")), "accelerator.hbm.rate 26800Gbps");  // of kernels
}

/// Rates one behind the other: the least is what kernels and copies get, and interfaces do not wait for all of them.
TEST(WhatIf, OfSeveralRatesOfAMemoryTheLeastCounts) {
  ordered_json why = with_wait_of_interface();
  why["used_ps"] = {{"hbm", 500'000'000}};
  why["parts"] = {{{"memory", {{"rate", 3e12}, {"core_rate", 1e12}}}, {"power_cap", false}}};
  ordered_json set = values();
  set["accelerator.hbm.core_rate"]["value"] = "8Tbps";
  set["accelerator.hbm.interconnect_rate"]["value"] = "0bps";
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  EXPECT_EQ(told("hbm=x2").path_ps, 900'000'000);
  EXPECT_EQ(told("accelerator.hbm.core_rate=x2").path_ps, 950'000'000);
  EXPECT_EQ(told("accelerator.hbm.core_rate=x6").path_ps, 900'000'000);  // three times as fast: the memory's rate binds
  EXPECT_EQ(told("accelerator.hbm.rate=x2").path_ps, 1'050'000'000);     // of the interface alone
  EXPECT_FALSE(told("accelerator.hbm.rate=x2").is_loose);
  EXPECT_EQ(told("accelerator.hbm.core_rate=x2,accelerator.hbm.rate=x2").path_ps, 900'000'000);
  // It does not bind, and what shares it may.
  const Foretold slower = told("accelerator.hbm.rate=x0.5");
  EXPECT_EQ(slower.path_ps, 1'200'000'000);
  EXPECT_TRUE(slower.is_loose);
  EXPECT_GE(slower.most_ps, 1'500'000'000);
  EXPECT_EQ(told("accelerator.hbm.rate=x0.25").path_ps, 1'500'000'000);
  EXPECT_EQ(settings_of(read_change("hbm=x2", set), set).size(), 2U);  // both
  EXPECT_EQ(settings_text(why, set, resource_called("hbm")), "accelerator.hbm.core_rate 8Tbps");
  EXPECT_EQ(settings_text(why, set, resource_called("memory-latency")), "accelerator.hbm.rate 26800Gbps");
  why["parts"][0]["memory"] = {{"rate", 3e12}, {"interconnect_rate", 2e12}, {"core_rate", 2.5e12}};
  set["accelerator.hbm.interconnect_rate"]["value"] = "16Tbps";
  EXPECT_EQ(settings_text(why, set, resource_called("hbm")), "accelerator.hbm.interconnect_rate 16Tbps");
  EXPECT_EQ(settings_text(why, set, resource_called("memory-latency")), "accelerator.hbm.interconnect_rate 16Tbps");
}

/// More copy engines help where copies wait for one, and a change of the resource is one of what each copies.
TEST(WhatIf, KnowsCopyEngines) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"].push_back(piece("ring", "copy", "accelerator3", "", 200'000'000));
  why["until_ps"] = 1'200'000'000;
  why["copy_engines"] = {{"of", 4}, {"used", 4}};
  ordered_json set = values();
  set["accelerator.copy_rate"]["value"] = "400Gbps";
  set["accelerator.copy_engines"]["value"] = 4;
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  EXPECT_EQ(told("accelerator.copy_engines=x2").path_ps, 1'100'000'000);
  EXPECT_TRUE(told("accelerator.copy_engines=x2").is_loose);
  EXPECT_EQ(told("accelerator.copy_engines=2").path_ps, 1'400'000'000);
  EXPECT_EQ(settings_of(read_change("accelerator.copy_engines=x2", set), set).front().value, "8");
  ASSERT_EQ(settings_of(read_change("copy=x2", set), set).size(), 1U);
  EXPECT_EQ(settings_of(read_change("copy=x2", set), set).front().field, "accelerator.copy_rate");
  why["copy_engines"]["used"] = 2;
  EXPECT_EQ(told("accelerator.copy_engines=x2").path_ps, 1'200'000'000);
  EXPECT_FALSE(told("accelerator.copy_engines=x2").is_loose);
  EXPECT_EQ(told("accelerator.copy_engines=2").path_ps, 1'200'000'000);
  EXPECT_EQ(told("accelerator.copy_engines=1").path_ps, 1'400'000'000);
}

/// What this machine has no use for is no change of it.
TEST(WhatIf, RefusesFieldsWithoutEffect) {
  ordered_json set = values();
  set["remote_memory.kind"]["value"] = "cxl";
  EXPECT_THROW(read_change("remote_memory.rate=x2", set), std::invalid_argument);
  EXPECT_NO_THROW(read_change("remote_memory.cxl.link.rate=x2", set));
  set["remote_memory.kind"]["value"] = "pool";
  EXPECT_NO_THROW(read_change("remote_memory.rate=x2", set));
  EXPECT_THROW(read_change("remote_memory.cxl.link.rate=x2", set), std::invalid_argument);
}

/// A change of links is one of those with a rate of their own, too; a change of the field that they do not have is not.
TEST(WhatIf, LinksWithARateOfTheirOwnChangeAsWell) {
  ordered_json set = values();
  set["fabric.edges.0.link.rate"] = {{"value", "400Gbps"}, {"source", "default"}};
  EXPECT_TRUE(read_change("fabric.link.rate=x2", set).without.empty());
  set["fabric.edges.1.link.rate"] = {{"value", "44Gbps"}, {"source", "file"}};
  set["scale_up.fabric.edges.1.link.rate"] = {{"value", "44Gbps"}, {"source", "file"}};
  const std::vector<ChangedSetting> all = settings_of(read_change("link=x2", set), set);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].field + "=" + all[0].value, "fabric.link.rate=800Gbps");
  EXPECT_EQ(all[1].field + "=" + all[1].value, "fabric.edges.1.link.rate=88Gbps");
  const ResourceChange partial = read_change("fabric.link.rate=x2", set);
  EXPECT_EQ(settings_of(partial, set).size(), 1U);
  EXPECT_EQ(partial.without, std::vector<std::string>{"fabric.edges.1.link"});
  EXPECT_TRUE(WhatIf(path()).foretell({partial}).is_loose);
  EXPECT_FALSE(WhatIf(path()).foretell({read_change("link=x2", set)}).is_loose);
  set["others.0.accelerator.hbm.rate"] = {{"value", "900GBps"}, {"source", "default"}};
  EXPECT_EQ(settings_of(read_change("hbm=x2", set), set).back().value, "1800GBps");
}

TEST(WhatIf, RefusesByName) {
  const auto message = [](const std::string& text, const ordered_json& its = values()) -> std::string {
    try {
      (void)read_change(text, its);
    } catch (const std::invalid_argument& wrong) {
      return wrong.what();
    }
    return "";
  };
  EXPECT_EQ(message("hbm=fast"), "hbm: expected xN or inf, got \"fast\"");
  EXPECT_EQ(message("hbm"), "hbm: expected xN or inf, got \"\"");
  EXPECT_EQ(message("hbm=x1e-30"), "hbm: expected xN with N from 1e-6 to 1e6 or inf, got \"x1e-30\"");
  EXPECT_EQ(message("hbm=x0"), "hbm: expected xN with N from 1e-6 to 1e6 or inf, got \"x0\"");
  EXPECT_EQ(message("fabric.link.rate=x-1"),
            "fabric.link.rate: expected xN with N from 1e-6 to 1e6, inf or a value like 400Gbps, got \"x-1\"");
  EXPECT_EQ(message("fabric.link.propagation=inf"),
            "fabric.link.propagation: expected xN, 0 or a value like 10ns, got \"inf\"");
  EXPECT_EQ(message("accelerator.copy_overhead=inf"), "accelerator.copy_overhead: expected xN or 0, got \"inf\"");
  EXPECT_EQ(message("fabric.link.rate=2ms"), "fabric.link.rate: expected xN, inf or a value like 400Gbps, got \"2ms\"");
  const ordered_json without = {{"nic.recovery", {{"value", false}}},
                                {"nic.ack_timeout", {{"value", "1ms"}}},
                                {"remote_memory.kind", {{"value", "none"}}},
                                {"remote_memory.rate", {{"value", "800Gbps"}}}};
  for (const std::string field : {"nic.ack_timeout", "remote_memory.rate", "workload.launch"})
    EXPECT_EQ(message(field + "=x2", without), "expected a field that has an effect on this machine, got " + field);
  EXPECT_EQ(message("firmwar=x2"),
            "expected a resource or a field of one, got \"firmwar\"; did you mean \"firmware\"?");
  EXPECT_EQ(message("fabric.link.rat=x2"),
            "expected a resource or a field of one, got \"fabric.link.rat\"; did you mean \"fabric.link.rate\" or "
            "\"scale_up.fabric.link.rate\"?");
  EXPECT_TRUE(message("turbo=x2").starts_with("expected one of compute, cap, hbm, memory-latency, "))
      << message("turbo=x2");
}

/// A field is multiplied; a resource is so many times as fast.
TEST(WhatIf, MultipliesAFieldAndSpeedsUpAResource) {
  const auto setting = [](const char* text) {
    return settings_of(read_change(text, values()), values()).front().value;
  };
  EXPECT_EQ(setting("fabric.link.propagation=x0.5"), "5ns");
  EXPECT_EQ(setting("fabric.link.propagation=x2"), "20ns");
  EXPECT_EQ(setting("fabric.link.propagation=0"), "0ns");
  EXPECT_EQ(setting("fabric.link.propagation=x0"), "0ns");
  EXPECT_EQ(setting("cable=x2"), "5ns");
  EXPECT_EQ(setting("fabric.link.rate=x2"), "800Gbps");
  const auto text = [](const char* change) { return to_text(read_change(change, values())); };
  EXPECT_EQ(text("fabric.link.propagation=x0.5"), "fabric.link.propagation=x0.5");
  EXPECT_EQ(text("fabric.link.propagation=x0"), "fabric.link.propagation=0");
  EXPECT_EQ(text("cable=x0.5"), "cable=x0.5");
  EXPECT_EQ(text("hbm=inf"), "hbm=inf");
}

TEST(WhatIf, TakesSpacesAroundCommas) {
  const std::vector<ResourceChange> changes = read_changes(" hbm=x2 , link = x4", values());
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(to_text(changes[0]), "hbm=x2");
  EXPECT_EQ(to_text(changes[1]), "link=x4");
  EXPECT_THROW(read_changes("hbm=x2, ", values()), std::invalid_argument);
}

TEST(WhatIf, RefusesWhatIsNamedTwice) {
  const auto message = [](const char* text) -> std::string {
    try {
      (void)read_changes(text, values());
    } catch (const std::invalid_argument& wrong) {
      return wrong.what();
    }
    return "";
  };
  EXPECT_EQ(message("hbm=x2,link=x2,hbm=x4"), "expected each name once, got hbm twice");
  EXPECT_EQ(message("accelerator.hbm.rate=x2,hbm=x2"),
            "expected a resource or a field of it, got both: accelerator.hbm.rate and hbm");
  EXPECT_EQ(message("nic.dma_rate=x2,nic.read_latency=x0.5"), "");
  EXPECT_EQ(read_changes("hbm=x2,link=x2", values()).size(), 2U);
}

/// Two fields of one resource do not multiply.
TEST(WhatIf, TakesTheFieldThatDoesMore) {
  ordered_json why = path();
  why["pieces"].push_back(piece("ring", "host link", "nic7", "fabric", 300'000'000));
  why["until_ps"] = 1'300'000'000;
  const Foretold told = WhatIf(why).foretell(read_changes("nic.dma_rate=x2,nic.pcie.lanes=32", values()));
  EXPECT_EQ(told.path_ps, 1'150'000'000);
  EXPECT_TRUE(told.is_loose);  // the path does not tell them apart
}

/// Bytes pass an end's interface and its link: both together have the rate of the slower one.
TEST(WhatIf, TwoThatAreNearInRateGainTogether) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"] = {piece("ring", "host link", "nic7", "fabric", 800'000'000),
                   piece("product", "kernel", "accelerator3", "", 200'000'000)};
  why["stages"] = {{"fabric", {{"link", 12e9}, {"nic", 10e9}}}};
  why["used_ps"] = {{"link", 650'000'000}, {"nic", 800'000'000}};
  const auto told = [&why](const std::string& text) { return WhatIf(why).foretell(read_changes(text, values())); };
  EXPECT_EQ(told("nic=x1.1").ps(), 927'272'727);
  std::int64_t before = 1'000'000'000;
  for (const char* times : {"x1.1", "x1.2", "x1.5", "x2", "x4"}) {
    const std::int64_t ps = told("nic=" + std::string(times)).ps();
    EXPECT_LE(ps, before) << times;
    before = ps;
  }
  EXPECT_EQ(told("nic=x4").ps(), 866'666'667);
  EXPECT_EQ(told("link=x2").ps(), 1'000'000'000);
  EXPECT_EQ(told("link=x2,nic=x2").ps(), 600'000'000);
  EXPECT_EQ(told("link=x0.5").ps(), 1'533'333'333);
  const ordered_json its = advice(why, values());
  EXPECT_EQ(its["resources"][0]["name"], "link + nic");
  EXPECT_EQ(its["resources"][0]["what_if"], "link=x2,nic=x2");
  EXPECT_EQ(its["resources"][0]["twice_ps"], 600'000'000);
  // A link of far less rate needs no interface that is faster.
  why["pieces"][0] = piece("ring", "serialisation", "nic7 out", "fabric", 800'000'000);
  why["stages"]["fabric"]["link"] = 1e9;
  why["used_ps"] = {{"link", 800'000'000}, {"nic", 80'000'000}};
  const ordered_json alone = advice(why, values());
  EXPECT_EQ(alone["resources"][0]["name"], "link");
  for (const ordered_json& row : alone["resources"]) EXPECT_NE(row["name"], "link + nic");
}

/// No rate makes latencies shorter, and a field that sets a part of them changes that part.
TEST(WhatIf, LatenciesOfAnInterfaceAreNotItsBytes) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"].push_back(piece("ring", "host link", "nic7", "fabric", 50'000'000));
  why["pieces"].push_back(piece("ring", "read latency", "nic7", "fabric", 60'000'000));
  why["pieces"].push_back(piece("ring", "write latency", "nic7", "fabric", 40'000'000));
  why["until_ps"] = 1'150'000'000;
  const auto path_ps = [&why](const char* text) { return WhatIf(why).foretell(read_changes(text, values())).path_ps; };
  EXPECT_EQ(path_ps("nic=x2"), 1'125'000'000);
  EXPECT_EQ(path_ps("nic.dma_rate=x2"), 1'125'000'000);
  EXPECT_EQ(path_ps("nic-latency=x2"), 1'100'000'000);
  EXPECT_EQ(path_ps("nic.read_latency=x0.5"), 1'120'000'000);
  // A latency that is hidden while bytes pass stays so.
  EXPECT_EQ(WhatIf(why).foretell(read_changes("nic.read_latency=x2", values())).least_ps, 1'150'000'000);
}

/// The room behind an end's link is taken while a slower interface empties it: more of it brings nothing.
TEST(WhatIf, ASlowInterfaceIsWhatLinksWaitFor) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"].push_back(piece("ring", "credit", "network.b.port7 to nic7", "fabric", 100'000'000));
  why["until_ps"] = 1'100'000'000;
  why["links"] = {{"network.b.port7 to nic7", {{"network", "fabric"}, {"joins", "to ends"}}}};
  why["stages"] = {{"fabric", {{"link", 50e9}, {"nic", 7e9}}}};
  ordered_json set = values();
  set["fabric.link.buffer"]["value"] = "128KiB";
  const auto told = [&](const char* text) { return WhatIf(why).foretell(read_changes(text, set)); };
  EXPECT_EQ(told("nic=x2").ps(), 900'000'000);
  EXPECT_EQ(told("buffer=x2").ps(), 1'100'000'000);
  EXPECT_EQ(told("link=x0.5").ps(), 1'100'000'000);
  why["stages"]["fabric"]["nic"] = 100e9;
  EXPECT_EQ(told("buffer=x2").ps(), 1'050'000'000);
}

/// More uplinks do not make a sick one well.
TEST(WhatIf, UplinksDoNotCureASickLink) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["pieces"].back()["place"] = "network.leaf0.port8 to spine1";
  why["links"] = {
      {"network.leaf0.port8 to spine1", {{"network", "fabric"}, {"joins", "between switches"}, {"had", 0.1}}}};
  ordered_json set = values();
  set["fabric.uplinks"]["value"] = 4;
  const Foretold told = WhatIf(why).foretell(read_changes("uplink=x2", set));
  EXPECT_EQ(told.ps(), 1'000'000'000);
  EXPECT_EQ(told.least_ps, 850'000'000);  // unless traffic goes round it
  EXPECT_TRUE(told.is_loose);
  const ordered_json its = advice(why, set);
  for (const ordered_json& row : its["resources"]) EXPECT_NE(row["name"], "uplink");
  EXPECT_EQ(WhatIf(why).foretell(read_changes("link=x2", set)).ps(), 850'000'000);
}

/// Copies and links work on the same bytes: who is next takes over, and what it hid behind comes out.
TEST(WhatIf, StagesHideBehindEachOther) {
  ordered_json why = path();
  why["collectives"] = ordered_json::array();
  why["used_ps"] = {{"link", 300'000'000}, {"copy", 250'000'000}};
  const auto told = [&why](const char* text) { return WhatIf(why).foretell(read_changes(text, values())); };
  EXPECT_EQ(told("link=x2").path_ps, 950'000'000);
  EXPECT_EQ(told("copy=x2").path_ps, 1'000'000'000);
  EXPECT_EQ(told("copy=x0.5").path_ps, 1'200'000'000);
  EXPECT_EQ(told("link=x2,copy=x2").path_ps, 850'000'000);
}

}  // namespace
}  // namespace weft::platforms
