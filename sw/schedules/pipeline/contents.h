// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sw/firmware/rank.h"
#include "sw/schedules/pipeline/stage_plan.h"

/// What a pipeline's stages compute and send where data is on.
namespace weft::schedules {

/// Buffers of a stage, by microbatch.
struct StageBuffers {
  std::vector<std::uint64_t> activation_in;
  std::vector<std::uint64_t> activation_out;
  std::vector<std::uint64_t> gradient_in;
  std::vector<std::uint64_t> gradient_out;
  std::uint64_t state = 0;  ///< weights, gradients and more, by state_bytes
  std::uint64_t kept = 0;
};

/// Called when the kernels of a pass have ended: reads what came of the stage's memory, and writes what is sent to it.
class PipelineContents {
 public:
  PipelineContents() = default;
  virtual ~PipelineContents() = default;
  PipelineContents(const PipelineContents&) = delete;
  PipelineContents& operator=(const PipelineContents&) = delete;

  virtual void forward(int stage, std::int64_t microbatch, int step) = 0;
  virtual void backward(int stage, std::int64_t microbatch, int step) = 0;
  virtual void update(int stage, int step) = 0;

  /// After the run: elements that are not what they should be, and of how many.
  [[nodiscard]] virtual std::int64_t wrong() const = 0;
  [[nodiscard]] virtual std::int64_t compared() const = 0;
  /// Before each step's update; none where nothing is trained.
  [[nodiscard]] virtual std::vector<double> losses() const { return {}; }
};

/// Whether numbers can be real: convolutions and linear layers, each taking what the one before gives.
[[nodiscard]] bool can_train(const PipelineModel& model);
/// Bytes that it then keeps of all microbatches.
[[nodiscard]] std::uint64_t kept_room(const PipelinePlan& plan, const PipelineModel& model, std::size_t stage);

/// Numbers that tell stage, microbatch and step, which receivers compare.
[[nodiscard]] std::unique_ptr<PipelineContents> pipeline_pattern(const PipelinePlan& plan,
                                                                 const std::vector<firmware::Rank*>& ranks,
                                                                 const std::vector<StageBuffers>& buffers);

/// Training: layers are rectified but the last, and the loss is half the squared distance from a target, the mean over
/// the batch, which is the same in every step. Updates are plain gradient descent. wrong() does the same without a
/// machine, one stage after the other, and compares all weights bit for bit.
[[nodiscard]] std::unique_ptr<PipelineContents> pipeline_training(const PipelinePlan& plan, const PipelineModel& model,
                                                                  const std::vector<firmware::Rank*>& ranks,
                                                                  const std::vector<StageBuffers>& buffers,
                                                                  std::int64_t seed);

}  // namespace weft::schedules
