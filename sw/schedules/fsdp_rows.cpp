// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp_rows.h"

#include <algorithm>
#include <string_view>

namespace weft::schedules {
namespace {

/// Of patterns of blocks, such as those where every second computes again.
constexpr int kLongestUnit = 8;
/// Of a row.
constexpr int kFewestUnits = 6;

bool alike(const std::vector<PlannedKernel>& a, const std::vector<PlannedKernel>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const PlannedKernel& x, const PlannedKernel& y) {
    return std::string_view(x.label) == y.label && x.work == y.work;
  });
}

class Stages {
 public:
  Stages(const FsdpPlan& plan, GatherAhead ahead)
      : plan_(plan), ahead_(ahead), gather_of_(plan.stages.size(), nullptr) {
    for (const Gather& gather : plan.gathers) gather_of_[static_cast<std::size_t>(gather.first_use)] = &gather;
  }

  [[nodiscard]] bool is_block(int stage) const {
    const Stage& each = plan_.stages[static_cast<std::size_t>(stage)];
    return each.forward_of >= 0 || each.backward_of >= 0;
  }
  [[nodiscard]] bool alike(int a, int b) const {
    const Stage& one = plan_.stages[static_cast<std::size_t>(a)];
    const Stage& other = plan_.stages[static_cast<std::size_t>(b)];
    if (!is_block(a) || !is_block(b) || (one.forward_of >= 0) != (other.forward_of >= 0)) return false;
    if (!schedules::alike(one.kernels, other.kernels) || !schedules::alike(one.tail, other.tail) ||
        !schedules::alike(one.observed, other.observed)) {
      return false;
    }
    const int ahead = one.forward_of >= 0 ? ahead_.forward : ahead_.backward;
    if (!gathers_alike(a, b) || !gathers_alike(a + ahead, b + ahead) || is_kept(a) != is_kept(b)) return false;
    if ((one.scatter < 0) != (other.scatter < 0)) return false;
    if (one.scatter < 0) return true;
    const Scatter& scatter = plan_.scatters[static_cast<std::size_t>(one.scatter)];
    const Scatter& other_scatter = plan_.scatters[static_cast<std::size_t>(other.scatter)];
    return scatter.elements == other_scatter.elements && schedules::alike(scatter.sums, other_scatter.sums);
  }

 private:
  [[nodiscard]] const Gather* gather_of(int stage) const {
    return static_cast<std::size_t>(stage) < gather_of_.size() ? gather_of_[static_cast<std::size_t>(stage)] : nullptr;
  }
  [[nodiscard]] bool gathers_alike(int a, int b) const {
    const Gather* one = gather_of(a);
    const Gather* other = gather_of(b);
    if (one == nullptr || other == nullptr) return one == other;
    return one->bytes == other->bytes && schedules::alike(one->before, other->before);
  }
  /// Whether parameters stay for another stage, as those of the last block in front of the backward pass.
  [[nodiscard]] bool is_kept(int stage) const {
    const Gather* gather = gather_of(stage);
    return gather != nullptr && gather->last_use != stage;
  }

  const FsdpPlan& plan_;
  GatherAhead ahead_;
  std::vector<const Gather*> gather_of_;  ///< by stage
};

}  // namespace

std::vector<FsdpRow> find_rows(const FsdpPlan& plan, GatherAhead ahead) {
  const Stages stages(plan, ahead);
  const int all = static_cast<int>(plan.stages.size());
  std::vector<FsdpRow> rows;
  for (int begin = 0; begin < all;) {
    int next = begin + 1;
    for (int unit = 1; unit <= kLongestUnit; ++unit) {
      int end = begin + unit;
      while (end < all && stages.alike(end - unit, end)) ++end;
      if (end - begin < kFewestUnits * unit) continue;
      rows.push_back({begin, end, unit, plan.stages[static_cast<std::size_t>(begin)].forward_of >= 0});
      next = end;
      break;
    }
    begin = next;
  }
  return rows;
}

}  // namespace weft::schedules
