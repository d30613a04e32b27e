// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hw/accelerator/kernel.h"
#include "sw/firmware/rank.h"
#include "sw/kfac/fusion.h"
#include "sw/kfac/layer_kernels.h"
#include "sw/kfac/placement.h"
#include "sw/models/network.h"
#include "sw/schedules/fsdp_plan.h"
#include "sw/schedules/kfac/kfac_config.h"
#include "sw/schedules/kfac/kfac_layout.h"
#include "sw/schedules/kfac/schedule.h"

namespace weft::schedules {

/// What the time of a step goes to, as SPD-KFAC's figures have it, and what these leave out.
enum class KfacPart : std::uint8_t {
  kForwardBackward,  ///< with the optimiser's update: the published figure is an iteration of SGD on one accelerator
  kGradientComm,     ///< the compute stream stood waiting for gradients, or averages of weights
  kGradientPacking,  ///< weights copied into the buffer that is averaged, and merged with what comes
  kFactorComp,
  kFactorComm,     ///< stood waiting for factors
  kFactorPacking,  ///< they are packed and merged, unpacked, and divided by the ranks; published as part of FactorComm
  kInverseComp,
  kInverseComm,     ///< stood waiting for inverses (of dp: preconditioned gradients)
  kInversePacking,  ///< they are packed and unpacked; published as part of InverseComm
  kPrecondition,
  kCompression,  ///< of gradients, and back; activations compressed and restored
};
constexpr std::size_t kKfacParts = 11;
constexpr std::size_t index(KfacPart part) {
  return static_cast<std::size_t>(part);
}

/// What is sent, each counted by a semaphore of the accelerator. kDelayed is what a later step waits for: gradients
/// gathered, weights averaged.
enum class KfacTraffic : std::uint8_t { kGradients, kFactors, kInverses, kDelayed };
constexpr std::size_t kKfacTraffics = 4;
constexpr std::size_t index(KfacTraffic traffic) {
  return static_cast<std::size_t>(traffic);
}

enum class KfacWork : std::uint8_t {
  kForward,
  kBackward,
  kFactor,         ///< and its running average
  kPackFactor,     ///< into the buffer from which it is sent
  kUnpackFactor,   ///< the mean over ranks
  kInvert,         ///< with damping
  kClear,          ///< the inverse that another rank sends
  kPackInverse,    ///< at all ranks alike
  kUnpackInverse,  ///< also at its owner
  kPrecondition,
  kDivergence,  ///< what a layer adds to that of the step
  kClip,        ///< its gradient becomes the preconditioned one, scaled
  kUpdate,
  kKeep,        ///< what has come into a layer, compressed
  kRestore,     ///< the way back
  kCompress,    ///< of a message of gradients: what is sent of it
  kDecompress,  ///< what all ranks have sent of it, added up
  kSnapshot,    ///< weights, into a buffer of averages
  kMerge,       ///< their mean, and what the rank has learnt since
  kOwn,         ///< of the schedule: `KfacStage::contents`
};

/// Who computes it: everyone, some ranks, or all others.
struct Doers {
  std::vector<int> ranks;  ///< none: everyone
  bool others = false;

  /// A rank, or kfac::kEveryone.
  [[nodiscard]] static Doers of(int owner) { return owner == kfac::kEveryone ? Doers() : Doers{{owner}}; }
  [[nodiscard]] static Doers all_but(int owner) { return {{owner}, true}; }
  [[nodiscard]] bool has(int rank) const {
    return ranks.empty() || (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) != others;
  }
};

/// By what weights are updated: the rank's own gradients, their mean over ranks, what each rank has preconditioned of
/// that, or what the layer's owner has, and all have been sent.
enum class KfacGradient : std::uint8_t { kOwn, kMean, kPreconditioned, kOwners };

/// All ranks, in place of one of Trainer::subgroups.
constexpr int kAllRanks = -1;

/// What is computed between two points at which the firmware looks. All ranks have the same stages; those with no part
/// in one pass it.
struct KfacStage {
  KfacWork work;
  KfacPart part;
  int item = 0;  ///< a layer; a factor, A of the first layer that has any being 0, its G 1, A of the second 2, ...;
                 ///< of compressed gradients their message
  Doers doers;
  std::vector<PlannedKernel> kernels;
  /// Before it, so many messages of the step must have come, of kDelayed those of the step `Trainer::lag` before; 0:
  /// none need have.
  std::array<std::size_t, kKfacTraffics> after{};
  int slot = 0;                                ///< of averages
  std::size_t round = 0;                       ///< of a compressor
  KfacGradient gradient = KfacGradient::kOwn;  ///< of an update
  int within = kAllRanks;                      ///< over which ranks gradients and averages are summed
  std::function<void(firmware::Rank&, int member)> contents = {};  ///< of the schedule's own
  bool behind_metrics = false;  ///< which the host has averaged before it launches this
  bool host_waits = false;      ///< until it has ended, before it launches more
};

enum class KfacCollective : std::uint8_t { kAllReduce, kReduceScatter, kAllgather, kAllToAll, kBroadcast, kCompressed };

/// A collective of a step: of neighbours in memory, or a Broadcast. kCompressed is what
/// a round of a compressor sends of a message of gradients, `KfacLayout::compressed[first]`.
struct KfacMessage {
  KfacTraffic traffic;
  KfacCollective collective = KfacCollective::kAllReduce;
  std::string name;
  std::size_t ready = 0;       ///< begins after this stage
  int root = kfac::kEveryone;  ///< of a Broadcast: a rank, or within subgroups the position in each
  int within = kAllRanks;      ///< which of Trainer::subgroups; or all
  std::size_t first = 0;       ///< of gradients and factors: in the order of their buffer; of others: which
  std::size_t count = 1;
  std::size_t round = 0;  ///< of a compressor
  std::uint64_t address = 0;
  std::uint64_t output = 0;  ///< of an AllToAll
  std::uint64_t bytes = 0;
  ElementType type = ElementType::kFp32;
  int tensors = 1;  ///< that the library is given
};

/// A training step as lists.
struct KfacStep {
  std::vector<KfacStage> stages;
  std::vector<KfacMessage> messages;  ///< in the order in which each communicator does them
};

/// What is decided before a step can be planned.
struct KfacDecisions {
  kfac::Placement placement;
  kfac::Groups gradients;
  kfac::Groups averages;  ///< of weights, the first layer first
  kfac::Groups factors;   ///< in the order of KfacLayout::sent_factors; none has both A and G in it
};

/// A network with what follows from it alone: kernels of every piece of work, in the order in which they are done.
/// Steps refer to the plan for their labels.
class KfacPlan {
 public:
  KfacPlan(models::Network network, const KfacConfig& config, const accelerator::ComputeConfig& compute, int ranks,
           const KfacLayout& layout);

  /// Fusion within the threshold, and the placement that needs no measurement.
  [[nodiscard]] KfacDecisions unmeasured() const;
  [[nodiscard]] KfacStep step(const KfacDecisions& decisions, const KfacUpdates& updates) const;
  /// What is left to do when the last step has ended.
  [[nodiscard]] KfacStep rest(const KfacDecisions& decisions) const;
  /// Forward and backward pass with all factors, nothing sent: whose times are measured.
  [[nodiscard]] KfacStep profile() const;

  KfacPlan(const KfacPlan&) = delete;
  KfacPlan& operator=(const KfacPlan&) = delete;

  [[nodiscard]] const Trainer& trainer() const { return *trainer_; }
  [[nodiscard]] const models::Network& network() const { return network_; }
  /// Over whom a rank's messages within subgroups, or of all, go: itself alone if it is in none of them.
  [[nodiscard]] std::span<const int> members(int within, int rank) const;
  [[nodiscard]] const std::vector<Subgroups>& subgroups() const { return subgroups_; }
  /// Sides of all factors.
  [[nodiscard]] const std::vector<std::int64_t>& sides() const { return sides_; }
  /// Factors in the order of KfacLayout::sent_factors.
  [[nodiscard]] const std::vector<std::size_t>& sending_order() const { return layout_.sending_order; }
  /// Elements that travel of a factor of this side, their bytes, and as if they had 32 bits.
  [[nodiscard]] std::int64_t sent_elements(std::int64_t side) const {
    return kfac::sent_elements(config_.packing, side);
  }
  [[nodiscard]] std::uint64_t sent_bytes(std::int64_t side) const {
    return size_of(config_.sent_factor_type()) * static_cast<std::uint64_t>(sent_elements(side));
  }
  [[nodiscard]] std::int64_t sent_words(std::int64_t side) const {
    return static_cast<std::int64_t>((sent_bytes(side) + kKfacElement - 1) / kKfacElement);
  }
  /// Of an inverse.
  [[nodiscard]] std::int64_t sent_inverse_elements(std::int64_t side) const {
    return config_.sent_inverse_elements(side);
  }
  [[nodiscard]] std::vector<PlannedKernel> inverse(std::int64_t side) const;
  /// Of an inverse that is sent: it is packed and unpacked.
  [[nodiscard]] std::vector<PlannedKernel> packing(std::int64_t side) const;

 private:
  friend class StepBuilder;

  /// Labelled by what they are and `of` what.
  [[nodiscard]] std::vector<PlannedKernel> planned(const std::vector<kfac::LayerKernel>& kernels,
                                                   const std::string& of) const;
  /// An inverse is hundreds of products, and many factors have the same side: of each side it is worked out once.
  [[nodiscard]] accelerator::KernelWork work_of(const kfac::LayerKernel& kernel) const;

  models::Network network_;
  KfacConfig config_;
  std::unique_ptr<Trainer> trainer_;
  accelerator::ComputeConfig compute_;
  int ranks_;
  std::vector<int> all_;  ///< ranks
  std::vector<Subgroups> subgroups_;
  const KfacLayout& layout_;
  std::vector<int> layer_of_;        ///< by pair of factors
  std::vector<int> pair_of_;         ///< by layer; -1 where there is none
  std::vector<std::int64_t> sides_;  ///< by factor
  kfac::Types types_;
  mutable std::unordered_set<std::string> labels_;  ///< which kernels refer to
  /// Of inverses and eigendecompositions, by kind of shape, batch, side and type.
  mutable std::map<std::tuple<std::size_t, std::int64_t, std::int64_t, accelerator::DataType>, accelerator::KernelWork>
      inverted_;
};

/// "conv1.A"
[[nodiscard]] std::string factor_name(const models::Network& network, std::size_t factor);

}  // namespace weft::schedules
