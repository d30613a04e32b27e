// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "platforms/results/why/resources.h"

namespace weft::platforms {

/// "hbm=x2": so many times as fast. Infinity: it takes no time.
struct ResourceChange {
  const Resource* resource = nullptr;
  std::string field;  ///< empty: all of the resource
  double factor = 1;
  bool is_partial = false;  ///< the field is of links that have no value of their own, and some have one
};

/// Reads NAME=xN, NAME=inf and NAME=0 (of what is a time), where NAME is a resource or one of its fields, and
/// FIELD=VALUE, where `values` (of config.json) has what it is. Throws std::invalid_argument with what was expected.
[[nodiscard]] ResourceChange read_change(const std::string& text, const nlohmann::ordered_json& values);
/// "hbm=x2", as read_change() reads it.
[[nodiscard]] std::string to_text(const ResourceChange& change);

/// "FIELD=VALUE", of what makes a change.
struct ChangedSetting {
  std::string field;
  std::string value;
  std::string asked;  ///< what the change asks for, if a field cannot have it: "inf", "64"; else empty
};

/// Settings that make the change as far as the fields' limits allow it, of those fields that the platform has. Empty:
/// there are none.
[[nodiscard]] std::vector<ChangedSetting> settings_of(const ResourceChange& change,
                                                      const nlohmann::ordered_json& values);

/// What a run would take with changes.
struct Foretold {
  std::int64_t before_ps = 0;
  std::int64_t path_ps = 0;   ///< the path as it is, scaled
  std::int64_t other_ps = 0;  ///< the longest of other chains that are known
  std::string other;          ///< which
  bool is_loose = false;

  [[nodiscard]] std::int64_t ps() const { return path_ps > other_ps ? path_ps : other_ps; }
};

/// Foretells changes by what why.json has of a run.
///
/// The pieces of the critical path that the changes are about are scaled. That chain has to be gone through in the new
/// run as well, so that the new run is not shorter than it, as far as no order changes; nor than what the members of
/// any group spend in its collectives, one after the other, once all have come. The larger of these is the estimate. A
/// change for the better does not make a run longer. Bytes pass an end's interface and its link one behind the other,
/// so that who widens one gains as far as the other lets through. A link whose buffer is full before credit can be back
/// carries a buffer a round trip: bytes, flight and waiting there shrink together. Kernels that leave cores to
/// collectives do so for as long as these take. Nor is the new run shorter than an accelerator computes, unless that
/// changes. A gain by more than twice of a resource, or of more than a quarter, is loose: the path does not say what
/// hides behind it. So is one of an interface that its link does not let through: the path does not say what of it are
/// latencies, which would be let through.
class WhatIf {
 public:
  explicit WhatIf(const nlohmann::ordered_json& why);
  [[nodiscard]] Foretold foretell(const std::vector<ResourceChange>& changes) const;
  /// Links had the share of their rate that faults have taken from them.
  [[nodiscard]] Foretold repaired() const;

 private:
  using Factors = std::map<const Resource*, double>;
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
    std::map<Starved, double> loops_ps;  ///< on such links, and not in `ps`
    double at_cap_ps = 0;                ///< computing of kernels that a cap slows down, which is not in `ps`
    double faults_ps = 0;                ///< what bytes would spend less on links if these had their full rate
  };
  /// What sustains how many bytes per second, one behind the other.
  using Stages = std::map<const Resource*, double>;

  /// The longest of all chains as `length` has them.
  template <typename Length>
  [[nodiscard]] Foretold longest(const Length& length) const;
  void add(Chain& chain, const nlohmann::ordered_json& pieces, double share) const;
  [[nodiscard]] double scaled(const Chain& chain, const Factors& factors) const;
  /// What of a factor for the better comes through, where the resource has so much of its rate.
  [[nodiscard]] double let_through(const Resource& resource, double had, const Factors& factors) const;

  /// As resource "cores": how much shorter what a member spends in collectives is, waiting for others included.
  [[nodiscard]] double shorter_collectives(const Factors& factors) const;

  std::int64_t before_ps_;
  bool has_power_cap_ = false;
  std::int64_t computed_ps_ = 0;  ///< by an accelerator: the most of those on the path and the median of all
  std::vector<Stages> stages_;    ///< of each network
  std::map<std::string, Link, std::less<>> links_;
  Chain path_;
  std::map<std::string, Chain> groups_;  ///< what a member spends in the collectives of each, once all have come
  double late_ps_ = 0;                   ///< and before, of all groups
};

}  // namespace weft::platforms
