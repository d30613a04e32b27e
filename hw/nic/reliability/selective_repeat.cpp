// SPDX-License-Identifier: Apache-2.0
#include "hw/nic/reliability/selective_repeat.h"

#include <algorithm>

namespace weft::nic {

void Gaps::begin_at(std::uint32_t psn) {
  const auto open = std::find_if(gaps_.begin(), gaps_.end(), [psn](const Gap& gap) { return before(psn, gap.end); });
  gaps_.erase(gaps_.begin(), open);
  if (!gaps_.empty() && before(gaps_.front().psn, psn)) gaps_.front().psn = psn;
  if (before(end_, psn)) end_ = psn;
}

bool Gaps::fill(std::uint32_t psn) {
  if (!before(psn, end_)) {
    if (psn != end_) gaps_.push_back({end_, psn});
    end_ = psn + 1;
    return true;
  }
  const auto gap =
      std::partition_point(gaps_.begin(), gaps_.end(), [psn](const Gap& each) { return !before(psn, each.end); });
  if (gap == gaps_.end() || before(psn, gap->psn)) return false;
  const Gap rest{psn + 1, gap->end};
  gap->end = psn;
  if (gap->psn != gap->end && rest.psn != rest.end) {
    gaps_.insert(gap + 1, rest);
  } else if (rest.psn != rest.end) {
    *gap = rest;
  } else if (gap->psn == gap->end) {
    gaps_.erase(gap);
  }
  return false;
}

void Repeats::ask(std::uint32_t psn, std::uint32_t end, std::optional<std::uint32_t> newest) {
  while (before(psn, end)) {
    std::uint32_t until = end;
    std::uint32_t covered = psn;  // up to here it is about to leave, or has left since
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const Range& range = ranges_[i];
      if (i < begun_ && !(newest && before(*newest, range.newer))) continue;
      if (before(psn, range.psn)) {
        if (before(range.psn, until)) until = range.psn;
      } else if (before(covered, range.end)) {
        covered = range.end;
      }
    }
    if (covered == psn) {
      ranges_.push_back({psn, until, psn, psn});
      covered = until;
    }
    psn = covered;
  }
}

void Repeats::take(std::uint32_t end) {
  ranges_[begun_].newer = end;
  skip();
}

void Repeats::skip() {
  if (++ranges_[begun_].next == ranges_[begun_].end) ++begun_;
}

void Repeats::forget(std::uint32_t acknowledged) {
  if (begun_ == 0) return;
  const auto left = ranges_.begin() + static_cast<std::ptrdiff_t>(begun_);
  const auto kept = std::remove_if(ranges_.begin(), left,
                                   [acknowledged](const Range& range) { return !before(acknowledged, range.end - 1); });
  begun_ -= static_cast<std::size_t>(left - kept);
  ranges_.erase(kept, left);
}

void Repeats::clear() {
  ranges_.clear();
  begun_ = 0;
}

}  // namespace weft::nic
