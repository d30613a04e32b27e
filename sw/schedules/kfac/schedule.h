// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "sw/kfac/placement.h"
#include "sw/models/network.h"
#include "sw/schedules/kfac/kfac_config.h"

/// Schedules of training by the names that `workload.algorithm` gives them. Weft's own are listed in schedules.cpp,
/// each in a file of sw/schedules/kfac/methods; a user provides others before the platform is read:
///
///     schedules::provide({.name = "my-sgd",
///                         .doc = "gradients are summed within nodes",
///                         .config = MyConfig(),  // fields at workload.my_sgd
///                         .make = [](const schedules::KfacConfig& config) {
///                           return std::make_unique<MyTrainer>(config);
///                         }});
namespace weft::schedules {

class StepBuilder;

/// What a step does beside training: steps that do the same are one kind and have one plan.
struct KfacUpdates {
  bool factors = false;
  bool inverses = false;
  int starts = -1;  ///< what begins and is merged by a later step, such as the slot of an averaging; -1: nothing
  int joins = -1;   ///< what an earlier step has sent; -1: nothing

  auto operator<=>(const KfacUpdates&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

/// Groups of ranks in which messages travel: no rank is in two of them, and a rank in none takes no part.
using Subgroups = std::vector<std::vector<int>>;

/// Memory of a schedule's own on every rank: tensors one behind the other, at the same addresses on all ranks.
struct OwnBuffer {
  std::string what;                    ///< for messages: "second moments"
  std::vector<std::int64_t> elements;  ///< of each tensor, float32
  /// Who has each tensor, a number below that of the ranks; empty: all have all. Owners use one place for what each of
  /// them has, as large as the most of any needs, so that a rank's layout is its own.
  std::vector<int> owners = {};
};

/// A schedule as it trains: which steps there are, and what each of them computes and sends, in order. It is asked
/// before the run; the engine (Kfac) then does on all ranks what the steps say.
class Trainer {
 public:
  explicit Trainer(const KfacConfig& config) : config_(config) {}
  virtual ~Trainer() = default;
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Throws ConfigError for what the schedule cannot do.
  virtual void check() const {}

  /// The step's stages and messages.
  virtual void step(StepBuilder& step, const KfacUpdates& updates) const = 0;
  /// What is left to do when the last step has ended.
  virtual void rest(StepBuilder& /*step*/) const {}
  /// What the step of this number does, from 0.
  [[nodiscard]] virtual KfacUpdates updates(int /*number*/) const { return {}; }
  /// Steps after which what a step does repeats itself.
  [[nodiscard]] virtual std::int64_t period() const { return 1; }
  /// Steps from the beginning of what is sent for a later step (KfacTraffic::kDelayed) to that step.
  [[nodiscard]] virtual int lag() const { return 0; }
  /// Until a step has been given something by an earlier one.
  [[nodiscard]] virtual int fewest_steps() const { return lag() + 1; }

  /// Who inverts which factor, A and G of the first layer, A and G of the second, ...; before anything is measured.
  [[nodiscard]] virtual kfac::Placement place(std::span<const std::int64_t> sides, int ranks) const;
  /// Which of several groups of ranks keeps the inverse of each factor, which its owner is one of; groups use one place
  /// for what each of them has. Empty: all ranks keep all, or owners alone where factors are local.
  [[nodiscard]] virtual std::vector<int> keepers(const kfac::Placement& /*placement*/) const { return {}; }
  /// Slots in which weights are averaged: averagings that are under way or just merged.
  [[nodiscard]] virtual int averagings() const { return 0; }
  /// Memory beside weights, momentum and gradients, by KfacLayout::own.
  [[nodiscard]] virtual std::vector<OwnBuffer> buffers(const models::Network& /*network*/, int /*ranks*/) const {
    return {};
  }
  /// What KfacMessage::within counts.
  [[nodiscard]] virtual std::vector<Subgroups> subgroups(int /*ranks*/) const { return {}; }

  [[nodiscard]] const KfacConfig& config() const { return config_; }
  /// The schedule's own fields.
  template <typename C>
  [[nodiscard]] const C& own() const {
    return config_.own.of<C>();
  }

 private:
  const KfacConfig config_;
};

/// What a schedule that preconditions by Kronecker factors does unless `workload` says otherwise.
struct SecondOrder {
  bool pipelined = false;                          ///< factors are computed and sent while the network computes
  FactorFusion fusion = FactorFusion::kThreshold;  ///< within the threshold where it needs pipelining and there is none
  InversePlacement placement = InversePlacement::kEverywhere;
  DampingForm damping = DampingForm::kPlain;
  /// Factors are of the owner's samples alone, and lie in its memory alone: nothing of them is sent.
  bool local = false;
  /// The schedule has a placement of its own (Trainer::place), which the field `placement` does not replace.
  bool places = false;
};

/// A way of training a network.
struct Schedule {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `workload.algorithm`

  /// The fields that it has for itself, at `workload.NAME` with _ for -. May be none.
  AnyConfig config = {};
  std::string config_doc = {};

  /// Where it has factors.
  std::optional<SecondOrder> second_order = {};
  /// Ranks train weights of their own, which differ between steps.
  bool own_weights = false;
  /// It averages weights as `delay` and `averaging_interval` say, which others refuse.
  bool averages = false;
  /// It sums gradients over all ranks by AllReduces (StepBuilder::send_gradients), in whose place sparse ones may be
  /// sent.
  bool may_be_sparse = false;
  /// Of the row of timelines that has its collectives but for Broadcasts.
  std::string row = "all-reduce";
  /// Fields of `workload` that it does not follow: if a user sets them, a remark says so.
  std::vector<std::string> ignores = {};

  std::function<std::unique_ptr<Trainer>(const KfacConfig&)> make;
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken, or that a field beside its own has.
void provide(Schedule schedule);

/// All there are.
[[nodiscard]] const Registry<Schedule>& schedules();
/// Throws ConfigError if there is none of this name.
[[nodiscard]] const Schedule& schedule_of(const ScheduleName& name);
/// Of the schedule that is configured.
[[nodiscard]] std::unique_ptr<Trainer> trainer_of(const KfacConfig& config);

// What a Trainer says. They throw OwnFailure that names the schedule for ranks that there are not, and for
// one in two groups.
[[nodiscard]] kfac::Placement placement_of(const Trainer& trainer, std::span<const std::int64_t> sides, int ranks);
[[nodiscard]] std::vector<Subgroups> subgroups_of(const Trainer& trainer, int ranks);
[[nodiscard]] std::vector<OwnBuffer> buffers_of(const Trainer& trainer, const models::Network& network, int ranks);

}  // namespace weft::schedules
