// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/results/why/kernel_pieces.h"
#include "platforms/results/why/resource_change.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {

/// What a run would take with changes.
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
/// The pieces of the critical path that the changes are about are scaled; kernels' as KernelPieces has it. That chain
/// has to be gone through in the new run as well, so that the new run is not shorter than it, as far as no order
/// changes; nor than what the members of any group spend in its collectives, one after the other, once all have come.
/// The larger of these is the estimate. A change for the better does not make a run longer. Bytes pass an end's
/// interface and its link one behind the other, so that who widens one gains as far as the other lets through. Copies,
/// ports, interfaces and links work on the same bytes at the same time: what of the path is theirs is the share of the
/// busiest of them that nothing hides, and stays that share. A link whose buffer is full before credit can be back
/// carries a buffer a round trip: bytes, flight and waiting there shrink together. Kernels that leave cores to
/// collectives do so for as long as these take. Nor is the new run shorter than an accelerator computes, unless that
/// changes.
///
/// The least is the path where a change has all of its effect: whatever waits for a full buffer or a timer gains as
/// well. The most is the run as it was, longer by what it uses of all that gets slower, on the path or beside it
/// (`used_ps`). It is not known where `used_ps` does not have what gets slower, or where timers run for packets, since
/// others may be lost.
///
/// An estimate is loose if the most or the least is not near, for losses; if it gains by more than twice of a resource,
/// or more than a quarter, since the path does not say what hides behind it; and for what a path cannot tell apart: an
/// interface's latencies from its bytes, where the link does not let these through.
class WhatIf {
 public:
  explicit WhatIf(const nlohmann::ordered_json& why);
  [[nodiscard]] Foretold foretell(const std::vector<ResourceChange>& changes) const;
  /// Links had the share of their rate that faults have taken from them.
  [[nodiscard]] Foretold repaired() const;

 private:
  using Factors = std::map<const Resource*, double>;
  enum class Reach { kEstimate, kLeast, kMost };
  struct Link {
    std::string network;
    bool at_end = false;
    double had = 1;    ///< the share of its rate that faults have left it
    double fills = 1;  ///< the share of its rate that the buffer behind it lets through

    [[nodiscard]] bool is_starved() const { return fills < had; }
  };
  /// Starved links of a network, "fabric", by what their buffers let through.
  using Starved = std::pair<std::string, double>;
  /// Pieces in sequence, by what sets them.
  struct Chain {
    std::map<const Resource*, double> ps;
    /// Of these, what passes an end's link or interface, by the share of its rate that a fault has left it.
    std::map<const Resource*, std::map<double, double>> at_end_ps;
    std::map<Starved, double> loops_ps;                              ///< on such links, and not in `ps`
    std::map<std::pair<std::string, double>, KernelPieces> kernels;  ///< by name and memory's share; not in `ps`
    double faults_ps = 0;  ///< what bytes would spend less on links if these had their full rate

    [[nodiscard]] double of(const Resource& resource) const;
  };
  /// What sustains how many bytes per second, one behind the other.
  using Stages = std::map<const Resource*, double>;

  /// The longest of all chains as `length` has them.
  template <typename Length>
  [[nodiscard]] Foretold longest(const Length& length) const;
  void set_latency_apart(Chain& chain) const;
  [[nodiscard]] std::vector<ResourceChange> of_their_parts(std::vector<ResourceChange> changes) const;
  void add(Chain& chain, const nlohmann::ordered_json& pieces, double share) const;
  [[nodiscard]] double scaled(const Chain& chain, const Factors& factors, Reach reach) const;
  [[nodiscard]] double scaled_loops(const Chain& chain, const Factors& factors, Reach reach) const;
  /// What the path loses beyond its pieces, where another stage that passes the same bytes is the slowest then.
  [[nodiscard]] double held_by_stages(const Factors& factors) const;
  /// What of a factor for the better comes through, where the resource has so much of its rate.
  [[nodiscard]] double let_through(const Resource& resource, double had, const Factors& factors) const;
  /// As resource "cores": how much shorter what a member spends in collectives is, waiting for others included.
  [[nodiscard]] double shorter_collectives(const Factors& factors) const;

  [[nodiscard]] bool has_timers() const;
  /// What memory alone takes for kernels on the path.
  [[nodiscard]] double bound_by_memory() const;
  /// The longest that any one was in use: `used_ps`, or pieces of the path or of a group's collectives.
  [[nodiscard]] double used(const Resource& resource) const;
  /// The path, and what slower resources may cost beside it at most, as far as known.
  [[nodiscard]] double most(const Factors& factors) const;
  [[nodiscard]] bool waits_for_timers(const std::vector<ResourceChange>& changes) const;
  [[nodiscard]] bool is_cost_known(const Factors& factors) const;
  [[nodiscard]] bool is_loose_gain(const Foretold& told, const std::vector<ResourceChange>& changes,
                                   const Factors& factors) const;

  std::int64_t before_ps_;
  ArrayPower power_;
  std::vector<Stages> stages_;  ///< of each network
  /// Of "compute": by an accelerator, the most of those on the path and the median of all.
  std::map<const Resource*, double> used_ps_;
  std::map<std::string, Link, std::less<>> links_;
  std::map<std::string, double>
      all_starved_;  ///< networks where all links are alike in that, and what they let through
  Chain path_;
  std::map<std::string, double, std::less<>> set_ps_;  ///< of pieces that a field sets whose resource has others
  std::map<std::string, Chain> groups_;  ///< what a member spends in the collectives of each, once all have come
  double late_ps_ = 0;                   ///< and before, of all groups
};

}  // namespace weft::platforms
