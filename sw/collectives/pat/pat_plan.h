// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace weft::collectives {

/// Which blocks of an Allgather or a ReduceScatter travel together in PAT, and in which order (Jeaugey, "PAT: a new
/// algorithm for all-gather and reduce-scatter operations at scale", 2025; PatAGAlgorithm and PatRSAlgorithm in
/// src/include/collectives.h of NCCL 2.23 and later).
///
/// The place of a block at a member is how many members ahead its owner is: 0 is the member's own. Each block has a
/// binomial tree over all places, the same for all owners: place p is below p - 2^k, k being its lowest bit. That other
/// place is at the member 2^k ahead. An Allgather goes down the trees, a ReduceScatter up. All members therefore do the
/// same at the same time, each with blocks of other owners.
///
/// What belongs to several places goes in one step, and from place to place in one message as far as the chunk holds
/// it. The number of these places is a power of two: as many as fit a chunk, times the slots of a connection, up to
/// half of the members. They are equally far apart, and are reached in a logarithm of steps; the members between them
/// are reached one after the other, depth first. Short blocks thus take ceil(log2(members)) steps, one message each;
/// one step more if there is one member more than a power of two, since NCCL rounds half of them down. Blocks that fill
/// a chunk need no more than `slots` slots of a connection, however many members there are.
struct PatPlan {
  /// What each member sends to one peer.
  struct Step {
    int dimension = 0;                       ///< the peer is 2^dimension members away
    std::vector<std::vector<int>> messages;  ///< lower places of the blocks of each
  };
  /// Where a place's block travels on its way from or to the place above.
  struct Position {
    int dimension = 0;
    int message = 0;  ///< number among all of the dimension's messages
  };

  std::vector<Step> steps;
  std::vector<Position> positions;                            ///< by place; of 0 none
  std::vector<std::vector<const std::vector<int>*>> ordered;  ///< messages, by dimension

  PatPlan() = default;
  PatPlan(PatPlan&&) = default;  ///< vectors keep their elements where they are
  PatPlan& operator=(PatPlan&&) = default;

  /// `together` blocks are in one message at the most, and `slots` messages in a step.
  static PatPlan allgather(int members, int together, int slots);
  static PatPlan reduce_scatter(int members, int together, int slots);
};

/// How many members away the furthest peer is, as a number of dimensions: ceil(log2(members)).
[[nodiscard]] int pat_dimensions(int members);

/// How many blocks of `block` bytes are in one message: a power of two, up to half of the members, so that they fill no
/// more than a chunk.
[[nodiscard]] int pat_together(int members, std::uint64_t block, std::uint64_t chunk);

}  // namespace weft::collectives
