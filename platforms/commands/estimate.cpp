// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/estimate.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "platforms/cli/progress.h"
#include "platforms/results/stopwatch.h"
#include "platforms/results/version.h"

namespace weft::platforms {
namespace {

/// A trial in which too few parts of the work end goes on for this many times as long.
constexpr double kLongestTrial = 7;
/// Parts behind the first one that tell a pace: the first ones are not those that the run has most of.
constexpr int kParts = 6;

/// Thrown where enough is known.
struct Enough {};

double received_bytes(Machine& machine) {
  double bytes = 0;
  for (int i = 0; i < machine.size(); ++i) {
    bytes += static_cast<double>(machine.nic(i).counters().bytes_received);
    const nic::AnyNic* const port = machine.scale_up_port(i);
    if (port != nullptr) bytes += static_cast<double>(port->counters().bytes_received);
  }
  return bytes;
}

/// How much of the work was done when. The first part that ends has other work before it than its own, what prepares
/// the run, so that the pace is that of those behind it.
class Trial {
 public:
  Trial(const Job& job, double seconds) : job_(job), seconds_(seconds) {}

  void look() {
    const double now = watch_.cpu_seconds();
    const double done = job_.progress();
    if (done > done_) {
      if (first_done_ < 0) {
        first_done_ = done;
        first_at_ = now;
      }
      done_ = done;
      at_ = now;
      ++parts_;
    }
    if ((now >= seconds_ && parts_ > kParts) || now >= kLongestTrial * seconds_) throw Enough();
  }

  [[nodiscard]] Estimate result(bool ended, double received) const {
    const double now = watch_.cpu_seconds();
    Estimate estimate{.cpu_s = now, .trial_s = now, .share = ended ? 1 : done_};
    // What a run has under way is nearly constant: its memory is that of the machine.
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    estimate.memory_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
    if (ended) return estimate;
    const double by_bytes = job_.received_bytes() > 0 ? received / job_.received_bytes() : 0;
    if (has_pace()) {
      estimate.cpu_s = at_ + (1 - done_) * (at_ - first_at_) / (done_ - first_done_);
    } else if (by_bytes > 0) {
      estimate.share = by_bytes;
      estimate.cpu_s = now / by_bytes;
    } else {
      estimate.is_least = true;
    }
    return estimate;
  }

 private:
  [[nodiscard]] bool has_pace() const { return first_done_ >= 0 && done_ > first_done_; }

  const Job& job_;
  double seconds_;
  Stopwatch watch_;
  double first_done_ = -1;
  double first_at_ = 0;
  double done_ = 0;
  double at_ = 0;
  int parts_ = 0;  ///< that ended, as far as they were seen
};

}  // namespace

Estimate estimate(Machine& machine, const Job& job, double built_s, double trial_s) {
  Trial trial(job, trial_s);
  machine.dispatcher().on_progress(Progress::kEvents, [&trial] { trial.look(); });
  bool ended = false;
  try {
    machine.run();
    ended = true;
  } catch (const Enough&) {
    ended = false;
  }
  machine.dispatcher().on_progress(0, {});
  Estimate estimate = trial.result(ended, received_bytes(machine));
  if (!estimate.is_least) estimate.cpu_s *= job.simulated_share();
  estimate.cpu_s += built_s;
  return estimate;
}

nlohmann::ordered_json to_json(const Estimate& estimate) {
  return {{"weft", version_json()},          {"cpu_s", estimate.cpu_s},
          {"is_least", estimate.is_least},   {"memory_bytes", estimate.memory_bytes},
          {"trial_cpu_s", estimate.trial_s}, {"trial_share", estimate.share}};
}

std::string to_text(const Estimate& estimate) {
  const double memory = estimate.memory_bytes / (1 << 20);
  if (estimate.is_least) {
    return fmt::format("more than {:.0f} s of processor time, in which no part of the work ended, and {:.0f} MiB\n",
                       estimate.cpu_s, memory);
  }
  return fmt::format("about {:.{}f} s of processor time and {:.0f} MiB, from {:.1f} s and {:.3g} % of the work\n",
                     estimate.cpu_s, estimate.cpu_s < 10 ? 1 : 0, memory, estimate.trial_s, 100 * estimate.share);
}

}  // namespace weft::platforms
