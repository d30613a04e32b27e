// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/kfac_step_times.h"

#include <algorithm>

namespace weft::schedules {

void KfacStepTimes::step_ended(std::size_t rank) {
  ranks_[rank].emplace_back();
  std::size_t fewest = ranks_[rank].size();
  for (const std::deque<Step>& each : ranks_) fewest = std::min(fewest, each.size());
  ended_ = dropped_ + fewest - 1;
  for (; dropped_ + 2 * kMostSteps < ended_; ++dropped_) {
    for (std::deque<Step>& each : ranks_) each.pop_front();
  }
}

bool KfacStepTimes::repeats(std::size_t step, std::size_t apart, Time shift) const {
  const Time allowed(
      static_cast<std::int64_t>(within_ * static_cast<double>(shift.count()) / static_cast<double>(apart)));
  const auto shifted = [&](const std::vector<Time>& before, const std::vector<Time>& now) {
    return std::equal(before.begin(), before.end(), now.begin(), now.end(), [&](Time one, Time other) {
      const Time difference = other - one - shift;
      return difference <= allowed && Time() - difference <= allowed;
    });
  };
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Step& before = at(rank, step - apart);
    const Step& now = at(rank, step);
    if (!shifted(before.times, now.times) || !shifted(before.transfers, now.transfers)) return false;
  }
  return true;
}

std::optional<KfacStepTimes::Cycle> KfacStepTimes::cycle(std::size_t steps) const {
  steps = std::min(steps, ended_ - dropped_);
  for (std::size_t length = 1; length <= kMostSteps && 2 * length <= steps; ++length) {
    const Step& last = at(0, ended_ - 1);
    if (last.times.empty()) return std::nullopt;
    const Time shift = last.times.back() - at(0, ended_ - 1 - length).times.back();
    if (shift <= Time()) return std::nullopt;
    bool same = true;
    for (std::size_t step = ended_ - length; same && step < ended_; ++step) same = repeats(step, length, shift);
    if (same) return Cycle{length, shift};
  }
  return std::nullopt;
}

}  // namespace weft::schedules
