// SPDX-License-Identifier: Apache-2.0
// What a critical path says of a change: alone, with paths made here.
#include <gtest/gtest.h>
#include <algorithm>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/results/why/advice.h"
#include "platforms/results/why/resources.h"
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
  EXPECT_EQ(resource_of("queue", "fabric").name, "link");
  EXPECT_EQ(resource_of("queue", "scale_up").name, "scale-up-link");
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
  EXPECT_EQ(settings_text(set, resource_called("link")), "fabric.link.rate 400Gbps (--set)");
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
