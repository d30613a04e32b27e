// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/block_model.h"

#include <fmt/format.h>

#include <stdexcept>

namespace weft::vcd {

std::string BlockModel::Config::text() const {
  return fmt::format("latency {}, interval {}, pause {}, queue {}{}, ", latency, interval, pause, queue,
                     (registered ? " registered" : "") + std::string(passes() ? "" : " and a cycle there")) +
         (stall == Stall::kRigid ? std::string("rigid") : fmt::format("elastic with {} beats", depth));
}

BlockModel::BlockModel(const Config& config) : config_(config), waiting_(config.inputs), taken_(config.inputs) {
  if (config.inputs == 0 || config.interval == 0) {
    throw std::invalid_argument("a block: expected at least one input, and an interval of at least 1");
  }
  if (config.stall == Stall::kElastic && config.depth == 0) {
    throw std::invalid_argument("an elastic block: expected a depth of at least 1");
  }
}

bool BlockModel::valid() const {
  return !inside_.empty() && inside_.front() <= (config_.stall == Stall::kRigid ? moved_ : edge_);
}

void BlockModel::step(const std::vector<Offer>& offers, bool ready) {
  const bool leaves = valid() && ready;
  const bool rigid = config_.stall == Stall::kRigid;
  const bool moves = !valid() || ready;
  if (leaves) inside_.pop_front();
  const bool room = rigid ? moves : inside_.size() < config_.depth;
  const bool passes = config_.passes();
  bool joins = room && edge_ >= next_join_;
  for (std::size_t i = 0; i < config_.inputs; ++i) {
    const std::deque<Waiting>& queue = waiting_[i];
    joins = joins && (queue.empty() ? passes && offers[i] != Offer::kNothing : queue.front().from <= edge_);
  }
  bool last = false;
  for (std::size_t i = 0; i < config_.inputs; ++i) {
    std::deque<Waiting>& queue = waiting_[i];
    // Through an empty queue a beat passes at the same edge.
    const std::size_t leaving = joins && !queue.empty() && !config_.registered ? 1 : 0;
    const bool place = queue.size() - leaving < config_.queue || (joins && queue.empty());
    taken_[i] = offers[i] != Offer::kNothing && place;
    if (taken_[i]) queue.push_back({offers[i], edge_ + (passes ? 0 : 1)});
    if (!joins) continue;
    last = last || queue.front().offer == Offer::kLastBeat;
    queue.pop_front();
  }
  if (joins) {
    inside_.push_back((rigid ? moved_ : edge_) + config_.latency);
    next_join_ = edge_ + config_.interval + (last ? config_.pause : 0);
  }
  if (moves) ++moved_;
  ++edge_;
}

}  // namespace weft::vcd
