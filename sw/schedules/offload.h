// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hw/core/probe.h"
#include "sw/firmware/rank.h"
#include "sw/schedules/fsdp_plan.h"

namespace weft::schedules {

/// Tiering of one rank's training state: activations and optimiser state that lie in remote memory (a host's, a pool's)
/// and come to the accelerator's when they are needed, moved by the remote DMA engine while kernels run.
///
/// Activations of blocks pass through `buffers` slots, block b through slot b mod buffers. When a block's forward pass
/// has ended, a thread stores its slot; a later block waits until the slot has been stored. The last blocks stay in
/// their slots. Backward, a thread loads the slot that a block has just left for the block that will need it, `buffers`
/// blocks later.
///
/// The two moments of Adam are updated piece by piece: a thread loads pieces into two buffers in turn, the first ones
/// while the step still runs, the kernel updates one, another thread stores it. The stores of a step's last pieces run
/// beside the next step.
///
/// The compute stream waits at semaphores of the accelerator, whose counters tell what is exposed.
///
/// Function: with data on, each step fills slots and updates moments with a pattern of its own; what comes back from
/// remote memory, and what arrives there, is compared byte by byte.
class Offload {
 public:
  /// Semaphores of the accelerator, from this on: activations stored, activations loaded, moments loaded.
  static constexpr std::uint32_t kFirstSemaphore = 2;
  static constexpr std::uint32_t kSemaphores = 3;

  /// `stages` counts the stages of the compute stream that have ended, from the beginning, with one more a step for the
  /// optimiser. `shard` is the rank's number of parameters. Allocates in both memories. Throws ConfigError, or
  /// std::length_error when something does not fit.
  Offload(firmware::Rank& rank, const FsdpConfig& config, const FsdpPlan& plan, std::uint64_t shard,
          firmware::Counter& stages);

  /// Draws transfers on rows of `process`.
  void record(Probe& probe, const std::string& process);
  void start(const std::string& name);

  // From the thread that feeds the compute stream:
  /// Lets the stream wait for what a stage needs.
  void admit(int step, const Stage& stage);
  /// The optimiser's kernels, those of moments piece by piece; `enqueue` feeds one to the stream.
  template <typename Enqueue>
  void optimise(int step, const Enqueue& enqueue) {
    for (std::size_t k = 0; k + 1 < optimizer_.size(); ++k) enqueue(optimizer_[k]);
    for (std::uint64_t p = 0; p < pieces_; ++p) {
      before_piece(step, p);
      enqueue(adam_of(p));
      after_piece(step, p);
    }
  }
  [[nodiscard]] bool optimises() const { return pieces_ != 0; }

  /// How long the compute stream has waited for it so far.
  [[nodiscard]] Time waited() const;
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }
  /// Bytes in remote memory.
  [[nodiscard]] std::uint64_t remote_bytes() const { return remote_bytes_; }

 private:
  /// Both ends of a transfer.
  struct Place {
    std::uint64_t local = 0;
    std::uint64_t remote = 0;
    std::uint64_t bytes = 0;
  };

  void place_activations();
  void place_moments(std::uint64_t bytes);
  firmware::Task store_activations();
  firmware::Task load_activations();
  firmware::Task store_moments();
  firmware::Task load_moments();

  [[nodiscard]] std::uint64_t stage_ended(int step, int stage) const;
  [[nodiscard]] Place activation(int block) const;
  [[nodiscard]] Place moment(std::uint64_t piece) const;
  [[nodiscard]] PlannedKernel adam_of(std::uint64_t piece) const;
  void before_piece(int step, std::uint64_t piece);
  void after_piece(int step, std::uint64_t piece);
  [[nodiscard]] std::uint64_t piece_number(int step, std::uint64_t piece) const {
    return static_cast<std::uint64_t>(step) * pieces_ + piece;
  }

  void draw(int track, const char* what, Time began);
  void fill_local(const Place& place, std::uint64_t seed) const;
  void fill_remote(const Place& place, std::uint64_t seed) const;
  void compare_local(const Place& place, std::uint64_t seed);
  void compare_remote(const Place& place, std::uint64_t seed);

  firmware::Rank& rank_;
  const FsdpConfig& config_;
  const FsdpPlan& plan_;
  const std::vector<PlannedKernel> optimizer_;  ///< its kernels
  firmware::Counter& stages_;
  int layers_;
  int slots_ = 0;      ///< of activations; 0 if they stay
  int offloaded_ = 0;  ///< blocks whose activations leave
  std::uint64_t slot_bytes_ = 0;
  std::uint64_t slot_ = 0;         ///< address of the first
  std::uint64_t activations_ = 0;  ///< address in remote memory
  std::uint64_t moment_bytes_ = 0;
  std::uint64_t piece_ = 0;   ///< bytes of moments in each but the last
  std::uint64_t pieces_ = 0;  ///< 0 if moments stay
  std::uint64_t moment_buffers_ = 0;
  std::uint64_t moments_ = 0;  ///< address in remote memory
  std::uint64_t remote_bytes_ = 0;
  firmware::CompletionQueue* activations_stored_ = nullptr;
  firmware::CompletionQueue* activations_loaded_ = nullptr;
  firmware::CompletionQueue* moments_stored_ = nullptr;
  firmware::CompletionQueue* moments_loaded_ = nullptr;
  firmware::CompletionQueue* updated_ = nullptr;  ///< pieces, by the compute stream
  firmware::Counter pieces_stored_;
  std::int64_t wrong_ = 0;
  Probe* probe_ = nullptr;
  int store_track_ = 0;
  int load_track_ = 0;
};

}  // namespace weft::schedules
