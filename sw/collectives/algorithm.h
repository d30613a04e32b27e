// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "sw/collectives/config.h"
#include "sw/collectives/group.h"
#include "sw/collectives/rooted.h"
#include "sw/dimensions/plan.h"
#include "sw/firmware/rank.h"

/// Collective algorithms by the names that `collectives.algorithm` gives them. Weft's own are listed in algorithms.cpp;
/// a user provides others before the platform is read:
///
///     collectives::provide({.name = "my-allgather",
///                           .doc = "every member writes its block to all others",
///                           .operations = {dimensions::Operation::kAllgather},
///                           .rooted = {},
///                           .config = MyConfig(),  // fields at collectives.my_allgather
///                           .make = [](collectives::GroupSite& site) {
///                             return std::make_unique<MyGroup>(site.ranks, site.own.as<MyConfig>(), site.name);
///                           }});
namespace weft::collectives {

/// What a Group is made for.
struct GroupSite {
  const std::vector<firmware::Rank*>& ranks;
  const CommunicatorConfig& config;
  const AnyConfig& own;  ///< the algorithm's section of it, as registered
  std::string name;      ///< of the communicator, for messages
  int channels = 1;      ///< `config.channels`, or what that stands for if it is 0
  std::string remark;  ///< to be set where there is no group: why, for Communicator::remark(), which adds what runs in
                       ///< its place
};

/// A way of doing collectives.
///
/// What an algorithm has not is done in its place by rings, or by what `in_place` says, if it has no Allgather,
/// ReduceScatter or AllReduce and so cannot be alone. If it has these three, the rest is refused.
struct Algorithm {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `collectives.algorithm`

  std::vector<dimensions::Operation> operations = {
      dimensions::Operation::kAllgather, dimensions::Operation::kReduceScatter, dimensions::Operation::kAllReduce};
  std::vector<Rooted> rooted = {Rooted::kBroadcast};
  /// It has a barrier without having AllReduces; with them it always has one.
  bool barrier = false;
  /// No kernel of the accelerator takes part in its collectives: hosts and interfaces do the work, and where kernels
  /// share their cores (`accelerator.shared_cores`) none are kept for it. That goes for those in its place as well.
  bool on_host = false;

  /// The fields that it has for itself, at `collectives.NAME` with _ for -. May be none.
  AnyConfig config = {};
  std::string config_doc = {};

  /// By which algorithm collectives run that it has not; null: ring.
  std::function<std::string_view(const CommunicatorConfig&)> in_place = {};
  /// Why they do, as remark() ends a sentence that begins with the name.
  std::string lacking = "has no such collective";

  /// Makes the group when elaborating. Null if these ranks can have none: then rings do everything, which `lacking` or
  /// the site's remark explains. Throws ConfigError.
  std::function<std::unique_ptr<Group>(GroupSite&)> make;

  [[nodiscard]] bool has(dimensions::Operation what) const;
  [[nodiscard]] bool has(Rooted what) const;
  /// Whether it has all that a training step needs of Allgather, ReduceScatter and AllReduce.
  [[nodiscard]] bool is_whole() const;
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken.
void provide(Algorithm algorithm);

/// All there are.
[[nodiscard]] const Registry<Algorithm>& algorithms();
/// Throws ConfigError, with the field's path, if there is none of this name.
[[nodiscard]] const Algorithm& algorithm_of(const AlgorithmName& name);
/// Which does the collectives that this one has not; null where they are refused.
[[nodiscard]] const Algorithm* in_place_of(const Algorithm& algorithm, const CommunicatorConfig& config);

/// The names of those by which a collective can run, itself or what is in its place: "ring, tree or nccl".
[[nodiscard]] std::string names_with(dimensions::Operation what);
[[nodiscard]] std::string names_with(Rooted what);

}  // namespace weft::collectives
