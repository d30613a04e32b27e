// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/steady.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

namespace weft::schedules {

void SparseOrder::leave_out(std::uint64_t from, std::uint64_t to) {
  assert(gaps_.empty() || gaps_.back().to <= from);
  if (!gaps_.empty() && gaps_.back().to == from) {
    gaps_.back().to = to;
  } else {
    gaps_.push_back({from, to});
  }
}

const SparseOrder::Gap* SparseOrder::find(std::uint64_t number) const {
  const auto behind = std::upper_bound(gaps_.begin(), gaps_.end(), number,
                                       [](std::uint64_t each, const Gap& gap) { return each < gap.from; });
  if (behind == gaps_.begin() || std::prev(behind)->to <= number) return nullptr;
  return &*std::prev(behind);
}

std::uint64_t SparseOrder::reached_before(std::uint64_t number, std::uint64_t but) const {
  while (number > 0) {
    if (const Gap* gap = find(number - 1); gap != nullptr) {
      number = gap->from;
    } else if (but > 0) {
      --number;
      --but;
    } else {
      break;
    }
  }
  return number;
}

bool SteadyRow::end(std::size_t rank, Sample sample) {
  ranks_[rank].push_back(std::move(sample));
  const bool is_last =
      std::all_of(ranks_.begin(), ranks_.end(), [this](const auto& each) { return each.size() > ended_; });
  if (is_last) ++ended_;
  return is_last;
}

SteadyRow::Periods SteadyRow::periods(std::size_t length) const {
  const std::size_t last = ended_ - 1;
  const Time now = end_of(last) - end_of(last - length);
  const Time before = end_of(last - length) - end_of(last - 2 * length);
  const Time mean = mean_end_of(last) - mean_end_of(last - length);
  Periods all{std::min(now, before), std::max(now, before), 0, std::max(now, mean) - std::min(now, mean)};
  if (all.longest == Time()) return all;
  const auto share = [&all](Time time) {
    return static_cast<double>(time.count()) / static_cast<double>(all.longest.count());
  };
  all.differ = share(all.longest - all.shortest);
  const std::vector<Time> waited_now = waited(last - length, last);
  const std::vector<Time> waited_before = waited(last - 2 * length, last - length);
  for (std::size_t i = 0; i < waited_now.size(); ++i) {
    const double change = std::abs(share(waited_now[i] - waited_before[i])) / static_cast<double>(ranks_.size());
    all.differ = std::max(all.differ, change);
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

Time SteadyRow::busy(std::size_t from, std::size_t to) const {
  Time sum;
  for (const auto& samples : ranks_) sum += samples[to].busy - samples[from].busy;
  return sum;
}

std::vector<Time> SteadyRow::waited(std::size_t from, std::size_t to) const {
  std::vector<Time> sums(ranks_.front()[from].waited.size());
  for (const auto& samples : ranks_) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += samples[to].waited[i] - samples[from].waited[i];
  }
  return sums;
}

}  // namespace weft::schedules
