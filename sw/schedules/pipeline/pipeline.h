// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/probe.h"
#include "sw/collectives/watch.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/verbs.h"
#include "sw/schedules/pipeline/contents.h"
#include "sw/schedules/pipeline/stage_plan.h"

namespace weft::schedules {

struct StageResult {
  Time busy;  ///< in kernels, of all steps
};

/// Of messages between a stage and the next one.
struct HopResult {
  Time longest;  ///< from the end of the kernels before it until the peer has acknowledged it, in either direction
};

struct PipelineResult {
  std::vector<Time> steps;
  Time step_time;  ///< of the last step, which is the first where it is the only one
  std::vector<StageResult> stages;
  std::vector<HopResult> hops;
  std::uint64_t sent_bytes = 0;   ///< of a step, between stages
  std::uint64_t dense_bytes = 0;  ///< the same without compression
};

/// Stages of a model as firmware, one thread on the rank of each. A stage takes its passes in the order of its schedule
/// and each as soon as what it needs has come: it hands the kernels to the command stream, and when they have ended an
/// RDMA write carries the result to the neighbour, with an immediate that names the microbatch. There is a buffer for
/// each microbatch and direction, which a step has done with before the next one writes it. A step ends with the
/// update, which waits for nobody.
class StagePipeline {
 public:
  /// Throws ConfigError, and std::length_error for what does not fit a memory.
  StagePipeline(PipelineSite site, PipelineModel model, const PipelineConfig& config);
  ~StagePipeline();

  /// Draws the passes of stages on the first `ranks` ranks.
  void record(Probe& probe, int ranks);
  void start();
  [[nodiscard]] double progress() const;
  [[nodiscard]] PipelineResult result() const;
  [[nodiscard]] std::vector<Time> step_ends() const;
  [[nodiscard]] const PipelinePlan& plan() const { return plan_; }
  [[nodiscard]] const PipelineModel& model() const { return model_; }
  /// Null where data is off.
  [[nodiscard]] const PipelineContents* contents() const { return contents_.get(); }
  [[nodiscard]] bool trains() const { return trains_; }

 private:
  struct Stage;
  struct Pass;
  void allocate();
  void connect();
  firmware::Task run(Stage& stage);
  [[nodiscard]] bool is_ready(const Stage& stage) const;
  void issue(Stage& stage);
  /// Of a stage that has nothing under way and goes on with what a neighbour has sent.
  void watch(const Stage& stage, const workloads::PipelineOperation& next) const;
  void ended(Stage& stage);
  void send(Stage& stage, bool forward, std::int64_t microbatch);
  static void draw(Stage& stage, const Pass& pass, Time to);

  PipelineSite site_;
  PipelineModel model_;
  PipelinePlan plan_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<StageBuffers> buffers_;                 ///< by stage
  std::unique_ptr<collectives::MessageWatch> watch_;  ///< where the critical path is kept
  std::unique_ptr<PipelineContents> contents_;
  bool trains_ = false;
  Time started_;
};

}  // namespace weft::schedules
