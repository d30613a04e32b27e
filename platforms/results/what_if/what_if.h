// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platforms/results/what_if/chain.h"
#include "platforms/results/what_if/factors_by_place.h"
#include "platforms/results/what_if/kernel_pieces.h"
#include "platforms/results/what_if/resource_change.h"
#include "platforms/results/what_if/speeds.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {

/// What a run would take with changes. What `steady` has left out of it repeats what was simulated, and is taken to be
/// longer or shorter by the same share.
struct Foretold {
  std::int64_t before_ps = 0;
  std::int64_t path_ps = 0;   ///< the path as it is, scaled
  std::int64_t other_ps = 0;  ///< the longest of other chains that are known
  std::string other;          ///< which
  bool is_loose = false;
  std::int64_t least_ps = 0;              ///< not less than that
  std::optional<std::int64_t> most_ps{};  ///< nor more; none: nothing of the run says how much

  [[nodiscard]] std::int64_t ps() const { return path_ps > other_ps ? path_ps : other_ps; }
};

/// Foretells changes by what why.json has of a run.
///
/// The estimate scales the pieces of the critical path that the changes are about: kernels' as KernelPieces has it,
/// what is between as Speeds has it. That chain has to be gone through in the new run as well, so that the new run is
/// not shorter than it, as far as no order changes; nor than what the members of any group spend in its collectives,
/// one after the other, once all have come; nor than anything that serves one after the other is busy. The largest of
/// these is the estimate. A change for the better does not make a run longer. Copies, ports, interfaces and links work
/// on the same bytes at the same time: what of the path is theirs is the share of the busiest of them that nothing
/// hides, and stays that share. A link whose buffer is full before credit can be back carries a buffer a round trip:
/// bytes, flight and waiting there shrink together. Kernels that leave cores to collectives do so for as long as these
/// take.
///
/// The least holds whatever pieces turn out to be. For the better it is the path where a change has all of its effect:
/// whatever waits for room, for a timer or behind another stage gains as well. For the worse only what surely follows
/// the change is longer, and what waits in networks takes that up as far as it can. The busiest of each resource is
/// reckoned in both. The most is the run as it was, longer by all of the path that is slower, and by what the busiest
/// of it is used for elsewhere (`used_ps`). It is not known where `used_ps` does not have what gets slower, or where
/// timers run for packets, since others may be lost.
///
/// Where several jobs share a machine, a path leads from one to another where they have met. With a gain they meet at
/// other times or not at all, so that the least has what is for the job that ends last alone; and another job may then
/// be the last one.
///
/// An estimate is loose if it is not near the least, or for losses the most; if it gains by more than twice of a
/// resource, or more than a quarter, since the path does not say what hides behind it; if it loses by less than half of
/// something whose use is not known; and where timers run.
class WhatIf {
 public:
  explicit WhatIf(const nlohmann::ordered_json& why);
  [[nodiscard]] Foretold foretell(const std::vector<ResourceChange>& asked) const;
  /// The run as it was, with what was left out, and that alone.
  [[nodiscard]] std::int64_t before_ps() const { return std::llround(whole_ * static_cast<double>(before_ps_)); }
  [[nodiscard]] std::int64_t left_out_ps() const { return before_ps() - before_ps_; }
  /// Links had the share of their rate that faults have taken from them.
  [[nodiscard]] Foretold repaired() const;

 private:
  /// An estimate this near to the run as it was, or to a bound, is within it whatever happens.
  static constexpr double kNear = 0.05;
  /// Another chain this near to the path may bind once the path is shorter.
  static constexpr double kRival = 0.8;
  /// The largest change whose gain is not loose, and the largest such gain; the largest whose loss is not.
  static constexpr double kTwice = 2;
  static constexpr double kQuarter = 0.25;
  static constexpr double kHalf = 0.5;

  enum class Reach { kEstimate, kLeast, kMost };
  /// Pieces of the path that pass the same bytes as slower ones do.
  struct Others {
    double ps = 0;
    double may_take_up = 0;  ///< where slower ones may hide behind them
    double most_longer = 0;  ///< by slower ones that hide behind them now
  };

  /// An interface that waits longer for memory than the busiest was in use waits for its latency, which no rate sets.
  /// What it waits besides is for its rate.
  void set_latency_apart(Chain& chain) const;
  void set_used_at(const nlohmann::ordered_json& why);
  /// A field of which the path says how much of its resource it sets changes that much of it.
  [[nodiscard]] std::vector<ResourceChange> of_their_parts(std::vector<ResourceChange> changes) const;

  /// The longest of all chains as `length` has them.
  template <typename Length>
  [[nodiscard]] Foretold longest(const Length& length) const;
  /// Of kMost kernels alone are longer than expected: most() has the rest.
  [[nodiscard]] double scaled(const Chain& chain, const FactorsByPlace& factors, Reach reach) const;
  [[nodiscard]] double scaled_loops(const Chain& chain, const FactorsByPlace& factors, Reach reach) const;
  /// What the path loses beyond its pieces, where another stage that passes the same bytes is the slowest then.
  [[nodiscard]] double held_by_stages(const FactorsByPlace& factors) const;
  /// As resource "cores": how much shorter what a member spends in collectives is, waiting for others included.
  [[nodiscard]] double shorter_collectives(const FactorsByPlace& factors) const;
  /// No run is shorter: the longest that one of anything is busy then, and of what.
  [[nodiscard]] std::pair<double, const Resource*> busiest(const FactorsByPlace& factors) const;

  [[nodiscard]] bool has_timers() const;
  /// The longest that any one was in use: `used_ps`, or pieces of the path or of a group's collectives.
  [[nodiscard]] double used(const Resource& resource) const;
  /// The longest that one would be in use that is for `ps` now.
  [[nodiscard]] double used_then(const Resource& resource, double ps, const FactorsByPlace& factors) const;
  /// Of a change of some alone: whether these are far busier than the others, so that those do not take over.
  [[nodiscard]] bool stands_out(const ResourceChange& change) const;
  /// What of its use the path does not have, for slower ones, at most.
  [[nodiscard]] double elsewhere(const Resource& resource, const std::string& own) const;
  /// Of those with fields of their own.
  [[nodiscard]] double elsewhere_at(const Resource& resource, const std::string& own) const;
  [[nodiscard]] Others others_on_path(const FactorsByPlace& factors) const;
  /// As used(), but for what the path has.
  [[nodiscard]] double in_use_ps(const Resource& resource) const;
  [[nodiscard]] ArrayPower power_of(const std::string& own) const;
  /// Of an interface with its link, of a link with its interface: the same bytes pass both.
  [[nodiscard]] double on_path(const Resource& resource) const;
  [[nodiscard]] double least(const FactorsByPlace& factors, bool costs) const;
  /// The path, and what slower resources may cost beside it at most, as far as known.
  [[nodiscard]] double most(const FactorsByPlace& factors) const;
  [[nodiscard]] bool may_lose_others(const std::vector<ResourceChange>& changes) const;
  [[nodiscard]] bool is_cost_known(const std::vector<ResourceChange>& changes) const;
  /// How much longer kernels may be: how near they are to a cap of power is not known.
  [[nodiscard]] double otherwise(const FactorsByPlace& factors) const;
  [[nodiscard]] bool is_loose_cost(const Foretold& told, const std::vector<ResourceChange>& changes,
                                   const FactorsByPlace& factors) const;
  [[nodiscard]] bool is_loose_gain(const Foretold& told, const std::vector<ResourceChange>& changes,
                                   const FactorsByPlace& factors) const;

  /// Of the whole run.
  [[nodiscard]] Foretold with_left_out(Foretold told) const;

  std::int64_t before_ps_;  ///< simulated
  double whole_;            ///< with what was left out, over what was simulated
  bool are_several_jobs_;
  ArrayPower power_;
  Parts parts_;
  CopyEngines copy_engines_;
  Speeds speeds_;
  /// Of "compute": by an accelerator, the most of those on the path and the median of all.
  std::map<const Resource*, double> used_ps_;
  /// The same of those with fields of their own, by these (FactorsByPlace), as far as it is known.
  std::map<const Resource*, std::map<std::string, double, std::less<>>> used_at_ps_;
  std::map<std::string, double> used_by_edge_ps_;      ///< of each edge, by all of its links together
  std::map<std::string, double, std::less<>> set_ps_;  ///< of pieces that a field sets whose resource has others
  Chain path_;
  Chain of_last_job_;                    ///< of several jobs, pieces of the path that are for the one that it leads to
  std::map<std::string, Chain> groups_;  ///< what a member spends in the collectives of each, once all have come
  std::map<std::string, double> in_groups_ps_;  ///< with the time until all have come
  double late_ps_ = 0;                          ///< and before, of all groups
};

}  // namespace weft::platforms
