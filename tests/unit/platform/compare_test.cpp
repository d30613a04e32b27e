// SPDX-License-Identifier: Apache-2.0
// How two runs differ: in what was run, in their configurations and in what their times go to. With results made here.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "platforms/results/compare/changed.h"
#include "platforms/results/compare/compare.h"
#include "tests/support/why_path.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;
using test::path;
using test::values;

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

ordered_json field(const ordered_json& value, const char* source) {
  return {{"value", value}, {"source", source}};
}
RunResults run_of(const ordered_json& fields, const ordered_json& summary = {{"simulated_us", 100.0}}) {
  return {"run", summary, {{"values", fields}}, {}};
}
/// As weft collective --out leaves it.
RunResults collective_of(const char* op, const ordered_json& sizes, const char* algorithm = "ring") {
  ordered_json summary = {{"workload", {{"kind", "collective"}, {"op", op}}},
                          {"op", op},
                          {"type", "fp32"},
                          {"algorithm", "nccl"},
                          {"warm_up", true},
                          {"rows", ordered_json::array()}};
  double all = 0;
  for (const ordered_json& bytes : sizes) {
    all += bytes.get<double>() / 1000;
    summary["rows"].push_back({{"bytes", bytes}, {"time_us", bytes.get<double>() / 1000}, {"algorithm", algorithm}});
  }
  summary["simulated_us"] = all;
  return {op, summary, {{"values", {{"accelerators", field(8, "file")}}}}, {}};
}

/// Eleven defaults beside what was given.
ordered_json with_fault(ordered_json fields, const std::string& at, const char* link, double rate) {
  const std::string here = "fabric.faults." + at + ".";
  fields[here + "link"] = field(link, "command line");
  fields[here + "rate"] = field(rate, "command line");
  for (const char* key : {"bit_errors", "loss", "links", "jitter"}) fields[here + key] = field(0, "default");
  for (const char* key : {"from", "until", "every"}) fields[here + key] = field("0ps", "default");
  fields[here + "down"] = field(false, "default");
  return fields;
}

TEST(Compare, TellsOfAnotherCollective) {
  const RunResults gather = collective_of("all_gather", {1048576, 4194304});
  RunResults reduce = collective_of("all_reduce", {4194304});
  ordered_json comparison = compare_runs(gather, reduce);
  ASSERT_EQ(comparison["work"].size(), 2U) << comparison["work"];
  EXPECT_EQ(comparison["work"][0],
            ordered_json({{"what", "operation"}, {"before", "all_gather"}, {"after", "all_reduce"}}));
  EXPECT_EQ(comparison["work"][1]["what"], "sizes");
  EXPECT_TRUE(comparison["warnings"].empty());
  std::string text = compare_text(comparison);
  EXPECT_EQ(text.find("The configurations are the same"), std::string::npos) << text;
  EXPECT_NE(text.find("No field of the configurations differs."), std::string::npos) << text;
  EXPECT_LT(text.find("operation"), text.find("sizes")) << text;

  reduce = gather;
  reduce.summary["type"] = "bf16";
  reduce.summary["warm_up"] = false;
  comparison = compare_runs(gather, reduce);
  ASSERT_EQ(comparison["work"].size(), 2U);
  EXPECT_EQ(comparison["work"][0]["what"], "element type");
  EXPECT_EQ(comparison["work"][1]["what"], "warm-up");
  // Results of earlier versions do not say.
  reduce = gather;
  reduce.summary.erase("warm_up");
  EXPECT_TRUE(compare_runs(gather, reduce)["work"].empty());
  text = compare_text(compare_runs(gather, gather));
  EXPECT_NE(text.find("The configurations are the same."), std::string::npos) << text;
}

TEST(Compare, TellsOfAnotherVersion) {
  RunResults base = run_of({{"accelerators", field(8, "file")}});
  base.summary["weft"] = {{"version", "0.1.0"}, {"commit", "aaa"}};
  RunResults other = base;
  other.summary["weft"]["commit"] = "bbb";
  const ordered_json comparison = compare_runs(base, other);
  ASSERT_EQ(comparison["work"].size(), 1U);
  EXPECT_EQ(comparison["work"][0]["what"], "Weft");
  EXPECT_NE(compare_text(comparison).find("The configurations are the same."), std::string::npos);
}

TEST(Compare, WarnsOfRunsOfDifferentKinds) {
  RunResults run = run_of({{"accelerators", field(8, "file")}, {"workload.kind", field("fsdp", "file")}});
  run.summary["workload"] = {{"kind", "fsdp"}, {"model", "nano"}};
  const RunResults collective = collective_of("all_reduce", {1048576});
  ordered_json comparison = compare_runs(run, collective);
  ASSERT_EQ(comparison["warnings"].size(), 1U);
  EXPECT_EQ(comparison["warnings"][0],
            "These are runs of different kinds: run comes from weft run (workload fsdp), all_reduce from weft "
            "collective. They did different work.");
  EXPECT_EQ(comparison["work"][0]["what"], "command");
  EXPECT_NE(compare_text(comparison).find("These are runs of different kinds"), std::string::npos);
  // A workload without a config.json, and one that ended early.
  RunResults other = run;
  other.config = nullptr;
  other.summary["workload"]["kind"] = "kfac";
  other.summary["partial"] = {{"ended_by", "SIGINT"}, {"done", "half"}};
  run.config = nullptr;
  comparison = compare_runs(run, other);
  EXPECT_EQ(comparison["work"][0]["what"], "workload.kind");
  ASSERT_EQ(comparison["warnings"].size(), 2U);
  EXPECT_EQ(comparison["warnings"][1], "run was ended early by SIGINT: its time is that of what had run until then.");
  EXPECT_NE(compare_text(comparison).find("its configuration is not known"), std::string::npos);
}

TEST(Compare, HasARowForAnElementOfAList) {
  const ordered_json none = {{"fabric.faults", field(ordered_json::array(), "default")}};
  const RunResults base = run_of(none);
  const RunResults other = run_of(with_fault(ordered_json::object(), "0", "leaf0>spine1", 0.1));
  ordered_json changed = compare_runs(base, other)["changed"];
  ASSERT_EQ(changed.size(), 1U) << changed;
  EXPECT_EQ(changed[0]["field"], "fabric.faults.0");
  EXPECT_EQ(changed[0]["element"], "added");
  EXPECT_EQ(changed[0]["after"], ordered_json({{"link", "leaf0>spine1"}, {"rate", 0.1}}));
  std::string text = compare_text(compare_runs(base, other));
  EXPECT_NE(text.find("  fabric.faults.0: link leaf0>spine1, rate 0.1          added\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("[]"), std::string::npos) << text;
  text = compare_text(compare_runs(other, base));
  EXPECT_NE(text.find("link leaf0>spine1, rate 0.1          removed\n"), std::string::npos) << text;

  // What was the first is the second now.
  const RunResults two =
      run_of(with_fault(with_fault(ordered_json::object(), "0", "end3", 0.5), "1", "leaf0>spine1", 0.1));
  changed = compare_runs(other, two)["changed"];
  ASSERT_EQ(changed.size(), 1U) << changed;
  EXPECT_EQ(changed[0]["after"]["link"], "end3");
  // One that was changed.
  const RunResults slower = run_of(with_fault(ordered_json::object(), "0", "leaf0>spine1", 0.05));
  changed = compare_runs(other, slower)["changed"];
  ASSERT_EQ(changed.size(), 1U) << changed;
  EXPECT_EQ(changed[0], ordered_json({{"field", "fabric.faults.0.rate"}, {"before", 0.1}, {"after", 0.05}}));
  const RunResults elsewhere = run_of(with_fault(ordered_json::object(), "0", "end3", 0.05));
  changed = compare_runs(other, elsewhere)["changed"];
  ASSERT_EQ(changed.size(), 1U) << changed;
  EXPECT_EQ(changed[0]["element"], "changed");
  EXPECT_EQ(changed[0]["before"], ordered_json({{"link", "leaf0>spine1"}, {"rate", 0.1}}));
  EXPECT_EQ(changed[0]["after"], ordered_json({{"link", "end3"}, {"rate", 0.05}}));
  const RunResults turned =
      run_of(with_fault(with_fault(ordered_json::object(), "1", "end3", 0.5), "0", "leaf0>spine1", 0.1));
  changed = compare_runs(two, turned)["changed"];
  ASSERT_EQ(changed.size(), 1U) << changed;
  EXPECT_EQ(changed[0]["element"], "order");
}

TEST(Compare, HasARowForAListOfValues) {
  const RunResults base = run_of({{"collectives.order", field(ordered_json::array(), "default")}});
  RunResults other = run_of({{"collectives.order.0", field(2, "file")}, {"collectives.order.1", field(0, "file")}});
  const ordered_json changed = compare_runs(base, other)["changed"];
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0]["field"], "collectives.order");
  EXPECT_EQ(changed[0]["after"], ordered_json({2, 0}));
}

/// What somebody set comes first; defaults of what one run alone has are no change.
TEST(Compare, BeginsWithWhatSomebodySet) {
  const RunResults base = run_of({{"accelerator.clock", field("1GHz", "part a")},
                                  {"accelerators", field(8, "file")},
                                  {"workload.steps", field(1, "default")}});
  const RunResults other = run_of({{"accelerator.clock", field("2GHz", "part b")},
                                   {"accelerators", field(16, "command line")},
                                   {"workload.batch", field(1, "default")},
                                   {"workload.warmup", field(1, "default")}});
  const ordered_json comparison = compare_runs(base, other);
  ASSERT_EQ(comparison["changed"].size(), 2U) << comparison["changed"];
  EXPECT_EQ(comparison["changed"][0]["field"], "accelerators");
  EXPECT_EQ(comparison["defaults_of_one"], 3);
  const RunResults more = run_of({{"accelerators", field(8, "file")}, {"nic.new", field(0, "default")}});
  const std::string text = compare_text(compare_runs(run_of({{"accelerators", field(8, "file")}}), more));
  EXPECT_NE(text.find("The configurations are the same; one run alone has 1 field more, at defaults."),
            std::string::npos)
      << text;
}

TEST(Compare, HasTheTimeOfEachSizeOfACollective) {
  const RunResults base = collective_of("all_reduce", {1048576, 4194304});
  RunResults other = collective_of("all_reduce", {1048576, 4194304, 8388608}, "tree");
  other.summary["rows"][1]["time_us"] = 5000.0;
  other.summary["rows"][0]["algorithm"] = "ring";
  other.summary["simulated_us"] = 1048.576 + 5000.0 + 8388.608 + 3.0;
  const ordered_json comparison = compare_runs(base, other);
  const ordered_json& parts = comparison["parts"];
  ASSERT_EQ(parts.size(), 4U) << parts;
  EXPECT_EQ(parts[0]["part"], "8 MiB");
  EXPECT_TRUE(parts[0]["before_us"].is_null());
  EXPECT_EQ(parts[1]["part"], "4 MiB (ring, then tree)");
  EXPECT_NEAR(parts[1]["difference_us"].get<double>(), 805.696, 1e-9);
  EXPECT_EQ(parts[2]["part"], "1 MiB");
  EXPECT_EQ(parts[3]["part"], "outside of the rows");
  EXPECT_NEAR(parts[3]["difference_us"].get<double>(), 3, 1e-6);
  EXPECT_NE(compare_text(comparison).find("With --why in both runs"), std::string::npos) << compare_text(comparison);
}

/// Where nothing says what a difference goes to, that is said, and no table stands for it.
TEST(Compare, SaysWhereSummariesSayNothing) {
  const RunResults base = run_of({{"accelerators", field(8, "file")}});
  RunResults other = base;
  other.name = "other";
  other.summary["simulated_us"] = 110.0;
  std::string text = compare_text(compare_runs(base, other));
  std::replace(text.begin(), text.end(), '\n', ' ');
  EXPECT_EQ(text.find("what the difference is"), std::string::npos) << text;
  EXPECT_NE(text.find("The summaries do not say what the difference goes to. run and other have no critical path."),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace weft::platforms
