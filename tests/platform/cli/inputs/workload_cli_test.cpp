// SPDX-License-Identifier: Apache-2.0
// weft workload, and what other commands make of it. Runs the binary.
#include <gtest/gtest.h>

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

class WorkloadCli : public CliTest {
 protected:
  [[nodiscard]] bool exists(const std::string& file) const { return std::filesystem::exists(folder_ / "work" / file); }
};

TEST_F(WorkloadCli, WritesTracesThatCanBeCheckedAndRun) {
  const Ran made = weft("workload nano --parallel tp=2,dp=2,pp=2 --microbatches 4 --accelerator h100-sxm --out w");
  ASSERT_EQ(made.code, 0) << made.err;
  for (const char* part :
       {"nano, tp=2,dp=2,pp=2: 8 ranks, 4 layers, batch 8 of 256 tokens, 4 microbatches of 1\n",
        "pipeline bubble: (2 - 1) / 4 = 0.2500\n", "bytes: tensor parallel ", "bytes: pipeline ", "bytes: gradients ",
        "parameters, gradients, optimizer ", "wrote w/nano.0.et to w/nano.7.et\nwrote w/nano.groups.json\n"}) {
    EXPECT_NE(made.out.find(part), std::string::npos) << part << " in " << made.out;
  }
  EXPECT_EQ(made.out.find("context parallel"), std::string::npos) << made.out;
  EXPECT_EQ(weft("trace check w/nano").out.substr(0, 8), "8 ranks,");
  EXPECT_EQ(weft("trace check w/nano").code, 0);
  EXPECT_GT(json::parse(weft("trace info w/nano --json").out)["compute_us"], 1000);

  write("network.yml",
        "topology: [ FullyConnected, Ring, Switch ]\nnpus_count: [ 2, 2, 2 ]\nbandwidth: [ 400, 50, 50 ]\n"
        "latency: [ 500, 1000, 1000 ]\n");
  json system = {{"scheduling-policy", "FIFO"},
                 {"endpoint-delay", 10},
                 {"active-chunks-per-dimension", 1},
                 {"preferred-dataset-splits", 4},
                 {"collective-optimization", "localBWAware"},
                 {"local-mem-bw", 3000},
                 {"peak-perf", 900},
                 {"roofline-enabled", 0}};
  std::vector<std::int64_t> ends;
  for (const int roofline : {0, 1}) {
    system["roofline-enabled"] = roofline;
    write("system.json", system.dump());
    const Ran imported = weft(
        "import astra-sim --network ../network.yml --system ../system.json --groups w/nano.groups.json "
        "--workload w/nano --out p.json");
    ASSERT_EQ(imported.code, 0) << imported.err;
    const Ran ran = weft("run p.json --json");
    ASSERT_EQ(ran.code, 0) << ran.err;
    ends.push_back(json::parse(ran.out)["last_finish_ns"]);
    EXPECT_GT(ends.back(), 0);
  }
  // By the part's kernel model, with a launch for each kernel, or by the roofline.
  EXPECT_GT(ends[0], ends[1]);
}

TEST_F(WorkloadCli, TellsAllInJson) {
  const Ran ran = weft(
      "workload nano --parallel pp=2 --schedule interleaved --virtual-stages 2 --stage-layers 0,2*2,0 "
      "--microbatches 4 --batch 8 --sequence 64 "
      "--name small --out w --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json result = json::parse(ran.out);
  EXPECT_EQ(result["model"], "nano");
  EXPECT_EQ(result["stage_layers"], "0,2*2,0");
  EXPECT_EQ(result["recompute"], "none");
  EXPECT_EQ(result["fusion"], "fused");
  EXPECT_EQ(result["code"], "llama");
  EXPECT_EQ(result["attention"], "flash-3");
  EXPECT_EQ(result["linear"], "plain");
  EXPECT_EQ(result["weight_gradients"], "beside");
  EXPECT_EQ(result["async_tensor_parallel"], false);
  EXPECT_EQ(result["copies"], false);
  EXPECT_EQ(result["reduce_type"], "bf16");
  EXPECT_EQ(result["parallel"]["pp"], 2);
  EXPECT_EQ(result["ranks"], 2);
  EXPECT_EQ(result["bubble"], 1.0 / 8);
  EXPECT_EQ(result["traces"], "w/small");
  EXPECT_TRUE(result["groups"].is_null());
  ASSERT_EQ(result["rank"].size(), 2U);
  EXPECT_EQ(result["operations"],
            result["rank"][0]["operations"].get<double>() + result["rank"][1]["operations"].get<double>());
  // Each microbatch goes over three borders and back; the first rank sends forward twice and backward once.
  EXPECT_EQ(result["rank"][0]["communication"]["pipeline"]["nodes"], 4 * 3);
  EXPECT_EQ(result["rank"][0]["communication"]["pipeline"]["bytes"], 4 * 3 * 2 * 64 * 128 * 2);
  EXPECT_TRUE(exists("w/small.1.et"));
  EXPECT_FALSE(exists("w/small.2.et"));
  EXPECT_FALSE(exists("w/small.groups.json"));
}

TEST_F(WorkloadCli, TakesOtherTablesAndOptions) {
  write("models.csv",
        "name,layers,d_model,ffn,heads,kv_heads,head_dim,vocab,gated,tied,positions,bias,norm,sequence\n"
        "mine,6,96,384,6,6,,1000,no,yes,128,yes,layer,128\n");
  const Ran ran = weft(
      "workload ../models.csv:mine --parallel tp=3,ep=2,cp=2,fsdp=2,dp=2,pp=2 --sequence-parallel --experts 4 "
      "--top-k 2 --sequence 96 --layers 4 --prefetch 2 --steps 2 --type fp32 --schedule gpipe --microbatches 3 "
      "--recompute selective-layer --out "
      "w");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"context parallel", "expert parallel", "bytes: parameters", "tied embedding"}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << " in " << ran.out;
  }
  const Ran check = weft("trace check w/mine");
  EXPECT_EQ(check.code, 0) << check.out;
}

TEST_F(WorkloadCli, KernelsAreCutAsTheyAreAskedFor) {
  const auto seconds = [this](const std::string& options) {
    const Ran made = weft("workload nano --parallel tp=2 --accelerator h100-sxm --out w " + options);
    EXPECT_EQ(made.code, 0) << made.err;
    return json::parse(weft("trace info w/nano --json").out)["compute_us"].get<double>();
  };
  const double fused = seconds("");
  EXPECT_EQ(seconds("--fusion fused --attention flash-3 --weight-gradients before --reduce-type fp32"), fused);
  const double compiled = seconds("--fusion compiled-blocks");
  EXPECT_EQ(seconds("--fusion compiled-blocks --attention flash-2"), compiled);
  EXPECT_GT(compiled, fused);
  const double norms = seconds("--fusion fused-norms");
  EXPECT_GT(norms, compiled);
  EXPECT_GT(seconds("--fusion eager"), norms);
  EXPECT_GT(seconds("--fusion compiled-blocks"), seconds("--fusion compiled-blocks --code fms"));
  EXPECT_GT(seconds("--sequence-parallel --copies"), seconds("--sequence-parallel"));
  // As small as these are, casts take longer than products in float8 save.
  EXPECT_GT(seconds("--fusion compiled-blocks --linear float8"), compiled);
}

// What --set says of the workload is of the traces', not of the platform's own.
TEST_F(WorkloadCli, TracesTakeTheKeysOfGraphs) {
  ASSERT_EQ(weft("workload nano --parallel tp=2,dp=4 --layers 2 --accelerator h100-sxm --out ../w").code, 0);
  const auto time = [this](const std::string& options) {
    const Ran ran = weft("run llama3-8b-fsdp-8xh100 --traces ../w/nano --out ../o --json " + options);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out)["last_finish_ns"].get<double>();
  };
  const double dimensions = time("");
  EXPECT_EQ(time("--set workload.library=dimensions --set workload.compute=kernels"), dimensions);
  EXPECT_NE(time("--set workload.library=communicators"), dimensions);
  EXPECT_NE(time("--set workload.compute=duration"), dimensions);
  expect_refused({"a key of FSDP",
                  "run llama3-8b-fsdp-8xh100 --traces ../w/nano --set workload.sequences=2",
                  {"workload.sequences: expected one of communications,", "library", "got \"sequences\""}});
  expect_refused({"library",
                  "run llama3-8b-fsdp-8xh100 --traces ../w/nano --set workload.library=nccl",
                  {"workload.library", "dimensions", "communicators"}});
}

// A platform's own step is what the command writes.
TEST_F(WorkloadCli, APlatformMayHaveAStepOfItsOwn) {
  const std::string machine = "run llama3-8b-tp8-fsdp8-64xh100 --set accelerators=8 --json ";
  const Ran ran = weft(machine +
                       "--set workload.model=nano --set workload.parallel=tp=2,fsdp=4 --set workload.batch=8 "
                       "--set workload.steps=2 --out ../o");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json result = json::parse(ran.out);
  EXPECT_EQ(result["workload"], (json{{"kind", "transformer"}, {"model", "nano"}, {"parallel", "tp=2,fsdp=4"}}));
  const double step = result["last_finish_ns"].get<double>() * 1e-9 / 2;
  EXPECT_NEAR(result["tokens_per_s_per_gpu"].get<double>(), 256 / step, 1e-6 * 256 / step);
  EXPECT_EQ(result["mfu_percent"].get<double>(), 100 * result["mfu"].get<double>());

  const Ran made = weft(
      "workload nano --parallel tp=2,fsdp=4 --batch 8 --sequence-parallel --recompute selective-op --fusion "
      "compiled-blocks --weight-gradients before --copies --reduce-type fp32 --steps 2 --accelerator h100-sxm --out "
      "../w");
  ASSERT_EQ(made.code, 0) << made.err;
  const Ran again = weft(machine +
                         "--traces ../w/nano --set workload.library=communicators --set workload.communications=0 "
                         "--out ../o");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["last_finish_ns"], result["last_finish_ns"]);
}

// Gathers of one byte and chunks carry what they should, and time is where it is to be expected.
TEST_F(WorkloadCli, APlatformsStepMayBeInFloat8AndAsynchronous) {
  const auto run = [this](const std::string& options) {
    const Ran ran = weft(
        "run llama3-8b-tp8-fsdp8-64xh100 --set accelerators=8 --set workload.model=nano --set "
        "workload.parallel=tp=2,fsdp=4 --set workload.batch=8 --data --json --out ../o " +
        options);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  };
  const std::string asynchronous = "--set workload.async_tensor_parallel=true ";
  const std::string float8 = "--set workload.linear=float8 ";
  const json plain = run("");
  EXPECT_EQ(plain["messages"], 0);
  EXPECT_EQ(plain["wrong"], 0);
  for (const std::string& options : {asynchronous, float8, asynchronous + float8}) {
    const json result = run(options);
    EXPECT_EQ(result["wrong"], 0) << options;
    // Of 4 blocks with 8 pairs of products and collectives each, on 8 ranks; recomputing has two of them.
    EXPECT_EQ(result["messages"], options.starts_with(asynchronous) ? 4 * 8 * 8 : 0) << options;
  }
}

TEST_F(WorkloadCli, RefusesStepsThatDoNotFitAPlatform) {
  const std::vector<BadInput> cases = {
      {"degrees", "parallel=tp=8", {"workload.parallel: expected degrees whose product is the 64 accelerators, got 8"}},
      {"heads", "parallel=tp=64", {"workload.parallel: expected a divisor of the 32 heads of llama3-8b, got 64"}},
      {"degree", "parallel=xp=64", {"workload.parallel: expected degrees of tp, cp", "got \"xp=64\""}},
      {"model",
       "model=nanno",
       {"workload.model: expected one of llama2-7b,",
        "gpt-oss-20b, or a file whose name ends in .csv or .json or has a / in it, got \"nanno\""}},
      {"batch", "batch=7", {"workload.batch: expected a multiple of 8", "got 7"}},
      {"top k", "top_k=2", {"workload.top_k: expected workload.experts"}},
      {"layers of stages", "stage_layers=3,x", {"workload.stage_layers: expected numbers", "got \"x\""}},
      {"latent", "recompute=latent-projections", {"workload.recompute: expected a model with latent queries"}},
      {"fusion", "fusion=some", {"workload.fusion: expected one of eager,", "got \"some\""}},
      {"linear", "linear=bf8", {"workload.linear: expected one of plain, float8, mxfp8, nvfp4, got \"bf8\""}},
      {"scales of blocks", "linear=mxfp8", {"workload.linear: expected plain or float8", "compute.block_scales"}},
      {"fp4", "linear=nvfp4", {"workload.linear: expected a type", "no rate for fp4 (compute.tensor_fp4)"}},
      {"weights",
       "float8_weights=true",
       {"workload.float8_weights: expected workload.linear float8 or mxfp8, got plain"}},
      {"casts",
       "casts=transformer-engine",
       {"workload.casts: expected workload.linear float8 with transformer-engine, got plain"}},
      {"loads",
       "model=qwen3-30b-a3b --set workload.expert_load=zipf --set workload.library=dimensions",
       {"workload.expert_load: expected workload.library communicators"}},
      {"float8",
       "linear=float8 --set workload.fusion=eager",
       {"workload.linear: expected workload.fusion compiled-blocks"}},
      {"asynchronous",
       "async_tensor_parallel=true --set workload.sequence_parallel=false",
       {"workload.async_tensor_parallel: expected workload.sequence_parallel"}},
      {"key", "sequences=2", {"workload.sequences: expected a known key, got \"sequences\""}},
      {"memory",
       "model=llama3-70b",
       {"accelerator.hbm.capacity: expected a memory that holds what runs on it, got \"80GiB\": parameters, gradients, "
        "optimizer and activations of a step needs",
        "workload.recompute makes activations fewer"}},
      {"kind",
       "kind=train",
       {"workload.kind: expected \"fsdp\", \"kfac\", \"transformer\", \"chakra\", \"flows\", \"graph-sampling\", "
        "\"edge-learning\", \"pipeline\", \"recommender\" or \"jobs\""}},
  };
  for (const BadInput& bad : cases) {
    const std::string arguments = std::string("run llama3-8b-tp8-fsdp8-64xh100 --set workload.") + bad.arguments;
    expect_refused({bad.what, arguments.c_str(), bad.message});
  }
}

TEST_F(WorkloadCli, RefusesBadInput) {
  write("file", "");
  write("bad.csv", "name,layers\nx,1\n");
  const std::vector<BadInput> cases = {
      {"no such model",
       "workload nanno --out w",
       {"MODEL: expected one of llama2-7b,", "llama3-8b", "nano", "got \"nanno\""}},
      {"no such table",
       "workload none.csv:nano --out w",
       {"weft: none.csv: expected a transformer in JSON, or a table"}},
      {"bad table", "workload ../bad.csv:nano --out w", {"../bad.csv"}},
      {"no folder", "workload nano", {"--out"}},
      {"unknown degree",
       "workload nano --parallel tp=2,xp=2 --out w",
       {"--parallel: expected degrees of tp, cp, ep, fsdp, dp, pp and etp", "got \"xp=2\""}},
      {"degree 0", "workload nano --parallel dp=0 --out w", {"--parallel: dp: expected a degree from 1", "got \"0\""}},
      {"tensor", "workload nano --parallel tp=3 --out w", {"--parallel tp: expected a divisor of the 4 heads of nano"}},
      {"key heads",
       "workload nano --parallel tp=4 --out w",
       {"--parallel tp: expected a divisor of the 2 key and value heads of nano, got 4"}},
      {"pipeline",
       "workload nano --parallel pp=5 --out w",
       {"--parallel pp: expected at most the 4 layers of nano, got 5"}},
      {"layers",
       "workload nano --parallel pp=4 --layers 3 --out w",
       {"--parallel pp: expected at most the 3 layers of nano, got 4"}},
      {"microbatches",
       "workload nano --parallel pp=2 --schedule interleaved --virtual-stages 2 --microbatches 3 --out w",
       {"--microbatches: expected a multiple of 2, the pipeline stages, for the interleaved schedule, got 3"}},
      {"no microbatch", "workload nano --microbatches 0 --out w", {"--microbatches"}},
      {"virtual stages",
       "workload nano --parallel pp=2 --virtual-stages 2 --out w",
       {"--virtual-stages: expected --schedule interleaved"}},
      {"layers of stages",
       "workload nano --parallel pp=2 --stage-layers 1,2 --out w",
       {"--stage-layers: expected the 4 layers of nano in all, got 3"}},
      {"schedule", "workload nano --schedule zigzag --out w", {"--schedule", "1f1b", "interleaved"}},
      {"recompute", "workload nano --recompute some --out w", {"--recompute", "selective-op"}},
      {"fusion", "workload nano --fusion some --out w", {"--fusion", "compiled-blocks"}},
      {"linear", "workload nano --linear fp8 --out w", {"--linear", "plain", "float8"}},
      {"asynchronous alone",
       "workload nano --parallel tp=2 --async-tensor-parallel --out w",
       {"--async-tensor-parallel: expected --sequence-parallel"}},
      {"float8 eager",
       "workload nano --linear float8 --fusion eager --out w",
       {"--linear: expected --fusion compiled-blocks or fused with float8"}},
      {"attention", "workload nano --attention flash-4 --out w", {"--attention", "flash-3"}},
      {"weights' gradients", "workload nano --weight-gradients after --out w", {"--weight-gradients", "before"}},
      {"type of sums", "workload nano --reduce-type int8 --out w", {"--reduce-type", "fp32"}},
      {"batch", "workload nano --parallel dp=4 --batch 6 --out w", {"--batch: expected a multiple of 4", "got 6"}},
      {"context", "workload nano --parallel cp=3 --out w", {"--sequence: expected a multiple of 6", "got 256"}},
      {"no experts",
       "workload nano --parallel ep=2 --out w",
       {"--parallel ep: expected a model with experts; --experts N puts N in place of each MLP of nano"}},
      {"experts",
       "workload nano --parallel ep=2 --experts 3 --out w",
       {"--parallel ep: expected a divisor of the 3 experts, got 2"}},
      {"top k", "workload nano --top-k 2 --out w", {"--top-k: expected --experts"}},
      {"sequence parallel", "workload nano --sequence-parallel --out w", {"--sequence-parallel: expected tp above 1"}},
      {"prefetch of nothing",
       "workload nano --parallel dp=2 --prefetch 1 --out w",
       {"--prefetch: expected fsdp above 1 in --parallel"}},
      {"prefetch", "workload nano --prefetch 3 --out w", {"--prefetch"}},
      {"type", "workload nano --type int3 --out w", {"--type", "bf16"}},
      {"accelerator",
       "workload nano --accelerator h1000 --out w",
       {"--accelerator: expected a part of kind accelerator, one of a100-80g,", "got \"h1000\""}},
      {"name", "workload nano --name a/b --out w", {"--name: expected the beginning of file names, got \"a/b\""}},
      {"folder in a file", "workload nano --out ../file/w", {"--out: expected a folder that can be written"}},
      {"a file", "workload nano --out ../file", {"--out: expected a folder that can be written"}},
  };
  for (const BadInput& bad : cases) expect_refused(bad);
}

/// Tokens come to experts in other nodes, each memory as it must be, evenly or not; and fewer bytes cross the network.
TEST_F(WorkloadCli, TokensCrossOnceForEachNode) {
  write("tiny.json",
        R"({"layers":2,"d_model":256,"ffn":512,"heads":4,"vocab":512,"sequence":64,"experts":16,"top_k":4,)"
        R"("expert_ffn":128})");
  const std::string machine =
      "run dgx-h100 --set accelerators=8 --set per_node=4 --set workload.kind=transformer "
      "--set workload.model=../tiny.json --set workload.parallel=ep=8,dp=8 "
      "--set workload.library=communicators --set collectives.algorithm=deepep --set workload.reduce_type=fp32 "
      "--data --json ";
  const Ran each = weft(machine + "--set collectives.algorithm=nccl");
  ASSERT_EQ(each.code, 0) << each.err;
  for (const char* load : {"balanced", "zipf"}) {
    const Ran once = weft(machine + "--set workload.dispatcher=deepep --set workload.expert_load=" + std::string(load));
    ASSERT_EQ(once.code, 0) << once.err;
    const nlohmann::json result = nlohmann::json::parse(once.out);
    EXPECT_EQ(result["wrong"], 0) << load;
    EXPECT_GT(result["nodes_of_token"].get<double>(), 1.5);
    EXPECT_LE(result["nodes_of_token"].get<double>(), 2);
  }
  const Ran any = weft(machine + "--set workload.dispatcher=deepep --set workload.node_limit=2");
  ASSERT_EQ(any.code, 0) << any.err;
  const nlohmann::json unused = nlohmann::json::parse(any.out)["without_effect"];
  ASSERT_EQ(unused.size(), 1U) << unused;
  EXPECT_EQ(unused[0]["field"], "workload.node_limit");
  EXPECT_EQ(unused[0]["because"], "the ranks of ep are on 2 nodes");
  const Ran refused = weft(machine + "--set collectives.algorithm=nccl --set workload.dispatcher=deepep");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("workload.dispatcher: expected alltoall, or workload.library communicators and "
                             "collectives.algorithm deepep, got workload.library communicators and "
                             "collectives.algorithm nccl"),
            std::string::npos)
      << refused.err;
}

/// Uneven loads take longer, whose busiest rank the result tells; and what stages need is told before a run.
TEST_F(WorkloadCli, ExpertsCostWhatTheirLoadIs) {
  const std::string machine =
      "run qwen3-30b-a3b-8xgb200 --set workload.layers=2 --set workload.batch=16 --set workload.microbatches=2 ";
  const Ran even = weft(machine + "--json");
  const Ran skewed = weft(machine + "--set workload.expert_load=zipf --json");
  ASSERT_EQ(even.code, 0) << even.err;
  ASSERT_EQ(skewed.code, 0) << skewed.err;
  const nlohmann::json a = nlohmann::json::parse(even.out);
  const nlohmann::json b = nlohmann::json::parse(skewed.out);
  EXPECT_FALSE(a.contains("busiest_expert_rank"));
  EXPECT_GT(b["busiest_expert_rank"].get<double>(), 1.3);
  EXPECT_GT(b["step_time_us"].get<double>(), 1.1 * a["step_time_us"].get<double>());
  ASSERT_EQ(a["memory_of_stages_bytes"].size(), 1U);
  const nlohmann::json& stage = a["memory_of_stages_bytes"][0];
  EXPECT_EQ(stage["all"].get<std::int64_t>(),
            stage["parameters"].get<std::int64_t>() + stage["gradients"].get<std::int64_t>() +
                stage["optimizer"].get<std::int64_t>() + stage["activations"].get<std::int64_t>());
  // Also of what does not fit.
  const Ran told = weft("run qwen3-30b-a3b-8xgb200 --set workload.microbatches=2 --estimate");
  EXPECT_EQ(told.code, 2);
  EXPECT_NE(told.out.find("of an accelerator: the step does not fit"), std::string::npos) << told.out;
}

TEST_F(WorkloadCli, NamesTheOptimizer) {
  const auto of = [this](const std::string& optimizer) {
    const Ran ran = weft("workload nano --parallel dp=2 --out w --json --optimizer " + optimizer);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return json::parse(ran.out);
  };
  const json muon = of("muon");
  EXPECT_EQ(muon["optimizer"], "muon");
  EXPECT_GT(muon["rank"][0]["optimizer_operations"], 0);
  EXPECT_EQ(muon["rank"][0]["communication"]["optimizer"]["nodes"], 1);
  EXPECT_EQ(of("adamw")["rank"][0]["communication"]["optimizer"]["nodes"], 0);
  const Ran ran = weft("workload nano --parallel dp=2 --out w --optimizer lion");
  EXPECT_EQ(ran.code, 2);
  for (const char* part : {"--optimizer", "muon", "lion"}) EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
}

/// Of a platform: each ends with exit status 2, the file, the path within it and what was expected.
TEST_F(WorkloadCli, OptimizersNameWhatTheyCannotDo) {
  const std::string fsdp = "run llama3-8b-fsdp-8xh100 --set workload.model=nano --set workload.sequence=64 ";
  const std::vector<std::pair<std::string, std::string>> refused = {
      {fsdp + "--set workload.optimizer=lion",
       "workload.optimizer: expected one of adamw, sgd, muon, shampoo, soap, kfac, none, got \"lion\""},
      {fsdp + "--set workload.optimizer=true", "workload.optimizer: expected one of adamw, sgd"},
      {fsdp + "--set workload.optimizer=muon --set workload.muon.form=megatron",
       "workload.muon.form: expected dion or automatic where ranks have shards"},
      {fsdp + "--set workload.optimizer=muon --set collectives.algorithm=ring",
       "collectives.algorithm: expected nccl, deepep or dimensions for an AllToAll, got ring"},
      {fsdp + "--set workload.optimizer=muon --set workload.muon.iterations=0", "workload.muon.iterations: expected"},
      {"run qwen3-30b-a3b-8xgb300-muon --set workload.muon.form=dion --set workload.distributed_optimizer=true",
       "workload.muon.form: expected megatron or automatic with workload.distributed_optimizer"}};
  for (const auto& [arguments, expected] : refused) {
    const Ran ran = weft(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.err.find(expected), std::string::npos) << ran.err;
  }
  // A field of an optimizer that is not named changes nothing, and the run says so.
  const Ran idle = weft(fsdp + "--set workload.muon.iterations=4");
  EXPECT_EQ(idle.code, 0) << idle.err;
  EXPECT_NE((idle.out + idle.err).find("workload.muon.iterations (workload.optimizer is adamw)"), std::string::npos)
      << idle.out << idle.err;
}

TEST_F(WorkloadCli, LeavesNothingWhereItCannotWrite) {
  std::filesystem::create_directories(folder_ / "work/w/nano.1.et");
  const Ran ran = weft("workload nano --parallel dp=2 --out w");
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(ran.err.starts_with("weft: --out: expected a folder that can be written, got \"w\": cannot write "))
      << ran.err;
  EXPECT_NE(ran.err.find("w/nano.1.et"), std::string::npos) << ran.err;
  EXPECT_FALSE(exists("w/nano.0.et"));
}

TEST_F(WorkloadCli, FilesOfMoreRanksAreNotLeftBehind) {
  ASSERT_EQ(weft("workload nano --parallel dp=3 --out w").code, 0);
  ASSERT_EQ(weft("workload nano --parallel dp=3 --out w").code, 0);
  const Ran ran = weft("workload nano --parallel dp=2 --out w");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(
      ran.err,
      "weft: --out: expected no files of another trace with the prefix \"w/nano\", got \"w/nano.2.et\", which would "
      "be taken for one of this trace: remove it, or take another prefix\n");
}

}  // namespace
}  // namespace weft
