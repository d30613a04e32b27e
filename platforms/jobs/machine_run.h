// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/jobs/job.h"
#include "platforms/machine/deadlock.h"
#include "platforms/machine/idle_settings.h"
#include "platforms/results/energy.h"
#include "platforms/results/left_out.h"
#include "platforms/results/summary.h"
#include "platforms/results/why/why_summary.h"

namespace weft::platforms {

/// A platform's workload on its machine, from the platform as it was read to summary.json. It prints and writes
/// nothing: `weft run`, which does, and the points of a study are both made of it.
///
///     MachineRun run(platform);
///     run.build();
///     run.start();
///     run.to_end();
///     write(run.summary());
///
/// SystemC has one machine for each process, and so has this.
class MachineRun {
 public:
  /// Reads the workload, and has the document report what nobody has read. Throws InputError.
  explicit MachineRun(Platform& platform);

  /// The machine, with the job's firmware. `runs`: false of one that is only looked at.
  Machine& build(bool runs = true);
  /// Whoever wants to see it begin, such as a timeline or waveforms, is bound by then.
  void start();
  /// Throws DeadlockError, what the job has met in its input, and whatever a dispatcher's progress throws. After such
  /// an end, too, there is a summary().
  void to_end();
  /// For people, with what the job says of itself.
  [[nodiscard]] std::string text(const DeadlockError& error) const { return error.text(job_->unfinished()); }

  [[nodiscard]] Platform& platform() { return platform_; }
  [[nodiscard]] Job& job() { return *job_; }
  [[nodiscard]] Machine& machine() { return *machine_; }

  /// All of summary.json but for what is in other files: `configuration`, `timeline`, `waves` and `kernels` are null. A
  /// `partial` run, which is told of by something other than null, has what is finished.
  [[nodiscard]] nlohmann::ordered_json summary(const nlohmann::ordered_json& partial = nullptr);

  // After summary():
  /// When what the run is for began, less what was left out; null: with the run.
  [[nodiscard]] const Baseline* since() const { return begun_ ? &*begun_ : nullptr; }
  [[nodiscard]] const LinkBaseline* links_since() const { return begun_ ? begun_->links.get() : nullptr; }
  /// From then to the end.
  [[nodiscard]] Time span() const { return begun_ ? machine_->end() - begun_->at : machine_->end(); }
  /// What preparing itself took; null where the job did not.
  [[nodiscard]] const Baseline* prepared() const { return prepared_ ? &*prepared_ : nullptr; }
  /// What the critical path is told of.
  [[nodiscard]] WhySpan why() const;
  [[nodiscard]] Time left_out() const { return left_out_->time(); }
  [[nodiscard]] const EnergyAccount& energy() const { return energy_; }
  /// Settings without effect; none of a partial run.
  [[nodiscard]] const std::optional<IdleSettings>& idle() const { return idle_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// Elements that are not what they should be, -1 where that is not known, and whether the job itself tells of them.
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }
  [[nodiscard]] bool tells_wrong() const { return tells_wrong_; }

 private:
  [[nodiscard]] std::vector<std::string> find_warnings(const MachineUse& use);

  Platform& platform_;
  std::unique_ptr<Job> job_;
  Machine* machine_ = nullptr;
  std::optional<Share> share_;
  std::optional<LeftOut> left_out_;
  double build_seconds_ = 0;
  std::optional<Stopwatch> running_;
  std::optional<Baseline> prepared_;
  std::optional<Baseline> begun_;
  EnergyAccount energy_;
  std::optional<IdleSettings> idle_;
  std::vector<std::string> warnings_;
  std::int64_t wrong_ = -1;
  bool tells_wrong_ = false;
};

}  // namespace weft::platforms
