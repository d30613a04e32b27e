// SPDX-License-Identifier: Apache-2.0
// What the first sentences of weft why name, and how much room the whole takes: with paths made here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "platforms/results/why/path_parts.h"
#include "platforms/results/why/why_sentences.h"
#include "platforms/results/why/why_text.h"
#include "tests/support/why_path.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

ordered_json piece(const char* about, const char* kind, const std::string& place, std::int64_t us) {
  const std::string what = kind;
  const bool is_kernel = what == "kernel" || what == "memory";
  const bool on_link = what == "queue" || what == "serialisation";
  return {{"of", is_kernel ? "kernel" : "thread"},
          {"about", about},
          {"kind", kind},
          {"place", place},
          {"on_link", on_link},
          {"network", "fabric"},
          {"ps", us * 1'000'000}};
}
ordered_json of(const ordered_json& pieces) {
  std::int64_t all = 0;
  for (const ordered_json& each : pieces) all += each["ps"].get<std::int64_t>();
  return {{"from_ps", 0}, {"until_ps", all}, {"pieces", pieces}};
}
ordered_json link(double utilisation, double median, int busy) {
  return {{"network", "fabric"},
          {"joins", "between switches"},
          {"rate", "400Gbps"},
          {"had", 1.0},
          {"propagation", "10ns"},
          {"buffer", "256KiB"},
          {"fills", 1.0},
          {"utilisation", utilisation},
          {"alike", {{"links", 8}, {"median", median}, {"busy", busy}, {"rate", "400Gbps"}}}};
}
std::string told(const ordered_json& why) {
  return why_sentences(why, ordered_json::object(), PathParts(why));
}
/// Whether `first` is told of before `second`.
void expect_order(const std::string& text, const std::string& first, const std::string& second) {
  EXPECT_NE(text.find(first), std::string::npos) << text;
  EXPECT_NE(text.find(second), std::string::npos) << text;
  EXPECT_LT(text.find(first), text.find(second)) << text;
}

/// One accelerator of another part, which is slower: by its name and the field.
TEST(WhySentences, NameAnAcceleratorUnlikeTheOthers) {
  const ordered_json why = of({piece("ring", "copy", "accelerator3", 700), piece("ring", "copy", "accelerator2", 300)});
  ordered_json values = {{"accelerator.copy_rate", {{"value", "400Gbps"}}},
                         {"others.0.first", {{"value", 3}}},
                         {"others.0.count", {{"value", 1}}},
                         {"others.0.accelerator.copy_rate", {{"value", "20Gbps"}}}};
  const std::string text = why_sentences(why, values, PathParts(why));
  EXPECT_NE(text.find("70.0 % of it is copies and sums of accelerators on accelerator3, whose accelerator.copy_rate is "
                      "20Gbps; that of the others is 400Gbps."),
            std::string::npos)
      << text;
  values["others.0.accelerator.copy_rate"]["value"] = "800Gbps";
  EXPECT_EQ(why_sentences(why, values, PathParts(why)).find("that of the others"), std::string::npos);
}

TEST(WhySentences, NameARankThatIsFarFromTheMedian) {
  ordered_json why =
      of({piece("forward", "kernel", "accelerator5", 900), piece("all-reduce", "queue", "nic0 out", 100)});
  why["computed"] = {{"median_ps", 400'000'000}, {"of", 8}, {"on_path", {{"accelerator5", 900'000'000}}}};
  EXPECT_EQ(
      told(why).find("The critical path is 1 ms long. accelerator5 computes 2.2 times as long as the median of the 8 "
                     "(400 us). 90.0 % of the path is in kernels there: computing."),
      0U)
      << told(why);
  why["computed"]["on_path"]["accelerator5"] = 404'000'000;
  EXPECT_NE(told(why).find("is on accelerator5, which computes 1.0 % longer than the median of the 8."),
            std::string::npos)
      << told(why);
  // Nothing is left out that is nothing.
  why["computed"]["on_path"]["accelerator5"] = 400'000'001;
  EXPECT_NE(told(why).find("is on accelerator5."), std::string::npos) << told(why);
}

TEST(WhySentences, NameAHostThatIsFarFromTheMedian) {
  ordered_json why =
      of({piece("CPU node", "software", "firmware5", 900), piece("forward", "kernel", "accelerator5", 400)});
  const auto hosts = [&why](std::int64_t median_ps) {
    why["hosts"] = {{"firmware", {{"median_ps", 1}, {"of", 8}, {"on_path", {{"firmware5", 1}}}}},
                    {"software", {{"median_ps", median_ps}, {"of", 8}, {"on_path", {{"firmware5", 900'000'000}}}}}};
    return told(why);
  };
  EXPECT_EQ(
      hosts(100'000'000)
          .find("The critical path is 1.3 ms long. The threads of firmware5 let time pass for 900 us, 9.0 times as "
                "long as the median of the 8 (100 us). 69.2 % of the path is that, mostly for CPU node."),
      0U)
      << told(why);
  EXPECT_NE(hosts(0).find("The threads of firmware5 let time pass for 900 us, the median of the 8 has none."),
            std::string::npos)
      << told(why);
  EXPECT_EQ(hosts(899'000'000).find("let time pass for"), std::string::npos) << told(why);
}

TEST(WhySentences, BeginWithTheLargestShare) {
  ordered_json why =
      of({piece("forward", "kernel", "accelerator0", 300), piece("all-reduce", "queue", "leaf0 to spine1", 600)});
  why["links"]["leaf0 to spine1"] = link(0.9, 0.1, 0);
  expect_order(told(why), "The link that holds it up most is leaf0 to spine1", "is in kernels");
  why["pieces"][0]["ps"] = 3'000'000'000;
  why["until_ps"] = 3'600'000'000;
  expect_order(told(why), "is in kernels", "The link that holds it up most is leaf0 to spine1");
  // What is nothing is not told of.
  why["pieces"][0]["ps"] = 100;
  EXPECT_EQ(told(why).find("in kernels"), std::string::npos) << told(why);
}

/// A link with a fault, or a slower one, is busy with others that wait for it: then it may be this one alone.
TEST(WhySentences, DoNotExcuseALinkThatIsAtFaultOrSlower) {
  ordered_json why = of(ordered_json::array({piece("all-reduce", "queue", "leaf0 to spine1", 600)}));
  ordered_json& its = why["links"]["leaf0 to spine1"];
  its = link(0.98, 0.89, 7);
  EXPECT_NE(
      told(why).find("It is busy 98 %; the median of the 8 that join the same is 89 %, so that it is not this one "
                     "alone."),
      std::string::npos)
      << told(why);
  its["had"] = 0.9;
  its["faults"] = {"slow"};
  EXPECT_NE(told(why).find("The fault slow left it 90 % of 400Gbps."), std::string::npos) << told(why);
  EXPECT_EQ(told(why).find("alone"), std::string::npos) << told(why);
  its["had"] = 1.0;
  its["rate"] = "360Gbps";
  EXPECT_NE(told(why).find("Its rate is 360Gbps, the median of those that join the same 400Gbps."), std::string::npos)
      << told(why);
  EXPECT_EQ(told(why).find("alone"), std::string::npos) << told(why);
  // Of links that are half idle.
  its = link(1, 0.5, 3);
  EXPECT_NE(told(why).find("It is busy 100 %, 3 of the 7 others that join the same are so; the median of all is 50 %."),
            std::string::npos)
      << told(why);
}

/// What each chunk takes: relays, firmware, and the start of copies. Of a collective of few chunks larger ones would be
/// no fewer.
TEST(WhySentences, TellThatChunksAreSmall) {
  ordered_json why = test::path();
  ordered_json& its = why["collectives"][0];
  its["bytes"] = 1 << 30;
  its["transfer"] = {test::piece("ring", "software", "firmware0", "", 900'000'000),
                     test::piece("ring", "queue", "nic0 out", "fabric", 1'500'000'000),
                     test::piece("ring", "copy", "accelerator0", "", 1'000'000'000)};
  ordered_json values = {{"collectives.algorithm", {{"value", "nccl"}}},
                         {"collectives.channels", {{"value", 0}}},
                         {"collectives.chunk", {{"value", "16KiB"}}},
                         {"accelerator.copy_rate", {{"value", "131072Mbps"}}},
                         {"accelerator.copy_overhead", {{"value", "9us"}}}};
  const auto said = [&] {
    std::string text = why_text(why, values);
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  };
  // Nine tenths of a copy are its start: 1.8 of 3.4 ms.
  EXPECT_NE(said().find("Of what large collectives take once all have come, 53 % is for what each chunk takes whatever "
                        "its size: collectives.chunk is 16KiB, and larger chunks are fewer."),
            std::string::npos)
      << said();
  values["collectives.chunk"]["value"] = "1MiB";
  EXPECT_EQ(said().find("collectives.chunk"), std::string::npos) << said();
  values["collectives.chunk"]["value"] = "16KiB";
  its["bytes"] = 1 << 20;
  EXPECT_EQ(said().find("collectives.chunk"), std::string::npos) << said();
  its["bytes"] = 1 << 30;
  values["collectives.algorithm"]["value"] = "halving-doubling";
  EXPECT_EQ(said().find("collectives.chunk"), std::string::npos) << said();
}

TEST(WhySentences, SayWhatSteadyHasLeftOut) {
  ordered_json why = of(ordered_json::array({piece("forward", "kernel", "accelerator0", 300)}));
  EXPECT_EQ(told(why).find("--steady"), std::string::npos);
  why["left_out_us"] = 900.0;
  EXPECT_EQ(
      told(why).find("The critical path is 300 us long. It is of what was simulated: --steady left out another 900 us, "
                     "75 % of the run."),
      0U)
      << told(why);
}

TEST(WhySentences, SayWhoseJobsThePathIsAndWhoseBytesPassedALink) {
  ordered_json why =
      of({piece("a: flow of 0 to 4", "queue", "leaf0 to spine1", 600), piece("b: x", "kernel", "accelerator2", 200)});
  why["jobs"] = {{"ends_with", "a"},
                 {"shares", {{{"job", "a"}, {"ps", 600'000'000}}, {{"job", "b"}, {"ps", 200'000'000}}}}};
  ordered_json& its = why["links"]["leaf0 to spine1"];
  its = link(1, 0.5, 3);
  its["carried"] = {{"bytes", 1000},
                    {"flow_count", 3},
                    {"flows",
                     {{{"from", "nic0"}, {"to", "nic4"}, {"share", 0.5}},
                      {{"from", "nic1"}, {"to", "nic4"}, {"share", 0.3}},
                      {{"from", "nic2"}, {"to", "nic6"}, {"share", 0.2}}}},
                    {"jobs", {{{"job", "a"}, {"share", 0.8}}, {{"job", "b"}, {"share", 0.2}}}}};
  why["computed"] = {{"median_ps", 1},
                     {"of", 8},
                     {"on_path", {{"accelerator2", 200'000'000}}},
                     {"job_of", {{"accelerator2", "b"}}},
                     {"jobs", {{"b", {{"median_ps", 100'000'000}, {"of", 4}}}}}};
  EXPECT_NE(told(why).find("It leads to the end of job a; 75.0 % of it is for a and 25.0 % of it is for b."),
            std::string::npos)
      << told(why);
  EXPECT_NE(
      told(why).find("It carried 80 % for a and 20 % for b. Its bytes are of nic0 to nic4 (50 %), nic1 to nic4 (30 %) "
                     "and nic2 to nic6 (20 %)."),
      std::string::npos)
      << told(why);
  EXPECT_NE(told(why).find("accelerator2 computes 2.0 times as long as the median of the 4 of b (100 us)."),
            std::string::npos)
      << told(why);
}

/// A screen, whatever a run has: the rest is for --all.
TEST(WhyText, FitsAScreen) {
  const std::string longest(90, 'x');
  ordered_json pieces = ordered_json::array();
  ordered_json links = ordered_json::object();
  for (int i = 0; i < 40; ++i) {
    const std::string place = "network." + longest + ".port" + std::to_string(i) + " to spine";
    for (const char* kind : {"queue", "serialisation", "propagation", "credit", "pipeline", "recovery", "firmware",
                             "software", "copy", "launch", "host link", "injection"}) {
      pieces.push_back(piece(("thread " + longest + std::to_string(i)).c_str(), kind, place, 100));
    }
    for (const char* kind : {"kernel", "memory"}) {
      pieces.push_back(
          piece(("kernel " + longest + std::to_string(i)).c_str(), kind, "accelerator" + std::to_string(i), 100));
    }
    links[place] = link(0.5, 0.5, 7);
    links[place]["carried"] = {
        {"bytes", 1}, {"flow_count", 12}, {"flows", {{{"from", longest}, {"to", longest}, {"share", 1.0}}}}};
  }
  ordered_json why = of(pieces);
  why["links"] = links;
  why["collectives"] = ordered_json::array();
  why["waits"] = ordered_json::array();
  for (int i = 0; i < 40; ++i) {
    const std::string place = "accelerator" + std::to_string(i);
    why["waits"].push_back({{"place", place}, {"ps", i}, {"for", {piece(longest.c_str(), "kernel", longest, 1)}}});
    why["collectives"].push_back({{"group", longest},
                                  {"operation", "all_reduce"},
                                  {"bytes", 1024},
                                  {"members", 4},
                                  {"calls", 8},
                                  {"ps", 4'000'000},
                                  {"late_ps", 800'000},
                                  {"transfer", {piece(longest.c_str(), "queue", longest, 1)}},
                                  {"last", {{{"rank", 3}, {"times", 2}, {"ps", 500'000}}}},
                                  {"lateness", ordered_json::array()}});
  }
  const auto lines_of = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const std::string screen = why_text(why, ordered_json::object());
  EXPECT_LE(lines_of(screen), 60 - 7);  // what weft why says behind it
  std::istringstream lines(screen);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120U) << line;
  }
  EXPECT_NE(screen.find("links that the path crosses"), std::string::npos) << screen;
  EXPECT_NE(screen.find("collectives, by member"), std::string::npos) << screen;
  EXPECT_NE(screen.find("accelerators' waits before kernels"), std::string::npos) << screen;
  const std::string all = why_text(why, ordered_json::object(), WhyText::kAll);
  EXPECT_GT(lines_of(all), 100);
  EXPECT_NE(all.find("kernel " + longest), std::string::npos);
}

}  // namespace
}  // namespace weft::platforms
