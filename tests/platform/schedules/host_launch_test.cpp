// SPDX-License-Identifier: Apache-2.0
// What a host spends on launching kernels: how many there are, and steps that wait for it, counted by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sw/models/transformer.h"
#include "sw/workloads/workload.h"
#include "tests/support/graphs.h"
#include "traces/chakra/host_times.h"

namespace weft {
namespace {

using chakra::HostTimes;
using chakra::Node;
using models::ExpertKernels;
using models::Kernel;
using models::LinearType;

constexpr std::int64_t kPicosPerMicro = 1'000'000;

models::Transformer transformer(const std::string& name) {
  return models::find_transformer(models::load_transformers(), name);
}

/// A rank's 8 of 128 experts, to each of which as many tokens come as there are.
models::StepShape experts_of_one_rank(LinearType linear, ExpertKernels kernels) {
  models::StepShape shape;
  shape.sequence = 4096;
  shape.fusion = models::Fusion::kFused;
  shape.linear = linear;
  shape.casts = linear == LinearType::kFloat8 ? models::Casts::kTransformerEngine : models::Casts::kTorchao;
  shape.float8_weights = shape.transposed_weights = linear == LinearType::kFloat8;
  shape.local_experts = 8;
  shape.routed_tokens = 8 * 4096;
  shape.expert_kernels = kernels;
  return shape;
}

/// By kernel, of a block's forward and backward pass.
std::map<std::string, int> launches_of_experts(LinearType linear, ExpertKernels kernels) {
  const models::Transformer model = transformer("qwen3-30b-a3b");
  const models::StepShape shape = experts_of_one_rank(linear, kernels);
  std::vector<Kernel> all = forward_kernels(model, models::UnitKind::kExpertBlock, shape);
  for (const Kernel& kernel : backward_kernels(model, models::UnitKind::kExpertBlock, shape)) all.push_back(kernel);
  std::map<std::string, int> counts;
  for (const Kernel& kernel : all) {
    if (kernel.name.starts_with("experts_")) counts[std::string(kernel.name)] += launches(kernel);
  }
  return counts;
}

TEST(HostLaunch, ExpertsHaveFourKernelsForACastAndOneForAProduct) {
  const auto counts = launches_of_experts(LinearType::kFloat8, ExpertKernels::kEach);
  for (const char* cast :
       {"experts_input.cast", "experts_hidden.cast", "experts_down.grad_cast", "experts_up.grad_cast"}) {
    EXPECT_EQ(counts.at(cast), 4 * 8) << cast;
  }
  for (const char* product : {"experts_up", "experts_down", "experts_up.dgrad", "experts_up.wgrad",
                              "experts_down.dgrad", "experts_down.wgrad"}) {
    EXPECT_EQ(counts.at(product), 8) << product;
  }
  EXPECT_EQ(counts.at("experts_activation"), 1);
}

/// A kernel for all: it finds the largest value, makes scales, and casts; what made the activation's gradient has found
/// its largest value.
TEST(HostLaunch, GroupedExpertsHaveOneKernelForEach) {
  const auto counts = launches_of_experts(LinearType::kFloat8, ExpertKernels::kGrouped);
  EXPECT_EQ(counts.at("experts_input.cast"), 3);
  EXPECT_EQ(counts.at("experts_up.grad_cast"), 2);
  EXPECT_EQ(counts.at("experts_up"), 1);
  EXPECT_EQ(counts.at("experts_down.wgrad"), 1);
}

TEST(HostLaunch, OtherTypesHaveFewerKernelsForACast) {
  const auto blocks = launches_of_experts(LinearType::kMxfp8, ExpertKernels::kEach);
  EXPECT_EQ(blocks.at("experts_input.cast"), 8);
  EXPECT_EQ(blocks.at("experts_up.dgrad"), 8);
  const auto plain = launches_of_experts(LinearType::kPlain, ExpertKernels::kEach);
  EXPECT_EQ(plain.count("experts_input.cast"), 0U);
  EXPECT_EQ(plain.at("experts_down"), 8);
}

/// A product of all experts is as many bytes and operations, whoever launches it; casts read no less.
TEST(HostLaunch, KernelsOfTheirOwnDoTheSameWork) {
  const models::Transformer model = transformer("qwen3-30b-a3b");
  const auto sums = [&](ExpertKernels kernels) {
    std::pair<std::int64_t, std::int64_t> result;
    for (const Kernel& kernel :
         forward_kernels(model, models::UnitKind::kExpertBlock, experts_of_one_rank(LinearType::kFloat8, kernels))) {
      result.first += flops(kernel);
      result.second += bytes_moved(kernel);
    }
    return result;
  };
  EXPECT_EQ(sums(ExpertKernels::kEach), sums(ExpertKernels::kGrouped));
}

// Nodes --------------------------------------------------------------------------------------------------------------

workloads::WorkloadConfig step_of_experts() {
  workloads::WorkloadConfig config;
  config.model = transformer("qwen3-30b-a3b");
  config.model.layers = 2;
  config.parallel = workloads::parse_parallelism("ep=2,dp=2");
  config.batch = 2;
  config.sequence = 1024;
  config.fusion = models::Fusion::kFused;
  config.launch = Time(kPicosPerMicro);
  return config;
}

std::map<std::string, HostTimes> host_of(const workloads::WorkloadConfig& config) {
  std::map<std::string, HostTimes> result;
  const workloads::TransformerWorkload workload(config);
  workload.generate(0, [&](const Node& node) {
    const auto times = chakra::host_times_of(node);
    if (times) result[node.name] = *times;
  });
  return result;
}

std::int64_t micros(const HostTimes& times) {
  std::int64_t sum = 0;
  for (const HostTimes::Kernel& kernel : times.kernels) sum += kernel.last_ps;
  return sum / kPicosPerMicro;
}

TEST(HostLaunch, NodesSayWhatTheirKernelsTakeTheHost) {
  const auto host = host_of(step_of_experts());
  // Without a list of kernels a node is one.
  EXPECT_EQ(host.at("layer0.attention.core forward mb0").kernels.size(), 1U);
  EXPECT_EQ(micros(host.at("layer0.attention.core forward mb0")), 1);
  EXPECT_EQ(micros(host.at("layer0.attention.core backward mb0")), 2);
  // The router's product, its choice and the copies of tokens, then the AllToAll.
  EXPECT_EQ(micros(host.at("layer0.mlp.router forward mb0")), 3);
  EXPECT_EQ(host.at("layer0.dispatch forward all-to-all mb0").before_ps, kPicosPerMicro);
  EXPECT_EQ(host.at("layer0.mlp.up forward mb0").before_ps, kPicosPerMicro);
  EXPECT_TRUE(host.at("layer0.mlp.router forward mb0").waits);
  EXPECT_FALSE(host.at("layer0.mlp.up forward mb0").waits);
  EXPECT_TRUE(host.at("optimizer").waits);
}

TEST(HostLaunch, AGraphIsOneLaunch) {
  workloads::WorkloadConfig config = step_of_experts();
  config.graphed = workloads::parse_graphed("attention,router");
  config.fixed_experts = true;
  const auto host = host_of(config);
  EXPECT_FALSE(host.at("layer0.mlp.router forward mb0").waits);
  std::map<std::string, std::int64_t> launched;
  for (const auto& [name, times] : host) {
    const bool forward = name.find("forward") != std::string::npos;
    for (const char* part : {".attention.", ".mlp.router", ".mlp.norm"}) {
      if (name.find(part) != std::string::npos && name.find("gradients") == std::string::npos)
        launched[name.substr(0, 6) + (forward ? " forward" : " backward")] += micros(times);
    }
  }
  EXPECT_EQ(launched,
            (std::map<std::string, std::int64_t>{
                {"layer0 backward", 1}, {"layer0 forward", 1}, {"layer1 backward", 1}, {"layer1 forward", 1}}));
  EXPECT_EQ(micros(host.at("layer0.mlp.residual forward mb0")), 2);
}

TEST(HostLaunch, NothingIsSaidWithoutATime) {
  workloads::WorkloadConfig config = step_of_experts();
  config.launch = Time();
  EXPECT_TRUE(host_of(config).empty());
  config.graphed = workloads::parse_graphed("mlp");
  EXPECT_THROW(config.check(), workloads::WorkloadError);
  EXPECT_THROW(static_cast<void>(workloads::parse_graphed("attention,experts")), workloads::WorkloadError);
}

// Runs ---------------------------------------------------------------------------------------------------------------

class LaunchedGraphs : public test::Graphs {
 protected:
  static HostTimes::Kernel after(std::int64_t micros) { return {micros * kPicosPerMicro, micros * kPicosPerMicro}; }
  /// So many kernels one after the other. The host waits for the end of those that are named.
  std::vector<Node> chain(int count, std::int64_t micros, std::int64_t launch_micros, std::vector<int> waits = {}) {
    std::vector<Node> nodes;
    for (int i = 0; i < count; ++i) {
      const auto id = static_cast<std::uint64_t>(i);
      Node node = test::kernel_node(id, static_cast<std::uint64_t>(micros) * 1000,
                                    i == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{id - 1});
      const bool is_waited_for = std::find(waits.begin(), waits.end(), i) != waits.end();
      if (launch_micros > 0) set_host_times(node, {is_waited_for, 0, {after(launch_micros)}});
      nodes.push_back(std::move(node));
    }
    return nodes;
  }
  double micros_of(const std::vector<Node>& nodes) {
    traces(nodes);
    return static_cast<double>(run().finished.front().count()) / kPicosPerMicro;
  }
};

/// Of a kernel, between its node's beginning and the next one's: commands, and the host's firmware.
constexpr double kNear = 0.5;

TEST_F(LaunchedGraphs, KernelsThatAreShorterThanTheirLaunchesWaitForTheHost) {
  const double one = micros_of(chain(1, 1, 0)) - 1;
  // The last of ten kernels begins when the host has launched ten.
  EXPECT_NEAR(micros_of(chain(10, 1, 10)), one + 10 * 10 + 1, kNear);
}

TEST_F(LaunchedGraphs, TheHostIsAheadOfKernelsThatAreLonger) {
  const double all = micros_of(chain(10, 20, 0));
  // It is waited for once.
  EXPECT_NEAR(micros_of(chain(10, 20, 10)), all + 10, kNear);
}

TEST_F(LaunchedGraphs, WhatItIsAheadServesShortKernelsLater) {
  // 5 kernels of 20 us give the host 50 us before the last of them ends, in which it launches 5 of those that follow.
  std::vector<Node> nodes = chain(15, 20, 10);
  for (int i = 5; i < 15; ++i) nodes[static_cast<std::size_t>(i)].set_duration_nanos(1000);
  const double one = micros_of(chain(1, 1, 0)) - 1;
  EXPECT_NEAR(micros_of(nodes), one + 15 * 10 + 1, kNear);
}

TEST_F(LaunchedGraphs, AHostThatWaitsIsNoLongerAhead) {
  const double all = micros_of(chain(10, 20, 0));
  // Before the first kernel, and behind each that it waits for.
  EXPECT_NEAR(micros_of(chain(10, 20, 10, {2, 6})), all + 3 * 10, 2 * kNear);
}

TEST_F(LaunchedGraphs, ANodeHasItsKernelsOneAfterTheOther) {
  Node node = test::chakra_node(0);
  const chakra::KernelDemand kernel{.compute_ps = 2 * kPicosPerMicro};
  chakra::set_kernels(node, {kernel, kernel, kernel});
  const double all = micros_of({node});
  set_host_times(node, {false, 3 * kPicosPerMicro, {after(1), after(5), after(0)}});
  // 3 + 1 us to the first; the second is launched 5 us behind it, and the third with it.
  EXPECT_NEAR(micros_of({node}), 4 + 5 + 2 + 2 + all - 6, kNear);
  set_host_times(node = test::chakra_node(0), {false, 0, {after(1)}});
  chakra::set_kernels(node, {kernel, kernel});
  traces({node});
  EXPECT_NE(error().find("has 2 kernels"), std::string::npos);
}

/// The first of four small kernels that are listed as one begins when it is launched, and what is behind them when all
/// are.
TEST_F(LaunchedGraphs, SeveralKernelsInOneBeginWithTheFirst) {
  Node node = test::chakra_node(0);
  const chakra::KernelDemand kernel{.compute_ps = 2 * kPicosPerMicro};
  chakra::set_kernels(node, {kernel, kernel});
  const double all = micros_of({node});
  const auto ends_after = [&](std::int64_t first, std::int64_t last) {
    Node launched = node;
    set_host_times(launched, {false,
                              0,
                              {{first * kPicosPerMicro, last * kPicosPerMicro},
                               {first * kPicosPerMicro, first * kPicosPerMicro}}});
    return micros_of({launched}) - all;
  };
  // The second kernel is launched while the first computes; or 40 us behind it, when that has ended long before.
  EXPECT_NEAR(ends_after(1, 1), 1, kNear);
  EXPECT_NEAR(ends_after(10, 40), 10 + 40 - 2, kNear);
}

TEST_F(LaunchedGraphs, CollectivesWaitForTheirLaunch) {
  const auto nodes = [&](std::int64_t launch_micros) {
    std::vector<Node> all = chain(1, 1, 0);
    Node sum = test::after(test::collective_node(1, chakra::CollectiveType::kAllReduce, 1 << 12), {0});
    if (launch_micros > 0) {
      set_host_times(all.front(), {false, 0, {after(1)}});
      set_host_times(sum, {false, launch_micros * kPicosPerMicro, {}});
    }
    all.push_back(std::move(sum));
    return all;
  };
  const double alone = micros_of(nodes(0));
  // The kernel is launched after 1 us and ends a microsecond and a little later; the host is 40 us behind its launch.
  EXPECT_NEAR(micros_of(nodes(40)), alone + 40, 2);
  EXPECT_NEAR(micros_of(nodes(1)), alone + 1, kNear);
}

}  // namespace
}  // namespace weft
