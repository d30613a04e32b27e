// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/kfac_subgroups.h"

namespace weft::schedules {
namespace {

/// `collectives.order` is one of so many ranks that are neighbours, such as those of a node. A group that has only some
/// of them goes in the order of its ranks.
collectives::Communicator::Config config_of(const std::vector<int>& group,
                                            const collectives::Communicator::Config& config) {
  collectives::Communicator::Config own = config;
  const std::size_t run = config.order.size();
  if (run == 0) return own;
  bool is_of_runs = group.size() % run == 0;
  for (std::size_t i = 0; i < group.size() && is_of_runs; ++i) {
    const int first = group[i / run * run];
    is_of_runs = first % static_cast<int>(run) == 0 && group[i] == first + static_cast<int>(i % run);
  }
  if (!is_of_runs) own.order.clear();
  return own;
}

}  // namespace

KfacSubgroups::KfacSubgroups(const std::vector<firmware::Rank*>& ranks, const Subgroups& groups,
                             const collectives::Communicator::Config& config, const std::string& name)
    : sites_(ranks.size()) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<firmware::Rank*> members;
    for (const int rank : groups[g]) members.push_back(ranks[static_cast<std::size_t>(rank)]);
    if (members.empty()) continue;
    communicators_.push_back(std::make_unique<collectives::Communicator>(members, config_of(groups[g], config),
                                                                         name + " of group " + std::to_string(g)));
    for (std::size_t i = 0; i < groups[g].size(); ++i) {
      sites_[static_cast<std::size_t>(groups[g][i])] = {communicators_.back().get(), static_cast<int>(i)};
    }
  }
}

}  // namespace weft::schedules
