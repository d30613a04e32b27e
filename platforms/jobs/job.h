// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hw/core/probe.h"
#include "platforms/jobs/share.h"
#include "platforms/machine/idle_fields.h"
#include "platforms/machine/platform.h"
#include "platforms/results/left_out.h"

namespace weft::platforms {

/// What `weft run` does on a machine: a workload of some kind (platforms/jobs/job_kind.h).
class Job {
 public:
  virtual ~Job() = default;

  /// The files that it reads beside the platform's.
  [[nodiscard]] virtual std::vector<std::filesystem::path> inputs() const { return {}; }
  /// Whether all of its collectives are by collectives.algorithm.
  [[nodiscard]] virtual bool follows_algorithm() const { return true; }
  /// Whether its accelerators may be of several parts (MachineConfig::others).
  [[nodiscard]] virtual bool takes_others() const { return false; }
  /// Makes its firmware. What it finds wrong in the configuration is thrown as ConfigError or std::length_error.
  virtual void build(Share& share) = 0;
  /// The same, where the machine is one that it takes.
  void build_on(Share& share);
  /// Called behind build() if it then runs, before anything is recorded: a chance to find out in other processes what
  /// it needs to know at its end.
  virtual void prepare_run() {}
  /// Draws what the first `ranks` ranks do, beside what the machine's modules draw.
  virtual void record(Probe& /*probe*/, int /*ranks*/) {}
  /// `begins` is called when a run that prepares itself first (it measures its machine, say) begins what it is for.
  virtual void set_begins(std::function<void(Time at)> /*begins*/) {}
  /// Of a job that leaves out what would be equal to what it has done, and says so there.
  virtual void set_left_out(LeftOut& /*left_out*/) {}
  /// Why nothing is left out although the platform's `steady` asks for it; empty where something may be.
  [[nodiscard]] virtual std::string simulates_all() const { return "workloads of its kind are simulated whole"; }
  virtual void start() = 0;
  /// Share of the work that is done.
  [[nodiscard]] virtual double progress() const = 0;
  /// About what all interfaces receive in all of it; 0: that is not known. Known after build().
  [[nodiscard]] virtual double received_bytes() const { return 0; }
  /// About which share of it is simulated if set_left_out() is called; known after build().
  [[nodiscard]] virtual double simulated_share() const { return 1; }
  /// After the run: throws what its firmware has met in its input.
  virtual void check() const {}
  /// Of a run in which nothing can happen any more: who has what under way, a line each.
  [[nodiscard]] virtual std::vector<std::string> unfinished() const { return {}; }

  /// What accelerators need in memory, before build(): for people, and as JSON. Empty where nothing is known of it.
  [[nodiscard]] virtual std::string needs() const { return ""; }
  [[nodiscard]] virtual nlohmann::ordered_json needs_json() const;

  /// How its input is taken where that leaves something open, a line each.
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }

  // After the run:
  /// When each training step ended on its last rank; none where there are no steps.
  [[nodiscard]] virtual std::vector<Time> step_ends() const { return {}; }
  /// What people call them.
  [[nodiscard]] virtual std::string steps_called() const { return "steps"; }
  /// See MachineUse.
  [[nodiscard]] virtual std::function<std::uint64_t(const accelerator::ComputeConfig&)> kernels_on() const {
    return {};
  }
  /// Fields of `workload` that change nothing.
  [[nodiscard]] virtual std::vector<IdleFields> idle() const { return {}; }
  /// "what on how many".
  [[nodiscard]] virtual std::string title() const = 0;
  /// As summary.json has it.
  [[nodiscard]] virtual nlohmann::ordered_json workload() const = 0;
  [[nodiscard]] virtual nlohmann::ordered_json summary() const = 0;
  /// Of a run that was ended before: what is finished of that.
  [[nodiscard]] virtual nlohmann::ordered_json finished() const;
  /// For people.
  [[nodiscard]] virtual std::string text() const = 0;
  /// Elements that are not what they should be; -1 where data is off. `run` prints them, unless text() does, puts them
  /// at `wrong` in summary.json and exits with 1 if there are any.
  [[nodiscard]] virtual std::int64_t wrong() const { return -1; }
};

}  // namespace weft::platforms
