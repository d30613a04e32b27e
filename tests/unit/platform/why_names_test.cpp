// SPDX-License-Identifier: Apache-2.0
// Words of weft why: flows and groups by name, fields of programs, units, and what a table leaves out.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "platforms/results/what_if/advice.h"
#include "platforms/results/why/named.h"
#include "platforms/results/why/path_parts.h"
#include "platforms/results/why/why_sentences.h"
#include "platforms/results/why/why_text.h"
#include "sw/firmware/program_fields.h"
#include "tests/support/why_path.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using test::path;
using test::piece;

ordered_json flow(const char* from, const char* to, double share) {
  return {{"from", from}, {"to", to}, {"share", share}};
}
bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

/// What goes to several ends bears one name.
TEST(WhyNames, FlowsOfOneNameAreTogether) {
  ordered_json why = path();
  ordered_json& link = why["links"]["network.b.port7 to nic7"];
  link = {{"network", "fabric"},
          {"rate", "400Gbps"},
          {"utilisation", 0.5},
          {"alike", {{"links", 1}, {"median", 0.5}}},
          {"propagation", "10ns"},
          {"buffer", "1MiB"},
          {"carried",
           {{"bytes", 100},
            {"flow_count", 9},
            {"flows",
             {flow("nic0", "others", 0.25), flow("nic1", "nic7", 0.3), flow("nic0", "others", 0.25),
              flow("nic2", "nic7", 0.1)}}}}};
  const std::vector<NamedFlow> flows = flows_of(link);
  ASSERT_EQ(flows.size(), 3U);
  EXPECT_EQ(flows[0].name, "nic0 to others");
  EXPECT_DOUBLE_EQ(flows[0].share, 0.5);
  EXPECT_EQ(flows[0].flows, 2);
  EXPECT_TRUE(
      has(why_sentences(why, ordered_json::object(), PathParts(why)),
          "Its bytes are of nic0 to others (50 %), nic1 to nic7 (30 %), nic2 to nic7 (10 %) and 5 other flows."))
      << why_sentences(why, ordered_json::object(), PathParts(why));
  EXPECT_TRUE(has(why_text(why, ordered_json::object()), "nic0 to others 50 %, nic1 to nic7 30 %"));
}

TEST(WhyNames, CollectivesOfGroupsSayWhichTheyAre) {
  ordered_json why = path();
  why["pieces"][2]["about"] = "collectives of groups in dimension 0";
  ordered_json& collective = why["collectives"][0];
  EXPECT_EQ(most_of_groups(why), "");  // "world" is no group of a workload
  collective["group"] = "group 3";
  collective["bytes"] = 64 << 20;
  EXPECT_TRUE(has(why_sentences(why, ordered_json::object(), PathParts(why)),
                  "all of that is for collectives of groups in dimension 0, mostly all_gather of 64 MiB."))
      << why_sentences(why, ordered_json::object(), PathParts(why));
  why["collectives"].push_back(collective);
  why["collectives"][1]["operation"] = "all_reduce";
  EXPECT_EQ(most_of_groups(why), "");  // half each
}

TEST(WhyNames, TheMachineIsNamedByWhatItHas) {
  ordered_json values = {{"accelerators", {{"value", 1}}},
                         {"per_node", {{"value", 8}}},
                         {"fabric.topology", {{"value", "ring"}}},
                         {"fabric.hosts_per_leaf", {{"value", 32}}},
                         {"fabric.uplinks", {{"value", 4}}}};
  EXPECT_TRUE(why_text(path(), values).starts_with("1 accelerator, 8 a node, ring\n"));
  values["accelerators"]["value"] = 16;
  values["fabric.topology"]["value"] = "fat-tree";
  EXPECT_TRUE(why_text(path(), values).starts_with("16 accelerators, 8 a node, fat-tree, 32 ends a leaf, 4 uplinks\n"));
}

TEST(WhyNames, RatesHaveAUnitThatSuitsThem) {
  EXPECT_EQ(rate_in_bytes(0), "0.0 B/s");
  EXPECT_EQ(rate_in_bytes(999.9), "999.9 B/s");
  EXPECT_EQ(rate_in_bytes(999.96), "1.0 kB/s");
  EXPECT_EQ(rate_in_bytes(39.3e6), "39.3 MB/s");
  EXPECT_EQ(rate_in_bytes(369.5e9), "369.5 GB/s");
  EXPECT_EQ(rate_in_bytes(7e15), "7000.0 TB/s");
  // 1 KiB by 8 members of 4, 3.2 ms without the wait: 2.56 MB/s.
  EXPECT_TRUE(has(why_text(path(), ordered_json::object()), " 2.6 MB/s ")) << why_text(path(), ordered_json::object());
}

TEST(WhyNames, TimesOfProgramsHaveTheirFields) {
  ordered_json why = path();
  why["pieces"][2] = piece("server of rank", "software", "firmware0", "", 200'000'000);
  why["pieces"].push_back(piece("a ring: allgather", "software", "firmware0", "", 90'000'000));
  why["pieces"].push_back(piece("kfac rank launch", "software", "firmware0", "", 10'000'000));
  const ordered_json values = {{"workload.bandwidth", {{"value", "10MHz"}}},
                               {"workload.launch", {{"value", "5us"}}},
                               {"workload.negotiation", {{"value", "0ps"}}},
                               {"collectives.entry", {{"value", "11us"}}}};
  EXPECT_EQ(fields_of_programs(why, values), "workload.bandwidth 10MHz");  // 3 % is not told of
  EXPECT_TRUE(has(why_text(why, values), "workload.bandwidth 10MHz\n")) << why_text(why, values);
  why["pieces"][4] = piece("kfac rank all-reduce", "software", "firmware0", "", 110'000'000);
  EXPECT_EQ(fields_of_programs(why, values), "workload.bandwidth 10MHz, collectives.entry 11us");
  EXPECT_EQ(fields_of_programs(why, ordered_json::object()), "");
}

/// Threads of a collective bear its group's name, and those of several jobs the job's. Of fields for the same threads
/// the one is named that is as long as they let pass.
TEST(WhyNames, TimesOfCollectivesHaveTheirFields) {
  const ordered_json values = {{"accelerator.relay", {{"value", "10.6us"}}},
                               {"accelerator.word_relay", {{"value", "3us"}}},
                               {"accelerator.line_relay", {{"value", "4800ns"}}},
                               {"collectives.entry", {{"value", "1ms"}}}};
  const auto fields = [&values](const char* about, std::int64_t ps) {
    ordered_json why = path();
    why["pieces"][2] = piece(about, "software", "firmware0", "", ps);
    why["pieces"][2]["times"] = 100;
    return fields_of_programs(why, values);
  };
  EXPECT_EQ(fields("shards ring: reduce-scatter", 1'060'000'000), "accelerator.relay 10.6us");
  EXPECT_EQ(fields("job: shards ring: allgather", 480'000'000), "accelerator.line_relay 4800ns");
  EXPECT_EQ(fields("world tree: all-reduce", 300'000'000), "accelerator.word_relay 3us");
  EXPECT_EQ(fields("world tree: all-reduce", 400'000'000), "accelerator.relay 10.6us");  // of several kinds
  EXPECT_EQ(fields("fsdp rank communication", 100'000'000'000), "collectives.entry 1ms");
  EXPECT_EQ(fields("job: fsdp rank communication", 100'000'000'000), "collectives.entry 1ms");
  EXPECT_EQ(fields("collectives of groups", 100'000'000'000), "collectives.entry 1ms");
  EXPECT_EQ(fields("what nobody knows: this", 100'000'000'000), "");
}

/// A program that is defined elsewhere says which field its time follows.
TEST(WhyNames, AProgramOfAUsersOwnHasItsField) {
  static const firmware::ProgramFields kOwn({"patient thread"}, {"workload.first", "workload.second"});
  ordered_json why = path();
  why["pieces"][2] = piece("patient thread", "software", "firmware0", "", 300'000'000);
  const ordered_json values = {{"workload.first", {{"value", "0ps"}}}, {"workload.second", {{"value", "5us"}}}};
  EXPECT_EQ(fields_of_programs(why, values), "workload.second 5us");
  EXPECT_THROW(firmware::ProgramFields({"patient thread"}, {"workload.third"}), std::invalid_argument);
  EXPECT_TRUE(firmware::ProgramFields::of("another thread").empty());
}

TEST(WhyNames, WhatIsWrittenAsNothingHasNoBar) {
  const auto row = [](const char* name, std::int64_t ps) {
    return ordered_json{{"name", name}, {"words", name}, {"little_ps", ps}, {"twice_ps", ps}, {"loose", false}};
  };
  std::string text = advice_text({{"before_ps", 1'000'000}, {"resources", {row("firmware", 999'900)}}});
  EXPECT_TRUE(has(text, "0.0 %")) << text;
  EXPECT_FALSE(has(text, "#")) << text;
  text = advice_text({{"before_ps", 1'000'000}, {"resources", {row("hbm", 990'000), row("firmware", 999'900)}}});
  EXPECT_EQ(std::count(text.begin(), text.end(), '#'), 20) << text;
}

}  // namespace
}  // namespace weft::platforms
