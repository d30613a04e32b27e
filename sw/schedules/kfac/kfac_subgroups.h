// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/communicator.h"
#include "sw/firmware/rank.h"
#include "sw/schedules/kfac/schedule.h"

namespace weft::schedules {

/// Where a rank takes part in a message; no group: nowhere.
struct KfacSite {
  collectives::Communicator* group = nullptr;
  int member = 0;
};

/// Communicators of disjoint groups of ranks.
class KfacSubgroups {
 public:
  /// Of ranks that exist and are in one group at most (subgroups_of). Throws what Communicator does.
  KfacSubgroups(const std::vector<firmware::Rank*>& ranks, const Subgroups& groups,
                const collectives::Communicator::Config& config, const std::string& name);

  [[nodiscard]] KfacSite of(int rank) const { return sites_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<std::unique_ptr<collectives::Communicator>>& all() const { return communicators_; }

 private:
  std::vector<std::unique_ptr<collectives::Communicator>> communicators_;
  std::vector<KfacSite> sites_;  ///< by rank
};

}  // namespace weft::schedules
