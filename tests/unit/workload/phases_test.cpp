// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/phases.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "sw/schedules/phase_row.h"
#include "sw/workloads/workload.h"
#include "tests/support/workload.h"

namespace weft::workloads {
namespace {

using Phases = std::vector<std::string>;

TEST(Phases, AreToldByTheNamesOfNodes) {
  EXPECT_EQ(phases_of("layer3.attention.qkv forward mb1 step0"),
            (Phases{"step 1", "forward, microbatch 1", "layer 3"}));
  EXPECT_EQ(phases_of("layer3.mlp.up weight gradient mb0"), (Phases{"step 1", "backward, microbatch 0", "layer 3"}));
  EXPECT_EQ(phases_of("layer3.mlp.up again mb0"), (Phases{"step 1", "backward, microbatch 0", "layer 3"}));
  EXPECT_EQ(phases_of("loss forward mb0 step2"), (Phases{"step 3", "forward, microbatch 0", "head"}));
  EXPECT_EQ(phases_of("optimizer step1"), (Phases{"step 2", "optimizer"}));
  for (const char* other :
       {"", "gemm", "forward", "aten::mm forward", "layer3.sum mb0", "conv1 forward mb0", "x mb", "stepwise"})
    EXPECT_EQ(phases_of(other), Phases()) << other;
}

/// Every product of a generated step.
TEST(Phases, AreThoseOfGeneratedSteps) {
  WorkloadConfig config = test::workload_config("tp=2,pp=2");
  config.steps = 2;
  std::set<std::string> steps;
  std::set<std::string> units;
  TransformerWorkload(config).generate(1, [&](const chakra::Node& node) {
    const Phases phases = phases_of(node.name);
    if (node.type != chakra::NodeType::kCompute) return;
    ASSERT_FALSE(phases.empty()) << node.name;
    steps.insert(phases[0]);
    units.insert(phases.back());
  });
  EXPECT_EQ(steps, (std::set<std::string>{"step 1", "step 2"}));
  EXPECT_TRUE(units.contains("layer 0") && units.contains("optimizer")) << *units.begin();
}

class NotingPhases final : public Probe {
 public:
  int add_track(const std::string& /*process*/, const std::string& /*thread*/) override { return 0; }
  int add_rival(const std::string& /*process*/, const std::string& /*thread*/) override { return 0; }
  int add_phases(const std::string& /*process*/, const std::string& /*thread*/) override { return 0; }
  void slice(int /*track*/, const ProbeSlice& /*slice*/) override {}
  void begin(int /*track*/, std::string_view what, Time at) override {
    told.push_back(std::to_string(at.count()) + " " + std::string(what));
  }
  void end(int /*track*/, Time at) override { told.push_back(std::to_string(at.count())); }
  void counter(int /*track*/, std::string_view /*name*/, Time /*at*/, double /*value*/) override {}
  void leave_out(Time /*at*/, Time /*span*/) override {}
  std::vector<std::string> told;
};

TEST(Phases, EndWhereTheNextBegin) {
  NotingPhases probe;
  schedules::PhaseRow row(probe, "accelerator 0");
  row.went(Phases{"step 1", "forward", "layer 0"}, Time(10));
  row.went(Phases{"step 1", "forward", "layer 0"}, Time(15));
  row.went(Phases{"step 1", "forward", "layer 1"}, Time(20));
  row.went(Phases{"step 1", "optimizer"}, Time(30));
  row.went(Phases{"step 2"}, Time(40));
  row.finish();
  EXPECT_EQ(probe.told, (Phases{"0 step 1", "0 forward", "0 layer 0", "15", "15 layer 1", "20", "20", "20 optimizer",
                                "30", "30", "30 step 2", "40"}));
}

}  // namespace
}  // namespace weft::workloads
