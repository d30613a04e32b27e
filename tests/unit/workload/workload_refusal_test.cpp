// SPDX-License-Identifier: Apache-2.0
// Generated workloads: what is refused, and in which words.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "sw/workloads/workload.h"
#include "tests/support/workload.h"

namespace weft::workloads {
namespace {

using test::workload_config;

std::string refused(const std::function<void()>& action) {
  try {
    action();
  } catch (const WorkloadError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Workload, RefusesDegreesThatAreNone) {
  const auto message = [](const std::string& text) { return refused([&] { parse_parallelism(text); }); };
  const std::string expected =
      "--parallel: expected degrees of tp, cp, ep, fsdp, dp, pp and etp such as tp=8,pp=4, got ";
  EXPECT_EQ(message("xp=2"), expected + "\"xp=2\"");
  EXPECT_EQ(message("tp"), expected + "\"tp\"");
  EXPECT_EQ(message("tp=2,"), expected + "\"\"");
  EXPECT_EQ(message("tp=0"), "--parallel: tp: expected a degree from 1 to 1048576, got \"0\"");
  EXPECT_EQ(message("tp=2x"), "--parallel: tp: expected a degree from 1 to 1048576, got \"2x\"");
  EXPECT_EQ(message("tp=2,tp=2"), "--parallel: tp: expected one degree, got a second one");
  EXPECT_EQ(message("tp=2048,dp=1024"), "--parallel: expected at most 1048576 ranks in all");
}

TEST(Workload, RefusesWhatDoesNotDivide) {
  const auto message = [](const std::string& parallel, const std::function<void(WorkloadConfig&)>& change) {
    return refused([&] {
      WorkloadConfig config = workload_config(parallel);
      change(config);
      TransformerWorkload workload(config);
    });
  };
  const auto nothing = [](WorkloadConfig&) {};
  EXPECT_EQ(message("tp=5", nothing), "--parallel tp: expected a divisor of the 12 heads of small, got 5");
  EXPECT_EQ(message("tp=4", nothing), "--parallel tp: expected a divisor of the 6 key and value heads of small, got 4");
  EXPECT_EQ(message("tp=2", [](WorkloadConfig& c) { c.model.ffn = 361; }),
            "--parallel tp: expected a divisor of the 361 columns of the MLP of small, got 2");
  EXPECT_EQ(message("tp=6", [](WorkloadConfig& c) { c.model.vocab = 5; }),
            "--parallel tp: expected no more ranks than the vocabulary has rows");
  EXPECT_EQ(message("pp=13", nothing), "--parallel pp: expected at most the 12 layers of small, got 13");
  EXPECT_EQ(message("cp=5", nothing),
            "--sequence: expected a multiple of 10, two equal parts for each of cp ranks, got 144");
  EXPECT_EQ(message("dp=4", [](WorkloadConfig& c) { c.batch = 6; }),
            "--batch: expected a multiple of 4, fsdp x dp ranks with 1 microbatches each, got 6");
  EXPECT_EQ(message("tp=3,cp=2", [](WorkloadConfig& c) { c.sequence_parallel = true, c.sequence = 148; }),
            "--sequence: expected a multiple of 6, cp x tp, with --sequence-parallel, got 148");
  EXPECT_EQ(message("dp=2", [](WorkloadConfig& c) { c.sequence_parallel = true; }),
            "--sequence-parallel: expected tp above 1");
  EXPECT_EQ(message("dp=2", [](WorkloadConfig& c) { c.model.positions = 100; }),
            "--sequence: expected at most the 100 positions of small, got 144");
  EXPECT_EQ(message("dp=2", [](WorkloadConfig& c) { c.batch = 1LL << 40; }),
            "--batch: expected a workload of at most 1e18 operations a rank");
  // Before anything that is counted in 64 bits is larger.
  EXPECT_EQ(message("dp=2",
                    [](WorkloadConfig& c) {
                      c.batch = 1LL << 30, c.sequence = 1LL << 30;
                      test::set_experts(c, 4096, 4096);
                    }),
            "--batch: expected a workload of at most 1e18 operations a rank");
  EXPECT_EQ(message("dp=2",
                    [](WorkloadConfig& c) {
                      c.model.layers = c.model.heads = c.model.kv_heads = c.model.head_dim = 4096;
                      c.sequence = 1LL << 30;
                    }),
            "--batch: expected a workload of at most 1e18 operations a rank");
  EXPECT_EQ(message("dp=2",
                    [](WorkloadConfig& c) {
                      c.model.layers = 4096;
                      c.model.d_model = c.model.ffn = 1 << 20;
                      test::set_experts(c, 4096);
                      c.batch = 2, c.sequence = 2;
                    }),
            "--experts: expected at most 1e17 parameters in all experts");
}

TEST(Workload, RefusesSchedulesThatCannotBe) {
  const auto message = [](const std::string& parallel, std::int64_t virtual_stages, std::int64_t microbatches,
                          PipelineSchedule schedule = PipelineSchedule::kInterleaved) {
    return refused([&] {
      WorkloadConfig config = workload_config(parallel, microbatches);
      config.schedule = schedule;
      config.virtual_stages = virtual_stages;
      TransformerWorkload workload(config);
    });
  };
  EXPECT_EQ(message("dp=2", 2, 4), "--schedule: expected pp above 1 for interleaved");
  EXPECT_EQ(message("pp=2", 1, 4), "--virtual-stages: expected 2 or more for the interleaved schedule, got 1");
  EXPECT_EQ(message("pp=2", 2, 4, PipelineSchedule::kGPipe), "--virtual-stages: expected --schedule interleaved");
  EXPECT_EQ(message("pp=4", 4, 4), "--parallel pp x --virtual-stages: expected at most the 12 layers of small, got 16");
  EXPECT_EQ(message("pp=4", 3, 2),
            "--microbatches: expected a multiple of 4, the pipeline stages, for the interleaved schedule, got 2");
}

TEST(Workload, RefusesLatentProjectionsOfOtherAttention) {
  EXPECT_EQ(refused([&] {
              WorkloadConfig config = workload_config("dp=2");
              config.recompute = models::Recompute::kLatentProjections;
              TransformerWorkload workload(config);
            }),
            "--recompute: expected a model with latent queries and keys for latent-projections");
}

TEST(Workload, RefusesStagesThatAreNotTheModel) {
  const auto message = [](const std::string& layers) {
    return refused([&] {
      WorkloadConfig config = workload_config("pp=2", 4);
      config.schedule = PipelineSchedule::kInterleaved;
      config.virtual_stages = 2;
      config.stage_layers = parse_stage_layers(layers);
      TransformerWorkload workload(config);
    });
  };
  EXPECT_EQ(message("4,4*2"),
            "--stage-layers: expected the layers of the 4 virtual stages (pp x --virtual-stages), got 3 numbers");
  EXPECT_EQ(message("3*3,2"), "--stage-layers: expected the 12 layers of small in all, got 11");
  EXPECT_EQ(message("6,0,5,1"),
            "--stage-layers: expected a layer at least in all virtual stages but the first and the last, got none in "
            "virtual stage 1");
  for (const std::string text : {"3,x", "3,-3", "3,", ",3", "3*", "*4", "3*2*2", "3,4097", "3 ,3"}) {
    EXPECT_TRUE(message(text).starts_with("--stage-layers: expected numbers up to 4096 such as 3,4*14,2")) << text;
  }
  EXPECT_EQ(message("3*4096,3"), "--stage-layers: expected at most 4096 virtual stages");
}

TEST(Workload, RefusesFloat8WhereItIsNot) {
  const auto message = [](const std::function<void(WorkloadConfig&)>& change) {
    return refused([&] {
      WorkloadConfig config = workload_config("dp=2");
      config.linear = models::LinearType::kFloat8;
      change(config);
      TransformerWorkload workload(config);
    });
  };
  EXPECT_EQ(message([](WorkloadConfig& c) { c.fusion = models::Fusion::kEager; }),
            "--linear: expected --fusion compiled-blocks or fused with float8, as casts are fused");
  EXPECT_EQ(message([](WorkloadConfig& c) { c.element_bytes = 4; }),
            "--linear: expected a --type of 16 bits with float8");
  for (const char* parallel : {"tp=2", "fsdp=2"}) {
    const auto set = [parallel](WorkloadConfig& c) {
      c.parallel = parse_parallelism(parallel);
      test::set_experts(c, 4);
    };
    EXPECT_EQ(message(set), "--linear: expected neither tp nor fsdp above 1 in --parallel for experts with float8");
  }
  EXPECT_EQ(message([](WorkloadConfig& c) { c.recompute = models::Recompute::kSelectiveLayer; }),
            "--linear: expected --recompute none, selective-op or full with float8");
}

TEST(Workload, RefusesAsynchronousTensorParallelismWhereItIsNot) {
  const auto message = [](const std::function<void(WorkloadConfig&)>& change) {
    return refused([&] {
      WorkloadConfig config = workload_config("tp=2");
      config.sequence_parallel = true;
      config.async_tensor_parallel = true;
      change(config);
      TransformerWorkload workload(config);
    });
  };
  EXPECT_EQ(message([](WorkloadConfig& c) { c.sequence_parallel = false; }),
            "--async-tensor-parallel: expected --sequence-parallel");
  EXPECT_EQ(message([](WorkloadConfig& c) { c.fusion = models::Fusion::kFusedNorms; }),
            "--async-tensor-parallel: expected --fusion compiled-blocks or fused, as the compiler cuts products");
  EXPECT_EQ(message([](WorkloadConfig& c) { test::set_experts(c, 4); }),
            "--async-tensor-parallel: expected no experts");
}

TEST(Workload, RefusesExpertsThatCannotBe) {
  const auto message = [](const std::string& parallel, std::int64_t experts, std::int64_t top_k) {
    return refused([&] {
      WorkloadConfig config = workload_config(parallel);
      test::set_experts(config, experts);
      config.model.top_k = experts == 0 && top_k == 1 ? 0 : top_k;
      TransformerWorkload workload(config);
    });
  };
  EXPECT_EQ(message("ep=2", 0, 1),
            "--parallel ep: expected a model with experts; --experts N puts N in place of each MLP of small");
  EXPECT_EQ(message("dp=2", 0, 2), "--top-k: expected --experts");
  EXPECT_EQ(message("ep=3,dp=3", 4, 1), "--parallel ep: expected a divisor of the 4 experts, got 3");
  EXPECT_EQ(message("ep=2,dp=2", 4, 5), "--top-k: expected at most the 4 experts, got 5");
  EXPECT_EQ(message("tp=3,ep=2,dp=3", 10, 1),
            "--parallel ep: expected a degree that divides, times the 3 ranks that have a part of an expert (etp, by "
            "default tp), the 9 ranks of tp x cp x dp, among which experts lie, got 2");
}

}  // namespace
}  // namespace weft::workloads
