// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "traces/chakra/groups.h"
#include "traces/chakra/text/workload.h"

namespace weft::chakra {

/// How the groups of a text workload lie among the ranks. Sources of this folder include it.
class TextGroups {
 public:
  using Group = TextWorkload::Group;

  /// Throws traces::FormatError if the ranks cannot be cut into such groups.
  TextGroups(const TextWorkload& workload, std::uint64_t ranks);

  /// A collective whose ranks are this one only is none.
  [[nodiscard]] bool is_alone(Group group) const { return is_cut_ && size(group) == 1; }
  /// Of all ranks it needs none.
  [[nodiscard]] bool has_name(Group group) const { return is_cut_ && size(group) > 1 && size(group) < ranks_; }
  /// The name of the rank's group of a kind.
  [[nodiscard]] std::uint64_t number(Group group, std::uint64_t rank) const;
  /// Ranks of a group.
  [[nodiscard]] std::uint64_t size(Group group) const;
  /// As Chakra counts them: of an all-gather, what a rank has before.
  [[nodiscard]] std::uint64_t bytes_of(const TextWorkload::Work& work) const;
  [[nodiscard]] std::vector<RankGroup> all() const;

 private:
  [[nodiscard]] std::uint64_t index(Group group, std::uint64_t rank) const;

  static constexpr int kKinds = 4;

  const TextWorkload& workload_;
  std::uint64_t ranks_;
  bool is_cut_ = false;  ///< else all collectives are of all ranks
  bool model_is_inner_ = true;
  std::uint64_t data_ = 1;
  std::array<Group, kKinds> order_{Group::kModel, Group::kData, Group::kExpert, Group::kExpertData};
  std::array<bool, kKinds> used_{};            ///< by kind
  std::array<std::uint64_t, kKinds> first_{};  ///< number of the first group, by kind
};

/// What of the layers a training step has nodes for: each parallelism leaves out some passes.
struct IssuedWork {
  std::unordered_set<const TextWorkload::Work*> computed;
  std::unordered_set<const TextWorkload::Work*> exchanged;  ///< a collective, if it has one
};
IssuedWork issued_work(const TextWorkload& workload, std::uint64_t ranks);

}  // namespace weft::chakra
