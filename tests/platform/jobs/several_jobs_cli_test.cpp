// SPDX-License-Identifier: Apache-2.0
// Several jobs on one machine: what they have of it, and what they cost each other. Runs the binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using test::Ran;

/// Eight accelerators on four leaves, two on each, which share one way up.
class SeveralJobs : public test::CliTest {
 protected:
  SeveralJobs() {
    write("sum.json", R"({"metadata": {"version": "0.0.4"}, "nodes": [
        {"id": 0, "name": "sum", "type": "COMM_COLL_NODE",
         "attr": [{"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 16777216}]}]})");
  }
  /// An AllReduce of 16 MiB.
  static ordered_json sum() { return {{"kind", "chakra"}, {"traces", "sum.json"}, {"library", "communicators"}}; }
  static ordered_json training(int layers = 1) {
    return {{"kind", "fsdp"}, {"model", "nano"}, {"layers", layers}, {"sequence", 128}};
  }
  static ordered_json job(ordered_json where, ordered_json workload) {
    where["workload"] = std::move(workload);
    return where;
  }
  void platform(const ordered_json& jobs, const ordered_json& more = ordered_json::object()) {
    ordered_json all = {{"name", "several"},
                        {"accelerators", 8},
                        {"per_node", 1},
                        {"accelerator", "h100-sxm"},
                        {"nic", "connectx-7"},
                        {"fabric", {{"topology", "fat-tree"}, {"radix", 4}, {"hosts_per_leaf", 2}, {"uplinks", 1}}},
                        {"workload", {{"kind", "jobs"}, {"jobs", jobs}}}};
    all.update(more);
    write("several.json", all.dump(1));
  }
  json jobs(const std::string& options = "") { return run_json("../several.json " + options)["jobs"]; }
};

TEST_F(SeveralJobs, OnPortsOfTheirOwnDoNotChangeEachOtherByAPicosecond) {
  platform({job({{"name", "a"}, {"accelerators", 4}}, training()), job({{"name", "b"}, {"accelerators", 4}}, sum())});
  const json both = jobs();
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0]["places"], json({0, 1, 2, 3}));
  EXPECT_EQ(both[1]["places"], json({4, 5, 6, 7}));
  for (const json& each : both) {
    EXPECT_GT(each["time_us"], 0);
    EXPECT_EQ(each["time_us"], each["alone_us"]);
    EXPECT_EQ(each["slow_down"], 1.0);
  }
  // A copy of the process says what a run of one job does.
  platform(ordered_json::array({job({{"accelerators", 4}}, training())}));
  const json one = jobs();
  EXPECT_EQ(one[0]["name"], "job 1");
  EXPECT_EQ(one[0]["alone_us"], nullptr);
  EXPECT_EQ(one[0]["time_us"], both[0]["time_us"]);
  EXPECT_EQ(one[0]["result"]["step_time_us"], both[0]["result"]["step_time_us"]);
}

/// Two flows from leaf 0 to leaf 1 over one link, of which each has half by max-min, and one that meets nobody.
TEST_F(SeveralJobs, ShareALinkFairly) {
  const auto trace = [this](int rank, const char* type, const char* peer) {
    const ordered_json attributes = {{{"name", peer}, {"int64_val", 1 - rank}},
                                     {{"name", "comm_tag"}, {"int64_val", 0}},
                                     {{"name", "comm_size"}, {"int64_val", 64 << 20}}};
    const ordered_json node = {{"id", 0}, {"name", "flow"}, {"type", type}, {"attr", attributes}};
    write("t.json", ordered_json({{"metadata", {{"version", "0.0.4"}}}, {"nodes", {node}}}).dump());
    EXPECT_EQ(weft("trace convert ../t.json ../flow." + std::to_string(rank) + ".et").code, 0);
  };
  trace(0, "COMM_SEND_NODE", "comm_dst");
  trace(1, "COMM_RECV_NODE", "comm_src");
  const ordered_json flow = {{"kind", "chakra"}, {"traces", "flow"}};
  platform({job({{"name", "a"}, {"places", {0, 2}}}, flow), job({{"name", "b"}, {"places", {1, 3}}}, flow),
            job({{"name", "c"}, {"places", {4, 6}}}, flow)});
  const json all = jobs();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_NEAR(all[0]["slow_down"].get<double>(), 2, 2 * 0.02);
  EXPECT_NEAR(all[1]["slow_down"].get<double>(), 2, 2 * 0.02);
  EXPECT_EQ(all[2]["slow_down"], 1.0);
}

TEST_F(SeveralJobs, AreWhereThePlatformSays) {
  platform({job({{"name", "a"}, {"accelerators", 2}}, sum()),
            job({{"name", "b"}, {"accelerators", 2}, {"placement", "spread"}}, sum()),
            job({{"name", "c"}, {"places", {3, 0}}}, sum())},
           {{"per_node", 2}});
  const json all = jobs();
  EXPECT_EQ(all[0]["places"], json({1, 2}));
  EXPECT_EQ(all[1]["places"], json({4, 6}));
  EXPECT_EQ(all[2]["places"], json({3, 0}));
  const std::string random = " --set workload.jobs.0.placement=random";
  EXPECT_EQ(jobs(random)[0]["places"], jobs(random)[0]["places"]);
  EXPECT_NE(jobs(random + " --seed 2")[0]["places"], jobs(random + " --seed 3")[0]["places"]);
}

/// Rank 0 writes to rank 1, wherever they are.
TEST_F(SeveralJobs, RanksAreInTheOrderOfTheirPlaces) {
  const ordered_json flow = {{"kind", "flows"}, {"pattern", "write"}, {"servers", 1}, {"bytes", "64KiB"}};
  const auto drawn = [&](const ordered_json& places) {
    platform(ordered_json::array({job({{"places", places}}, flow)}));
    EXPECT_EQ(run_json("../several.json --data --why --out o")["wrong"], 0);
    return weft("why o").out;
  };
  EXPECT_NE(drawn({4, 0}).find("flow of 4 to 0"), std::string::npos);
  EXPECT_NE(drawn({0, 4}).find("flow of 0 to 4"), std::string::npos);
}

/// A node's ranks need not follow each other: what is computed stays right, by algorithms that go by nodes, too.
TEST_F(SeveralJobs, RanksOfANodeNeedNotFollowEachOther) {
  for (const char* algorithm : {"hierarchical", "nccl"}) {
    for (const ordered_json& places : std::vector<ordered_json>{{0, 4, 1, 5}, {5, 4, 1, 0}}) {
      platform(ordered_json::array({job({{"places", places}}, sum())}), {{"per_node", 4}});
      const json ran = run_json(std::string("../several.json --data --set collectives.algorithm=") + algorithm);
      EXPECT_EQ(ran["wrong"], 0) << algorithm << places;
      EXPECT_EQ(ran["jobs"][0]["places"], places);
    }
  }
}

TEST_F(SeveralJobs, APlacementThatNobodyFollowsIsReported) {
  platform(ordered_json::array({job({{"places", {0, 2}}}, sum())}), {{"per_node", 2}});
  const std::string reason = "workload.placement (each job has places, or a placement of its own)";
  const auto told = [&](const std::string& more) {
    const Ran ran = weft("run ../several.json --out o --set workload.placement=spread" + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return (ran.out + ran.err).find(reason) != std::string::npos;
  };
  EXPECT_TRUE(told(""));
  EXPECT_FALSE(told(" --set workload.jobs.0.places=[] --set workload.jobs.0.accelerators=2"));
}

TEST_F(SeveralJobs, StartWhenTheyAreToldTo) {
  platform({job({{"name", "a"}, {"accelerators", 4}}, training()),
            job({{"name", "b"}, {"accelerators", 4}, {"start", "3ms"}}, training())});
  const json all = jobs();
  EXPECT_EQ(all[1]["start_us"], 3000);
  // They do the same, whenever they begin.
  EXPECT_NEAR(all[1]["time_us"].get<double>(), all[0]["time_us"].get<double>(), 0.5);
  EXPECT_NEAR(all[1]["result"]["step_time_us"].get<double>(), all[0]["result"]["step_time_us"].get<double>(), 0.5);
  EXPECT_GT(run_json("../several.json")["simulated_us"], 3000 + all[1]["time_us"].get<double>() - 1);
}

TEST_F(SeveralJobs, MoveRealBytes) {
  platform({job({{"name", "a"}, {"accelerators", 4}, {"placement", "spread"}}, training()),
            job({{"name", "b"}, {"accelerators", 4}}, sum())},
           {{"per_node", 2}});
  const json ran = run_json("../several.json --data");
  EXPECT_EQ(ran["wrong"], 0);
  for (const json& each : ran["jobs"]) EXPECT_EQ(each["result"]["wrong"], 0) << each;
  EXPECT_GT(ran["jobs"][0]["slow_down"], 1.0);
}

TEST_F(SeveralJobs, ATableTellsOfAllAndWhyOfEach) {
  platform({job({{"name", "left"}, {"places", {0, 2}}}, sum()), job({{"name", "right"}, {"places", {1, 3}}}, sum())});
  const Ran ran = weft("run ../several.json --why --out o");
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* said : {"several: 2 jobs on 4 accelerators, 4 idle\n", "\nleft     chakra  2 ", "\nright: "}) {
    EXPECT_NE(ran.out.find(said), std::string::npos) << said << "\n" << ran.out;
  }
  const Ran why = weft("why o");
  EXPECT_NE(why.out.find("left: "), std::string::npos) << why.out;
  EXPECT_NE(why.out.find("right: "), std::string::npos) << why.out;
  // What was run can be run again.
  const json again = run_json("o/config.json")["jobs"];
  const json first = jobs();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(again[i]["time_us"], first[i]["time_us"]);
  EXPECT_EQ(jobs("--set workload.alone=false")[0]["slow_down"], nullptr);
}

TEST_F(SeveralJobs, RefuseWhatCannotBe) {
  platform({job({{"name", "a"}, {"accelerators", 4}}, training()), job({{"name", "b"}, {"accelerators", 4}}, sum())});
  const std::vector<test::BadInput> all = {
      {"none", "run ../several.json --set workload.jobs=[]", {"workload.jobs: expected at least one job"}},
      {"more than there are",
       "run ../several.json --set workload.jobs.0.accelerators=9",
       {"workload.jobs.0.accelerators: expected at most the 8 of the machine, got 9"}},
      {"more than are left",
       "run ../several.json --set workload.jobs.0.accelerators=6",
       {"workload.jobs.1.accelerators: expected at most the 2 that are left, got 4"}},
      {"neither", "run ../several.json --set workload.jobs.0.accelerators=0", {"how many of them it has, or places"}},
      {"one name",
       "run ../several.json --set workload.jobs.1.name=a",
       {"workload.jobs.1.name: expected a name that no other job has, got \"a\""}},
      {"a place twice",
       "run ../several.json --set workload.jobs.1.places=[0,1,2,2]",
       {"workload.jobs.1.places: expected places that no job has yet, each once, got 2"}},
      {"a place beyond",
       "run ../several.json --set workload.jobs.1.places=[0,1,2,8]",
       {"workload.jobs.1.places: expected places of the machine, got 8"}},
      {"places and a placement",
       "run ../several.json --set workload.jobs.1.places=[0,1,2,4] --set workload.jobs.1.placement=random",
       {"workload.jobs.1.placement: expected places or a placement, which chooses them, and not both, got \"random\""}},
      {"jobs of jobs",
       "run ../several.json --set workload.jobs.1.workload.kind=jobs",
       {"workload.jobs.1.workload.kind: expected another kind than jobs"}},
      {"a key", "run ../several.json --set workload.jobs.1.nmae=c", {"workload.jobs.1.nmae", "Did you mean \"name\"?"}},
      {"a field of a job's workload",
       "run ../several.json --set workload.jobs.0.workload.layers=-1",
       {"workload.jobs.0.workload.layers: expected an integer from 0"}},
      {"what a job's workload finds wrong",
       "run ../several.json --set "
       "workload.jobs.1.workload='{\"kind\":\"transformer\",\"model\":\"nano\",\"parallel\":\"tp=3\"}'",
       {"workload.jobs.1.workload.parallel: expected degrees whose product is the 4 accelerators, got 3"}},
      {"no workload", "run ../several.json --set workload.jobs.1.workload=null", {"workload.jobs.1.workload"}}};
  for (const test::BadInput& bad : all) expect_refused(bad);
}

}  // namespace
}  // namespace weft
