// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "sw/collectives/compressed/message.h"
#include "sw/schedules/collective_kernel.h"
#include "sw/schedules/kfac/kfac.h"

// Between kfac.cpp, kfac_profile.cpp and kfac_result.cpp.
namespace weft::schedules {

/// One rank's part.
struct Kfac::Member {
  struct Submitted {
    const KfacStage* stage;
    int step;  ///< which that is simulated; -1: the profile
    bool ends_step;
  };
  struct Transfer {
    KfacTraffic traffic;
    Time from;
    Time to;
    KfacMessageTimes* times;  ///< null where nobody asks
  };

  struct Ready {
    const KfacMessage* message;
    KfacMessageTimes* times;
  };

  int index;
  firmware::Rank& rank;
  firmware::CompletionQueue& progress;
  std::deque<Submitted> submitted;  ///< what `progress` will tell of
  firmware::Counter profile_stages;
  firmware::Counter stages;   ///< of steps, ended since the beginning
  firmware::Counter decided;  ///< the steps may begin
  std::array<firmware::Counter, kKfacTraffics> arrived;
  std::array<firmware::Counter, 2> ready;                ///< messages of AllReduces and the like, of Broadcasts
  std::array<std::deque<Ready>, 2> queues;               ///< of these, those that have not begun
  std::size_t stage = 0;                                 ///< of the step, that ends next
  std::size_t handed = 0;                                ///< messages of the step
  std::array<CollectiveKernel, 2> kernels;               ///< likewise
  std::list<Transfer> transfers;                         ///< of this step, and what is under way
  std::optional<collectives::CompressedEnd> compressed;  ///< if gradients are
  Time last_end;                                         ///< of the stage before
  std::array<Time, kKfacTraffics> waited{};
  std::vector<Time> profile_times;  ///< by stage
  Time began;                       ///< the first step
  Time step_began;                  ///< the one under way
  Time left_out;                    ///< what steps that were left out would have taken
  std::vector<Time> ends;           ///< by step
  std::vector<Time> simulated;      ///< when those ended that were not left out
  Time rest_end;
  bool finished = false;
  std::array<Time, kKfacParts> parts{};  ///< of this step
  /// The time and the parts of the latest, as many as may repeat.
  std::deque<std::pair<Time, std::array<Time, kKfacParts>>> latest;
  std::array<Time, kKfacParts> kept{};  ///< of the steps that are shown, together
  Probe* probe = nullptr;
  std::array<int, 4> tracks{};  ///< AllReduces, Broadcasts, what is exposed, steps

  Member(int number, firmware::Rank& its_rank)
      : index(number),
        rank(its_rank),
        progress(its_rank.processor->create_completion_queue("the compute stream")),
        profile_stages(*its_rank.processor, "the compute stream to end stage of the profile"),
        stages(*its_rank.processor, "the compute stream to end stage"),
        decided(*its_rank.processor, "rank 0 to decide"),
        arrived{firmware::Counter(*its_rank.processor, "AllReduces of gradients"),
                firmware::Counter(*its_rank.processor, "AllReduces of factors"),
                firmware::Counter(*its_rank.processor, "Broadcasts"),
                firmware::Counter(*its_rank.processor, "what an earlier step sends")},
        ready{firmware::Counter(*its_rank.processor, "messages to be ready"),
              firmware::Counter(*its_rank.processor, "Broadcasts to be ready")},
        kernels{CollectiveKernel(its_rank, "an AllReduce's kernel"),
                CollectiveKernel(its_rank, "a Broadcast's kernel")} {}
};

}  // namespace weft::schedules
