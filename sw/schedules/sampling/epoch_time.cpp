// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/sampling/epoch_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::schedules {
namespace {

constexpr std::size_t kShortest = 8;  // batches of a round
constexpr double kSameTime = 0.005;
constexpr double kSameNumber = 0.05;

/// Batches of these that were over by then.
std::size_t until(const std::vector<Time>& times, Time then) {
  return static_cast<std::size_t>(std::ranges::upper_bound(times, then) - times.begin());
}

/// Of a batch, in steady stretches with halves of so many batches, which end with the last batch of `ended` or with one
/// of the round before it.
std::optional<double> steady_time(const std::vector<Time>& begins, const std::vector<Time>& ends, std::size_t ended,
                                  std::size_t half, std::size_t round) {
  const auto begun = [&](std::size_t end) { return static_cast<double>(until(begins, ends[end])); };
  double shortest = std::numeric_limits<double>::max();
  double longest = 0;
  double sum = 0;
  for (std::size_t last = ended - round; last < ended; ++last) {
    const std::size_t middle = last - half;
    const std::size_t first = middle - half;
    for (const Time time : {ends[middle] - ends[first], ends[last] - ends[middle]}) {
      const auto taken = static_cast<double>(time.count());
      shortest = std::min(shortest, taken);
      longest = std::max(longest, taken);
      sum += taken;
    }
    const auto batches = static_cast<double>(last - first);
    if (std::abs(begun(last) - begun(first) - batches) > std::max(1.0, kSameNumber * batches)) return std::nullopt;
  }
  if (longest - shortest > kSameTime * longest) return std::nullopt;
  return sum / static_cast<double>(2 * round * half);
}

}  // namespace

std::optional<Time> epoch_time(const std::vector<Time>& begins, const std::vector<Time>& ends, std::size_t at_once,
                               std::int64_t batches) {
  const std::int64_t left = batches - static_cast<std::int64_t>(ends.size());
  if (left <= 0) return ends.back();
  const std::size_t ended = until(ends, begins.back());
  const std::size_t round = (kShortest + at_once - 1) / at_once * at_once;
  if (ended <= round) return std::nullopt;
  for (std::size_t rounds = (ended - round) / (2 * round); rounds > 1; --rounds) {
    const std::optional<double> each = steady_time(begins, ends, ended, rounds * round, round);
    if (each) return ends.back() + Time(std::llround(*each * static_cast<double>(left)));
  }
  return std::nullopt;
}

}  // namespace weft::schedules
