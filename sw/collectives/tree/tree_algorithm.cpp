// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/tree/tree_algorithm.h"

#include "sw/collectives/ring/ring_algorithm.h"

namespace weft::collectives {

namespace {

class TreeSums final : public Group {
 public:
  explicit TreeSums(const GroupSite& site)
      : size_(static_cast<int>(site.ranks.size())),
        flags_(protocol_flags(site.config).value_or(Flags::kNone)),
        trees_(site) {}

  [[nodiscard]] int size() const override { return size_; }
  firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) override {
    return trees_.get().all_reduce(member, buffer, bytes, type, flags_);
  }

 private:
  int size_;
  Flags flags_;
  LateTrees trees_;
};

}  // namespace

LateTrees::LateTrees(const GroupSite& site) {
  const TreeMember::Options options{static_cast<std::uint64_t>(site.config.chunk.count()), site.config.slots};
  make_ = [ranks = site.ranks, rows = neighbours(site), channels = site.channels, options, name = site.name + " tree"] {
    return std::make_unique<TreeGroup>(ranks, rows, channels, options, name);
  };
}

/// AllReduces through double binary trees over the nodes and chains within them.
Algorithm tree_algorithm() {
  return {.name = "tree",
          .doc = "rings, and trees for AllReduces",
          .operations = {dimensions::Operation::kAllReduce},
          .rooted = {},
          .lacking = "has AllReduces alone",
          .make = [](GroupSite& site) -> std::unique_ptr<Group> {
            if (site.ranks.size() == 1) return nullptr;
            return std::make_unique<TreeSums>(site);
          }};
}

}  // namespace weft::collectives
