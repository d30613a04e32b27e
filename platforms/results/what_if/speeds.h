// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "platforms/results/what_if/chain.h"
#include "platforms/results/what_if/factors.h"

namespace weft::platforms {

/// How many times as fast pieces of a chain are with a change.
///
/// Bytes enter and leave a network through an end's interface and its link, one behind the other and at the same time:
/// both together have the rate of the slower one, whichever a path names. Pieces of the pair therefore follow the
/// pair's rate. Latencies of an interface follow these alone.
class Speeds {
 public:
  /// Of why.json.
  explicit Speeds(const nlohmann::ordered_json& why);

  [[nodiscard]] double expected(const Portion& portion, const Factors& factors) const;
  /// Not faster than that. What waits may gain whatever others gain. What gets slower may have been hidden: a wait for
  /// something else, a latency while bytes pass, a stage of the pair that is not the slowest.
  [[nodiscard]] double at_most(const Portion& portion, const Factors& factors) const;
  /// Nor slower.
  [[nodiscard]] double at_least(const Portion& portion, const Factors& factors) const;
  /// Of what is hidden behind the path at the busiest of a resource.
  [[nodiscard]] double hidden(const Resource& resource, const std::string& own, const Factors& factors) const;

 private:
  struct Pair {
    double link = 0;
    double interface = 0;
  };
  [[nodiscard]] std::optional<Pair> pair_of(const Portion& portion) const;
  [[nodiscard]] static double rate(const Pair& pair, const std::string& network, double had, const Factors& factors);
  /// That it is longer with what is slower.
  [[nodiscard]] bool is_sure(const Portion& portion, const Factors& factors) const;

  std::map<std::string, Pair> pairs_;        ///< by network, in bytes per second
  std::map<std::string, double> own_links_;  ///< of links at ends that have fields of their own, by these
};

}  // namespace weft::platforms
