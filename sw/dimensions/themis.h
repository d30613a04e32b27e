// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/quantity.h"
#include "sw/dimensions/plan.h"

/// Themis: chunks of one collective visit the dimensions of a network in different orders, so that all dimensions are
/// busy. S. Rashidi, W. Won, S. Srinivasan, S. Sridharan, T. Krishna: Themis: A Network Bandwidth-Aware Collective
/// Scheduling Policy for Distributed Training of DL Models, ISCA 2022, section 4.
namespace weft::dimensions {

/// What using a dimension costs a member, as far as a planner knows it.
struct DimensionCost {
  Time step;                          ///< of an algorithm's step, without its bytes
  double bytes_per_ns = 1;            ///< that leave a member, over all of its links of the dimension
  double memory_bytes_per_ns = 1600;  ///< which what is reduced passes three times
};

/// Steps that follow one another.
std::uint32_t steps_of(const Phase& phase);
/// Bytes that leave a member; the mean over members where they differ.
std::int64_t moved_by(const Phase& phase);
/// Bytes for whose reduction a member waits, as sw/analytical charges it.
std::int64_t reduced_by(const Phase& phase);

/// The paper's latency model without what only a simulation knows, the idle time: alpha + beta * bytes.
struct PredictedTime {
  Time alpha;  ///< a step's time for each of the algorithm's, and reductions; other chunks can use the links meanwhile
  Time beta;   ///< the links' time for what is moved
  [[nodiscard]] Time total() const { return alpha + beta; }
};
PredictedTime predict(const Phase& phase, const DimensionCost& cost);

/// Gives the chunks of one collective their orders, one after the other. It knows nothing but its arguments, so that
/// every rank decides the same.
class Themis {
 public:
  /// `sizes` and `costs` of the dimensions.
  Themis(const CollectiveConfig& config, std::vector<std::uint32_t> sizes, std::vector<DimensionCost> costs);

  /// The phases of the next chunk of an `operation`, whose `bytes` are as in plan_collective(). Its ReduceScatters
  /// visit the dimensions from the least loaded to the most, since most bytes are moved in the first; Allgathers go the
  /// other way. While loads differ by less than the time that a chunk as small as it can become takes on the least
  /// loaded dimension, the order is that of the dimensions. Then the loads grow by what the chunk is predicted to take
  /// from others: alpha + beta * bytes where one chunk is active at a time; with several the links' time beta * bytes
  /// alone, but at least the whole over so many chunks.
  Plan::Phases next(Operation operation, std::int64_t bytes);

  /// Predicted time of what has been planned, by dimension.
  [[nodiscard]] const std::vector<Time>& loads() const { return loads_; }

 private:
  [[nodiscard]] Time load_of(const Phase& phase) const;
  [[nodiscard]] bool balanced(Operation operation, std::int64_t bytes) const;

  const CollectiveConfig& config_;
  std::vector<std::uint32_t> sizes_;
  std::vector<DimensionCost> costs_;
  std::vector<std::uint32_t> used_;
  std::vector<Time> loads_;
};

/// When each dimension starts which phase of which chunk: the plan's `turns`, from a simulation of predicted times in
/// which a dimension's active chunks share its links, with `config`'s rule which one goes first. Members that each went
/// by what has come to themselves might run different chunks and wait for each other forever.
void predict_turns(const CollectiveConfig& config, const std::vector<DimensionCost>& costs, Plan& plan);

/// plan_collective() with the scheduling of `config` across and within dimensions. `costs` by dimension.
/// Throws ConfigError for Themis with AllReduces of everything in each dimension, whose order does not matter.
Plan schedule_collective(const CollectiveConfig& config, Operation operation, std::int64_t bytes,
                         const std::vector<std::uint32_t>& sizes, std::uint32_t ends,
                         const std::vector<DimensionCost>& costs);

}  // namespace weft::dimensions
