// SPDX-License-Identifier: Apache-2.0
// Stages and messages of compressed gradients.
#include <utility>

#include "sw/kfac/compression_kernels.h"
#include "sw/schedules/kfac/step_builder.h"

namespace weft::schedules {

void StepBuilder::compress(std::size_t group, std::size_t round) {
  const std::vector<compression::Plan::Round>& rounds = layout().compressed[group].plan.rounds;
  add(KfacWork::kCompress, KfacPart::kCompression, static_cast<int>(group), {},
      kfac::layer_kernels(rounds[round].kernels));
  step_.stages.back().round = round;
  round_ready_[{group, round}] = last();
}

/// The rounds after the first.
void StepBuilder::compress_on(std::size_t group) {
  std::size_t before = 0;
  for (std::size_t g = 0; g < group; ++g) before += layout().compressed[g].plan.rounds.size();
  for (std::size_t round = 1; round < layout().compressed[group].plan.rounds.size(); ++round) {
    await_[index(KfacTraffic::kGradients)] = before + round;
    compress(group, round);
  }
}

/// A message of each round, behind its kernels.
void StepBuilder::send_compressed(std::size_t group, KfacMessage message) {
  const compression::Plan& plan = layout().compressed[group].plan;
  message.collective = KfacCollective::kCompressed;
  message.first = group;
  message.count = 1;
  message.address = layout().compressed[group].all;
  for (std::size_t round = 0; round < plan.rounds.size(); ++round) {
    message.round = round;
    if (plan.rounds.size() > 1) message.ready = round_ready_.at({group, round});
    message.bytes = plan.rounds[round].bytes;
    if (plan.wire != compression::Wire::kSummed) message.bytes *= static_cast<std::uint64_t>(ranks());
    push(message);
  }
}

/// If the gradients of this layer, which are the latest, end a message.
void StepBuilder::compress_behind(std::size_t layer) {
  std::size_t begin = layers();
  std::size_t group = 0;
  while (begin > layer) begin -= decisions_.gradients[group++];
  if (begin != layer) return;
  // What was sent of the message before is back by now, or nearly: the next round of it comes first.
  if (--group > 0) compress_on(group - 1);
  compress(group, 0);
  gradient_ready_[layer] = last();
  if (group + 1 == decisions_.gradients.size()) compress_on(group);
}

}  // namespace weft::schedules
