// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/core/probe.h"
#include "sw/collectives/communicator.h"
#include "sw/firmware/rank.h"
#include "sw/kfac/cost.h"
#include "sw/schedules/kfac/kfac_plan.h"
#include "sw/schedules/kfac/kfac_steady.h"
#include "sw/schedules/kfac/kfac_step_times.h"
#include "sw/schedules/kfac/kfac_subgroups.h"
#include "sw/schedules/step_span.h"

namespace weft::schedules {

/// What a schedule has measured of its machine before the first step, in seconds.
struct KfacProfile {
  kfac::LinearCost all_reduce;  ///< by elements
  kfac::LinearCost broadcast;
  std::vector<kfac::Sample> inverses;  ///< by side
  std::vector<kfac::Sample> packing;   ///< of an inverse, and unpacking it, by elements that travel
  double forward_backward = 0;
  double factors = 0;  ///< computed, with packing
  /// When factors are there, A in the order of the forward pass and G in that of the backward pass: what is computed
  /// since the one before, or the pass's beginning.
  std::vector<kfac::Ready> a;
  std::vector<kfac::Ready> g;
};

/// Of a message at rank 0, from the beginning of the step on.
struct KfacMessageTimes {
  Time from;
  Time to;
  Time exposed;  ///< that the compute stream stood waiting for it, or for one behind it
};

/// Those of which a result has the mean: the last ones that make whole periods of the intervals, or all, where there is
/// no whole one; without the first ones, which have no earlier step to wait for.
[[nodiscard]] StepSpan steps_shown(const Trainer& trainer, int steps);
[[nodiscard]] StepSpan steps_shown(const KfacConfig& config);

/// What a run was.
struct KfacResult {
  std::vector<Time> steps;  ///< each from when the last rank has ended the one before until the last rank ends it
  StepSpan shown;
  Time step_time;  ///< their mean
  /// By KfacPart. They add up to `measured`. Means over these steps and over ranks, but for inverting, to which the
  /// others' waiting for the rank that inverts longest belongs: it is not the network's.
  std::array<Time, kKfacParts> parts{};
  /// A rank's own time from step to step, the mean over ranks: where ranks end the last step apart, less than
  /// `step_time`.
  Time measured;
  Time profile_time;  ///< from its start until the first rank begins the first step
  Time rest;          ///< from the last step's end until all of it is learnt (Trainer::rest)
  bool has_rest = false;
  /// Bytes of compressed messages of gradients, indices and all, by those of the same messages uncompressed; without
  /// data what is aimed at. How often the collective of a compressor sends each is not in it.
  double sent_share = 0;
  std::uint64_t compressed_bytes = 0;            ///< of all ranks and steps that are simulated
  std::uint64_t uncompressed_bytes = 0;          ///< of the same messages
  std::uint64_t activation_bytes = 0;            ///< of a rank's batch
  std::uint64_t allocated_activation_bytes = 0;  ///< the memory for them, fewer if they are compressed
  bool profiled = false;
  KfacProfile profile;
  std::vector<Time> inverting;             ///< by rank
  std::vector<KfacMessageTimes> messages;  ///< those of `Kfac::fullest`, in the last step shown that sends as many
  std::size_t gradient_messages = 0;
  std::size_t delayed_messages = 0;  ///< gathered gradients, averaged weights
  std::size_t factors = 0;
  std::size_t factor_messages = 0;    ///< fusion groups
  std::size_t inverse_messages = 0;   ///< communicated tensors
  std::int64_t samples_per_step = 0;  ///< of all ranks
  int left_out = 0;                   ///< steps that were not simulated, as they repeat those before them
  std::vector<LeftOutPieces> intervals_left_out;
};

/// The engine that trains by a schedule (schedule.h), as firmware on every rank: it does what the steps of a Trainer
/// say.
///
/// A compressed message is sent by send_compressed() (sw/collectives/compressed/message.h). Of what steps send for
/// later ones, what is under way at the end is not waited for.
///
/// On each rank one thread launches kernels on the compute stream, `launch` for each, ahead of the accelerator but no
/// further than `kAhead` stages and never past a wait for something that is sent, which blocks the host as Horovod's
/// synchronize() does. One thread runs AllReduces and the like and one Broadcasts, each on communicators of its own (as
/// SPD-KFAC's authors have them, github.com/shyhuai/kfac_pytorch), in the order in which they become ready; so they
/// overlap. Messages within subgroups have communicators of these, on the same two threads. What
/// a message costs before its first byte is `negotiation` for each of its tensors, and `collectives.entry`. Between the
/// passes the host reads metrics and averages them, while the accelerator has nothing to do (`metrics`, `cycle`).
///
/// Where something is decided by cost, a run begins with a profile, as the original does: AllReduces and Broadcasts of
/// several sizes, until the slowest rank has them, to which alpha and beta are fitted, an inversion of every side that
/// there is, and a forward and backward pass with all factors, layer by layer. Rank 0 decides and broadcasts its
/// decisions. The profile is not a step: times of steps begin behind it. A single rank and a network without factors
/// have nothing to decide and no profile. That merging costs a pass of its own and a wait of the host for each message
/// is not in the measured costs by which factors are fused, as it is not in the original's.
///
/// Memory: parameters, momentum, gradients, inputs of all layers, both factors and inverses of each layer (where they
/// are local the owner's alone) with what is sent of them, patches of the largest layer, a schedule's own. In bf16
/// activations and their gradients take half. With compressed activations two buffers of the largest, in which the
/// layers' inputs take turns, and all of them compressed; gradients of outputs stay as they are.
///
/// With data on, `arithmetic` is called for every stage when its kernels have ended, before anything that follows it;
/// it reads and writes the rank's memory, and what is sent are these bytes.
///
/// Left out: Horovod's cycle and the copies into its fusion buffer, the loss, data
/// loading, batch statistics over ranks.
class Kfac {
 public:
  using Arithmetic = std::function<void(firmware::Rank&, int member, const KfacStage&)>;
  static constexpr std::size_t kAhead = 256;
  static constexpr std::uint64_t kProfileBytes = 16 << 20;
  /// Two are compared when the next one is under way.
  static constexpr int kRowToShorten = 3;

  /// Allocates buffers and connections. Throws ConfigError, paths below `workload`, or std::length_error when a memory
  /// is too small.
  Kfac(std::vector<firmware::Rank*> ranks, const KfacConfig& config,
       const collectives::Communicator::Config& collectives, const accelerator::ComputeConfig& compute);
  /// Of a network that the caller has, whatever `config.network` says.
  Kfac(std::vector<firmware::Rank*> ranks, models::Network network, const KfacConfig& config,
       const collectives::Communicator::Config& collectives, const accelerator::ComputeConfig& compute);
  ~Kfac();

  /// Who counts what the machine does, where steps are left out: `ended` is called when all ranks have ended the step
  /// that is simulated as the `position`th, and `left_out` says that what came between the ends of two of them would
  /// come so many times more.
  struct Repeats {
    std::function<void(std::size_t position)> ended;
    std::function<void(std::size_t from, std::size_t to, int times)> left_out;
  };
  /// Steps may be left out: of steps of one kind, one behind the other, those that would repeat a cycle which has been
  /// passed twice (KfacStepTimes). They are in the result as if they had been simulated. For machines in which that
  /// settles it: nothing random, no clock with a grid of its own. Nothing is left out of steps that send for later
  /// ones.
  void set_repeats(Repeats repeats);
  /// Intervals of steps may be left out (LeavingOut), in place of set_repeats() and before start().
  void set_steady(const SteadyConfig& steady, LeavingOut::Hooks hooks);
  /// Why no intervals can be left out; empty if some can.
  [[nodiscard]] std::string simulates_all() const;
  /// About which share of the steps is simulated with set_steady().
  [[nodiscard]] double share_of_steady() const { return simulated_share(intervals(), config_.steps); }
  void set_arithmetic(Arithmetic arithmetic) { arithmetic_ = std::move(arithmetic); }
  /// Called when the last rank begins the first step, with the time, if there is a profile before it.
  void set_after_profile(std::function<void(Time)> call) { after_profile_ = std::move(call); }
  /// Draws steps, messages, and what these expose, on rows of the first `ranks` ranks.
  void record(Probe& probe, int ranks);
  /// Spawns the firmware threads.
  void start();
  /// After the run.
  [[nodiscard]] KfacResult result() const;
  /// When each step that was simulated ended on its last rank.
  [[nodiscard]] std::vector<Time> step_ends() const;
  /// What its communicators do otherwise than configured, a line each.
  [[nodiscard]] std::vector<std::string> remarks() const;
  /// A field that changes nothing as the run is configured, and why.
  struct Unused {
    std::string field;
    std::string why;
  };
  [[nodiscard]] std::vector<Unused> unused() const;

  [[nodiscard]] const KfacConfig& config() const { return config_; }
  [[nodiscard]] const KfacPlan& plan() const { return plan_; }
  [[nodiscard]] const KfacLayout& layout() const { return layout_; }
  /// After the run: what was decided.
  [[nodiscard]] const KfacDecisions& decisions() const { return decisions_; }
  /// The plan of a step, after the decisions.
  [[nodiscard]] const KfacStep& step(int number) const;
  [[nodiscard]] KfacUpdates updates(int number) const;
  /// That of the step which sends most.
  [[nodiscard]] const KfacStep& fullest() const;
  /// Stages that rank 0 has ended, of all.
  [[nodiscard]] double progress() const;

 private:
  struct Member;
  /// A step that is simulated.
  struct Position {
    int number = 0;
    int also = 0;                                   ///< steps behind it that are left out, as they repeat
    std::size_t cycle = 0;                          ///< the last so many, this one among them
    std::array<std::size_t, kKfacTraffics> sent{};  ///< messages of all before it

    [[nodiscard]] int last() const { return number + also; }
  };

  firmware::Task run(Member& member);
  firmware::Task watch(Member& member);
  firmware::Task communicate(Member& member, bool broadcasts);
  firmware::Task transfer(Member& member, const KfacMessage& message, KfacMessageTimes* times);
  /// Its communicators, which the schedule's messages ask for.
  void connect(const collectives::Communicator::Config& collectives);
  /// A message that ends now.
  void draw(const Member& member, const KfacMessage& message, Time from) const;
  [[nodiscard]] KfacSite site_of(const Member& member, const KfacMessage& message) const;
  firmware::Task collect(Member& member, const KfacSite& site, const KfacMessage& message);
  // The profile (kfac_profile.cpp):
  firmware::Task profile(Member& member);
  firmware::Task time_collectives(Member& member, collectives::Communicator& group, bool broadcasts,
                                  std::vector<kfac::Sample>& samples);
  firmware::Task time_matrices(Member& member, std::vector<kfac::Sample>& inverses, std::vector<kfac::Sample>& packing);
  firmware::Task time_layers(Member& member, std::vector<double>& seconds);
  void decide(const std::vector<kfac::Sample>& inverses, const std::vector<kfac::Sample>& packing,
              const std::vector<double>& stages);

  void enqueue(Member& member, const KfacStage& stage);
  void end_stage(Member& member, const KfacStage& stage);
  void end_step(Member& member, std::size_t position);
  /// What the stage that has just ended makes ready to be sent.
  void hand_over(Member& member, std::size_t position);
  void attribute_wait(Member& member, KfacTraffic traffic, Time from, Time to);
  [[nodiscard]] std::size_t sent_before(std::size_t position, KfacTraffic traffic) const;
  /// Whether there is a step to simulate behind so many; the first who asks decides which.
  [[nodiscard]] bool has_position(std::size_t position);
  void leave_out_equal_steps();
  void leave_out_intervals();
  [[nodiscard]] std::vector<KfacRow> intervals() const;
  /// Which of the two communicators sends it.
  static std::size_t is_broadcast(const KfacMessage& message) { return message.root != kfac::kEveryone ? 1 : 0; }
  [[nodiscard]] bool has_rest() const { return !rest_.stages.empty(); }
  void plan_steps();
  [[nodiscard]] bool profiles() const { return config_.profiles() && ranks_.size() > 1 && !plan_.sides().empty(); }

  std::vector<firmware::Rank*> ranks_;
  KfacConfig config_;
  KfacLayout layout_;
  KfacPlan plan_;
  std::unique_ptr<collectives::Communicator> all_reduce_group_;
  std::unique_ptr<collectives::Communicator> broadcast_group_;
  std::array<std::map<int, KfacSubgroups>, 2> subgroups_;  ///< by communicator, and KfacMessage::within
  std::uint64_t profile_buffer_ = 0;
  KfacStep profile_step_;
  KfacDecisions decisions_;
  std::vector<kfac::Sample> all_reduce_samples_;  ///< of the profile, of the slowest rank each
  std::vector<kfac::Sample> broadcast_samples_;
  KfacProfile profile_;
  std::map<KfacUpdates, KfacStep> steps_;
  int longest_row_ = 0;                          ///< of steps of one kind
  std::array<std::uint64_t, 2> messages_{};      ///< that are sent in all, by communicator
  std::vector<KfacMessageTimes> message_times_;  ///< of the last step that sends most
  std::optional<Time> detailed_began_;           ///< when it began
  KfacStep rest_;
  std::size_t lag_;  ///< Trainer::lag
  StepSpan shown_;
  std::string whose_;  ///< for messages of exceptions
  std::deque<Position> positions_;
  Repeats repeats_;
  std::optional<KfacStepTimes> times_;  ///< where steps may be left out
  std::unique_ptr<KfacSteady> steady_;  ///< where intervals may be
  int left_out_ = 0;
  std::uint64_t left_out_stages_ = 0;
  Arithmetic arithmetic_;
  std::function<void(Time)> after_profile_;
  std::size_t profiled_ = 0;  ///< members that have ended their profile
  Time profiled_at_;          ///< the last of them
  std::vector<std::unique_ptr<Member>> members_;
  Time started_;
};

}  // namespace weft::schedules
