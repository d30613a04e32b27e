// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sw/schedules/fsdp_plan.h"

namespace weft::schedules {

/// Stages of a step, from `begin` to before `end`, each of which does what the one `unit` before it did.
struct FsdpRow {
  int begin;
  int end;
  int unit;
  bool forward;
};

/// Stages between the one that needs parameters and the one with which their Allgather is issued.
struct GatherAhead {
  int forward;
  int backward;
};

/// Those of a plan that are long enough for something to be left out. Beside each of their stages the same is gathered.
std::vector<FsdpRow> find_rows(const FsdpPlan& plan, GatherAhead ahead);

}  // namespace weft::schedules
