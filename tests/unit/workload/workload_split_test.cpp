// SPDX-License-Identifier: Apache-2.0
// Pipelines whose backward passes are cut: their bubbles, what they keep, and that they do what others do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/workload.h"

namespace weft::workloads {
namespace {

using chakra::Node;
using chakra::NodeType;
using test::ChakraTest;
using test::workload_config;
using Weights = PipelineOperation::Weights;

constexpr auto kZeroBubble = PipelineSchedule::kZeroBubble;
constexpr auto kDualPipe = PipelineSchedule::kDualPipe;

struct CutSchedule {
  PipelineSchedule schedule;
  std::int64_t stages;
  std::int64_t microbatches;
};

std::ostream& operator<<(std::ostream& out, const CutSchedule& of) {
  return out << weft::name_of(of.schedule) << " p=" << of.stages << " m=" << of.microbatches;
}

WorkloadConfig cut_config(const CutSchedule& of) {
  WorkloadConfig config = workload_config("pp=" + std::to_string(of.stages), of.microbatches);
  config.schedule = of.schedule;
  // Embedding and head take nothing, so that all stages take the same time.
  config.model.vocab = 1;
  return config;
}

class CutPipeline : public ChakraTest, public testing::WithParamInterface<CutSchedule> {};

TEST_P(CutPipeline, EveryPassIsOnceAndInOrder) {
  const CutSchedule& of = GetParam();
  const Pipeline pipeline = cut_config(of).pipeline();
  for (std::int64_t stage = 0; stage < of.stages; ++stage) {
    std::map<std::pair<std::int64_t, std::int64_t>, int> done;  // by chunk and microbatch
    for (const PipelineOperation& each : stage_operations(pipeline, stage)) {
      int& passes = done[{each.chunk, each.microbatch}];
      if (each.forward) {
        EXPECT_EQ(passes++, 0);
      } else if (each.weights == Weights::kAlone) {
        EXPECT_EQ(passes++, 2);
      } else {
        EXPECT_EQ(passes++, 1);
        if (each.weights == Weights::kWith) ++passes;
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(done.size()), of.microbatches);
    for (const auto& [pass, passes] : done) EXPECT_EQ(passes, 3);
  }
}

/// F, B and W of a stage are what its nodes take, B being both halves of a backward pass: idle are (p - 1) (F + B - 2
/// W). DualPipe's passes in pairs are here one after the other, and the first gives on what it has at once: less than
/// the closed form of pairs.
TEST_P(CutPipeline, BubbleIsTheClosedForm) {
  const CutSchedule& of = GetParam();
  const TransformerWorkload workload(cut_config(of));
  constexpr double kPeakTflops = 100;
  constexpr std::int64_t kOperationsPerNano = 100'000;
  std::int64_t busy = 0;
  std::int64_t weights = 0;
  std::int64_t forward = 0;
  for (const Node& node : test::nodes_of(workload, 0)) {
    if (node.type != NodeType::kCompute) continue;
    const std::int64_t nanos = *node.num_ops() / kOperationsPerNano;
    busy += nanos;
    if (node.name.find("weights gradients") != std::string::npos) weights += nanos;
    if (node.name.find(" forward") != std::string::npos) forward += nanos;
  }
  ASSERT_GT(weights, 0);
  const std::int64_t f = forward / of.microbatches;
  const std::int64_t w = weights / of.microbatches;
  const std::int64_t b = busy / of.microbatches - f;
  write_workload(workload, folder_ / "w");
  test::ReplayOptions options;
  options.peak_tflops = kPeakTflops;
  const std::vector<std::int64_t> finished = test::replay(workload, folder_ / "w", options);
  const std::int64_t idle = *std::max_element(finished.begin(), finished.end()) - busy;
  if (of.schedule == kDualPipe) {
    EXPECT_LE(idle, (of.stages / 2 - 1) * (f + b + b - 3 * w)) << "F " << f << " B " << b << " W " << w;
    EXPECT_TRUE(of.stages > 2 || idle == 0) << idle;
  } else {
    EXPECT_EQ(idle, (of.stages - 1) * (f + b - 2 * w)) << "F " << f << " B " << b << " W " << w;
  }
}

/// When the last stage ends, with pairs as one: they begin with what both take and give on both at their end.
std::int64_t end_of(const Pipeline& pipeline, std::int64_t f, std::int64_t b, std::int64_t w) {
  using Pass = std::tuple<bool, std::int64_t, std::int64_t>;  // forward, place, microbatch
  std::map<Pass, std::int64_t> ended;
  std::vector<std::vector<PipelineOperation>> operations;
  for (std::int64_t s = 0; s < pipeline.stages; ++s) operations.push_back(stage_operations(pipeline, s));
  std::vector<std::size_t> at(operations.size(), 0);
  std::vector<std::int64_t> now(operations.size(), 0);
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t s = 0; s < operations.size(); ++s) {
      while (at[s] < operations[s].size()) {
        std::int64_t begin = now[s];
        std::int64_t length = 0;
        bool is_ready = true;
        std::vector<Pass> done;
        for (std::size_t i = at[s]; i == at[s] || operations[s][i - 1].beside_next; ++i) {
          const PipelineOperation& each = operations[s][i];
          const std::int64_t place = pipeline.virtual_stage(static_cast<std::int64_t>(s), each.chunk);
          if (each.weights == Weights::kAlone) {
            length += w;
            done.emplace_back(false, -1, -1);
            continue;
          }
          length += each.forward ? f : each.weights == Weights::kLater ? b - w : b;
          done.emplace_back(each.forward, place, each.microbatch);
          const bool is_last = place + 1 == pipeline.virtual_stages();
          if (each.forward && place == 0) continue;
          const auto before = ended.find({each.forward || is_last,
                                          each.forward ? place - 1
                                          : is_last    ? place
                                                       : place + 1,
                                          each.microbatch});
          is_ready = is_ready && before != ended.end();
          if (is_ready) begin = std::max(begin, before->second);
        }
        if (!is_ready) break;
        now[s] = begin + length;
        for (const Pass& pass : done) ended[pass] = now[s];
        at[s] += done.size();
        goes_on = true;
      }
    }
  }
  for (std::size_t s = 0; s < operations.size(); ++s) EXPECT_EQ(at[s], operations[s].size()) << "stage " << s;
  return *std::max_element(now.begin(), now.end());
}

/// (p / 2 - 1) (F&B + B - 3 W), and (p - 1) (F + B - 2 W).
TEST_P(CutPipeline, BubbleOfTheOrderIsTheClosedForm) {
  const CutSchedule& of = GetParam();
  const Pipeline pipeline = cut_config(of).pipeline();
  constexpr std::int64_t kF = 100;
  constexpr std::int64_t kB = 200;
  constexpr std::int64_t kW = 100;
  const std::int64_t idle = end_of(pipeline, kF, kB, kW) - of.microbatches * (kF + kB);
  const std::int64_t form =
      of.schedule == kDualPipe ? (of.stages / 2 - 1) * (kF + kB + kB - 3 * kW) : (of.stages - 1) * (kF + kB - 2 * kW);
  EXPECT_EQ(idle, form);
  EXPECT_DOUBLE_EQ(static_cast<double>(idle) / static_cast<double>(of.microbatches * (kF + kB)), pipeline.bubble());
}

/// As many as 1F1B; with DualPipe one more than there are stages.
TEST_P(CutPipeline, ActivationsAreBounded) {
  const CutSchedule& of = GetParam();
  const Pipeline pipeline = cut_config(of).pipeline();
  std::int64_t most = 0;
  for (std::int64_t stage = 0; stage < of.stages; ++stage) {
    std::int64_t live = 0;
    for (const PipelineOperation& each : stage_operations(pipeline, stage)) {
      if (each.forward) most = std::max(most, ++live);
      if (!each.forward && each.weights != Weights::kLater) --live;
    }
    EXPECT_EQ(live, 0);
  }
  EXPECT_EQ(most, of.schedule == kDualPipe ? of.stages + 1 : std::min(of.stages, of.microbatches));
}

/// All that 1F1B computes and sends, on all ranks together; DualPipe has the parameters twice, and sums their gradients
/// between two ranks.
TEST_P(CutPipeline, DoesWhatOthersDo) {
  const CutSchedule& of = GetParam();
  WorkloadConfig config = cut_config(of);
  config.model.vocab = 101;
  const TransformerWorkload cut(config);
  config.schedule = PipelineSchedule::kOneForwardOneBackward;
  const TransformerWorkload whole(config);
  std::int64_t operations[2] = {};
  std::int64_t sent[2] = {};
  std::int64_t parameters[2] = {};
  std::int64_t summed = 0;
  for (std::int64_t rank = 0; rank < of.stages; ++rank) {
    for (const TransformerWorkload* each : {&cut, &whole}) {
      const RankSums sums = each->generate(rank, [](const Node&) {});
      operations[each == &cut ? 0 : 1] += sums.operations - sums.optimizer_operations;
      sent[each == &cut ? 0 : 1] += sums.of(Purpose::kPipeline).bytes;
      parameters[each == &cut ? 0 : 1] += sums.parameters;
      if (each == &cut) summed += sums.of(Purpose::kGradients).bytes;
    }
  }
  EXPECT_EQ(operations[0], operations[1]);
  EXPECT_EQ(sent[0], sent[1]);
  const std::int64_t copies = of.schedule == kDualPipe ? 2 : 1;
  EXPECT_EQ(parameters[0], copies * parameters[1]);
  EXPECT_EQ(summed, of.schedule == kDualPipe ? config.gradient_bytes * parameters[0] : 0);
}

INSTANTIATE_TEST_SUITE_P(All, CutPipeline,
                         testing::Values(CutSchedule{kZeroBubble, 2, 4}, CutSchedule{kZeroBubble, 3, 7},
                                         CutSchedule{kZeroBubble, 4, 8}, CutSchedule{kZeroBubble, 6, 12},
                                         CutSchedule{kDualPipe, 2, 4}, CutSchedule{kDualPipe, 4, 8},
                                         CutSchedule{kDualPipe, 4, 12}, CutSchedule{kDualPipe, 6, 12},
                                         CutSchedule{kDualPipe, 6, 20}));

std::string refusal_of(const WorkloadConfig& config) {
  try {
    config.check();
  } catch (const WorkloadError& error) {
    return error.what();
  }
  return "";
}

TEST(CutPipelines, RefuseWhatTheyCannot) {
  EXPECT_EQ(refusal_of(cut_config({kDualPipe, 3, 12})), "--parallel pp: expected an even number for dualpipe, got 3");
  EXPECT_EQ(refusal_of(cut_config({kDualPipe, 4, 6})),
            "--microbatches: expected an even number of at least 8, two for each pipeline stage, for dualpipe, got 6");
  EXPECT_EQ(refusal_of(cut_config({kZeroBubble, 1, 6})), "--schedule: expected pp above 1 for zero-bubble");
  WorkloadConfig tied = cut_config({kDualPipe, 4, 8});
  tied.model.tied = true;
  EXPECT_EQ(refusal_of(tied), "--schedule: expected a model whose head has weights of its own for dualpipe");
}

// Exchanges of experts beside the other pass -------------------------------------------------------------------------

class OverlappedExperts : public ChakraTest {
 protected:
  /// Nanoseconds of a step; with AllToAlls that take time, or none.
  std::int64_t time_of(const WorkloadConfig& config, const std::string& name, double bytes_per_ns = 2) {
    const TransformerWorkload workload(config);
    write_workload(workload, folder_ / name);
    test::ReplayOptions options;
    options.bytes_per_ns = bytes_per_ns;
    options.peak_tflops = 1;
    const std::vector<std::int64_t> finished = test::replay(workload, folder_ / name, options);
    return *std::max_element(finished.begin(), finished.end());
  }
  static WorkloadConfig with_experts(const std::string& parallel, std::int64_t microbatches) {
    WorkloadConfig config = workload_config(parallel, microbatches);
    config.model.vocab = 104;
    test::set_experts(config, 8, 2);
    return config;
  }
};

/// Most of what AllToAlls add is hidden, and the same is computed and sent.
TEST_F(OverlappedExperts, HideAllToAllsBehindTheOtherPass) {
  for (const auto& [parallel, schedule] :
       std::vector<std::pair<std::string, PipelineSchedule>>{{"ep=4,dp=4", PipelineSchedule::kOneForwardOneBackward},
                                                             {"pp=2,ep=2,dp=2", PipelineSchedule::kInterleaved},
                                                             {"pp=2,ep=2,dp=2", kDualPipe}}) {
    WorkloadConfig config = with_experts(parallel, 8);
    config.schedule = schedule;
    if (schedule == PipelineSchedule::kInterleaved) config.virtual_stages = 2;
    const std::int64_t without = time_of(config, "without", 1e18);
    const std::int64_t apart = time_of(config, "apart");
    const RankSums before = TransformerWorkload(config).generate(0, [](const Node&) {});
    config.overlap_experts = true;
    const std::int64_t beside = time_of(config, "beside");
    const RankSums after = TransformerWorkload(config).generate(0, [](const Node&) {});
    const std::int64_t least = config.pipeline().stages == 1 ? (apart - without) / 2 : 0;
    EXPECT_GT(apart - beside, least) << parallel;
    EXPECT_EQ(before.operations, after.operations);
    EXPECT_EQ(before.nodes, after.nodes);
    EXPECT_EQ(before.of(Purpose::kExpertParallel).bytes, after.of(Purpose::kExpertParallel).bytes);
  }
}

TEST_F(OverlappedExperts, RefuseWhatHasNone) {
  WorkloadConfig config = with_experts("pp=2,ep=2,dp=2", 4);
  config.overlap_experts = true;
  EXPECT_EQ(refusal_of(config), "--overlap-experts: expected --schedule interleaved or dualpipe, got 1f1b");
  config = with_experts("ep=2,dp=2", 4);
  config.overlap_experts = true;
  config.schedule = PipelineSchedule::kGPipe;
  EXPECT_EQ(refusal_of(config), "--overlap-experts: expected --schedule 1f1b, got gpipe");
  config = with_experts("dp=2", 2);
  config.overlap_experts = true;
  EXPECT_EQ(refusal_of(config), "--overlap-experts: expected ep above 1 in --parallel");
}

/// Without a pipeline two are under way.
TEST_F(OverlappedExperts, KeepOneMicrobatchMore) {
  WorkloadConfig config = with_experts("ep=2,dp=2", 8);
  const std::int64_t before = TransformerWorkload(config).generate(0, [](const Node&) {}).activation_bytes;
  config.overlap_experts = true;
  EXPECT_EQ(TransformerWorkload(config).generate(0, [](const Node&) {}).activation_bytes, 2 * before);
}

}  // namespace
}  // namespace weft::workloads
