// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/core/quantity.h"

namespace weft::firmware {

/// A stretch of firmware by what it does: instructions, and accesses to memory that devices or other cores share.
struct Work {
  std::int64_t instructions = 0;
  std::int64_t accesses = 0;
};

/// One core whose hardware threads share a pipeline and a port to memory.
///
/// A run is what a thread does from one co_await to the next. Alone it takes `alone`, for `shared` of which it holds
/// what only one thread can have: an issue slot of the pipeline or the port. For the rest it waits for memory, and
/// others run. With n threads at work each is slower by
///
///     stretch(n) = ((n - 1) d + 1 + sqrt((1 - d - n d)^2 + 4 d (1 - d))) / 2,   d = shared / alone,
///
/// which is n customers of one server of time d and a delay of 1 - d, in the approximation of mean value analysis by
/// Bard and Schweitzer (1979): 1 for one thread, n d for many. When a thread starts or ends, what is left of the
/// others' runs goes on at the new speed, so work is conserved whatever the order of events.
///
/// Approximations: a thread's siblings are taken to do work with the same share as its own; a thread is not tied to one
/// of the hardware threads. Times are integers; a speed is exact to 1 in 4096.
class Core {
 public:
  explicit Core(int threads) : threads_(threads) { runs_.reserve(static_cast<std::size_t>(threads)); }

  /// In 1/4096 of the time alone; `share` too.
  static std::int64_t stretch(std::int64_t share, std::size_t running);
  static constexpr std::int64_t kOne = 4096;
  static std::int64_t share_of(Time alone, Time shared);

  /// Lets runs go on until `now`, which never goes back.
  void advance(Time now) {
    if (!runs_.empty()) settle_until(now);
    now_ = now;
  }

  /// Gives a hardware thread to `thread` from the time of advance(). A run that has ended leaves it free, or, with a
  /// `spin_share`, spinning: the thread polls with that share until stop().
  void begin(std::uint32_t thread, Time alone, Time shared, std::int64_t spin_share = kNoSpin);
  static constexpr std::int64_t kNoSpin = -1;
  /// Ends a thread's spinning, if it does.
  void stop(std::uint32_t thread) {
    if (!runs_.empty()) stop_spinning(thread);
  }

  /// Hardware threads that are taken.
  [[nodiscard]] std::size_t running() const { return runs_.size(); }
  /// When `thread` can start another run if nothing else starts before: when its run ends, or the first of another
  /// thread where no hardware thread is free. In the past if it can now; kNever if all are spinning.
  [[nodiscard]] Time free_at(std::uint32_t thread) const { return runs_.empty() ? Time() : free_beside(thread); }

 private:
  struct Run {
    std::uint32_t thread;
    std::int64_t left;  ///< of its time alone, in ps, at the last change of speeds; kSpins: until it is stopped
    Time alone;
    Time shared;
    std::int64_t share;       ///< kUnknown: of shared in alone, which only matters beside others
    std::int64_t spin_share;  ///< what it does when it ends
    std::int64_t stretch;     ///< at present
  };
  static constexpr std::int64_t kSpins = INT64_MAX;
  static constexpr std::int64_t kUnknown = -1;

  static Run spinning(std::uint32_t thread, std::int64_t share) {
    return {thread, kSpins, Time(), Time(), share, kNoSpin, kOne};
  }
  void settle_until(Time now);
  void stop_spinning(std::uint32_t thread);
  /// As free_at(), where something runs.
  [[nodiscard]] Time free_beside(std::uint32_t thread) const;

  static void set_speeds(std::vector<Run>& runs);
  static void settle(std::vector<Run>& runs, Time passed);
  static bool step(std::vector<Run>& runs, Time& since, Time until);

  int threads_;
  Time now_;
  Time since_;  ///< of the present speeds; what is left is rounded only when they change
  std::vector<Run> runs_;
};

}  // namespace weft::firmware
