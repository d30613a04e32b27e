// SPDX-License-Identifier: Apache-2.0
#include "hw/fabric/reduction/reduction_engine.h"

#include <algorithm>
#include <cassert>

namespace weft::fabric {

bool ReductionEngine::open(std::uint32_t group, const Tree& tree) {
  if (!tree.takes_over && (trees_ == config_.trees || windows_ + tree.window > config_.chunks)) return false;
  if (entries_.size() <= group) entries_.resize(group + 1);
  entries_[group] = {tree, true};
  if (tree.takes_over) return true;
  ++trees_;
  windows_ += tree.window;
  return true;
}

void ReductionEngine::close(std::uint32_t group) {
  assert(entries_[group].used);
  if (!entries_[group].tree.takes_over) {
    --trees_;
    windows_ -= entries_[group].tree.window;
  }
  entries_[group] = {};
}

std::size_t ReductionEngine::child_of(const Tree& tree, std::uint16_t port) {
  return static_cast<std::size_t>(std::lower_bound(tree.children.begin(), tree.children.end(), port) -
                                  tree.children.begin());
}

Packet* ReductionEngine::sum_of(const std::vector<Packet*>& operands) {
  const auto first = std::find_if(operands.begin(), operands.end(), adds);
  return first == operands.end() ? operands.front() : *first;
}

}  // namespace weft::fabric
