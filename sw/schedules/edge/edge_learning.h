// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hw/core/probe.h"
#include "sw/collectives/watch.h"
#include "sw/firmware/rank.h"
#include "sw/firmware/verbs.h"
#include "sw/schedules/edge/edge_allocation.h"

namespace weft::schedules {

struct EdgeResult {
  std::vector<Time> ends;       ///< of rounds
  std::vector<double> planned;  ///< seconds that a round takes by its allocation
  std::vector<double> equal;    ///< and by equal blocks and bands, which may be more than a Time holds
  std::vector<EdgeShare> last;  ///< of the last round, by worker
  std::int64_t wrong = -1;      ///< bytes that are not what was sent; -1 where data is off
};

/// Partitioned edge learning (arXiv 2003.04544): in each round rank 0 sends each other rank a block of parameters,
/// which it computes on and sends back. The next round begins when all blocks are back. Blocks and bands are those of
/// allocate_edge(), anew in each round, as channels fade.
///
/// The radio hands on a piece when its time at B log2(1 + SNR) is over: a thread waits that long and then writes the
/// piece over the fabric, whose own time comes on top. Computing is a kernel of as long as workers take.
///
/// Function: with data on, blocks carry patterns of the round and the worker, back others, and are compared where they
/// arrive.
///
/// Left out: energy of the radio, errors and retransmissions, blocks that share data, groups of several workers for a
/// block.
class EdgeLearning {
 public:
  /// Throws ConfigError, or std::length_error when a memory is too small.
  EdgeLearning(std::vector<firmware::Rank*> ranks, const EdgeConfig& config, std::int64_t seed);
  ~EdgeLearning();

  void record(Probe& probe, int ranks);
  void start();
  [[nodiscard]] double progress() const;
  [[nodiscard]] std::vector<Time> ends() const { return ends_; }
  [[nodiscard]] EdgeResult result() const;

 private:
  struct Link;

  firmware::Task serve(Link& link);
  firmware::Task work(Link& link);
  firmware::Task send(Link& link, bool down, int round);
  /// The block of a worker is back; the round ends with the last.
  void end_block(Link& link, int round);
  [[nodiscard]] std::vector<std::byte> block(const Link& link, bool down, int round) const;
  [[nodiscard]] const EdgeShare& share(const Link& link, int round) const;
  /// Of the blocks of the workers before it, which its own follows in the server's memory.
  [[nodiscard]] std::uint64_t bytes_before(const Link& link, int round) const;

  std::vector<firmware::Rank*> ranks_;
  EdgeConfig config_;
  std::vector<std::vector<EdgeWorker>> workers_;  ///< by round
  std::vector<std::vector<EdgeShare>> shares_;
  std::vector<std::unique_ptr<Link>> links_;
  std::unique_ptr<collectives::Watch> watch_;  ///< of rounds, where the critical path is kept
  std::unique_ptr<firmware::Counter> back_;    ///< blocks, of all rounds
  std::vector<Time> ends_;
  Time started_;
};

}  // namespace weft::schedules
