// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/kfac_subgroups.h"

namespace weft::schedules {

KfacSubgroups::KfacSubgroups(const std::vector<firmware::Rank*>& ranks, const Subgroups& groups,
                             const collectives::Communicator::Config& config, const std::string& name)
    : sites_(ranks.size()) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<firmware::Rank*> members;
    for (const int rank : groups[g]) members.push_back(ranks[static_cast<std::size_t>(rank)]);
    if (members.empty()) continue;
    communicators_.push_back(
        std::make_unique<collectives::Communicator>(members, config, name + " of group " + std::to_string(g)));
    for (std::size_t i = 0; i < groups[g].size(); ++i) {
      sites_[static_cast<std::size_t>(groups[g][i])] = {communicators_.back().get(), static_cast<int>(i)};
    }
  }
}

}  // namespace weft::schedules
