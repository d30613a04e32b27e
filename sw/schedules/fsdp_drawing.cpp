// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/fsdp_drawing.h"

#include <algorithm>
#include <vector>

namespace weft::schedules {

FsdpDrawing::FsdpDrawing(Probe& probe, const firmware::Rank& rank, const FsdpPlan& plan)
    : probe_(probe),
      rank_(rank),
      plan_(plan),
      process_("accelerator " + std::to_string(rank.place)),
      phases_(probe, process_) {
  const auto head =
      std::find_if(plan.stages.begin() + 1, plan.stages.end(), [](const Stage& stage) { return stage.forward_of < 0; });
  head_ = static_cast<int>(head - plan.stages.begin());
}

void FsdpDrawing::collective(Row row, const Collective& ended) {
  probe_.slice(rows_[row], {.what = ended.what,
                            .from = ended.began,
                            .to = rank_.processor->now(),
                            .kind = SliceKind::kCollective,
                            .operation = ended.operation,
                            .asked = ended.asked,
                            .bytes = static_cast<std::int64_t>(ended.bytes),
                            .ranks = ended.ranks,
                            .leads = ended.done != 0 ? arrow_id(process_, ended.semaphore, ended.done) : 0});
}

void FsdpDrawing::ended(int step, int stage) {
  const bool is_last = stage == static_cast<int>(plan_.stages.size());
  std::vector<std::string> phases = {"step " + std::to_string(step + 1)};
  if (is_last) {
    phases.emplace_back("optimizer");
  } else if (stage == head_) {
    phases.emplace_back("head, forward and backward");
  } else {
    const Stage& of = plan_.stages[static_cast<std::size_t>(stage)];
    const int layer = std::max(of.forward_of, of.backward_of);
    phases.emplace_back(stage < head_ ? "forward" : "backward");
    phases.push_back(layer < 0 ? "embedding" : "layer " + std::to_string(layer));
  }
  phases_.went(phases, rank_.processor->now());
  if (is_last) phases_.finish();
}

}  // namespace weft::schedules
