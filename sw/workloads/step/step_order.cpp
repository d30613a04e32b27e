// SPDX-License-Identifier: Apache-2.0
// The passes of a step in their order, and gradients of weights apart from them.
#include <algorithm>
#include <utility>

#include "sw/workloads/step/step.h"

namespace weft::workloads {

void RankStep::mark_begin(Repeated what, std::int64_t number) {
  if (!mark_) return;
  Mark mark{what, true, number, static_cast<int>(step_)};
  if (what == Repeated::kMicrobatches) {
    const Cycles of = cycles();
    mark.covers = static_cast<int>(of.covers);
    if (pipeline_.stages > 1) mark.tags = 2 * of.steps * pipeline_.virtual_stages();
  }
  mark_(mark);
}

void RankStep::mark_end(Repeated what) {
  if (mark_) mark_({what, false});
}

/// As stage_operations() has them: a forward and a backward pass of each chunk, interleaved as many as there are
/// stages.
RankStep::Cycles RankStep::cycles() const {
  Cycles result;
  if (pipeline_.schedule == PipelineSchedule::kGPipe) return result;
  const auto size = static_cast<std::int64_t>(operations_.size());
  if (!pipeline_.splits_backward()) {
    const auto first_backward = std::find_if(operations_.begin(), operations_.end(),
                                             [](const PipelineOperation& each) { return !each.forward; });
    result.first = std::distance(operations_.begin(), first_backward) - 1;
    const std::int64_t pairs = pipeline_.chunks > 1 ? pipeline_.stages * pipeline_.chunks : 1;
    result.length = 2 * pairs;
    result.covers = result.steps = pairs / pipeline_.chunks;
    result.count = 2 * (size / 2 - result.first) / result.length;
    return result;
  }
  // The longest row of operations that are those of a cycle before for the next microbatch.
  result.length = pipeline_.is_dual() ? 4 : 3;
  result.covers = pipeline_.chunks;
  std::int64_t most = 0;
  for (std::int64_t begin = 0, at = result.length; at <= size; ++at) {
    if (at < size) {
      PipelineOperation next = operations_[static_cast<std::size_t>(at - result.length)];
      ++next.microbatch;
      if (next == operations_[static_cast<std::size_t>(at)]) continue;
    }
    if (at - begin > most) {
      most = at - begin;
      // One of a pair that are beside each other is no beginning.
      result.first = begin;
      while (result.first < at && !operations_[static_cast<std::size_t>(result.first)].forward) ++result.first;
      result.count = (at - result.first) / result.length;
    }
    begin = at - result.length + 1;
  }
  return result;
}

void RankStep::operations() {
  const Cycles of = cycles();
  constexpr std::int64_t kMostCycles = std::int64_t{1} << 32;  // of a step, so that those of two are in no row
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(operations_.size()); ++i) {
    const std::int64_t in_cycles = i - of.first;
    if (of.count > 0 && in_cycles >= 0 && in_cycles % of.length == 0) {
      if (in_cycles / of.length < of.count) {
        mark_begin(Repeated::kMicrobatches, step_ * kMostCycles + in_cycles / of.length);
      } else if (in_cycles / of.length == of.count) {
        mark_end(Repeated::kMicrobatches);
      }
    }
    const PipelineOperation& one = operations_[static_cast<std::size_t>(i)];
    if (one.beside_next && config_.overlap_experts) {
      operations_beside(one, operations_[static_cast<std::size_t>(++i)]);
    } else {
      operation(one);
    }
  }
  mark_end(Repeated::kMicrobatches);
}

void RankStep::operations_beside(const PipelineOperation& one, const PipelineOperation& other) {
  Emitter::Recorded first;
  Emitter::Recorded second;
  is_merged_ = true;
  emitter_.record(&first);
  operation(one);
  emitter_.record(&second);
  operation(other);
  emitter_.record(nullptr);
  is_merged_ = false;
  emitter_.merge(std::move(first), std::move(second));
}

void RankStep::operation(const PipelineOperation& operation) {
  using Weights = PipelineOperation::Weights;
  operation_ = operation;
  microbatch_ = operation.microbatch;
  receive_after_ = std::exchange(begins_after_, emitter_.last_compute());
  is_last_backward_ = false;
  if (!operation.forward && operation.weights != Weights::kLater) {
    std::int64_t& begun = backwards_[static_cast<std::size_t>(operation.chunk)];
    batch_ = begun++;
    is_last_backward_ = begun == pipeline_.microbatches_of_chunk();
  }
  if (operation.forward) {
    forward(operation);
  } else if (operation.weights == Weights::kAlone) {
    weights_alone(operation);
  } else {
    backward(operation);
  }
}

void RankStep::forward(const PipelineOperation& operation) {
  const std::int64_t place = pipeline_.virtual_stage(stage_, operation.chunk);
  Ids data = place == 0 ? embedding() : receive_activations(operation);
  const bool marks_blocks = pipeline_.stages == 1 && !is_merged_;
  for (std::int64_t i = 0; i < config_.layers_of(place); ++i) {
    if (marks_blocks) mark_begin(Repeated::kForwardBlocks, ++blocks_marked_);
    data = block(first_block(place) + i, data);
  }
  if (marks_blocks) mark_end(Repeated::kForwardBlocks);
  ++blocks_marked_;  // the next ones are no row with these
  if (place + 1 == pipeline_.virtual_stages()) {
    loss_[static_cast<std::size_t>(microbatch_)] = {};
    head(data);
    if (predicts(place)) head(block(prediction_unit(), predict(data)));
  } else {
    send_activations(operation, data);
  }
}

void RankStep::backward(const PipelineOperation& operation) {
  const std::int64_t place = pipeline_.virtual_stage(stage_, operation.chunk);
  Ids gradient;
  if (predicts(place)) gradient = predict_backward();
  gradient =
      joined({gradient, place + 1 == pipeline_.virtual_stages() ? head_backward() : receive_activations(operation)});
  const bool marks_blocks = pipeline_.stages == 1 && !is_merged_;
  for (std::int64_t i = config_.layers_of(place); i-- > 0;) {
    if (marks_blocks) mark_begin(Repeated::kBackwardBlocks, ++blocks_marked_);
    gradient = block_backward(first_block(place) + i, gradient);
  }
  if (marks_blocks) mark_end(Repeated::kBackwardBlocks);
  ++blocks_marked_;
  if (place == 0) {
    embedding_backward(gradient);
  } else {
    send_activations(operation, gradient);
  }
}

// Gradients of weights -----------------------------------------------------------------------------------------------

/// Where backward passes are cut, all those of a unit are computed at its end, or later.
void RankStep::weights(Part part, const Ids& data) {
  if (!pipeline_.splits_backward()) {
    static_cast<void>(compute(part, data));
  } else {
    weights_wait_for_ = joined({weights_wait_for_, data});
  }
}

void RankStep::end_backward(Unit unit, bool reduces) {
  if (pipeline_.splits_backward()) {
    Ids data = std::exchange(weights_wait_for_, {});
    if (operation_.weights == PipelineOperation::Weights::kLater) {
      later_[{operation_.chunk, operation_.microbatch}].push_back({unit, std::move(data), reduces});
      return;
    }
    if (unit != 0) static_cast<void>(compute(Part::kWeightGradients, data));
  }
  finish_gradients(unit, reduces);
}

void RankStep::finish_gradients(Unit unit, bool reduces) {
  if (reduces) reduce_gradients(unit);
  observe(unit);
}

void RankStep::weights_alone(const PipelineOperation& operation) {
  const auto found = later_.find({operation.chunk, operation.microbatch});
  for (const Later& each : found->second) {
    name_unit(each.unit);
    if (each.unit != 0) static_cast<void>(compute(Part::kWeightGradients, each.data));
    finish_gradients(each.unit, each.reduces);
  }
  later_.erase(found);
}

}  // namespace weft::workloads
