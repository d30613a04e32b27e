// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/probe.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/tally.h"
#include "sw/firmware/rank.h"
#include "sw/schedules/fsdp_plan.h"
#include "sw/schedules/fsdp_steady.h"
#include "sw/schedules/steady.h"
#include "sw/schedules/step_span.h"

namespace weft::schedules {

/// What a run was. Parts are the mean over ranks and over the steps that are shown, and add up to `step`.
struct FsdpResult {
  std::vector<Time> steps;  ///< until the last rank ends it
  StepSpan shown;           ///< the last ones after which the optimizer's repeat, if there are so many; else the last
  Time step;                ///< the mean of these
  int copies = 1;           ///< of the parameters
  Time compute;             ///< the core array had a kernel
  Time exposed_allgather;   ///< the compute stream stood waiting for parameters
  Time exposed_reduce_scatter;  ///< the compute stream stood waiting for gradients or their buffers
  Time exposed_all_reduce;      ///< the compute stream stood waiting for the other copies' gradients
  Time exposed_optimizer;       ///< the compute stream stood waiting for collectives of the optimizer
  Time exposed_offload;         ///< the compute stream stood waiting for remote memory
  Time other;                   ///< the rest
  Time slowest_rank;            ///< of that, from when a rank ends a step, in the mean, until the last one does
  std::int64_t tokens_per_rank_step = 0;
  double operations_per_rank_step = 0;    ///< in floating point, with those that are repeated
  double model_flops_per_token = 0;       ///< 6 N + 12 L d s, N without embedding, as torchtitan counts
  std::int64_t wrong = -1;                ///< elements that differ from what they should be; -1 where data is off
  collectives::CollectiveTally of_first;  ///< collectives of rank 0 that are simulated
  /// What one rank has allocated in its accelerator's memory, and what lies in remote memory.
  std::vector<std::pair<std::string, std::uint64_t>> memory;
  std::uint64_t remote_bytes = 0;
  /// Blocks of any step that were not simulated, or would not have been. Steps and parts contain them.
  std::vector<LeftOutPieces> left_out;
};

/// A training step on every rank, as firmware.
///
/// On each rank one thread feeds the compute stream of the accelerator, unit by unit; one drives Allgathers and one
/// ReduceScatters (or one both). A stream waits for parameters at a semaphore that the Allgather thread raises, and
/// tells by completions how far it has come, which is what frees buffers and starts ReduceScatters. An Allgather is
/// issued when the prefetch depth and the limit on gathered units allow, and begins when a stream of its own has cast
/// the shard. A third stream has what is done to sums before the optimizer.
///
/// With several copies of the parameters, a thread follows the ReduceScatters of its rank and adds each shard to those
/// of the other copies by an AllReduce among the ranks that hold the same one, while the next ReduceScatter runs. With
/// one shard a copy, an AllReduce of the whole unit stands in the ReduceScatter's place.
///
/// Where weights are gathered in float8, the largest value of each is an AllReduce's before a step's first Allgather;
/// sums stand for the largest.
///
/// Memory: gather and scatter buffers, shards of parameters, gradients and two moments in 32 bits, and activations (see
/// sw/models/activations.h) are allocated in the ranks' memories. With `offload`, moments and activations of blocks lie
/// in remote memory, and only what is on its way takes room (offload.h).
///
/// With data on, the ranks' memories hold real shards and gradients, in small whole numbers; every gathered unit and
/// every scattered gradient is compared with what it should be. Kernels compute nothing.
class Fsdp {
 public:
  /// Allocates buffers and connections. Throws ConfigError, also if `shards` does not divide the ranks, or
  /// std::length_error when a memory is too small.
  Fsdp(std::vector<firmware::Rank*> ranks, const FsdpConfig& config,
       const collectives::Communicator::Config& collectives, const accelerator::ComputeConfig& compute);
  ~Fsdp();

  /// Blocks may be left out (LeavingOut), before start(). Nothing is where memory is remote, whose streams go by the
  /// plan.
  void set_steady(const SteadyConfig& steady, LeavingOut::Hooks hooks);
  /// Draws collectives and phases of the first `ranks` ranks (FsdpDrawing).
  void record(Probe& probe, int ranks);
  /// Spawns the firmware threads.
  void start();
  /// Times of the steps that all ranks have ended.
  [[nodiscard]] std::vector<Time> finished() const;
  /// When they ended on the last rank, without what was left out.
  [[nodiscard]] std::vector<Time> step_ends() const;
  /// After the run.
  [[nodiscard]] FsdpResult result() const;
  /// What its communicators do otherwise than configured, a line each.
  [[nodiscard]] std::vector<std::string> remarks() const;
  /// After the run.
  [[nodiscard]] collectives::CompressedAmount compressed() const;

  [[nodiscard]] const FsdpPlan& plan() const { return plan_; }
  /// Ranks among which a copy of the parameters is split, and copies.
  [[nodiscard]] int shards() const { return shards_; }
  [[nodiscard]] int copies() const { return copies_; }
  /// Share of the steps' work (work_of_stages()) that is simulated or left out.
  [[nodiscard]] double progress() const;
  /// Of collectives by rings, what all ranks receive in all steps.
  [[nodiscard]] double received_bytes() const;
  /// About which share of the work is simulated with set_steady().
  [[nodiscard]] double share_of_steady() const;

 private:
  struct Member;

  [[nodiscard]] StepSpan shown() const;

  firmware::Task compute(Member& member);
  firmware::Task watch(Member& member);
  firmware::Task communicate(Member& member, bool gathers, bool scatters);
  firmware::Task agree_on_scales(Member& member, int step);
  firmware::Task gather(Member& member, int step, int index);
  [[nodiscard]] int scatter_cores(const Member& member, std::uint64_t bytes);
  firmware::Task scatter(Member& member, int step, int index);
  firmware::Task replicate(Member& member);
  firmware::Task all_reduce(Member& member, int step, int index);
  /// The optimizer's kernels; where it has collectives between them, exchange() does those.
  void update(Member& member, int step);
  firmware::Task exchange(Member& member);
  firmware::Task exchange(Member& member, const PlannedPiece& piece, std::uint64_t number);
  [[nodiscard]] bool exchanges() const;
  /// Of the steps before one.
  [[nodiscard]] std::uint64_t exchanges_before(int step) const;
  void allocate_optimizer(Member& member);
  /// In which the member does an exchange of the optimizer, and its number there.
  [[nodiscard]] std::pair<collectives::Communicator*, int> optimizer_group(const Member& member,
                                                                           const optimizers::Exchange& exchange) const;
  /// Whether an AllReduce follows each ReduceScatter.
  [[nodiscard]] bool replicates() const { return shards_ > 1 && copies_ > 1; }
  [[nodiscard]] collectives::Communicator& scatter_group(const Member& member) const;
  void add_groups(const collectives::Communicator::Config& collectives);
  /// The memory now has the sums over all ranks of what lies at `at` of unit `index`.
  void check_sums(Member& member, std::uint64_t at, collectives::Extent own, int step, int index) const;
  void enqueue(Member& member, std::uint32_t stream, const std::vector<PlannedKernel>& kernels);
  void enqueue(Member& member, std::uint32_t stream, const PlannedKernel& kernel);
  std::uint64_t allocate(Member& member, const std::string& what, std::uint64_t bytes);
  void allocate_state(Member& member);
  [[nodiscard]] GatherAhead gather_ahead() const { return {config_.forward_prefetch, config_.backward_prefetch}; }
  /// Stages of steps, with the optimizer as the last of each, counted from the beginning of the run.
  [[nodiscard]] std::uint64_t stage_of(int step, int stage) const;
  [[nodiscard]] std::uint64_t gather_of(int step, int index) const;
  [[nodiscard]] std::uint64_t scatter_of(int step, int index) const;
  /// The stage with which an Allgather is issued.
  [[nodiscard]] std::uint64_t needed(int step, int index) const;
  /// What of a step cannot be left out any more.
  [[nodiscard]] std::vector<FsdpSteady::Held> held(int step) const;
  void leave_out(int step, int from, int to);
  /// When the last rank had ended the step.
  void ended(Member& member, int step, int stage);

  std::vector<firmware::Rank*> ranks_;
  FsdpConfig config_;
  collectives::Communicator::Config collectives_;
  int shards_;  ///< of a copy
  int copies_;
  FsdpPlan plan_;
  std::vector<double> work_until_;  ///< a stage of a step, and the end of the step
  std::int64_t flops_per_token_;
  using Groups = std::vector<std::unique_ptr<collectives::Communicator>>;
  Groups gather_groups_;   ///< by copy
  Groups scatter_groups_;  ///< by copy; empty where both run in one stream
  Groups copy_groups_;     ///< by shard; empty with one copy
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::pair<std::string, std::uint64_t>> memory_;  ///< of the first rank
  Time started_;
  SparseOrder stages_;
  SparseOrder gathers_;
  SparseOrder scatters_;
  std::unique_ptr<FsdpSteady> steady_;  ///< null where all is simulated
  Probe* probe_ = nullptr;
};

}  // namespace weft::schedules
