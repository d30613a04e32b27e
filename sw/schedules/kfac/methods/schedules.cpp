// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "hw/core/config/provide_beside.h"
#include "sw/schedules/kfac/schedule.h"

namespace weft::schedules {

/// Weft's own, in the order in which messages list them: for each NAME, NAME_schedule() of the schedule's own file.
#define WEFT_SCHEDULES(EACH) \
  EACH(sgd)                  \
  EACH(dear)                 \
  EACH(dasgd)                \
  EACH(d)                    \
  EACH(mpd)                  \
  EACH(spd)                  \
  EACH(dp)

#define WEFT_DECLARE(NAME) Schedule NAME##_schedule();
WEFT_SCHEDULES(WEFT_DECLARE)
#undef WEFT_DECLARE

namespace {

Registry<Schedule>& known_schedules() {
#define WEFT_MAKER(NAME) NAME##_schedule,
  static Registry<Schedule> all("schedule", {WEFT_SCHEDULES(WEFT_MAKER)});
#undef WEFT_MAKER
  return all;
}

}  // namespace

void provide(Schedule schedule) {
  provide_beside<KfacConfig>(known_schedules(), std::move(schedule));
}

const Registry<Schedule>& schedules() {
  return known_schedules();
}

const Names& registered(const Schedule* /*kind*/) {
  return known_schedules();
}

const Schedule& schedule_of(const ScheduleName& name) {
  return known_schedules().at(name.text(), "workload.algorithm");
}

std::unique_ptr<Trainer> trainer_of(const KfacConfig& config) {
  return schedule_of(config.algorithm).make(config);
}

kfac::Placement Trainer::place(std::size_t factors, int ranks) const {
  // A balanced one is decided when costs have been measured.
  return config_.inverse_placement() == InversePlacement::kInTurn ? kfac::place_mpd(factors / 2, ranks)
                                                                  : kfac::place_everywhere(factors, ranks);
}

}  // namespace weft::schedules
