// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "sw/collectives/algorithm.h"
#include "sw/collectives/tree/tree_group.h"

namespace weft::collectives {

/// A communicator's trees, made when they are first used, since they take memory.
class LateTrees {
 public:
  explicit LateTrees(const GroupSite& site);

  TreeGroup& get() {
    if (trees_ == nullptr) trees_ = make_();
    return *trees_;
  }

 private:
  std::function<std::unique_ptr<TreeGroup>()> make_;
  std::unique_ptr<TreeGroup> trees_;
};

}  // namespace weft::collectives
