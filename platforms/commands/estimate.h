// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "platforms/jobs/job.h"
#include "platforms/machine/machine.h"

/// What a run will cost, before it: from its first seconds, in which the job is run as it would be.
namespace weft::platforms {

struct Estimate {
  double cpu_s = 0;         ///< of processor time, of the whole run
  bool is_least = false;    ///< no part of the work has ended: it takes longer than this
  double memory_bytes = 0;  ///< resident at the most
  double trial_s = 0;       ///< of processor time, that the trial took
  double share = 0;         ///< of the work that it did
};

/// Runs the job, which has been built and started, for `trial_s` of processor time, and up to seven times as long where
/// few parts of its work have ended by then. `built_s` have gone before, and the job leaves nothing out: that it will
/// is in its simulated_share(). The machine is then somewhere in its run. Throws what the run throws.
[[nodiscard]] Estimate estimate(Machine& machine, const Job& job, double built_s, double trial_s);

[[nodiscard]] nlohmann::ordered_json to_json(const Estimate& estimate);
[[nodiscard]] std::string to_text(const Estimate& estimate);

}  // namespace weft::platforms
