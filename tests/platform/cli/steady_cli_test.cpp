// SPDX-License-Identifier: Apache-2.0
// weft run --steady: what is left out is counted, or a warning says why nothing is. Runs the binary.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

constexpr const char* kBlocks = "../small.json --set workload.model=nano --set workload.layers=30 ";

using SteadyCli = test::CliTest;

TEST_F(SteadyCli, CountsWhatIsLeftOut) {
  const json whole = run_json(kBlocks);
  const json steady = run_json(std::string(kBlocks) + "--steady --set steady.tolerance=0.01");
  const json verified = run_json(std::string(kBlocks) + "--verify-steady --set steady.tolerance=0.01");
  EXPECT_TRUE(whole["steady"].is_null());
  ASSERT_FALSE(steady["steady"]["left_out"].empty());
  EXPECT_TRUE(steady["steady"]["off_us"].is_null());
  EXPECT_LT(steady["simulator"]["events"].get<int>(), whole["simulator"]["events"].get<int>());
  const double step = whole["step_time_us"];
  EXPECT_NEAR(steady["step_time_us"].get<double>(), step, 0.01 * step);
  EXPECT_NEAR(steady["simulated_us"].get<double>(), whole["simulated_us"].get<double>(), 0.01 * step);
  const double energy = whole["energy"]["total_j"];
  EXPECT_NEAR(steady["energy"]["total_j"].get<double>(), energy, 0.01 * energy);
  EXPECT_EQ(verified["step_time_us"], whole["step_time_us"]);
  EXPECT_LE(std::abs(verified["steady"]["off_us"].get<double>()), verified["steady"]["bound_us"].get<double>());
}

TEST_F(SteadyCli, LeavesOutBesideFaultsThatAreTheSameThroughout) {
  const auto faulty = [](const std::string& fault) {
    return std::string(kBlocks) + "--steady --set steady.tolerance=0.01 --set 'fabric.faults=[{\"link\":\"end1\"," +
           fault + "}]'";
  };
  EXPECT_FALSE(run_json(faulty("\"rate\":0.5"))["steady"]["left_out"].empty());
  for (const char* changing : {"\"rate\":0.5,\"from\":\"1us\"", "\"rate\":0.5,\"until\":\"1ms\"",
                               "\"rate\":0.5,\"every\":\"10us\"", "\"jitter\":\"1us\""}) {
    const Ran ran = weft("run " + faulty(changing));
    EXPECT_NE(ran.err.find("faults are not the same throughout"), std::string::npos) << ran.out << ran.err;
  }
}

TEST_F(SteadyCli, TakesAShareInPercent) {
  json platform = json::parse(test::kSmall);
  platform["steady"]["tolerance"] = "0.5%";
  write("percent.json", platform.dump());
  EXPECT_DOUBLE_EQ(run_json("../percent.json")["steady"]["tolerance"].get<double>(), 0.005);
  for (const char* wrong : {"nan%", "0.5", "% 1", "200%"}) {
    platform["steady"]["tolerance"] = wrong;
    write("percent.json", platform.dump());
    const Ran ran = weft("run ../percent.json");
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_NE(ran.err.find("steady.tolerance"), std::string::npos) << ran.err;
  }
}

/// What of a generated graph is left out, and with which fields.
struct GraphCase {
  const char* workload;  ///< more of it
  const char* what;
};

constexpr GraphCase kGraphs[] = {
    {R"("layers":24,"parallel":"tp=2,fsdp=2","sequence_parallel":true)", "forward blocks"},
    {R"("layers":32,"parallel":"tp=2,dp=2","recompute":"selective-layer")", "backward blocks"},
    {R"("layers":2,"parallel":"fsdp=4","microbatches":24)", "microbatches"},
    {R"("layers":2,"parallel":"ep=4,dp=4","experts":4,"top_k":2,"microbatches":24,"library":"communicators",)"
     R"("communications":0)",
     "microbatches"},
    {R"("layers":4,"parallel":"tp=2,pp=2","microbatches":24)", "microbatches"},
    {R"("layers":4,"parallel":"tp=2,pp=2","microbatches":24,"sequence_parallel":true,"async_tensor_parallel":true)",
     "microbatches"},
    {R"("layers":8,"parallel":"pp=2,dp=2","virtual_stages":2,"schedule":"interleaved","microbatches":32)",
     "microbatches"},
    {R"("layers":4,"parallel":"pp=2,dp=2","microbatches":24,"steps":2)", "microbatches"},
    {R"("layers":4,"parallel":"tp=2,pp=2","microbatches":24,"optimizer":"kfac")", "microbatches"},
    {R"("layers":4,"parallel":"pp=4","microbatches":4,"steps":14)", "steps"},
};

std::string of_graph(const GraphCase& each) {
  return std::string("../small.json --set 'workload={\"kind\":\"transformer\",\"model\":\"nano\",\"sequence\":256,") +
         each.workload + "}'";
}

/// Of such a run and the same with --steady.
void expect_as_whole(const json& whole, const json& steady) {
  const double time = whole["simulated_us"];
  EXPECT_LE(std::abs(steady["simulated_us"].get<double>() - time), steady["steady"]["bound_us"].get<double>() + 0.01);
  EXPECT_LE(steady["steady"]["bound_us"].get<double>(), 0.005 * time);
  EXPECT_NEAR(steady["last_finish_ns"].get<double>(), whole["last_finish_ns"].get<double>(), 0.002 * 1e3 * time);
  for (const char* const part : {"compute", "not_computing"}) {
    EXPECT_NEAR(steady["breakdown_us"][part].get<double>(), whole["breakdown_us"][part].get<double>(), 0.002 * time);
  }
  for (const char* const count : {"nodes", "collectives", "messages"}) EXPECT_EQ(steady[count], whole[count]) << count;
  const double energy = whole["energy"]["total_j"];
  EXPECT_NEAR(steady["energy"]["total_j"].get<double>(), energy, 0.005 * energy);
  ASSERT_EQ(steady["collectives_of_rank_0"].size(), whole["collectives_of_rank_0"].size());
  for (std::size_t i = 0; i < whole["collectives_of_rank_0"].size(); ++i) {
    EXPECT_EQ(steady["collectives_of_rank_0"][i]["count"], whole["collectives_of_rank_0"][i]["count"]);
  }
}

TEST_F(SteadyCli, LeavesOutWhatRepeatsInGraphs) {
  for (const GraphCase& each : kGraphs) {
    SCOPED_TRACE(each.workload);
    const json whole = run_json(of_graph(each));
    const json steady = run_json(of_graph(each) + " --steady");
    const json verified = run_json(of_graph(each) + " --verify-steady");
    ASSERT_FALSE(steady["steady"]["left_out"].empty());
    bool has = false;
    for (const json& row : steady["steady"]["left_out"]) has |= row["what"] == each.what;
    EXPECT_TRUE(has) << steady["steady"];
    EXPECT_LT(steady["simulator"]["events"].get<double>(), 0.6 * whole["simulator"]["events"].get<double>());
    expect_as_whole(whole, steady);
    EXPECT_EQ(verified["simulator"]["digest"], whole["simulator"]["digest"]) << "all is simulated, as without";
    EXPECT_EQ(verified["step_time_us"], whole["step_time_us"]);
    EXPECT_LE(std::abs(verified["steady"]["off_us"].get<double>()),
              verified["steady"]["bound_us"].get<double>() + 0.01);
  }
}

/// Files say in nodes' names which step they are of.
TEST_F(SteadyCli, LeavesOutStepsOfTraces) {
  const Ran made = weft(
      "workload nano --layers 2 --sequence 256 --parallel tp=2,pp=2 --microbatches 2 --steps 14 --accelerator h100-sxm "
      "--out traces");
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string traces = "../small.json --traces traces/nano";
  const json whole = run_json(traces);
  const json steady = run_json(traces + " --steady");
  ASSERT_EQ(steady["steady"]["left_out"].size(), 1U);
  EXPECT_EQ(steady["steady"]["left_out"][0]["what"], "steps");
  EXPECT_GE(steady["steady"]["left_out"][0]["pieces"], 5);
  expect_as_whole(whole, steady);
}

/// Intervals from one update of inverses to the next.
TEST_F(SteadyCli, LeavesOutIntervalsOfKfac) {
  const std::string kfac =
      "../small.json --set 'workload={\"kind\":\"kfac\",\"network\":\"nano-conv\",\"batch\":8,\"factor_interval\":2,"
      "\"inverse_interval\":4,\"steps\":40}'";
  const json whole = run_json(kfac + " --set workload.skip_equal_steps=false");
  const json steady = run_json(kfac + " --steady");
  const json verified = run_json(kfac + " --verify-steady");
  ASSERT_EQ(steady["steady"]["left_out"].size(), 1U);
  EXPECT_EQ(steady["steady"]["left_out"][0]["what"], "steps");
  EXPECT_EQ(steady["steady"]["left_out"][0]["pieces"], steady["steps_left_out"]);
  EXPECT_GE(steady["steps_left_out"], 20);
  EXPECT_EQ(steady["steps_left_out"].get<int>() % 4, 0);
  EXPECT_LT(steady["simulator"]["events"].get<double>(), 0.6 * whole["simulator"]["events"].get<double>());
  const double time = whole["simulated_us"];
  EXPECT_LE(std::abs(steady["simulated_us"].get<double>() - time), steady["steady"]["bound_us"].get<double>() + 0.01);
  EXPECT_LE(steady["steady"]["bound_us"].get<double>(), 0.005 * time);
  EXPECT_EQ(steady["steps_us"].size(), 40U);
  const double step = whole["step_time_us"];
  EXPECT_NEAR(steady["step_time_us"].get<double>(), step, 0.002 * step);
  for (const auto& [part, mean] : whole["breakdown_us"].items()) {
    EXPECT_NEAR(steady["breakdown_us"][part].get<double>(), mean.get<double>(), 0.002 * step) << part;
  }
  const double energy = whole["energy"]["total_j"];
  EXPECT_NEAR(steady["energy"]["total_j"].get<double>(), energy, 0.005 * energy);
  EXPECT_EQ(verified["steps_us"], whole["steps_us"]);
  EXPECT_EQ(verified["simulator"]["digest"], whole["simulator"]["digest"]);
  EXPECT_LE(std::abs(verified["steady"]["off_us"].get<double>()), verified["steady"]["bound_us"].get<double>() + 0.01);
}

/// What is left out is in why.json, in the picture and in what a run is expected to take.
TEST_F(SteadyCli, TellsOfWhatGraphsLeaveOut) {
  const std::string graph = of_graph(kGraphs[4]);
  const Ran ran = weft("run " + graph + " --steady --why --out of");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find(" of 22 microbatches, as those before, within "), std::string::npos) << ran.out;
  const json summary = json::parse(std::ifstream(folder_ / "work" / "of" / "summary.json"));
  const json why = json::parse(std::ifstream(folder_ / "work" / "of" / "why.json"));
  EXPECT_EQ(why["left_out_us"], summary["steady"]["time_us"]);
  const auto share = [&](const std::string& more) {
    const json estimate = json::parse(weft("run " + graph + " --estimate --trial 1000 --json" + more).out);
    return estimate["cpu_s"].get<double>() / estimate["trial_cpu_s"].get<double>();
  };
  EXPECT_GE(share(""), 1);
  EXPECT_LT(share(" --steady"), 0.9);
}

TEST_F(SteadyCli, SaysWhyAllIsSimulated) {
  for (const auto& [arguments, why] :
       {std::pair{"../small.json --data --set workload.model=nano", "with --data all bytes move"},
        std::pair{"../small.json --set workload.kind=transformer --set workload.parallel=tp=2,dp=2",
                  "no steps, microbatches or blocks in a row are alike, or they are too few"},
        std::pair{"../small.json --set 'workload={\"kind\":\"pipeline\",\"model\":\"nano\"}'",
                  "workloads of its kind are simulated whole"}}) {
    const Ran ran = weft(std::string("run --steady ") + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.err.find(std::string("steady.tolerance: nothing is left out: ") + why), std::string::npos) << ran.err;
  }
  const Ran few = weft("run --steady ../small.json");
  EXPECT_NE(few.out.find("nothing is left out: no part that repeats has settled within steady.tolerance"),
            std::string::npos)
      << few.out;
}

/// A job that ends within the trial is known exactly; nothing is written.
TEST_F(SteadyCli, EstimatesWhatARunTakes) {
  const Ran text = weft("run ../small.json --estimate --trial 1000");
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find(" s of processor time and "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(" and 100 % of the work"), std::string::npos) << text.out;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  const Ran ran = weft("run ../small.json --estimate --trial 1000 --json");
  const json whole = json::parse(ran.out);
  EXPECT_EQ(whole["trial_share"], 1);
  EXPECT_EQ(whole["is_least"], false);
  EXPECT_GE(whole["cpu_s"].get<double>(), whole["trial_cpu_s"].get<double>());
  EXPECT_GT(whole["memory_bytes"].get<double>(), 1 << 20);
  // Blocks that would be left out do not count.
  const auto share = [&](const std::string& more) {
    const json estimate =
        json::parse(weft("run " + std::string(kBlocks) + "--estimate --trial 1000 --json" + more).out);
    return estimate["cpu_s"].get<double>() / estimate["trial_cpu_s"].get<double>();
  };
  EXPECT_GE(share(""), 1);
  EXPECT_LT(share(" --steady"), 0.9);
  const Ran analytical = weft("run themis-2d-sw-sw --estimate");
  EXPECT_EQ(analytical.code, 2);
  EXPECT_EQ(analytical.err, "weft: --estimate: expected a machine of modules; this network takes seconds\n");
}

/// Two parts tell no pace: a short trial goes on until it has seen some more.
TEST_F(SteadyCli, AShortTrialIsNotExtrapolated) {
  const json few = json::parse(weft("run llama3-8b-fsdp-64xh100 --estimate --trial 0.5 --json").out);
  EXPECT_GT(few["trial_share"], 0.09) << "seven of the parts of 67 that a run has";
  EXPECT_EQ(weft("run ../small.json --estimate --trial 0.1").code, 2);
}

}  // namespace
}  // namespace weft
