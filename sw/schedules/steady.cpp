// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/steady.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace weft::schedules {

bool SteadyRow::end(std::size_t rank, Sample sample) {
  ranks_[rank].push_back(std::move(sample));
  const bool is_last =
      std::all_of(ranks_.begin(), ranks_.end(), [this](const auto& each) { return each.size() > ended_; });
  if (is_last) ++ended_;
  return is_last;
}

SteadyRow::Periods SteadyRow::periods(std::size_t length) const {
  const std::size_t last = ended_ - 1;
  Periods all{Time(INT64_MAX), Time(), 0};
  for (const std::size_t to : {last, last - length}) {
    for (const Time period : {end_of(to) - end_of(to - length), mean_end_of(to) - mean_end_of(to - length)}) {
      all.shortest = std::min(all.shortest, period);
      all.longest = std::max(all.longest, period);
    }
  }
  const auto share = [&all](Time time) {
    return static_cast<double>(time.count()) / static_cast<double>(all.longest.count());
  };
  if (all.longest == Time()) return all;
  all.differ = share(all.longest - all.shortest);
  for (std::size_t part = 0; part < parts(); ++part) {
    const Time change = added(part, last - length, last) - added(part, last - 2 * length, last - length);
    all.differ = std::max(all.differ, std::abs(share(change)) / static_cast<double>(ranks_.size()));
  }
  return all;
}

Time SteadyRow::mean_end_of(std::size_t piece) const {
  const Time first = ranks_.front()[piece].at;
  Time sum;
  for (const auto& samples : ranks_) sum += samples[piece].at - first;
  return first + sum / static_cast<std::int64_t>(ranks_.size());
}

Time SteadyRow::end_of(std::size_t piece) const {
  Time end;
  for (const auto& samples : ranks_) end = std::max(end, samples[piece].at);
  return end;
}

Time SteadyRow::added(std::size_t part, std::size_t from, std::size_t to) const {
  Time sum;
  for (const auto& samples : ranks_) sum += samples[to].parts[part] - samples[from].parts[part];
  return sum;
}

}  // namespace weft::schedules
