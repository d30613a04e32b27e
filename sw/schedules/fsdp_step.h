// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sw/schedules/fsdp_plan.h"

namespace weft::schedules {

/// What of a plan is done in a step: all of it, less what is left out. Stages, Allgathers and ReduceScatters are
/// numbered as they are done, and name those of the plan, which has to live as long.
class FsdpStep {
 public:
  struct DoneStage {
    const Stage* stage;
    int gathers_before;
    int scatter;
  };
  struct DoneGather {
    const Gather* gather;
    int planned;  ///< its number in the plan
    int first_use;
    int last_use;
  };
  struct DoneScatter {
    const Scatter* scatter;
    int planned;
    int after;
  };
  /// Stages from `begin` to before `end` of which each does as the one `unit` before it.
  struct Row {
    int begin;
    int end;
    int unit;
    bool forward;
    int planned;  ///< stages that it has in the plan
  };

  /// Behind so many of earlier steps; those of stages count optimizers as well.
  FsdpStep(const FsdpPlan& plan, std::vector<Row> rows, std::uint64_t stages_before, std::uint64_t gathers_before,
           std::uint64_t scatters_before);

  /// Takes out stages that nobody has begun or is waiting to begin, with what is gathered and scattered for them.
  void leave_out(int first, int count);

  [[nodiscard]] int size() const { return static_cast<int>(stages.size()); }

  std::uint64_t stages_before;
  std::uint64_t gathers_before;
  std::uint64_t scatters_before;
  std::vector<DoneStage> stages;
  std::vector<DoneGather> gathers;
  std::vector<DoneScatter> scatters;
  std::vector<Row> rows;
};

/// Rows of a plan that are long enough for something to be left out.
std::vector<FsdpStep::Row> find_rows(const FsdpPlan& plan);

}  // namespace weft::schedules
