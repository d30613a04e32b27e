// SPDX-License-Identifier: Apache-2.0
// weft run --why and weft why: the critical path adds up, changes nothing, and names what holds a run up. Runs the
// binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

class WhyCli : public test::CliTest {
 protected:
  WhyCli() {
    // Eight ends at two switches.
    write("two.json", R"json({"name": "two", "accelerators": 8, "per_node": 1, "accelerator": "h100-sxm",
        "nic": "connectx-7",
        "fabric": {"topology": "graph", "segment": "16KiB", "link": {"rate": "400Gbps", "propagation": "500ns"},
                   "edges": ["end0 - a", "end1 - a", "end2 - a", "end3 - a", "end4 - b", "end5 - b", "end6 - b",
                             {"between": "end7 - b", "link": {"rate": "400Gbps"}}, "a - b", "a - b", "a - b", "a - b"]},
        "workload": {"kind": "fsdp", "model": "nano", "sequences": 1, "sequence": 128}})json");
  }
  json why(const std::string& arguments) {
    const Ran ran = weft("run --timeline-ranks 0 --out out --why " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(test::read_file(folder_ / "work" / "out" / "why.json"));
  }
  static std::int64_t sum(const json& why) {
    std::int64_t all = 0;
    for (const json& piece : why["pieces"]) all += piece["ps"].get<std::int64_t>();
    return all;
  }
  /// What most of the path goes to, by one of the names of pieces.
  static std::string worst(const json& why, const std::string& by, bool on_link = false) {
    std::map<std::string, std::int64_t> sums;
    for (const json& piece : why["pieces"]) {
      if (!on_link || piece["on_link"] == true) sums[piece[by]] += piece["ps"].get<std::int64_t>();
    }
    std::string name;
    for (const auto& [each, ps] : sums) {
      if (name.empty() || ps > sums[name]) name = each;
    }
    return name;
  }
};

TEST_F(WhyCli, AddsUpToTheRunAndChangesNothing) {
  for (const std::string platform : {"../small.json --set workload.model=nano", "../two.json"}) {
    SCOPED_TRACE(platform);
    const json plain = run_json(platform);
    const json path = why(platform);
    const json with = json::parse(weft("run --why --json " + platform).out);
    EXPECT_EQ(with["simulator"]["digest"], plain["simulator"]["digest"]);
    EXPECT_EQ(path["from_ps"], 0);
    EXPECT_DOUBLE_EQ(path["until_ps"].get<double>() * 1e-6, plain["simulated_us"].get<double>());
    EXPECT_EQ(sum(path), path["until_ps"].get<std::int64_t>());
  }
}

TEST_F(WhyCli, NamesASlowLink) {
  const json path = why("../two.json --set fabric.edges.7.link.rate=20Gbps");
  EXPECT_EQ(worst(path, "kind"), "queue");
  EXPECT_EQ(worst(path, "place", true), "network.b.port7 to nic7");
  const Ran told = weft("why out");
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_NE(told.out.find("\nThe critical path is "), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("network.b.port7 to nic7, for "), std::string::npos) << told.out;
  EXPECT_EQ(json::parse(weft("why out --json").out), path);
}

TEST_F(WhyCli, NamesTheMemoryThatKernelsWaitFor) {
  EXPECT_EQ(worst(why("../two.json --set accelerator.hbm.rate=100Gbps"), "kind"), "memory");
  EXPECT_NE(weft("why out").out.find(" waiting for HBM"), std::string::npos);
}

TEST_F(WhyCli, NamesAStarvedBuffer) {
  const json path =
      why("../two.json --set fabric.edges.7.link.propagation=20us --set fabric.edges.7.link.buffer=64KiB");
  EXPECT_EQ(worst(path, "place", true), "network.b.port7 to nic7");
  std::int64_t credit = 0;
  for (const json& piece : path["pieces"]) {
    if (piece["kind"] == "credit" && piece["place"] == "network.b.port7 to nic7")
      credit += piece["ps"].get<std::int64_t>();
  }
  EXPECT_GT(credit, sum(path) / 5);
  EXPECT_NE(weft("why out").out.find("waiting for buffers behind links"), std::string::npos);
}

/// What is foretold is what comes, where nothing else takes over.
TEST_F(WhyCli, ForetellsAChangeAndSimulatesIt) {
  const json path = why("../two.json --set fabric.edges.7.link.rate=20Gbps");
  const json rows = json::parse(weft("why out --what-if hbm=x2 --what-if launch=x2,link=x0.5 --verify --json").out);
  ASSERT_EQ(rows.size(), 2U);
  for (const json& row : rows) {
    const auto simulated = row["simulated_ps"].get<double>();
    if (row["loose"] == false) {
      EXPECT_NEAR(row["estimate_ps"].get<double>() / simulated, 1, 0.05) << row;
    }
  }
  EXPECT_EQ(rows[0]["before_ps"], sum(path));
  const Ran told = weft("why out --what-if hbm=x2 --verify");
  EXPECT_NE(told.out.find("estimate is off by"), std::string::npos) << told.out;
  EXPECT_NE(weft("why out --advise").out.find("what more of it would save"), std::string::npos);
}

/// What is simulated is within the bounds where no order changes; a time that is halved is shorter.
TEST_F(WhyCli, TellsBounds) {
  why("../two.json --set fabric.edges.7.link.rate=20Gbps --set fabric.link.propagation=3us");
  const std::string changes =
      "why out --what-if hbm=x2 --what-if fabric.link.propagation=x0.5 --what-if cable=x2 --what-if link=x0.5 --verify";
  const json rows = json::parse(weft(changes + " --json").out);
  ASSERT_EQ(rows.size(), 4U);
  for (const json& row : rows) {
    const auto estimate = row["estimate_ps"].get<std::int64_t>();
    EXPECT_LE(row["least_ps"].get<std::int64_t>(), estimate) << row;
    if (row["most_ps"].is_null()) continue;
    EXPECT_GE(row["most_ps"].get<std::int64_t>(), estimate) << row;
    EXPECT_GE(row["simulated_ps"].get<double>(), 0.99 * row["least_ps"].get<double>()) << row;
    EXPECT_LE(row["simulated_ps"].get<double>(), 1.01 * row["most_ps"].get<double>()) << row;
  }
  EXPECT_EQ(rows[1]["simulated_with"][0]["value"], "1.5us");
  EXPECT_EQ(rows[1]["simulated_ps"], rows[2]["simulated_ps"]);
  EXPECT_LT(rows[1]["simulated_ps"], rows[1]["before_ps"]);
  const Ran told = weft(changes);
  EXPECT_NE(told.out.find("bounds"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find(" ms to "), std::string::npos) << told.out;
}

/// As far as fields can go, which is said.
TEST_F(WhyCli, SimulatesWhatTheFieldsOfAResourceAllow) {
  why("../two.json --set nic.pcie.generation=5 --set fabric.edges.7.link.rate=20Gbps");
  std::string changes;
  for (const char* name : {"compute", "hbm", "launch", "copy", "nic", "link", "cable", "switch", "firmware"}) {
    changes += std::string(" --what-if ") + name + "=inf --what-if " + name + "=x4";
  }
  const Ran all = weft("why out --verify --json" + changes);
  ASSERT_EQ(all.code, 0) << all.err;
  for (const json& row : json::parse(all.out)) {
    EXPECT_GT(row["simulated_ps"], 0) << row;
    EXPECT_FALSE(row["simulated_with"].empty()) << row;
  }
  const Ran told = weft("why out --what-if nic=x4 --verify");
  EXPECT_NE(told.out.find("nic=x4 was simulated with nic.pcie.lanes=32 (not 64), which is nic=x"), std::string::npos)
      << told.out;
  EXPECT_EQ(weft("why out --what-if cable=x4 --verify").out.find("was simulated with"), std::string::npos);
}

/// What cannot be simulated does not keep the others from it.
TEST_F(WhyCli, TellsWhyAChangeIsNotSimulated) {
  why("../two.json --set fabric.edges.7.link.rate=20Gbps");
  const std::string changes = "why out --what-if uplink=x2 --what-if hbm=x2 --verify";
  const Ran told = weft(changes);
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_NE(told.out.find("Not simulated: no setting makes uplink=x2: fabric.uplinks is"), std::string::npos)
      << told.out;
  const json rows = json::parse(weft(changes + " --json").out);
  ASSERT_EQ(rows.size(), 2U);
  const Ran none = weft("why out --what-if uplink=x2 --verify");
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.err, "weft: No change was simulated.\n");
  EXPECT_NE(none.out.find("Not simulated: no setting makes uplink=x2"), std::string::npos) << none.out;
  EXPECT_EQ(weft("why out --what-if uplink=x2").code, 0);
  EXPECT_EQ(rows[0].count("simulated_ps"), 0U) << rows[0];
  EXPECT_GT(rows[1]["simulated_ps"], 0);
}

TEST_F(WhyCli, TellsOfAChangeWhoseRunFails) {
  why("../small.json --set fabric.uplinks=1");
  const Ran told = weft("why out --what-if uplink=x8 --what-if hbm=x2 --verify");
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_NE(told.out.find("Not simulated: the run with this change failed:"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("expected less than the 4 ports of a leaf"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("  hbm=x2 "), std::string::npos) << told.out;
}

/// A report of a deadlock has lines of its own.
TEST_F(WhyCli, LeavesTheLinesOfARunThatFails) {
  // Answers come behind a slow link, so late that repeats are over before; and packets are lost.
  why("../two.json --set fabric.edges.7.link.rate=20Gbps --set nic.recovery=true --set "
      "'fabric.faults=[{\"link\":\"end7\",\"loss\":0.002}]'");
  const Ran told = weft("why out --what-if nic.ack_timeout=x0.05 --verify");
  EXPECT_EQ(told.code, 1);
  EXPECT_NE(told.out.find("Not simulated: the run with this change failed:\n  "), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("\n  deadlock: nothing can happen any more, and this is unfinished:\n    "),
            std::string::npos)
      << told.out;
}

TEST_F(WhyCli, ComparesCollectives) {
  const auto collective = [this](const char* arguments) {
    const Ran ran = weft(std::string("collective ../two.json --bytes 64KiB,1MiB ") + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
  };
  collective("--op all_gather --out gather");
  collective("--op all_reduce --out reduce");
  collective("--op all_gather --out cold --no-warmup");
  json comparison = json::parse(weft("compare gather reduce --json").out)[0];
  EXPECT_EQ(comparison["work"],
            json::parse(R"json([{"what": "operation", "before": "all_gather", "after": "all_reduce"}])json"));
  EXPECT_TRUE(comparison["changed"].empty());
  ASSERT_GE(comparison["parts"].size(), 2U);
  EXPECT_EQ(comparison["parts"][0]["part"], "1 MiB");
  comparison = json::parse(weft("compare gather cold --json").out)[0];
  EXPECT_EQ(comparison["work"], json::parse(R"json([{"what": "warm-up", "before": true, "after": false}])json"));
  why("../two.json");
  const std::string told = weft("compare out gather").out;
  EXPECT_NE(told.find("These are runs of different kinds: out comes from weft run (workload fsdp), gather from weft"),
            std::string::npos)
      << told;
  weft(
      "run --timeline-ranks 0 --out sick --why ../two.json --set "
      "'fabric.faults=[{\"link\":\"end7\",\"rate\":0.1}]'");
  const std::string faults = weft("compare out sick").out;
  EXPECT_NE(faults.find("\n  fabric.faults.0: link end7, rate 0.1          added\n"), std::string::npos) << faults;
}

TEST_F(WhyCli, ComparesTwoRunsWholly) {
  why("../two.json");
  weft("run --timeline-ranks 0 --out slow --why ../two.json --set fabric.edges.7.link.rate=20Gbps");
  const json comparison = json::parse(weft("compare out slow --json").out)[0];
  EXPECT_EQ(comparison["changed"].size(), 1U);
  EXPECT_EQ(comparison["changed"][0]["field"], "fabric.edges.7.link.rate");
  EXPECT_EQ(comparison["parts"][0]["part"], "bytes on links");
  double all = 0;
  for (const json& part : comparison["parts"]) all += part["difference_us"].get<double>();
  EXPECT_NEAR(all, comparison["difference_us"].get<double>(), 1e-6);
  EXPECT_EQ(weft("compare out slow").code, 0);
  std::filesystem::create_directories(folder_ / "work" / "old");
  write("work/old/summary.json",
        R"json({"weft": {"version": "0.1.0", "commit": "0", "schema": 1}, "platform": "x"})json");
  const Ran other = weft("compare out old");
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.err, "weft: old/summary.json: simulated_us: expected a number, got none\n");
  EXPECT_EQ(weft("compare out out --tolerance 0").code, 0);
  for (const char* wrong : {"-1", "nan", "much"}) {
    const Ran refused = weft(std::string("compare out slow --tolerance ") + wrong);
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("--tolerance"), std::string::npos) << refused.err;
  }
  const Ran beyond = weft("compare out slow --tolerance 5");
  EXPECT_EQ(beyond.code, 1);
  json edited = json::parse(test::read_file(folder_ / "work" / "slow" / "why.json"));
  edited["left_out_us"] = "much";
  write("work/slow/why.json", edited.dump());
  const Ran wrong = weft("compare out slow");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err, "weft: slow/why.json: left_out_us: expected a number that is not negative, got \"much\"\n");
  EXPECT_NE(beyond.err.find("beyond --tolerance 5"), std::string::npos) << beyond.err;
}

TEST_F(WhyCli, TellsOfTheRowsOfACollective) {
  const Ran ran = weft("collective ../two.json --op all_reduce --bytes 1MiB,4MiB --why --out out");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("The critical path is "), std::string::npos) << ran.out;
  const json path = json::parse(test::read_file(folder_ / "work" / "out" / "why.json"));
  EXPECT_EQ(sum(path), path["until_ps"].get<std::int64_t>() - path["from_ps"].get<std::int64_t>());
  EXPECT_EQ(path["training_steps_ps"].size(), 2U);
  std::int64_t first = 0;
  for (const json& piece : path["pieces"]) {
    if (piece["step"] == 1) first += piece["ps"].get<std::int64_t>();
  }
  EXPECT_EQ(first, path["training_steps_ps"][0].get<std::int64_t>() - path["from_ps"].get<std::int64_t>());
  EXPECT_EQ(path["collectives"][0]["members"], 8);
  for (const char* file : {"links.csv", "config.json", "timeline.pftrace.gz"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "work" / "out" / file)) << file;
  }
  EXPECT_EQ(weft("collective ../two.json --op all_reduce --bytes 1MiB --out out").code, 0);  // in the place of those
}

/// Passes over memory do not follow the rates of tensor cores, which tables would name first.
TEST_F(WhyCli, NamesWhatKernelsOfCompressorsFollow) {
  const auto ignored = [this](const char* method) {
    const Ran ran = weft(
        std::string("collective ../two.json --op all_reduce --bytes 1MiB --why --out out --compression ") + method);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const std::string line = ran.out.substr(ran.out.find("what the path goes to"));
    return std::pair(json::parse(test::read_file(folder_ / "work" / "out" / "why.json"))["kernels_ignore"],
                     line.substr(0, line.find("\n\n")));
  };
  const auto [by_passes, passes] = ignored("top-k");
  EXPECT_EQ(by_passes.front(), "accelerator.compute.tensor_16bit");
  EXPECT_EQ(std::count(by_passes.begin(), by_passes.end(), "accelerator.compute.vector_fp32"), 0);
  EXPECT_EQ(std::count(by_passes.begin(), by_passes.end(), "accelerator.compute.panel_step"), 1);  // behind that
  EXPECT_EQ(passes.find("tensor_16bit"), std::string::npos) << passes;
  EXPECT_NE(passes.find("accelerator.compute.vector_fp32"), std::string::npos) << passes;
  EXPECT_TRUE(ignored("none").first.empty());
}

TEST_F(WhyCli, TellsOfTheTrainingStepsOfEachKindOfWorkload) {
  for (const std::string workload : {R"json({"kind": "fsdp", "model": "nano", "sequences": 1, "sequence": 64})json",
                                     R"json({"kind": "kfac", "network": "nano-conv"})json",
                                     R"json({"kind": "transformer", "model": "nano", "sequence": 64, "batch": 4,
                                             "parallel": "tp=2,pp=2,fsdp=2"})json"}) {
    SCOPED_TRACE(workload);
    json platform = json::parse(test::read_file(folder_ / "two.json"));
    platform["workload"] = json::parse(workload);
    platform["workload"]["steps"] = 3;
    write("three_steps.json", platform.dump());
    const json path = why("../three_steps.json");
    const json& ends = path["training_steps_ps"];
    ASSERT_EQ(ends.size(), 3U);
    std::map<int, std::int64_t> by_step;
    for (const json& piece : path["pieces"]) by_step[piece["step"].get<int>()] += piece["ps"].get<std::int64_t>();
    std::int64_t begin = path["from_ps"].get<std::int64_t>();
    for (int step = 1; step <= 3; ++step) {
      const std::int64_t end = ends[static_cast<std::size_t>(step) - 1].get<std::int64_t>();
      EXPECT_GT(end, begin);
      EXPECT_EQ(by_step[step], end - begin) << step;
      begin = end;
    }
  }
}

/// Where costs are measured first, that is no part of it, nor of the tables.
TEST_F(WhyCli, IsAsLongAsTheStepsOfSecondOrderTraining) {
  for (const std::string algorithm : {"spd", "d", "kaisa", "sgd"}) {
    SCOPED_TRACE(algorithm);
    json platform = json::parse(test::read_file(folder_ / "two.json"));
    platform["workload"] = {{"kind", "kfac"}, {"network", "nano-conv"}, {"algorithm", algorithm}, {"steps", 2}};
    write("second.json", platform.dump());
    const json path = why("../second.json");
    const json summary = json::parse(test::read_file(folder_ / "work" / "out" / "summary.json"));
    EXPECT_EQ(summary["prepared"].is_null(), algorithm != "spd");
    double steps = 0;
    for (const json& us : summary["steps_us"]) steps += us.get<double>() * 1e6;
    EXPECT_EQ(sum(path), std::llround(steps));
    ASSERT_EQ(path["waits"].size(), 8U);
    for (const json& wait : path["waits"]) EXPECT_LT(wait["ps"], sum(path)) << wait["place"];
    ASSERT_FALSE(path["collectives"].empty());
    std::int64_t all = 0;
    for (const json& spent : path["collectives"]) all += spent["ps"].get<std::int64_t>() / 8;
    // AllReduces and Broadcasts have a thread each.
    EXPECT_LT(all, 2 * sum(path));
  }
}

/// Whatever hands over the kernels: what a cap of the clock adds is what the run takes longer.
TEST_F(WhyCli, SeesCapsInEachKindOfWorkload) {
  const auto share = [this](const json& workload) {
    json platform = json::parse(test::read_file(folder_ / "small.json"));
    platform["workload"] = workload;
    platform["collectives"] = {{"algorithm", "nccl"}};
    if (workload["kind"] == "graph-sampling") {
      platform["remote_memory"] = {{"kind", "per-accelerator"}, {"capacity", "1GiB"}, {"rate", "12GB/s"}};
    }
    write("held.json", platform.dump());
    const auto length = [](const json& path) {
      return path["until_ps"].get<std::int64_t>() - path["from_ps"].get<std::int64_t>();
    };
    const json path = why("../held.json --set accelerator.compute.clock_cap=345MHz");
    EXPECT_EQ(sum(path), length(path));
    std::int64_t capped = 0;
    for (const json& piece : path["pieces"]) capped += piece["kind"] == "cap" ? piece["ps"].get<std::int64_t>() : 0;
    const std::int64_t longer = length(path) - length(why("../held.json --set accelerator.compute.power.cap=0W"));
    EXPECT_GT(longer, length(path) / 10);
    return static_cast<double>(capped) / static_cast<double>(longer);
  };
  for (const char* workload :
       {R"json({"kind": "fsdp", "model": "gpt2", "layers": 1, "sequence": 512})json",
        R"json({"kind": "transformer", "model": "gpt2", "layers": 1, "sequence": 512, "batch": 4,
                "parallel": "tp=2,fsdp=2"})json",
        R"json({"kind": "kfac", "network": "resnet50", "batch": 8})json",
        R"json({"kind": "pipeline", "model": "gpt2", "sequence": 512, "batch": 8})json",
        R"json({"kind": "recommender", "tables": 8, "rows": 1000, "batch": 8192})json",
        R"json({"kind": "graph-sampling", "batch": 64, "fan_outs": [5, 3], "hidden": 16384, "batches": 4,
                "samplers": 3, "launch": "0us",
                "graph": {"nodes": 5000, "edges": 60000, "training": 1000, "features": 32, "classes": 5}})json"}) {
    SCOPED_TRACE(workload);
    EXPECT_NEAR(share(json::parse(workload)), 1, 0.03);
  }
}

// The rate of the precision that kernels have; kernels of a given length follow none.
TEST_F(WhyCli, NamesTheRateThatKernelsFollow) {
  const auto computing = [this](const std::string& run) {
    const std::string out = weft("run " + run + " --why").out;
    const std::size_t at = out.find("\n  computing ");
    return out.substr(at + 1, out.find('\n', at + 1) - at);
  };
  const std::string single = computing("resnet50-dp-8xv100-topk --set workload.network=nano-conv");
  EXPECT_NE(single.find(" accelerator.compute.vector_fp32 "), std::string::npos) << single;
  const std::string half = computing("../small.json --set workload.model=nano");
  EXPECT_NE(half.find(" accelerator.compute.tensor_16bit "), std::string::npos) << half;
  const std::string given = computing("edge-12-workers --set workload.parameters=1000");
  EXPECT_EQ(given.find("accelerator."), std::string::npos) << given;
}

// What no kernel of a run follows changes nothing, neither in the estimate nor in the run.
TEST_F(WhyCli, AFasterArrayDoesNotShortenKernelsOfAGivenLength) {
  ASSERT_EQ(weft("run edge-12-workers --set workload.parameters=1000 --why --out edge").code, 0);
  const json row = json::parse(weft("why edge --what-if compute=x2 --verify --json").out)[0];
  EXPECT_EQ(row["estimate_ps"], row["before_ps"]);
  EXPECT_EQ(row["simulated_ps"], row["before_ps"]);
  EXPECT_EQ(row["kernels_ignore"], "compute=x2");
  EXPECT_NE(weft("why edge --what-if compute=x2").out.find("compute=x2: no kernel of this run follows that"),
            std::string::npos);
  EXPECT_FALSE(json::parse(weft("why edge --what-if firmware=x2 --json").out)[0].contains("kernels_ignore"));
}

/// The field that sets it, by its effect.
TEST_F(WhyCli, NamesTheFieldThatProgramsFollow) {
  const auto software = [this](const std::string& more) {
    std::int64_t ps = 0;
    const json path = why("edge-12-workers --set workload.rounds=2" + more);
    for (const json& piece : path["pieces"]) {
      if (piece["kind"] == "software") ps += piece["ps"].get<std::int64_t>();
    }
    return ps;
  };
  const std::int64_t with = software("");
  EXPECT_NE(weft("why out").out.find("  workload.bandwidth 10MHz\n"), std::string::npos) << weft("why out").out;
  EXPECT_LT(software(" --set workload.bandwidth=40MHz"), with / 2);
}

/// In collectives it is the entry, and what each step waits for hosts.
TEST_F(WhyCli, NamesTheFieldsThatCollectivesFollow) {
  for (const char* const command : {"run ../two.json", "collective ../two.json --op reduce_scatter --bytes 1MiB",
                                    "run ../small.json --set workload.kind=transformer --set "
                                    "workload.parallel=tp=2,fsdp=2 --set workload.library=communicators"}) {
    for (const char* const field : {"collectives.entry", "accelerator.relay"}) {
      const Ran ran = weft(std::string(command) + " --out out --why --set " + field + "=300us");
      ASSERT_EQ(ran.code, 0) << ran.err;
      const std::string text = weft("why out").out;
      EXPECT_NE(text.find(std::string("  ") + field + " 300us"), std::string::npos) << command << "\n" << text;
    }
  }
}

/// What interfaces send to themselves, and what they serve groups with, is known of a run.
TEST_F(WhyCli, BoundsHoldWhereInterfacesLoopAndServeGroups) {
  struct Changed {
    const char* run;
    const char* used;
    const char* change;
  };
  for (const Changed& each : {Changed{"bluefield-3-pair --op all_gather --bytes 4MiB,16MiB", "nic", "nic=x0.5"},
                              Changed{"dgx-h100 --op all_reduce --bytes 64MiB", "port-group", "port-group=x2"},
                              Changed{"dgx-h100 --op all_reduce --bytes 64MiB", "port-group", "port-group=x0.5"}}) {
    EXPECT_EQ(weft("collective " + std::string(each.run) + " --why --out groups").code, 0);
    const json why = json::parse(test::read_file(folder_ / "work/groups/why.json"));
    EXPECT_GT(why["used_ps"][each.used].get<std::int64_t>(), 0) << each.run;
    const json row = json::parse(weft("why groups --verify --json --what-if " + std::string(each.change)).out).front();
    const double simulated = row["simulated_ps"];
    EXPECT_GE(simulated, 0.995 * row["least_ps"].get<double>()) << row;
    ASSERT_FALSE(row["most_ps"].is_null()) << row;
    EXPECT_LE(simulated, 1.005 * row["most_ps"].get<double>()) << row;
  }
}

TEST_F(WhyCli, RefusesByName) {
  Ran ran = weft("why nothing");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "weft: nothing: expected a folder of results of weft run, or of weft collective --out, got no such file or "
            "directory\n");
  weft("run ../small.json --set workload.model=nano --out plain");
  ran = weft("why plain");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: OUT: plain has no why.json, which weft run --why writes\n");
  write("work/plain/why.json", "{}");
  ran = weft("why plain");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: plain/why.json: from_ps: expected a value, got none\n");
  ran = weft("why out --verify");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: --verify: expected --what-if with it\n");
  why("../small.json --set workload.model=nano");
  ran = weft("why out --what-if hbm=x2,hbm=x4");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: --what-if: expected each name once, got hbm twice\n");
  ran = weft("why out --what-if turbo=x2");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(ran.err.starts_with("weft: --what-if: expected one of compute, ")) << ran.err;
  ran = weft("compare out");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: OUT: expected at least two folders of results\n");
  ran = weft("collective themis-2d-sw-sw --op all_reduce --out results");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: --out: expected a machine of modules, got an analytical network\n");
  ran = weft("run themis-2d-sw-sw --why");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: --why: expected a machine of modules, got an analytical network\n");
}

}  // namespace
}  // namespace weft
