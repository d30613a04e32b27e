// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/probe.h"
#include "sw/collectives/communicator.h"
#include "sw/collectives/tally.h"
#include "sw/firmware/rank.h"
#include "sw/schedules/sampling/sage_kernels.h"

namespace weft::schedules {

/// What a run was. Parts are the mean over ranks of all batches, and add up to the end of the last one.
struct SamplingResult {
  std::vector<Time> ends;          ///< of batches, on the last rank
  Time train;                      ///< the compute stream had a batch
  Time transfer;                   ///< it had none, and the next one was being copied to the accelerator
  Time sampling;                   ///< it had none, and the next one was not ready to be copied: sampling, slicing
  Time sampler;                    ///< of one thread, for one batch: the mean
  Time slicing;                    ///< of one batch, by who does it: the mean
  Time copy;                       ///< of one batch: the mean
  std::uint64_t copied_bytes = 0;  ///< of one batch
  std::int64_t wrong = -1;         ///< bytes and elements that differ from what they should be; -1: data is off
  collectives::CollectiveTally of_first;
  std::uint64_t pinned_bytes = 0;  ///< of one rank, in its host's memory
  std::optional<Time> epoch;       ///< none if the batches have no steady stretch
};

/// What lies in an accelerator's memory, by name, in bytes.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> sampling_memory(const SamplingConfig& config,
                                                                                 const std::vector<Hop>& hops);

/// Training of a graph network on neighbourhoods that the host samples (SALIENT, arXiv 2110.08450), as firmware on
/// every rank: graph and features lie in each node's memory.
///
/// Sampler threads take batches in order. A thread draws the neighbours of a batch hop by hop: instructions of its core
/// and accesses to memory, by `sampler_cost`. Rows of features are copied to a pinned buffer by the same thread, or by
/// the main thread and those that help it; a thread waits for `outstanding_lines` cache lines at a time, and all share
/// the node's memory, which moves each row three times: it is read, the lines that it goes to are read, and written.
///
/// A thread copies batches to the accelerator in order: the remote DMA engine loads features and edges from the pinned
/// buffer, when the compute stream has ended all but `copies_ahead` of the batches before. The main thread waits for
/// the batches that are to be copied meanwhile, as SALIENT's prefetcher does, and launches the kernels of a batch one
/// by one; the compute stream waits for the copy. Gradients are summed over ranks in one AllReduce behind the backward
/// pass, before the optimizer.
///
/// Function: with data on, batches draw nodes, a node's features are a pattern of its own, and rows, edges and sums are
/// compared where they arrive; a batch's rows once more when it has been trained on. Kernels compute nothing.
///
/// Left out: cores that help the main thread are not kept from others; copies from pinned memory do not slow threads of
/// the host; starting loader processes, and handing batches from one to the main process; the last batch of an epoch is
/// as large as the others; a node's ranks have graph and features once, and caches have none of them.
class GraphSampling {
 public:
  /// Allocates buffers and connections. Throws ConfigError, or std::length_error when a memory is too small.
  GraphSampling(std::vector<firmware::Rank*> ranks, const SamplingConfig& config,
                const collectives::Communicator::Config& collectives, const accelerator::ComputeConfig& compute);
  ~GraphSampling();

  /// Draws samplers, slicing and AllReduces of the first `ranks` ranks.
  void record(Probe& probe, int ranks);
  void start();
  [[nodiscard]] double progress() const;
  [[nodiscard]] std::vector<Time> step_ends() const;
  [[nodiscard]] SamplingResult result() const;
  /// What its communicator does otherwise than configured; empty if nothing.
  [[nodiscard]] std::string remark() const;
  /// After the run.
  [[nodiscard]] collectives::CompressedAmount compressed() const;

  [[nodiscard]] const std::vector<Hop>& hops() const { return hops_; }
  [[nodiscard]] const SageKernels& kernels() const { return kernels_; }
  /// Of an epoch, on each rank.
  [[nodiscard]] std::int64_t epoch() const;
  /// That are simulated.
  [[nodiscard]] std::int64_t batches() const { return batches_; }

 private:
  struct Member;

  void place(Member& member);
  firmware::Task sample(Member& member, int thread);
  firmware::Task slice(Member& member, std::uint64_t batch, int threads);
  firmware::Task train(Member& member);
  firmware::Task copy(Member& member);
  firmware::Task reduce(Member& member);
  firmware::Task watch(Member& member);

  [[nodiscard]] std::uint64_t row_bytes() const { return 2 * static_cast<std::uint64_t>(config_.graph.features); }
  [[nodiscard]] std::uint64_t rows() const { return static_cast<std::uint64_t>(hops_.back().sources); }
  [[nodiscard]] bool sums() const { return ranks_.size() > 1; }
  /// Of a batch with data on: what lies in the pinned buffer, and comes to the accelerator.
  [[nodiscard]] std::vector<std::byte> features_of(const Member& member, std::uint64_t batch) const;
  [[nodiscard]] std::vector<std::byte> edges_of(const Member& member, std::uint64_t batch) const;

  std::vector<firmware::Rank*> ranks_;
  SamplingConfig config_;
  std::vector<Hop> hops_;
  SageKernels kernels_;
  std::int64_t batches_;
  std::uint64_t slots_;   ///< pinned buffers of a rank
  std::uint64_t copies_;  ///< buffers of an accelerator
  std::uint64_t edge_bytes_ = 0;
  std::uint64_t gradient_bytes_ = 0;
  std::vector<std::unique_ptr<class HostMemory>> hosts_;  ///< by node
  std::unique_ptr<collectives::Communicator> communicator_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::pair<std::string, std::uint64_t>> memory_;
  Time started_;
};

}  // namespace weft::schedules
