// SPDX-License-Identifier: Apache-2.0
// What a critical path says of a change, and of the difference of two runs: alone, with paths made here.
#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "platforms/results/why/advice.h"
#include "platforms/results/why/compare.h"
#include "platforms/results/why/resources.h"
#include "platforms/results/why/what_if.h"
#include "platforms/results/why/why_text.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

ordered_json piece(const char* about, const char* kind, const char* place, const char* network, std::int64_t ps) {
  const std::string what = kind;
  const bool is_kernel = what == "kernel" || what == "memory";
  const bool on_link = what == "queue" || what == "propagation" || what == "credit";
  return {{"of", is_kernel ? "kernel" : "thread"},
          {"about", about},
          {"kind", kind},
          {"place", place},
          {"on_link", on_link},
          {"network", network},
          {"ps", ps}};
}

/// 1 ms: 400 us of a kernel, 300 us for HBM, 300 us on a link.
ordered_json path() {
  return {{"from_ps", 0},
          {"until_ps", 1'000'000'000},
          {"pieces",
           {piece("product", "kernel", "accelerator3", "", 400'000'000),
            piece("product", "memory", "accelerator3", "", 300'000'000),
            piece("all-gather thread", "queue", "network.b.port7 to nic7", "fabric", 300'000'000)}},
          {"collectives",
           {{{"group", "world"},
             {"operation", "all_gather"},
             {"bytes", 1024},
             {"members", 4},
             {"calls", 8},
             {"ps", 4'000'000'000},
             {"late_ps", 800'000'000},
             {"transfer", {piece("all-gather thread", "queue", "network.b.port7 to nic7", "fabric", 3'200'000'000)}},
             {"last", {{{"rank", 3}, {"times", 2}, {"ps", 500'000'000}}}},
             {"lateness", ordered_json::array()}}}}};
}
ordered_json values() {
  return {{"accelerator.hbm.rate", {{"value", "26800Gbps"}}},
          {"fabric.link.rate", {{"value", "400Gbps"}}},
          {"nic.pcie.lanes", {{"value", 16}}},
          {"nic.dma_rate", {{"value", "440Gbps"}}},
          {"nic.read_latency", {{"value", "350ns"}}},
          {"accelerator.compute.tensor_fp4", {{"value", "0FLOPS"}}},
          {"fabric.link.propagation", {{"value", "10ns"}}}};
}

TEST(Resources, HaveEveryKindOnce) {
  EXPECT_EQ(resource_of("memory", "").name, "hbm");
  EXPECT_EQ(resource_of("queue", "fabric").name, "link");
  EXPECT_EQ(resource_of("queue", "scale_up").name, "scale-up-link");
  EXPECT_EQ(resource_of("serialisation", "").name, "link");  // of no network: as of the one between nodes
  EXPECT_EQ(resource_of("what a later version has", "").name, "other");
}

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
  const std::string text = advice_text(advice(why, set));
  EXPECT_NE(text.find("uplink (bytes on links between switches)"), std::string::npos) << text;
  EXPECT_EQ(settings_text(set, resource_called("link")), "fabric.link.rate 400Gbps, fabric.uplinks 4");
  EXPECT_EQ(settings_text(values(), resource_called("link")), "fabric.link.rate 400Gbps");
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

TEST(WhatIf, IsNotBelowTheCollectivesOfAGroup) {
  // A member spends 800 us in collectives without the waiting.
  const Foretold told =
      WhatIf(path()).foretell({read_change("compute=inf", values()), read_change("hbm=inf", values())});
  EXPECT_EQ(told.path_ps, 300'000'000);
  EXPECT_EQ(told.ps(), 800'000'000);
  EXPECT_EQ(told.other, "collectives of world");
  EXPECT_TRUE(told.is_loose);
  EXPECT_EQ(WhatIf(path()).foretell({read_change("link=x4", values())}).other_ps, 200'000'000);
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
  EXPECT_EQ(settings("nic=x2"), "nic.dma_rate=880Gbps nic.pcie.lanes=32 nic.read_latency=175ns ");
  // Links have 16 or 32 lanes and nothing between.
  EXPECT_EQ(settings("nic=x1.1"), "nic.dma_rate=484Gbps nic.pcie.lanes=16 for 17.6 nic.read_latency=318.1818182ns ");
  EXPECT_EQ(settings("nic=x1.5"), "nic.dma_rate=660Gbps nic.pcie.lanes=16 for 24 nic.read_latency=233.3333333ns ");
  EXPECT_EQ(settings("nic=x4"), "nic.dma_rate=1760Gbps nic.pcie.lanes=32 for 64 nic.read_latency=87.5ns ");
  EXPECT_EQ(settings("nic=inf"), "nic.dma_rate=44000Gbps for inf nic.pcie.lanes=32 for inf nic.read_latency=0ns ");
  EXPECT_EQ(settings("hbm=inf"), "accelerator.hbm.rate=1000Tbps for inf ");
  EXPECT_EQ(settings("hbm=x1000000000000"), "accelerator.hbm.rate=1000Tbps for 2.68e+16Gbps ");
  EXPECT_EQ(settings("nic=x0.001"),
            "nic.dma_rate=1Gbps for 0.44Gbps nic.pcie.lanes=1 for 0.016 nic.read_latency=100us for 350000ns ");
  EXPECT_EQ(settings("cable=x100000"), "fabric.link.propagation=0ps for 0.0001ns ");
  EXPECT_EQ(settings("cable=inf"), "fabric.link.propagation=0ns ");
  EXPECT_EQ(settings("cable=0"), "fabric.link.propagation=0ns ");
  EXPECT_EQ(settings("compute=x2"), "");
}

/// A change of links is one of those with a rate of their own, too; a change of the field that they do not have is not.
TEST(WhatIf, LinksWithARateOfTheirOwnChangeAsWell) {
  ordered_json set = values();
  set["fabric.edges.0.link.rate"] = {{"value", "400Gbps"}, {"source", "default"}};
  EXPECT_FALSE(read_change("fabric.link.rate=x2", set).is_partial);
  set["fabric.edges.1.link.rate"] = {{"value", "44Gbps"}, {"source", "file"}};
  set["scale_up.fabric.edges.1.link.rate"] = {{"value", "44Gbps"}, {"source", "file"}};
  const std::vector<ChangedSetting> all = settings_of(read_change("link=x2", set), set);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].field + "=" + all[0].value, "fabric.link.rate=800Gbps");
  EXPECT_EQ(all[1].field + "=" + all[1].value, "fabric.edges.1.link.rate=88Gbps");
  const ResourceChange partial = read_change("fabric.link.rate=x2", set);
  EXPECT_EQ(settings_of(partial, set).size(), 1U);
  EXPECT_TRUE(WhatIf(path()).foretell({partial}).is_loose);
  EXPECT_FALSE(WhatIf(path()).foretell({read_change("link=x2", set)}).is_loose);
  set["others.0.accelerator.hbm.rate"] = {{"value", "900GBps"}, {"source", "default"}};
  EXPECT_EQ(settings_of(read_change("hbm=x2", set), set).back().value, "1800GBps");
}

TEST(WhatIf, RefusesByName) {
  const auto message = [](const char* text) -> std::string {
    try {
      (void)read_change(text, values());
    } catch (const std::invalid_argument& wrong) {
      return wrong.what();
    }
    return "";
  };
  EXPECT_EQ(message("hbm=fast"), "hbm: expected xN or inf, got \"fast\"");
  EXPECT_EQ(message("hbm"), "hbm: expected xN or inf, got \"\"");
  EXPECT_EQ(message("hbm=x0"), "hbm: expected xN or inf, got \"x0\"");
  EXPECT_EQ(message("fabric.link.rate=2ms"), "fabric.link.rate: expected xN, inf or a value like 400Gbps, got \"2ms\"");
  EXPECT_TRUE(message("turbo=x2").starts_with("expected one of compute, cap, hbm, launch, ")) << message("turbo=x2");
}

/// What a reader needs to name the fault: on which link packets are lost, and how little a buffer holds.
TEST(WhyText, NamesLossAndSmallBuffers) {
  ordered_json why = path();
  why["pieces"].push_back(piece("all-gather thread", "recovery", "nic3", "fabric", 200'000'000));
  why["until_ps"] = 1'200'000'000;
  EXPECT_EQ(why_text(why, values()).find("Packets were lost"), std::string::npos);
  why["lossy"] = {{{"link", "nic3 out"}, {"network", "fabric"}, {"packets", 2000}, {"lost", 30}}};
  ordered_json& link = why["links"]["network.b.port7 to nic7"];
  link = {{"network", "fabric"}, {"joins", "to ends"},   {"rate", "400Gbps"},
          {"had", 0.25},         {"propagation", "8us"}, {"buffer", "128KiB"},
          {"fills", 0.16},       {"utilisation", 0.5},   {"alike", {{"links", 1}, {"median", 0.5}}}};
  std::string text = why_text(why, values());
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_NE(text.find("Packets were lost: 30 of 2000 on nic3 out (1.5 %); no other link lost any."), std::string::npos)
      << text;
  EXPECT_NE(text.find("A fault left it 25 % of 400Gbps. The buffer behind it, 128KiB, lets through 16 % of the rate at "
                      "most, with a flight of 8us."),
            std::string::npos)
      << text;
  ordered_json set = values();
  set["fabric.link.rate"]["source"] = "command line";
  EXPECT_EQ(settings_text(set, resource_called("link")), "fabric.link.rate 400Gbps (--set)");
}

TEST(Advice, RanksWhatHelpsMost) {
  const std::string text = advice_text(advice(path(), ordered_json::object()));
  const std::size_t compute = text.find("compute (computing)");
  EXPECT_NE(compute, std::string::npos) << text;
  EXPECT_GT(text.find("hbm (waiting for HBM)"), compute) << text;
  EXPECT_EQ(text.find("cable"), std::string::npos) << text;
}

TEST(Compare, AttributesTheDifferenceWholly) {
  RunResults base{"a", {{"simulated_us", 1000.0}}, {{"values", values()}}, path()};
  RunResults other = base;
  other.name = "b";
  other.summary["simulated_us"] = 1250.0;
  other.config["values"]["fabric.link.rate"]["value"] = "200Gbps";
  other.why["until_ps"] = 1'250'000'000;
  other.why["pieces"][2]["ps"] = 600'000'000;
  other.why["pieces"][1]["ps"] = 250'000'000;
  const ordered_json comparison = compare_runs(base, other);
  EXPECT_EQ(comparison["changed"].size(), 1U);
  EXPECT_EQ(comparison["changed"][0]["field"], "fabric.link.rate");
  EXPECT_EQ(comparison["parts"][0]["part"], "bytes on links");
  EXPECT_DOUBLE_EQ(comparison["parts"][0]["difference_us"], 300);
  EXPECT_EQ(comparison["parts"][0]["about"][0]["about"], "all-gather thread at network.b.port7 to nic7");
  double sum = 0;
  for (const ordered_json& part : comparison["parts"]) sum += part["difference_us"].get<double>();
  EXPECT_DOUBLE_EQ(sum, 250);
  EXPECT_NE(compare_text(comparison).find("(+25.00 %)"), std::string::npos) << compare_text(comparison);
}

TEST(Compare, LeavesOutWhatARunPreparedItselfFor) {
  const RunResults base{"a", {{"simulated_us", 100.0}, {"prepared", {{"time_us", 60.0}}}}, {}, {}};
  const RunResults other{"b", {{"simulated_us", 130.0}, {"prepared", {{"time_us", 80.0}}}}, {}, {}};
  const ordered_json comparison = compare_runs(base, other);
  EXPECT_DOUBLE_EQ(comparison["before_us"], 40);
  EXPECT_DOUBLE_EQ(comparison["difference_us"], 10);
}

TEST(Compare, TakesTheLinesOfAStepWhereAPathIsMissing) {
  const RunResults base{
      "a",
      {{"simulated_us", 100.0}, {"breakdown_us", {{"compute", 70.0}, {"exposed", 20.0}, {"total", 90.0}}}},
      {},
      {}};
  const RunResults other{
      "b", {{"simulated_us", 130.0}, {"breakdown_us", {{"compute", 75.0}, {"exposed", 40.0}}}}, {}, {}};
  const ordered_json parts = compare_runs(base, other)["parts"];
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0]["part"], "exposed");
  EXPECT_DOUBLE_EQ(parts[0]["difference_us"], 20);
  EXPECT_EQ(parts[2]["part"], "outside of the lines of a step");
  EXPECT_DOUBLE_EQ(parts[2]["difference_us"], 5);
}

}  // namespace
}  // namespace weft::platforms
