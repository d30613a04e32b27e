// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/p2p_turns.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace weft::collectives {

P2pTurns::P2pTurns(const P2pSchedule& schedule, int member, const Parts& parts)
    : rounds_(static_cast<std::size_t>(schedule.rounds())) {
  constexpr int kNone = -1;
  std::vector<int> last(static_cast<std::size_t>(schedule.channels()), kNone);  // batch, by channel
  for (int number = 1; number < schedule.rounds(); ++number) {
    const std::uint64_t sent = parts.to[static_cast<std::size_t>(schedule.to(member, number))];
    const std::uint64_t received = parts.from[static_cast<std::size_t>(schedule.from(member, number))];
    if (sent == 0 && received == 0) continue;
    Round& round = rounds_[static_cast<std::size_t>(number)];
    round = {.left = (sent != 0 ? 1 : 0) + (received != 0 ? 1 : 0),
             .batches = batches_of_.size(),
             .channels = schedule.channels_of(std::max(sent, received))};
    ++under_way_;
    const int first = schedule.first_channel(number);
    for (int i = 0; i < round.channels; ++i) {
      int& batch = last[static_cast<std::size_t>((first + i) % schedule.channels())];
      const int before = batch;
      const auto goes_along = [&](const Batch& other) {
        return other.rounds.front() / P2pSchedule::kTogether == number / P2pSchedule::kTogether;
      };
      if (before == kNone || !goes_along(batches_[static_cast<std::size_t>(before)])) {
        batch = static_cast<int>(batches_.size());
        if (before != kNone) batches_[static_cast<std::size_t>(before)].next = batch;
        batches_.emplace_back();
      }
      Batch& own = batches_[static_cast<std::size_t>(batch)];
      own.rounds.push_back(number);
      ++own.left;
      batches_of_.push_back(batch);
    }
  }
  for (const Batch& batch : batches_) {
    if (batch.next == kNone) continue;
    for (const int number : batches_[static_cast<std::size_t>(batch.next)].rounds) {
      ++rounds_[static_cast<std::size_t>(number)].waits;
    }
  }
  for (std::size_t number = 1; number < rounds_.size(); ++number) {
    if (rounds_[number].left != 0 && rounds_[number].waits == 0) ready_.push_back(static_cast<int>(number));
  }
}

std::vector<int> P2pTurns::ready() {
  return std::exchange(ready_, {});
}

void P2pTurns::end_one(int number) {
  const Round& round = rounds_[static_cast<std::size_t>(number)];
  if (--rounds_[static_cast<std::size_t>(number)].left != 0) return;
  --under_way_;
  for (int i = 0; i < round.channels; ++i) {
    Batch& batch = batches_[static_cast<std::size_t>(batches_of_[round.batches + static_cast<std::size_t>(i)])];
    if (--batch.left != 0 || batch.next < 0) continue;
    for (const int later : batches_[static_cast<std::size_t>(batch.next)].rounds) {
      if (--rounds_[static_cast<std::size_t>(later)].waits == 0) ready_.push_back(later);
    }
  }
}

}  // namespace weft::collectives
