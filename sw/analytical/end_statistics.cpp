// SPDX-License-Identifier: Apache-2.0
#include "sw/analytical/end_statistics.h"

namespace weft::analytical {
namespace {

constexpr std::uint32_t bit(Activity activity) {
  return 1U << static_cast<std::uint32_t>(activity);
}

}  // namespace

void EndStatistics::account(Time now, End& end) {
  end.spent[end.busy] += now - end.since;
  end.since = now;
}

void EndStatistics::begin(Time now, std::uint32_t number, Activity activity) {
  End& end = ends_[number];
  if (end.under_way[static_cast<std::size_t>(activity)]++ > 0) return;
  account(now, end);
  end.busy |= bit(activity);
}

void EndStatistics::end(Time now, std::uint32_t number, Activity activity) {
  End& end = ends_[number];
  if (--end.under_way[static_cast<std::size_t>(activity)] > 0) return;
  account(now, end);
  end.busy &= ~bit(activity);
}

void EndStatistics::add_compute(std::uint32_t number, Time length, const std::optional<Roofline>& roofline) {
  End& end = ends_[number];
  const double ns = static_cast<double>(length.count()) / 1000;
  end.computed_ns += ns;
  if (!roofline) return;
  if (roofline->rate >= roofline->peak) end.sums.compute_bound += ns;
  end.sums.compute_utilisation += roofline->rate / roofline->peak * ns;
  if (roofline->bytes <= 0) return;
  const double intensity = roofline->operations / roofline->bytes;
  const double memory = intensity > 0 ? roofline->rate / intensity / roofline->memory_rate : 1;
  end.sums.memory_utilisation += memory * ns;
  end.sums.operation_intensity += intensity * ns;
}

EndReport EndStatistics::report(std::uint32_t number, Time finished, bool roofline) const {
  const End& end = ends_[number];
  EndReport report;
  report.finished = finished;
  report.idle = finished;
  constexpr std::uint32_t kBoth = bit(Activity::kCompute) | bit(Activity::kCommunication);
  for (std::uint32_t busy = 1; busy < kCombinations; ++busy) {
    report.idle -= end.spent[busy];
    for (std::size_t a = 0; a < kActivities; ++a) {
      if ((busy >> a & 1U) != 0) report.busy[a] += end.spent[busy];
    }
    if ((busy & kBoth) == kBoth) report.overlapped += end.spent[busy];
  }
  report.communicated_bytes = end.communicated_bytes;
  if (!roofline) return report;
  report.roofline = end.sums;
  for (double* sum : {&report.roofline->compute_bound, &report.roofline->compute_utilisation,
                      &report.roofline->memory_utilisation, &report.roofline->operation_intensity}) {
    *sum /= end.computed_ns;
  }
  return report;
}

}  // namespace weft::analytical
