// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "platforms/jobs/machine_run.h"
#include "platforms/results/format.h"
#include "platforms/results/version.h"
#include "platforms/results/why/why_summary.h"
#include "platforms/study/task.h"

namespace weft::study {

using nlohmann::ordered_json;
using platforms::DeadlockError;

namespace {

/// What differs from run to run.
void remove_times(ordered_json& result) {
  for (const char* const key : {"wall_s", "cpu_s", "partial", "timeline"}) result.erase(key);
  if (!result.contains("simulator")) return;
  for (const char* const key :
       {"build_s", "wall_s", "cpu_s", "events_per_s", "hops_per_s", "events_per_cpu_s", "hops_per_cpu_s"}) {
    result["simulator"].erase(key);
  }
}

ordered_json why_of(platforms::Machine& machine, const platforms::WhySpan& span) {
  ordered_json why = platforms::why_summary(machine, span);
  why.erase("pieces");  // thousands of them
  return why;
}

ordered_json run_workload(platforms::Platform& platform) {
  platforms::MachineRun run(platform);
  run.build();
  run.start();
  try {
    run.to_end();
  } catch (const DeadlockError& error) {
    throw std::runtime_error(run.text(error));
  }
  ordered_json result = run.summary();
  if (platform.machine().why) {
    result["why"] = why_of(run.machine(), run.why());
  }
  for (const char* const other : {"configuration", "waves", "kernels"}) result.erase(other);
  return result;
}

ordered_json run_rows(platforms::Platform& platform, const platforms::CollectiveRequest& request) {
  platforms::CollectiveRows rows(platform, request);
  rows.build();
  rows.run();
  ordered_json result = rows.summary();
  if (platform.machine().why) result["why"] = why_of(rows.machine(), rows.why());
  return result;
}

}  // namespace

void ReadTask::check() {
  platforms::checked_against(platform_->document(), [this] {
    if (collective_) {
      static_cast<void>(platforms::CollectiveRows(*platform_, *collective_));
    } else {
      static_cast<void>(platforms::MachineRun(*platform_));
    }
  });
}

Outcome simulate(ReadTask& task) {
  platforms::Platform& platform = task.platform();
  return platforms::checked_against(platform.document(), [&] {
    Outcome outcome;
    outcome.result = task.collective() ? run_rows(platform, *task.collective()) : run_workload(platform);
    const ordered_json& counted = task.collective() ? outcome.result : outcome.result["simulator"];
    outcome.digest = counted["digest"];
    remove_times(outcome.result);
    outcome.configuration = platforms::configuration(platform.document());
    outcome.configuration.erase("weft");
    if (task.collective()) {
      for (const auto& [path, value] : task.values().items()) {
        if (path.starts_with("collective.")) outcome.configuration["collective"][path.substr(11)] = value;
      }
    }
    return outcome;
  });
}

}  // namespace weft::study
