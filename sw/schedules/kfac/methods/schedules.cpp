// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/config/blame.h"
#include "hw/core/config/provide_beside.h"
#include "sw/schedules/kfac/schedule.h"

namespace weft::schedules {

/// Weft's own, in the order in which messages list them: for each NAME, NAME_schedule() of the schedule's own file.
#define WEFT_SCHEDULES(EACH) \
  EACH(sgd)                  \
  EACH(dear)                 \
  EACH(dasgd)                \
  EACH(coda)                 \
  EACH(codasca)              \
  EACH(d)                    \
  EACH(mpd)                  \
  EACH(spd)                  \
  EACH(dp)                   \
  EACH(kaisa)

#define WEFT_DECLARE(NAME) Schedule NAME##_schedule();
WEFT_SCHEDULES(WEFT_DECLARE)
#undef WEFT_DECLARE

namespace {

constexpr const char* kSchedule = "schedule";

Registry<Schedule>& known_schedules() {
#define WEFT_MAKER(NAME) NAME##_schedule,
  static Registry<Schedule> all(kSchedule, {WEFT_SCHEDULES(WEFT_MAKER)});
#undef WEFT_MAKER
  return all;
}

}  // namespace

void provide(Schedule schedule) {
  provide_beside<KfacConfig>(known_schedules(), std::move(schedule), kSchedule, "workload");
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
  const Schedule& schedule = schedule_of(config.algorithm);
  return made(schedule.make(config), "workload.algorithm", schedule.name);
}

namespace {

/// What a schedule says is wrong: the mistake of its program, not of the platform.
[[noreturn]] void fail_trainer(const Trainer& trainer, const std::string& what) {
  throw OwnFailure("schedule " + trainer.config().algorithm.text() + ": " + what);
}

void check_owners(const Trainer& trainer, const std::string& call, const std::vector<int>& owners, std::size_t tensors,
                  int ranks) {
  if (owners.size() != tensors) {
    fail_trainer(trainer, call + ": expected an owner for each of " + std::to_string(tensors) + " tensors, got " +
                              std::to_string(owners.size()));
  }
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] == kfac::kEveryone || (owners[i] >= 0 && owners[i] < ranks)) continue;
    fail_trainer(trainer, call + ": expected an owner below " + std::to_string(ranks) + " for tensor " +
                              std::to_string(i) + ", got " + std::to_string(owners[i]));
  }
}

}  // namespace

kfac::Placement placement_of(const Trainer& trainer, std::span<const std::int64_t> sides, int ranks) {
  kfac::Placement placement = trainer.place(sides, ranks);
  check_owners(trainer, "place()", placement.owner, sides.size(), ranks);
  return placement;
}

std::vector<Subgroups> subgroups_of(const Trainer& trainer, int ranks) {
  std::vector<Subgroups> all = trainer.subgroups(ranks);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<bool> seen(static_cast<std::size_t>(ranks));
    for (const std::vector<int>& group : all[i]) {
      for (const int rank : group) {
        const bool exists = rank >= 0 && rank < ranks;
        if (exists && !seen[static_cast<std::size_t>(rank)]) {
          seen[static_cast<std::size_t>(rank)] = true;
          continue;
        }
        fail_trainer(trainer, "subgroups() " + std::to_string(i) + ": expected each of " + std::to_string(ranks) +
                                  " ranks in one group at most, got rank " + std::to_string(rank) +
                                  (exists ? " twice" : ""));
      }
    }
  }
  return all;
}

std::vector<OwnBuffer> buffers_of(const Trainer& trainer, const models::Network& network, int ranks) {
  std::vector<OwnBuffer> buffers = trainer.buffers(network, ranks);
  for (const OwnBuffer& buffer : buffers) {
    if (buffer.owners.empty()) continue;
    check_owners(trainer, "buffers(), " + buffer.what, buffer.owners, buffer.elements.size(), ranks);
  }
  return buffers;
}

kfac::Placement Trainer::place(std::span<const std::int64_t> sides, int ranks) const {
  // A balanced one is decided when costs have been measured.
  return config_.inverse_placement() == InversePlacement::kInTurn ? kfac::place_mpd(sides.size() / 2, ranks)
                                                                  : kfac::place_everywhere(sides.size(), ranks);
}

}  // namespace weft::schedules
