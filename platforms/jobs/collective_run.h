// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/machine/busy_parts.h"
#include "platforms/machine/machine.h"
#include "platforms/results/traffic.h"

namespace weft::platforms {

/// kAllgatherReduceScatter: both at once, each with its own communicator and buffers of the same size, as in FSDP's
/// backward pass.
enum class CollectiveOp {
  kAllgather,
  kReduceScatter,
  kAllReduce,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kBarrier,
  kAllgatherReduceScatter
};
inline EnumNames<CollectiveOp> enum_names(CollectiveOp /*tag*/) {
  return {
      {"all_gather", CollectiveOp::kAllgather}, {"reduce_scatter", CollectiveOp::kReduceScatter},
      {"all_reduce", CollectiveOp::kAllReduce}, {"all_to_all", CollectiveOp::kAllToAll},
      {"broadcast", CollectiveOp::kBroadcast},  {"reduce", CollectiveOp::kReduce},
      {"gather", CollectiveOp::kGather},        {"scatter", CollectiveOp::kScatter},
      {"barrier", CollectiveOp::kBarrier},      {"all_gather+reduce_scatter", CollectiveOp::kAllgatherReduceScatter}};
}

/// How long each phase of a multicast was (MulticastPhases) for `rank`, the one that ended it last: together from the
/// moment at which all had begun until then.
struct MulticastTimes {
  int rank = 0;
  Time barrier;
  Time fast_path;
  Time cutoff;
  Time recovery;
  Time handshake;

  template <typename Visit>
  static void each(Visit&& visit) {
    visit("barrier", &MulticastTimes::barrier);
    visit("fast_path", &MulticastTimes::fast_path);
    visit("cutoff", &MulticastTimes::cutoff);
    visit("recovery", &MulticastTimes::recovery);
    visit("handshake", &MulticastTimes::handshake);
  }
};

/// What a compressor did in a row.
struct CompressedResult {
  double sent_bytes = 0;  ///< of a rank, by itself: what it compressed, in all rounds and hops; the mean over ranks
  /// Bytes of the message by those; of hops those that a ring sends of it uncompressed. None where nothing was sent.
  std::optional<double> ratio;
  Time kernels;  ///< of a rank, the mean over ranks
  /// Where there are numbers: the root of the summed squares of what sums are off by, by that of the sums.
  std::optional<double> error;
};

/// One row of the table that nccl-tests prints. `bytes` is the size of the whole, gathered or unscattered buffer; of an
/// AllToAll so much of it as makes equal parts is exchanged.
struct CollectiveResult {
  std::uint64_t bytes = 0;
  Time time;              ///< of the slowest rank, from the moment at which all have begun
  double algbw_GBps = 0;  ///< bytes over time
  double busbw_GBps = 0;  ///< times 2(n-1)/n for an AllReduce, 1 for a Broadcast or Reduce, (n-1)/n for the others
                          ///< (nccl-tests, PERFORMANCE.md); 2(n-1)/n for an Allgather beside a ReduceScatter, the sum
                          ///< of both, which rings can bring to the link's rate and no further
  Time host_busy;         ///< of a rank's cores in sum, without waiting; the mean over ranks
  std::optional<Time> dpa_busy;                             ///< the same of its NIC's cores, if it has any
  std::array<double, kPassedParts> busy{};                  ///< busy_shares() of its time
  std::optional<collectives::MulticastCounters> multicast;  ///< of all ranks, with that algorithm
  std::optional<CompressedResult> compressed;               ///< if messages are
  std::optional<MulticastTimes> phases;                     ///< of a multicast: `time`, or that of the part of several
  MachineTraffic traffic;                                   ///< between its begin and its end
  std::vector<std::string_view> algorithms;  ///< by which it ran, of each part; NCCL's choice by its size
  /// LL, LL128 or Simple of each part, where NCCL's choice is followed; else empty.
  std::vector<std::string_view> protocols;

  /// "ring", or of parts that run beside each other "multicast+ring".
  [[nodiscard]] std::string algorithm() const;
  /// Likewise; empty where none is chosen.
  [[nodiscard]] std::string protocol() const;

  std::int64_t wrong = -1;  ///< elements that differ from the reference; -1 where data is off
};

/// What pictures have of calls.
struct Drawn {
  Probe* probe = nullptr;  ///< null: there is none
  int ranks = 0;           ///< the first so many
};

/// Runs `op` once for each of `sizes`, one after the other, all ranks entering together; with `warm_up` after one
/// unmeasured run of the first size, since the first one may make connections and staging memory. With data on, fills
/// buffers from the seed and compares every rank's memory with the sum that a reference computes: integers in `type`,
/// so that no order of addition rounds. What a compressor changes is compared with a sum of real numbers instead, and
/// its error is told. `remark` gets what ran otherwise than the configuration asked for, if anything did. `ended` is
/// called with each as it ends, that of the warm-up with `measured` false. Calls are told to the probe of `drawn`.
std::vector<CollectiveResult> run_collective(
    Machine& machine, CollectiveOp op, const std::vector<std::uint64_t>& sizes, ElementType type,
    std::string* remark = nullptr, bool warm_up = true,
    const std::function<void(const CollectiveResult& result, bool measured)>& ended = {}, const Drawn& drawn = {});

}  // namespace weft::platforms
