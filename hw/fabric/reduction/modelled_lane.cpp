// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/reduction/modelled_lane.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "hw/core/waves.h"

namespace weft::fabric {
namespace {

using vcd::BlockModel;

constexpr std::size_t kMostChildren = 64;

/// By ElementType.
std::array<int, 4> widths_of(const ReductionEngine::Config& config) {
  return {config.fp32, config.bf16, config.int32, config.fp16};
}

std::uint64_t beats_of(Bytes bytes, std::size_t beat) {
  const auto size = static_cast<std::int64_t>(beat);
  return static_cast<std::uint64_t>((bytes.count() + size - 1) / size);
}

}  // namespace

LaneShape ModelledLane::shape_of(const ReductionEngine::Config& config) {
  const std::array<int, 4> widths = widths_of(config);
  const auto widest = static_cast<std::size_t>(*std::max_element(widths.begin(), widths.end()));
  return {kMostChildren, (widest + 3) / 4 * 4};
}

ModelledLane::ModelledLane(const ReductionEngine::Config& config, const LaneShape& shape)
    : shape_(shape), beats_(shape.children) {
  const ClockEdges edges(config.clock);
  const ReductionEngine::Pipeline& pipeline = config.pipeline;
  config_.latency = static_cast<std::uint64_t>(std::max<std::int64_t>(1, edges.from(config.latency)));
  config_.pause = static_cast<std::uint64_t>(pipeline.pause);
  config_.queue = beats_of(pipeline.queue, shape.bytes);
  config_.registered = pipeline.registered && config_.queue > 0;
  config_.falls_through = pipeline.fall_through;
  if (!config_.passes()) --config_.latency;
  config_.stall =
      pipeline.stall == ReductionEngine::Stall::kRigid ? BlockModel::Stall::kRigid : BlockModel::Stall::kElastic;
  config_.depth =
      pipeline.depth.count() == 0 ? std::max<std::uint64_t>(1, config_.latency) : beats_of(pipeline.depth, shape.bytes);
  for (const int width : widths_of(config)) {
    intervals_.push_back((shape.bytes + static_cast<std::size_t>(width) - 1) / static_cast<std::size_t>(width));
  }
}

void ModelledLane::drive(const LaneInputs& inputs) {
  const bool changes = !block_ || inputs.children != in_.children || inputs.kind != in_.kind;
  in_ = inputs;
  if (!changes || in_.children == 0) return;
  assert(empty() && "the children or the type of beats that are inside changed");
  active_.clear();
  for (std::size_t child = 0; child < shape_.children; ++child) {
    if ((in_.children >> child & 1) != 0) active_.push_back(child);
  }
  BlockModel::Config config = config_;
  config.inputs = active_.size();
  config.interval = intervals_[static_cast<std::size_t>(in_.kind)];
  block_.emplace(config);
}

std::vector<BlockModel::Offer> ModelledLane::offers() const {
  std::vector<BlockModel::Offer> offers;
  for (const std::size_t child : active_) {
    const bool valid = (in_.valid >> child & 1) != 0;
    const bool last = (in_.last >> child & 1) != 0;
    offers.push_back(!valid ? BlockModel::Offer::kNothing
                     : last ? BlockModel::Offer::kLastBeat
                            : BlockModel::Offer::kBeat);
  }
  return offers;
}

/// The pins before an edge, and the edge of `block`.
void ModelledLane::step(BlockModel& block, LaneOutputs& outputs) const {
  outputs.valid = block.valid();
  if (outputs.valid) add_up(outputs);
  block.step(offers(), in_.out_ready);
  outputs.ready = 0;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    if (block.taken(i)) outputs.ready |= 1ULL << active_[i];
  }
}

void ModelledLane::sample(LaneOutputs& outputs) const {
  outputs.valid = false;
  outputs.ready = 0;
  if (!block_) return;
  BlockModel copy = *block_;
  step(copy, outputs);
}

void ModelledLane::edge(LaneOutputs& outputs) {
  outputs.valid = false;
  outputs.ready = 0;
  if (!block_) return;
  step(*block_, outputs);
  if (outputs.valid && in_.out_ready) {
    for (const std::size_t child : active_) beats_[child].pop_front();
    inside_ -= active_.size();
  }
  const std::size_t words = shape_.bytes / 4;
  for (const std::size_t child : active_) {
    if ((outputs.ready >> child & 1) == 0) continue;
    const auto from = in_.data.begin() + static_cast<std::ptrdiff_t>(child * words);
    beats_[child].push_back({(in_.last >> child & 1) != 0,
                             (in_.adds >> child & 1) != 0,
                             in_.id[child],
                             {from, from + static_cast<std::ptrdiff_t>(words)}});
    ++inside_;
  }
}

/// In the order of children, as any engine.
void ModelledLane::add_up(LaneOutputs& outputs) const {
  const Beat& first = beats_[active_.front()].front();
  outputs.last = first.last;
  outputs.id = first.id;
  outputs.adds = false;
  std::fill(outputs.data.begin(), outputs.data.end(), 0);
  auto* const sum = reinterpret_cast<std::byte*>(outputs.data.data());
  for (const std::size_t child : active_) {
    const Beat& beat = beats_[child].front();
    if (!beat.adds) continue;
    const auto* const operand = reinterpret_cast<const std::byte*>(beat.data.data());
    if (outputs.adds) {
      add(in_.kind, sum, operand, sum, shape_.bytes);
    } else {
      std::copy(beat.data.begin(), beat.data.end(), outputs.data.begin());
    }
    outputs.adds = true;
  }
}

}  // namespace weft::fabric
