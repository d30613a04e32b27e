// SPDX-License-Identifier: Apache-2.0
// Schedules as they are executed: the pipeline's bubble and its live activations, and what overlaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/workload.h"

namespace weft::workloads {
namespace {

using chakra::Node;
using chakra::NodeType;
using test::ChakraTest;
using test::workload_config;

constexpr auto kGPipe = PipelineSchedule::kGPipe;
constexpr auto k1F1B = PipelineSchedule::kOneForwardOneBackward;
constexpr auto kInterleaved = PipelineSchedule::kInterleaved;

struct Schedule {
  PipelineSchedule schedule;
  std::int64_t stages;
  std::int64_t chunks;
  std::int64_t microbatches;
};

std::ostream& operator<<(std::ostream& out, const Schedule& of) {
  return out << (of.schedule == kGPipe  ? "gpipe"
                 : of.schedule == k1F1B ? "1f1b"
                                        : "interleaved")
             << " p=" << of.stages << " v=" << of.chunks << " m=" << of.microbatches;
}

WorkloadConfig config_of(const Schedule& of) {
  WorkloadConfig config = workload_config("pp=" + std::to_string(of.stages), of.microbatches);
  config.schedule = of.schedule;
  config.virtual_stages = of.chunks;
  return config;
}

class WorkloadPipeline : public ChakraTest, public testing::WithParamInterface<Schedule> {
 protected:
  /// 10^5 operations a nanosecond, at which embedding and head, with a vocabulary of one, take less than one and thus
  /// none, so that all stages take the same time.
  static constexpr double kPeakTflops = 100;
  static constexpr std::int64_t kOperationsPerNano = 100'000;

  [[nodiscard]] static TransformerWorkload even_stages() {
    WorkloadConfig config = config_of(GetParam());
    config.model.vocab = 1;
    return TransformerWorkload(config);
  }
  [[nodiscard]] static std::int64_t busy_nanos(const TransformerWorkload& workload, std::int64_t stage) {
    std::int64_t sum = 0;
    for (const Node& node : test::nodes_of(workload, stage)) {
      if (node.type == NodeType::kCompute) sum += *node.num_ops() / kOperationsPerNano;
    }
    return sum;
  }
};

TEST_P(WorkloadPipeline, BubbleIsTheClosedForm) {
  const TransformerWorkload workload = even_stages();
  const Schedule& of = GetParam();
  write_workload(workload, folder_ / "w");
  test::ReplayOptions options;
  options.peak_tflops = kPeakTflops;
  const std::vector<std::int64_t> finished = test::replay(workload, folder_ / "w", options);
  const std::int64_t end = *std::max_element(finished.begin(), finished.end());
  const std::int64_t ideal = busy_nanos(workload, 0);
  for (std::int64_t stage = 1; stage < of.stages; ++stage) EXPECT_EQ(busy_nanos(workload, stage), ideal);
  // Of (p - 1) / (v m), in whole nanoseconds.
  ASSERT_EQ(ideal % (of.chunks * of.microbatches), 0);
  EXPECT_EQ(end - ideal, ideal / (of.chunks * of.microbatches) * (of.stages - 1));
  EXPECT_DOUBLE_EQ(static_cast<double>(end - ideal) / static_cast<double>(ideal),
                   workload.config().pipeline().bubble());
}

TEST_P(WorkloadPipeline, LiveActivationsAreBounded) {
  const Schedule& of = GetParam();
  const TransformerWorkload workload(config_of(of));
  for (std::int64_t stage = 0; stage < of.stages; ++stage) {
    std::int64_t live = 0;
    std::int64_t most = 0;
    std::vector<std::string> order;
    std::uint64_t compute_before = UINT64_MAX;
    for (const Node& node : test::nodes_of(workload, stage)) {
      if (node.type != NodeType::kCompute) continue;
      // Compute nodes are a chain, so that file order is the order of execution.
      if (compute_before != UINT64_MAX) {
        std::vector<std::uint64_t> before = node.data_dependencies;
        before.insert(before.end(), node.control_dependencies.begin(), node.control_dependencies.end());
        EXPECT_NE(std::find(before.begin(), before.end(), compute_before), before.end()) << node.label();
      }
      compute_before = node.id;
      // The first and the last node of each layer tell when its activations come and go.
      if (node.name.find("attention.norm forward") != std::string::npos) most = std::max(most, ++live);
      if (node.name.find("attention.norm backward") != std::string::npos) --live;
    }
    EXPECT_EQ(live, 0);
    const std::int64_t layers = workload.config().layers_of(0);
    const std::int64_t behind = of.stages - 1 - stage;
    std::int64_t bound = of.microbatches * of.chunks;
    if (of.schedule == k1F1B) bound = std::min(bound, of.stages - stage);
    if (of.schedule == kInterleaved) bound = std::min(bound, 2 * behind + (of.chunks - 1) * of.stages + 1);
    EXPECT_EQ(most, bound * layers) << "stage " << stage;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WorkloadPipeline,
                         testing::Values(Schedule{kGPipe, 2, 1, 1}, Schedule{kGPipe, 3, 1, 5},
                                         Schedule{kGPipe, 4, 1, 8}, Schedule{k1F1B, 2, 1, 1}, Schedule{k1F1B, 3, 1, 2},
                                         Schedule{k1F1B, 3, 1, 7}, Schedule{k1F1B, 4, 1, 8}, Schedule{k1F1B, 6, 1, 12},
                                         Schedule{kInterleaved, 2, 2, 2}, Schedule{kInterleaved, 2, 3, 8},
                                         Schedule{kInterleaved, 3, 2, 3}, Schedule{kInterleaved, 3, 4, 9},
                                         Schedule{kInterleaved, 4, 3, 8}));

// What overlaps ------------------------------------------------------------------------------------------------------

class WorkloadOverlap : public ChakraTest {
 protected:
  explicit WorkloadOverlap() = default;

  void make(const WorkloadConfig& config) { nodes_ = test::nodes_of(TransformerWorkload(config), 0); }
  const Node& named(const std::string& name) const {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.name == name; });
    if (found == nodes_.end()) throw std::runtime_error("no node " + name);
    return *found;
  }
  /// Whether `later` has to wait for `earlier`.
  bool waits(const std::string& later, const std::string& earlier) const {
    std::vector<bool> after(nodes_.size());
    after[named(earlier).id] = true;
    for (const Node& node : nodes_) {
      for (const auto* ids : {&node.data_dependencies, &node.control_dependencies}) {
        for (const std::uint64_t id : *ids) after[node.id] = after[node.id] || after[id];
      }
    }
    return after[named(later).id];
  }

  std::vector<Node> nodes_;
};

TEST_F(WorkloadOverlap, FsdpGathersAsManyUnitsAheadAsItIsTold) {
  for (const int prefetch : {1, 2}) {
    WorkloadConfig config = workload_config("fsdp=2");
    config.prefetch = prefetch;
    make(config);
    const std::string gather = "layer5.parameters all-gather mb0";
    const auto last = [](int layer) { return "layer" + std::to_string(layer) + ".mlp.residual forward mb0"; };
    EXPECT_TRUE(waits("layer5.attention.norm forward mb0", gather));
    // It runs beside the units before, and not before the one whose memory it takes is done.
    EXPECT_FALSE(waits(gather, "layer" + std::to_string(5 - prefetch) + ".attention.norm forward mb0"));
    EXPECT_TRUE(waits(gather, last(5 - prefetch - 1)));
    EXPECT_FALSE(waits("layer4.attention.norm forward mb0", gather));
  }
}

TEST_F(WorkloadOverlap, FsdpHidesItsCommunication) {
  // Gathering a layer takes less than computing one: only the first gather and the last scatter are exposed.
  const WorkloadConfig config = workload_config("fsdp=2");
  const TransformerWorkload workload(config);
  write_workload(workload, folder_ / "w");
  test::ReplayOptions fast;
  test::ReplayOptions slow;
  fast.peak_tflops = slow.peak_tflops = 1;
  slow.bytes_per_ns = 100;
  const std::int64_t hidden = test::replay(workload, folder_ / "w", fast).front();
  const std::int64_t exposed = test::replay(workload, folder_ / "w", slow).front() - hidden;
  std::int64_t all = 0;
  const RankSums sums = workload.generate(0, [](const Node&) {});
  // A ring of two sends half of a gathered buffer, and half of a scattered one.
  for (const Purpose purpose : {Purpose::kParameters, Purpose::kGradients}) all += sums.of(purpose).bytes / 2 / 100;
  EXPECT_GT(exposed, 0);
  EXPECT_LT(exposed, all / 8);
}

TEST_F(WorkloadOverlap, GradientsAreReducedBesideTheBackwardPass) {
  make(workload_config("dp=2", 3));
  const std::string reduce = "layer5.gradients all-reduce mb2";
  EXPECT_TRUE(waits(reduce, "layer5.attention.norm backward mb2"));
  EXPECT_FALSE(waits(reduce, "layer4.mlp.down backward mb2"));
  EXPECT_FALSE(waits("layer0.attention.norm backward mb2", reduce));
  EXPECT_TRUE(waits("optimizer", reduce));
  // Once, with the gradients of all microbatches.
  EXPECT_THROW(named("layer5.gradients all-reduce mb0"), std::runtime_error);
}

TEST_F(WorkloadOverlap, TensorParallelWaitsWhereTheNextProductNeedsTheSum) {
  make(workload_config("tp=2"));
  EXPECT_TRUE(waits("layer3.mlp.norm forward mb0", "layer3.attention forward all-reduce mb0"));
  const std::string reduce = "layer3.mlp gradient all-reduce mb0";
  EXPECT_FALSE(waits("layer3.mlp.up weight gradient mb0", reduce));
  EXPECT_FALSE(waits(reduce, "layer3.mlp.up weight gradient mb0"));
  EXPECT_TRUE(waits("layer3.mlp.norm backward mb0", reduce));
}

TEST_F(WorkloadOverlap, RingAttentionSendsWhileItComputes) {
  make(workload_config("cp=3"));
  EXPECT_FALSE(waits("layer3.attention.core forward ring0 mb0", "layer3.keys and values receive ring0 mb0"));
  EXPECT_TRUE(waits("layer3.attention.core forward ring1 mb0", "layer3.keys and values receive ring0 mb0"));
  EXPECT_TRUE(waits("layer3.keys and values send ring1 mb0", "layer3.keys and values receive ring0 mb0"));
  EXPECT_FALSE(waits("layer3.keys and values send ring1 mb0", "layer3.attention.core forward ring0 mb0"));
}

TEST_F(WorkloadOverlap, PipelineSendsBesideComputing) {
  WorkloadConfig config = workload_config("pp=2", 4);
  make(config);
  const std::string send = "send activations to 1 mb0";
  EXPECT_TRUE(waits(send, "layer5.mlp.residual forward mb0"));
  EXPECT_FALSE(waits("layer0.attention.norm forward mb1", send));
  // A step's end waits for all gradients, and the next for it.
  config.steps = 2;
  make(config);
  EXPECT_TRUE(waits("embedding forward mb0 step1", "optimizer step0"));
}

}  // namespace
}  // namespace weft::workloads
