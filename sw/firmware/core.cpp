// SPDX-License-Identifier: Apache-2.0
#include "sw/firmware/core.h"

#include <algorithm>
#include <cmath>

namespace weft::firmware {
namespace {

/// The largest integer whose square is not above `value`; exact whatever the processor's rounding.
std::int64_t root(std::int64_t value) {
  auto guess = static_cast<std::int64_t>(std::sqrt(static_cast<double>(value)));
  while (guess * guess > value) --guess;
  while ((guess + 1) * (guess + 1) <= value) ++guess;
  return guess;
}

/// `time` * over / under, rounded up or down, for times up to hours. A thread that is alone is not scaled.
std::int64_t scale_up(std::int64_t time, std::int64_t over, std::int64_t under) {
  if (over == under) return time;
  return static_cast<std::int64_t>((static_cast<__int128>(time) * over + under - 1) / under);
}
std::int64_t scale_down(std::int64_t time, std::int64_t over, std::int64_t under) {
  if (over == under) return time;
  return static_cast<std::int64_t>(static_cast<__int128>(time) * over / under);
}

}  // namespace

std::int64_t Core::stretch(std::int64_t share, std::size_t running) {
  const auto n = static_cast<std::int64_t>(running);
  if (n <= 1) return kOne;
  const std::int64_t idle = kOne - share - n * share;
  return ((n - 1) * share + kOne + root(idle * idle + 4 * share * (kOne - share))) / 2;
}

std::int64_t Core::share_of(Time alone, Time shared) {
  return alone > Time() ? scale_down(shared.count(), kOne, alone.count()) : 0;
}

void Core::set_speeds(std::vector<Run>& runs) {
  if (runs.size() == 1) {
    runs.front().stretch = kOne;
    return;
  }
  for (Run& run : runs) {
    if (run.share == kUnknown) run.share = share_of(run.alone, run.shared);
    run.stretch = stretch(run.share, runs.size());
  }
}

/// Takes what has been done in `passed` at the present speeds from what is left.
void Core::settle(std::vector<Run>& runs, Time passed) {
  for (Run& run : runs) {
    if (run.left != kSpins) run.left -= std::min(run.left, scale_down(passed.count(), kOne, run.stretch));
  }
}

/// Goes from the last change of speeds on to the next end of a run, unless it comes after `until`; false then.
bool Core::step(std::vector<Run>& runs, Time& since, Time until) {
  std::int64_t first = kSpins;
  for (const Run& run : runs) {
    if (run.left != kSpins) first = std::min(first, scale_up(run.left, run.stretch, kOne));
  }
  if (first == kSpins || since + Time(first) > until) return false;
  settle(runs, Time(first));
  since += Time(first);
  for (Run& run : runs) {
    if (run.left == 0 && run.spin_share != kNoSpin) run = spinning(run.thread, run.spin_share);
  }
  std::erase_if(runs, [](const Run& run) { return run.left == 0; });
  set_speeds(runs);
  return true;
}

void Core::settle_until(Time now) {
  if (runs_.size() == 1 && runs_.front().left != kSpins && runs_.front().spin_share == kNoSpin) {
    if (since_ + Time(runs_.front().left) > now) return;
    since_ += Time(runs_.front().left);
    return runs_.clear();
  }
  while (!runs_.empty() && step(runs_, since_, now)) {
  }
}

void Core::begin(std::uint32_t thread, Time alone, Time shared, std::int64_t spin_share) {
  settle(runs_, now_ - since_);
  since_ = now_;
  if (alone > Time()) {
    runs_.push_back({thread, alone.count(), alone, shared, kUnknown, spin_share, kOne});
  } else if (spin_share != kNoSpin) {
    runs_.push_back(spinning(thread, spin_share));
  }
  set_speeds(runs_);
}

void Core::stop_spinning(std::uint32_t thread) {
  const auto spins = [&](const Run& run) { return run.thread == thread && run.left == kSpins; };
  if (std::none_of(runs_.begin(), runs_.end(), spins)) return;
  settle(runs_, now_ - since_);
  since_ = now_;
  std::erase_if(runs_, spins);
  set_speeds(runs_);
}

Time Core::free_beside(std::uint32_t thread) const {
  const auto own = std::find_if(runs_.begin(), runs_.end(), [&](const Run& run) { return run.thread == thread; });
  if (own != runs_.end() ? own->left == kSpins : runs_.size() < static_cast<std::size_t>(threads_)) return Time();
  // One that is alone is not slowed down; if it spins then, only itself can go on.
  if (runs_.size() == 1 && runs_.front().left != kSpins &&
      (runs_.front().spin_share == kNoSpin || own != runs_.end())) {
    return since_ + Time(runs_.front().left);
  }
  std::vector<Run> runs = runs_;
  Time since = since_;
  const std::size_t count = runs.size();
  const auto still = [&] {
    return own == runs_.end() ? runs.size() == count : std::any_of(runs.begin(), runs.end(), [&](const Run& run) {
      return run.thread == thread && run.left != kSpins;
    });
  };
  while (still()) {
    if (!step(runs, since, kNever)) return kNever;
  }
  return since;
}

}  // namespace weft::firmware
