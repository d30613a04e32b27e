// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "sw/collectives/group.h"
#include "sw/collectives/nccl/p2p_schedule.h"

namespace weft::collectives {

/// Where one member is in the rounds of one exchange: which may begin, as those before them on their channels end.
class P2pTurns {
 public:
  /// Rounds in which it neither sends nor receives a byte are none.
  P2pTurns(const P2pSchedule& schedule, int member, const Parts& parts);

  /// Rounds that may begin and have not been told yet.
  [[nodiscard]] std::vector<int> ready();
  /// Its send, or its receive, has ended.
  void end_one(int round);
  [[nodiscard]] bool all_ended() const { return under_way_ == 0; }

 private:
  struct Round {
    int left = 0;             ///< sends and receives that have not ended
    int waits = 0;            ///< channels on which the batch before has not
    std::size_t batches = 0;  ///< where in `batches_of_`
    int channels = 0;
  };
  /// Of a channel.
  struct Batch {
    std::vector<int> rounds;
    int left = 0;
    int next = -1;
  };

  std::vector<Round> rounds_;
  std::vector<Batch> batches_;
  std::vector<int> batches_of_;  ///< of rounds, one for each of its channels
  std::vector<int> ready_;
  int under_way_ = 0;
};

}  // namespace weft::collectives
