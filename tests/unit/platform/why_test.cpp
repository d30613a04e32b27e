// SPDX-License-Identifier: Apache-2.0
// What a critical path says of a change: alone, with paths made here.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/results/what_if/advice.h"
#include "platforms/results/why/resources.h"
#include "platforms/results/why/set_by.h"
#include "platforms/results/why/why_text.h"
#include "tests/support/why_path.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using test::path;
using test::piece;
using test::values;

TEST(Resources, HaveEveryKindOnce) {
  EXPECT_EQ(resource_of("memory", "").name, "hbm");
  EXPECT_EQ(resource_of("memory", "fabric").name, "memory-latency");
  EXPECT_EQ(resource_of("memory", "scale_up").name, "memory-latency");
  EXPECT_EQ(resource_of("queue", "fabric").name, "link");
  EXPECT_EQ(resource_of("queue", "scale_up").name, "scale-up-link");
  EXPECT_EQ(resource_of("recovery", "fabric").name, "timeout");
  EXPECT_EQ(resource_of("recovery", "scale_up").name, "scale-up-timeout");
  EXPECT_EQ(resource_of("write latency", "scale_up").name, "port-latency");
  EXPECT_EQ(resource_of("serialisation", "").name, "link");  // of no network: as of the one between nodes
  EXPECT_EQ(resource_of("what a later version has", "").name, "other");
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
  EXPECT_EQ(settings_text(why, set, resource_called("link")), "fabric.link.rate 400Gbps (--set)");
}

/// Where links and accelerators have values of their own, these are what sets the time there.
TEST(SetBy, NamesFieldsOfThePlace) {
  ordered_json why = path();
  why["pieces"].push_back(piece("ring", "queue", "nic1 out", "fabric", 600'000'000));
  why["pieces"].push_back(piece("ring", "copy", "accelerator3", "", 100'000'000));
  why["pieces"].push_back(piece("ring", "copy", "accelerator4", "", 20'000'000));
  why["pieces"].push_back(piece("ring", "copy", "accelerator5", "", 1'000'000));
  why["links"] = {{"nic1 out", {{"path", "fabric.edges.2.link"}}},
                  {"network.b.port7 to nic7", {{"path", "fabric.edges.3.link"}}}};
  ordered_json set = values();
  set["fabric.edges.2.link.rate"] = {{"value", "1Gbps"}, {"source", "file"}};
  set["fabric.edges.3.link.rate"] = {{"value", "400Gbps"}, {"source", "default"}};
  set["accelerator.copy_rate"]["value"] = "400Gbps";
  for (const auto& [entry, first, rate] : {std::tuple("0", 3, "20Gbps"), std::tuple("1", 4, "30Gbps")}) {
    const std::string others = std::string("others.") + entry;
    set[others + ".first"]["value"] = first;
    set[others + ".count"]["value"] = 2;
    set[others + ".accelerator.copy_rate"] = {{"value", rate}, {"source", "command line"}};
  }
  EXPECT_EQ(settings_text(why, set, resource_called("link")),
            "fabric.edges.2.link.rate 1Gbps, fabric.link.rate 400Gbps");
  // The later entry counts where two have the same accelerator.
  EXPECT_EQ(settings_text(why, set, resource_called("copy")),
            "others.0.accelerator.copy_rate 20Gbps (--set), others.1.accelerator.copy_rate 30Gbps (--set)");
}

/// Of several fields of a resource, those of what the path has.
TEST(SetBy, NamesWhatThePiecesAreOf) {
  ordered_json why = path();
  why["pieces"].push_back(piece("ring", "write latency", "nic1", "fabric", 100'000'000));
  why["pieces"].push_back(piece("ring", "read latency", "nic1", "fabric", 5'000'000));
  why["pieces"].push_back(piece("load", "remote memory", "cxl_pool.link3", "", 50'000'000));
  why["pieces"].push_back(piece("load", "remote memory", "cxl_pool.device12", "", 60'000'000));
  ordered_json set = values();
  set["nic.write_latency"]["value"] = "250ns";
  set["remote_memory.kind"]["value"] = "cxl";
  for (const char* field : {"rate", "cxl.link.rate", "cxl.device_link.rate", "cxl.device.rate"}) {
    set[std::string("remote_memory.") + field]["value"] = "800Gbps";
  }
  EXPECT_EQ(settings_text(why, set, resource_called("nic-latency")), "nic.write_latency 250ns");
  EXPECT_EQ(settings_text(why, set, resource_called("remote-memory")),
            "remote_memory.cxl.device.rate 800Gbps, remote_memory.cxl.link.rate 800Gbps");
  set["remote_memory.kind"]["value"] = "pool";
  why["pieces"].push_back(piece("load", "remote memory", "remote_memory", "", 60'000'000));
  EXPECT_EQ(settings_text(why, set, resource_called("remote-memory")), "remote_memory.rate 800Gbps");
}

/// Of two caps that of the clock holds kernels that run at its clock, and power those that are slower. Of accelerators
/// of another part it is their own.
TEST(SetBy, NamesTheCapThatBinds) {
  ordered_json why = path();
  const auto add = [&why](const char* about, const char* place, std::int64_t computing, std::int64_t capped) {
    for (const char* const kind : {"kernel", "cap"}) {
      why["pieces"].push_back(piece(about, kind, place, "", std::string(kind) == "cap" ? capped : computing));
      why["pieces"].back()["of"] = "kernel";
    }
  };
  why["power_cap"] = true;
  why["parts"] = {{{"memory", {{"rate", 3e12}}}, {"clock_cap", 0.5}, {"power_cap", true}},
                  {{"memory", {{"rate", 3e12}}}, {"power_cap", true}, {"first", 4}, {"count", 2}}};
  add("held by power", "accelerator3", 100'000'000, 300'000'000);
  add("held by the clock", "accelerator3", 100'000'000, 100'000'000);
  add("held by power there", "accelerator5", 100'000'000, 90'000'000);
  ordered_json set = values();
  set["accelerator.compute.power.cap"]["value"] = "700W";
  set["accelerator.compute.clock_cap"]["value"] = "900MHz";
  set["others.0.first"]["value"] = 4;
  set["others.0.count"]["value"] = 2;
  set["others.0.accelerator.compute.power.cap"]["value"] = "500W";
  EXPECT_EQ(settings_text(why, set, resource_called("cap")),
            "accelerator.compute.power.cap 700W, accelerator.compute.clock_cap 900MHz, "
            "others.0.accelerator.compute.power.cap 500W");
  why["parts"][0]["clock_cap"] = 0.25;
  EXPECT_EQ(settings_text(why, set, resource_called("cap")),
            "accelerator.compute.clock_cap 900MHz, others.0.accelerator.compute.power.cap 500W");
  why["parts"][0].erase("clock_cap");
  EXPECT_EQ(settings_text(why, set, resource_called("cap")),
            "accelerator.compute.power.cap 700W, others.0.accelerator.compute.power.cap 500W");
}

/// Copies of several channels share engines where there are too few of these.
TEST(SetBy, NamesCopyEnginesWhereAllAreUsed) {
  ordered_json why = path();
  why["pieces"].push_back(piece("ring", "copy", "accelerator3", "", 200'000'000));
  ordered_json set = values();
  set["accelerator.copy_rate"]["value"] = "400Gbps";
  set["accelerator.copy_engines"] = {{"value", 2}, {"source", "command line"}};
  const auto sets = [&] { return settings_text(why, set, resource_called("copy")); };
  EXPECT_EQ(sets(), "accelerator.copy_rate 400Gbps");
  why["copy_engines"] = {{"of", 2}, {"used", 2}};
  EXPECT_EQ(sets(), "accelerator.copy_rate 400Gbps, copy_engines 2 (--set)");
  why["copy_engines"]["used"] = 1;
  EXPECT_EQ(sets(), "accelerator.copy_rate 400Gbps");
}

TEST(Advice, RanksWhatHelpsMost) {
  const std::string text = advice_text(advice(path(), ordered_json::object()));
  const std::size_t compute = text.find("compute (computing)");
  EXPECT_NE(compute, std::string::npos) << text;
  EXPECT_GT(text.find("hbm (waiting for HBM)"), compute) << text;
  EXPECT_EQ(text.find("cable"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::platforms
