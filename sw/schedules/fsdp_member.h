// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sw/schedules/collective_kernel.h"
#include "sw/schedules/fsdp.h"
#include "sw/schedules/fsdp_drawing.h"
#include "sw/schedules/offload.h"

/// Part of Fsdp.
namespace weft::schedules {

/// Of sums of gradients, in the type that is summed.
inline constexpr collectives::Carries kGradientSums{std::nullopt, compression::Traffic::kGradients};

// Semaphores of the accelerator: Allgathers and ReduceScatters done since the beginning.
inline constexpr std::uint32_t kGathered = 0;
inline constexpr std::uint32_t kScattered = 1;
inline constexpr std::uint32_t kReduced =
    Offload::kFirstSemaphore + Offload::kSemaphores;       // AllReduces, if there are copies
inline constexpr std::uint32_t kExchanged = kReduced + 1;  // collectives of the optimizer, if it has some

/// One rank's part.
struct Fsdp::Member {
  /// Stages of the run, from one to another.
  struct Held {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };

  int index;
  int copy;   ///< and its place in copy groups
  int shard;  ///< and its place in the others
  firmware::Rank& rank;
  firmware::CompletionQueue& progress;
  firmware::CompletionQueue& cast;  ///< shards that can be gathered
  CollectiveKernel gather_kernel;
  CollectiveKernel scatter_kernel;
  CollectiveKernel copies_kernel;
  std::unique_ptr<CollectiveKernel> exchange_kernel;  ///< null where the optimizer has no collectives
  firmware::CompletionQueue* exchanges = nullptr;     ///< what can be exchanged
  std::uint64_t optimizer_state = 0;                  ///< the first of what the optimizer keeps
  std::vector<std::pair<std::uint64_t, std::uint64_t>> exchange_buffers;  ///< in and out
  firmware::Counter stages;                                               ///< done since the beginning
  firmware::Counter scatters;  ///< done since the beginning, for the thread that adds up copies
  std::vector<std::uint64_t> gather_buffers;
  std::vector<std::uint64_t> scatter_buffers;
  std::uint64_t scales = 0;          ///< of weights in float8
  std::uint64_t root_gradients = 0;  ///< to be scattered when all blocks' activations, whose place they take, are used
  std::vector<std::uint64_t> gradients;  ///< the shard of each unit, in the order of ReduceScatters
  std::vector<Time> ends;
  std::int64_t wrong = 0;
  collectives::CollectiveTally tally;
  // Those that are computed or wait for that, and those for which something is gathered.
  Held computing;
  Held gathering;
  // Counters at the beginning of the steps that are shown.
  Time busy;
  Time waited_gather;
  Time waited_scatter;
  Time waited_copies;
  Time waited_optimizer;
  Time waited_offload;
  Time first_wait;                       ///< of the first that is shown, for its first parameters
  std::unique_ptr<Offload> offload;      ///< null where nothing is offloaded
  std::unique_ptr<FsdpDrawing> drawing;  ///< null where nobody records

  Member(int number, int shards, firmware::Rank& its_rank)
      : index(number),
        copy(number / shards),
        shard(number % shards),
        rank(its_rank),
        progress(its_rank.processor->create_completion_queue("the compute stream")),
        cast(its_rank.processor->create_completion_queue("a shard in the type that is gathered")),
        gather_kernel(its_rank, "an Allgather's kernel"),
        scatter_kernel(its_rank, "a ReduceScatter's kernel"),
        copies_kernel(its_rank, "an AllReduce's kernel"),
        stages(*its_rank.processor, "the compute stream to end stage"),
        scatters(*its_rank.processor, "ReduceScatter") {}

  /// A collective that began then and has just ended; one rank alone has none.
  void count(dimensions::Operation operation, int ranks, std::uint64_t bytes, Time began) {
    if (ranks > 1) tally.add({name_of(operation), ranks, bytes}, rank.processor->now() - began);
  }
};

}  // namespace weft::schedules
