// SPDX-License-Identifier: Apache-2.0
// weft run of second-order training as a user meets it: transformers, networks of one's own, compressed activations,
// and the messages of wrong files. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cli.h"

namespace weft {
namespace {

using nlohmann::json;
using test::BadInput;
using test::CliTest;
using test::Ran;

constexpr const char* kHeader =
    "layer,kind,channels_in,channels_out,kernel_height,kernel_width,stride,pad_height,pad_width,height,width,bias\n";

class KfacCli : public CliTest {
 protected:
  KfacCli() {
    write("kfac.json", R"({
      "accelerators": 4, "per_node": 2, "accelerator": "h100-sxm", "nic": "connectx-7",
      "fabric": { "topology": "fat-tree", "radix": 4, "hosts_per_leaf": 2, "segment": "64KiB", "link": { "buffer": "256KiB" } },
      "workload": { "kind": "kfac", "network": "mine.json" }
    })");
    write("mine.json", R"({ "batch": 16, "layers": [
      { "layer": "first", "kind": "conv", "channels_in": 3, "channels_out": 8, "kernel_height": 3, "kernel_width": 3,
        "stride": 2, "pad_height": 1, "pad_width": 1, "height": 32, "width": 32, "bias": false },
      { "layer": "norm", "kind": "norm", "channels_in": 8, "channels_out": 8, "height": 16, "width": 16, "bias": true },
      { "layer": "out", "kind": "linear", "channels_in": 2048, "channels_out": 10, "height": 1, "width": 1, "bias": true }
    ] })");
    write("mine.csv", std::string(kHeader) +
                          "first,conv,3,8,3,3,2,1,1,32,32,no\n"
                          "norm,norm,8,8,,,,,,16,16,yes\n"
                          "out,linear,2048,10,,,,,,1,1,yes\n");
  }

  json ran(const std::string& arguments) { return weft_json("run ../kfac.json " + arguments); }
};

TEST_F(KfacCli, ANetworkOfOnesOwnIsATableOrJson) {
  const json by_json = ran("--out a");  // beside the platform
  EXPECT_EQ(by_json["workload"]["network"], "mine");
  EXPECT_EQ(by_json["factors"], 4);
  // A step of 16 samples on each of 4 accelerators.
  EXPECT_NEAR(by_json["samples_per_s"].get<double>() * by_json["step_time_us"].get<double>() * 1e-6, 64, 1e-3);
  const json by_table = ran("--out b --set workload.network=../mine.csv --set workload.batch=16");
  EXPECT_EQ(by_json["step_time_us"], by_table["step_time_us"]);
  EXPECT_EQ(by_json["simulator"]["digest"], by_table["simulator"]["digest"]);
  // A table says nothing of a batch.
  EXPECT_LT(ran("--out c --set workload.network=../mine.csv")["step_time_us"], by_table["step_time_us"]);
}

/// Names on the command line count from where it is given, those in a platform from its folder; what a run wrote finds
/// the same file from anywhere.
TEST_F(KfacCli, AConfigurationFindsTheNetwork) {
  namespace fs = std::filesystem;
  std::string smaller = test::read_file(folder_ / "mine.json");
  smaller.replace(smaller.find("\"batch\": 16"), 11, "\"batch\": 15");
  std::ofstream(folder_ / "work/mine.json") << smaller;
  const auto batch = [&](const json& run) {
    return std::lround(run["samples_per_s"].get<double>() * run["step_time_us"].get<double>() * 1e-6) / 4;
  };
  EXPECT_EQ(batch(ran("--out a")), 16);
  EXPECT_EQ(batch(ran("--out b --set workload.network=mine.json")), 15);
  EXPECT_EQ(json::parse(test::read_file(folder_ / "work/b/config.json"))["platform"]["workload"]["network"],
            (fs::canonical(folder_) / "work/mine.json").string());
  for (const auto& [run, expected] : {std::pair("a", 16), {"b", 15}}) {
    const Ran again = weft("run " + std::string(run) + "/config.json --json --out c");
    ASSERT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(batch(json::parse(again.out)), expected);
  }
}

TEST_F(KfacCli, OneAcceleratorIsOne) {
  const Ran table = weft("run ../kfac.json --set accelerators=1 --set per_node=1");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find(" on 1 accelerator, 16 samples each, "), std::string::npos) << table.out;
}

TEST_F(KfacCli, SeveralStepsAreShownByTheirMean) {
  const Ran table = weft(
      "run ../kfac.json --set workload.steps=5 --set workload.factor_interval=2 --set workload.inverse_interval=4");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find(", 16 samples each, mean of steps 2 to 5 of 5\n"), std::string::npos) << table.out;
  const Ran part = weft("run ../kfac.json --set workload.steps=2 --set workload.inverse_interval=4");
  EXPECT_NE(part.out.find(", mean of steps 1 to 2 of 2, not the 4 after which they repeat\n"), std::string::npos)
      << part.out;
  const json result = ran("--set workload.steps=4 --set workload.inverse_interval=4");
  double sum = 0;
  for (const json& step : result["steps_us"]) sum += step.get<double>();
  EXPECT_NEAR(result["step_time_us"].get<double>(), sum / 4, 1e-3);
  EXPECT_EQ(result["steps_shown"]["count"], 4);
}

// A step that renews Shampoo's roots is longer than the others: neither stands for all.
TEST_F(KfacCli, StepsOfFsdpWhoseOptimizerRepeatsAreShownByTheirMean) {
  const std::string shampoo =
      "../small.json --set workload.model=nano --set workload.layers=2 --set workload.optimizer=shampoo "
      "--set workload.shampoo.interval=2 --set workload.steps=";
  const json result = run_json(shampoo + "3");
  const json& steps = result["steps_us"];
  EXPECT_NE(steps[1], steps[2]);
  EXPECT_NEAR(result["step_time_us"].get<double>(), (steps[1].get<double>() + steps[2].get<double>()) / 2, 1e-3);
  EXPECT_EQ(result["steps_shown"], json({{"first", 2}, {"count", 2}}));
  double parts = 0;
  for (const auto& [name, part] : result["breakdown_us"].items()) parts += part.get<double>();
  EXPECT_NEAR(parts, result["step_time_us"].get<double>(), 1e-3);
  const Ran one = weft("run " + shampoo + "1");
  EXPECT_NE(one.out.find("step 1 of 1, not the 2 after which they repeat\n"), std::string::npos) << one.out;
  const Ran all = weft("run " + shampoo + "3");
  EXPECT_NE(all.out.find(" accelerators, mean of steps 2 to 3 of 3\n"), std::string::npos) << all.out;
}

// The profile is not of the steps: twice as many steps take twice the energy and bytes.
TEST_F(KfacCli, WhatTheMachineIsMeasuredByIsCountedByItself) {
  const json one = ran("--out a --set workload.steps=1");
  const json two = ran("--out b --set workload.steps=2");
  const auto bytes = [](const json& result) { return result["links"]["fabric"]["totals"]["bytes"].get<double>(); };
  EXPECT_NEAR(bytes(two) / bytes(one), 2, 0.02);
  EXPECT_NEAR(two["energy"]["total_j"].get<double>() / one["energy"]["total_j"].get<double>(), 2, 0.05);
  const json& prepared = one["prepared"];
  EXPECT_GT(prepared["energy_j"], 0);
  const double steps = one["simulated_us"].get<double>() - prepared["time_us"].get<double>();
  EXPECT_NEAR(steps / one["step_time_us"].get<double>(), 1, 0.05);
  const double energy = one["energy"]["total_j"].get<double>();
  EXPECT_NEAR(one["energy"]["power_mean_w"].get<double>(), energy / (steps * 1e-6), 1e-3 * energy / (steps * 1e-6));
  EXPECT_TRUE(ran("--out c --set workload.algorithm=d")["prepared"].is_null());
  const Ran table = weft("run ../kfac.json");
  EXPECT_NE(table.out.find("\nbefore that "), std::string::npos) << table.out;
}

TEST_F(KfacCli, AScheduleExplainsItself) {
  const json result = ran("");
  ASSERT_EQ(result["inversions"].size(), 4U);
  EXPECT_EQ(result["inversions"][0]["factor"], "first.A");
  EXPECT_EQ(result["inversions"][3]["side"], 10);
  EXPECT_EQ(result["inverting_us"].size(), 4U);
  EXPECT_EQ(result["profile"]["factors_ready"][2]["factor"], "out.G");
  EXPECT_EQ(result["profile"]["packing"].size(), result["profile"]["inverses"].size());
  EXPECT_GT(result["breakdown_us"]["factor_packing"], 0);
  EXPECT_FALSE(result["breakdown_us"].contains("grad_packing"));
  for (const json& message : result["messages"]) EXPECT_GT(message["to_us"], message["from_us"]) << message["name"];
}

TEST_F(KfacCli, WithDataWhatIsSentIsCompared) {
  const Ran run = weft("run ../kfac.json --data --set workload.algorithm=mpd");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("\nwrong elements                   0, of "), std::string::npos) << run.out;
  const json result = ran("--data --out b");
  EXPECT_EQ(result["wrong"], 0);
  EXPECT_GT(result["compared"], 0);
  EXPECT_TRUE(ran("--out c")["wrong"].is_null());
}

// By real numbers through the schedule's messages: SPD is D-KFAC in another order, and learns faster than SGD.
TEST_F(KfacCli, WithDataANetworkIsTrained) {
  const std::string how =
      "--data --set workload.network=nano-conv --set workload.training.on=true --set workload.steps=8 "
      "--set workload.training.damping=0.003 --set workload.algorithm=";
  const json spd = ran(how + "spd --out a");
  const json d = ran(how + "d --out b");
  const json sgd = ran(how + "sgd --out c");
  for (const json& result : {spd, d, sgd}) {
    EXPECT_EQ(result["losses"].size(), 8U);
    EXPECT_EQ(result["wrong"], 0);
    EXPECT_EQ(result["compared"], 3 * 3962);
    EXPECT_EQ(result["losses"][0], sgd["losses"][0]);
  }
  for (std::size_t step = 0; step < 8; ++step) {
    const double loss = d["losses"][step].get<double>();
    // Their rings add up blocks of other lengths, in another order.
    EXPECT_NEAR(spd["losses"][step].get<double>(), loss, 1e-3 * loss) << step;
  }
  EXPECT_LT(spd["losses"][3], 0.5 * sgd["losses"][3].get<double>());
  EXPECT_LT(sgd["losses"][7], 0.5 * sgd["losses"][0].get<double>());
  const json delayed = ran(how + "dasgd --out d");
  EXPECT_LT(delayed["losses"][7], delayed["losses"][0]);
  EXPECT_TRUE(delayed["wrong"].is_null());  // ranks have weights of their own
  EXPECT_NE(weft("run ../kfac.json " + how + "spd").out.find("\nloss before step        1 "), std::string::npos);
}

// The documented example, on less, for many more steps.
TEST_F(KfacCli, TrainingConvergesByDefault) {
  for (const char* algorithm : {"sgd", "d", "dp"}) {
    const json result = ran(std::string("--data --set workload.network=nano-conv --set workload.training.on=true "
                                        "--set workload.steps=250 --set accelerators=2 --set per_node=1 "
                                        "--timeline-ranks 0 --set workload.algorithm=") +
                            algorithm);
    const std::vector<double> losses = result["losses"].get<std::vector<double>>();
    ASSERT_EQ(losses.size(), 250U);
    EXPECT_LE(*std::max_element(losses.begin(), losses.end()), 1.5 * losses.front()) << algorithm;
    EXPECT_LT(losses.back(), 0.2 * losses.front()) << algorithm;
  }
}

TEST_F(KfacCli, PackingIsToldOfByItself) {
  const Ran table = weft("run ../kfac.json --set workload.algorithm=mpd --set workload.packing=indices");
  for (const char* line : {"\n  FactorComm ", "\n  FactorPacking ", "\n  InverseComm ", "\n  InversePacking "}) {
    EXPECT_NE(table.out.find(line), std::string::npos) << line << table.out;
  }
  const Ran dp = weft("run ../kfac.json --set workload.algorithm=dp --set workload.packing=fused");
  EXPECT_EQ(dp.out.find("Packing"), std::string::npos) << dp.out;
  EXPECT_NE(
      dp.out.find("\nwithout effect in this run: workload.packing (no matrices are sent: workload.algorithm is dp)\n"),
      std::string::npos)
      << dp.out;
  const Ran bad = weft("run ../kfac.json --set workload.packing=triangles");
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("workload.packing: expected one of indices, fused, squares"), std::string::npos) << bad.err;
  EXPECT_TRUE(ran("--set workload.algorithm=dasgd")["breakdown_us"].contains("grad_packing"));
}

// On one accelerator, where all steps of a kind are equal.
TEST_F(KfacCli, StepsThatRepeatAreCountedAndNotSimulated) {
  const std::string how =
      "--set accelerators=1 --set per_node=1 --set workload.factor_interval=100 --set workload.inverse_interval=200 "
      "--set workload.algorithm=d";
  json counted = ran(how + " --out a");
  json simulated = ran(how + " --out b --set workload.skip_equal_steps=false");
  EXPECT_GT(counted["steps_left_out"], 50);
  EXPECT_EQ(simulated["steps_left_out"], 0);
  EXPECT_LT(counted["simulator"]["events"], 0.7 * simulated["simulator"]["events"].get<double>());
  const auto near = [](const json& one, const json& other) {
    return std::abs(one.get<double>() - other.get<double>()) <= 1e-9 * std::abs(other.get<double>());
  };
  for (const char* same : {"step_time_us", "simulated_us", "samples_per_s"}) {
    EXPECT_TRUE(near(counted[same], simulated[same])) << same;
  }
  for (const char* same : {"steps_us", "steps_shown", "breakdown_us", "inverting_us"}) {
    EXPECT_EQ(counted[same], simulated[same]) << same;
  }
  for (const char* same : {"kernels", "l2_bytes", "copies"}) {
    EXPECT_EQ(counted["counters"]["accelerator"][same], simulated["counters"]["accelerator"][same]) << same;
  }
  for (const char* same : {"time_us", "alone_us"}) {
    EXPECT_TRUE(near(counted["kernels"][same], simulated["kernels"][same])) << same;
  }
  EXPECT_EQ(counted["memory"]["all"]["bytes"], simulated["memory"]["all"]["bytes"]);
  EXPECT_TRUE(near(counted["energy"]["total_j"], simulated["energy"]["total_j"]));
  EXPECT_NE(weft("run ../kfac.json " + how).out.find("\nsteps not simulated "), std::string::npos);
  // With others, they repeat within some share, if that is all that is asked for.
  const std::string four = "--set workload.steps=30 --set workload.algorithm=sgd";
  const json within = ran(four + " --out c --set workload.equal_within=0.05");
  const json all = ran(four + " --out d --set workload.skip_equal_steps=false");
  EXPECT_GT(within["steps_left_out"], 10);
  EXPECT_NEAR(within["step_time_us"].get<double>() / all["step_time_us"].get<double>(), 1, 0.05);
  EXPECT_EQ(within["links"]["fabric"]["totals"]["packets"], all["links"]["fabric"]["totals"]["packets"]);
  const Ran bad = weft("run ../kfac.json --set workload.equal_within=1.5");
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("workload.equal_within: expected a number from 0 to 1, got 1.5\n"), std::string::npos)
      << bad.err;
}

TEST_F(KfacCli, TrainingThatIsRefused) {
  const auto refused = [this](const std::string& arguments) {
    const Ran run = weft("run ../kfac.json --set workload.training.on=true " + arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    return run.err;
  };
  const auto has = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  EXPECT_TRUE(
      has(refused("--set workload.network=nano-conv"), "workload.training.on: expected false or data on (--data)"));
  EXPECT_TRUE(has(refused("--data"),
                  "workload.network: norm: expected a convolution or a linear layer where workload.training is on"));
  EXPECT_TRUE(has(refused("--data --set workload.network=nano-conv --set workload.training.rate=0"),
                  "workload.training.rate: expected a number, more than 0, got 0"));
  EXPECT_TRUE(has(refused("--data --set workload.network=nano-conv --set workload.training.decay=1"),
                  "workload.training.decay: expected a number, at least 0 and less than 1, got 1"));
  EXPECT_TRUE(has(refused("--data --set workload.network=nano-conv --set workload.type=bf16"),
                  "workload.type: expected fp32 or tf32 where workload.training is on, got bf16"));
  const Ran diverging = weft(
      "run ../kfac.json --data --set workload.network=nano-conv --set workload.training.on=true "
      "--set workload.algorithm=sgd --set workload.training.rate=1e30 --set workload.steps=4");
  EXPECT_EQ(diverging.code, 1);
  EXPECT_TRUE(has(diverging.err, "loss before step 2: expected at most "));
  EXPECT_TRUE(has(diverging.err, ", which is workload.training.most_growth, 100, times the ")) << diverging.err;
  EXPECT_TRUE(has(diverging.err, "; a lower workload.training.rate than 1e+30 helps\n")) << diverging.err;
  // The identity's share is 0 from the second step on, and a factor of few samples is singular.
  const Ran singular = weft(
      "run ../kfac.json --data --set workload.network=nano-conv --set workload.training.on=true "
      "--set workload.training.damping=0 --set workload.training.decay=0");
  EXPECT_EQ(singular.code, 1);
  EXPECT_TRUE(has(singular.err, "expected a positive definite matrix; damped by 0, it is not")) << singular.err;
}

TEST_F(KfacCli, WhatHasNoEffectIsToldOf) {
  const Ran clip = weft("run ../kfac.json --set workload.algorithm=sgd --set workload.kl_clip=0.001");
  EXPECT_NE(clip.out.find("\nwithout effect in this run: workload.kl_clip (workload.algorithm is sgd)\n"),
            std::string::npos)
      << clip.out;
  EXPECT_EQ(clip.out.find("InverseComp"), std::string::npos) << clip.out;
  const Ran d = weft(
      "run ../kfac.json --set workload.algorithm=d --set workload.sending=all-reduce --set workload.cycle=1ms "
      "--set workload.overlap_inverses=true --set workload.broadcasts=nccl --set workload.compression.ratio=0.5 "
      "--set workload.activations.ratio=0.1 --set workload.compression.stages=2 --set workload.training.rate=0.1 "
      "--set collectives.algorithm=tree --set workload.all_reduces=ring --set collectives.multicast.chains=1 "
      "--set collectives.in_network.staging.channels=0 --json");
  std::vector<std::string> named;
  const json result = json::parse(d.out);
  for (const json& each : result["without_effect"]) named.push_back(each["field"]);
  EXPECT_EQ(named, (std::vector<std::string>{
                       "collectives.algorithm", "collectives.in_network.staging.channels",
                       "collectives.multicast.chains", "workload.activations.ratio", "workload.broadcasts",
                       "workload.compression.ratio", "workload.compression.stages", "workload.cycle",
                       "workload.overlap_inverses", "workload.sending", "workload.training.rate"}))
      << d.out;
  write("gap.csv", "layer,kind,channels_in,channels_out,bias\na,linear,784,256,no\nb,linear,999,10,no\n");
  const Ran gap = weft("run ../kfac.json --set workload.network=../gap.csv");
  EXPECT_EQ(gap.code, 0) << gap.err;
  EXPECT_NE(gap.out.find("\nb takes 999 values of a sample, which no layer before it gives\n"), std::string::npos)
      << gap.out;
  EXPECT_EQ(weft("run ../kfac.json").out.find("which no layer"), std::string::npos);
}

TEST_F(KfacCli, MatricesOfATransformerHaveFactors) {
  const json result = ran("--set workload.network=nano --set workload.algorithm=d");
  EXPECT_EQ(result["workload"]["network"], "nano");
  // Of each of 4 blocks: queries, keys, values, output, gate, up and down, two factors each.
  EXPECT_EQ(result["factors"], 2 * 7 * 4);
  EXPECT_GT(result["breakdown_us"]["inverse_comp"], 0);
  EXPECT_FALSE(result["breakdown_us"].contains("compression"));
}

TEST_F(KfacCli, CompressedActivationsAreInTheTable) {
  const std::string arguments = "run ../kfac.json --out a --set workload.activations.method=jpeg-act";
  const Ran table = weft(arguments);
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("\n  compression "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("\nactivations "), std::string::npos) << table.out;
  const json whole = ran("--out b");
  const json half = ran("--out c --set workload.activations.method=jpeg-act");
  const json eighth = ran("--out d --set workload.activations.method=jpeg-act --set workload.activations.ratio=0.125");
  EXPECT_EQ(whole["allocated_activation_bytes"], whole["activation_bytes"]);
  // 16 x 3 x 32 x 32, twice 16 x 2048, 16 x 10.
  EXPECT_EQ(whole["activation_bytes"], 4 * (16 * 3 * 32 * 32 + 2 * 16 * 2048 + 16 * 10));
  // 512 blocks of either input that is kept.
  const std::int64_t buffers = 4 * (16 * 3 * 32 * 32 + 2 * 16 * 2048);
  EXPECT_EQ(half["allocated_activation_bytes"], buffers + 2 * 512 * (4 + 32 + 8));
  EXPECT_EQ(eighth["allocated_activation_bytes"], buffers + 2 * 512 * (4 + 8 + 8));
  EXPECT_GT(half["breakdown_us"]["compression"], 0);
}

TEST_F(KfacCli, BadNetworks) {
  const std::string head = R"({ "layers": [ { "layer": "a", )";
  write("text.json", "{ \"layers\": [\n  { \"layer\": ");
  write("empty.json", R"({ "layers": [] })");
  write("kind.json", head + R"("kind": "dense" } ] })");
  write("kind.csv", std::string(kHeader) + "a,dense,1,1,,,,,,1,1,no\n");
  const std::vector<BadInput> cases = {
      {"not JSON", "text.json", {"workload.network: ", "text.json: line 2, column "}},
      {"no layers", "empty.json", {"workload.network: expected a network with at least one layer"}},
      {"unknown kind",
       "kind.json",
       {"kind.json: layers[0].kind: expected conv, linear, norm, residual-norm, max-pool, average-pool, concat or "
        "branches, got \"dense\""}},
      {"unknown kind in a table",
       "kind.csv",
       {"kind.csv:2: column 'kind': expected conv, linear, norm, residual-norm, max-pool, average-pool, concat or "
        "branches, got 'dense'"}},
      {"no such JSON",
       "absent-file.json",
       {"workload.network: ", ": ../absent-file.json: expected a network in CSV or JSON, got no such file\n"}},
      {"no such table", "absent-file.csv", {"absent-file.csv: ", "no such file"}},
      {"no such name",
       "resnet51",
       {"workload.network: expected one of llama2-7b, ", "got \"resnet51\"; did you mean \"resnet50\""}}};
  for (const BadInput& bad : cases) {
    const std::string file = std::string(bad.arguments).find('.') == std::string::npos ? "" : "../";
    const Ran run = weft("run ../kfac.json --set workload.network=" + file + bad.arguments);
    EXPECT_EQ(run.code, 2) << bad.what;
    EXPECT_EQ(run.out, "") << bad.what;
    for (const char* part : bad.message)
      EXPECT_NE(run.err.find(part), std::string::npos) << bad.what << ": " << run.err;
  }
  for (const auto& [setting, message] :
       {std::pair("activations.method=jpeg", "workload.activations.method: expected one of none, jpeg-act"),
        std::pair("activations.method=jpeg-act --set workload.activations.ratio=2",
                  "workload.activations.ratio: expected a number, more than 0 and at most 1, got 2"),
        std::pair("activations.share=1", "workload.activations.share: ")}) {
    const Ran run = weft(std::string("run ../kfac.json --set workload.") + setting);
    EXPECT_EQ(run.code, 2) << setting;
    EXPECT_NE(run.err.find(message), std::string::npos) << setting << ": " << run.err;
  }
}

}  // namespace
}  // namespace weft
