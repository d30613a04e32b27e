// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/accelerator/kernel.h"
#include "sw/firmware/rank.h"
#include "sw/kfac/fusion.h"
#include "sw/kfac/layer_kernels.h"
#include "sw/kfac/placement.h"
#include "sw/models/network.h"
#include "sw/schedules/fsdp_plan.h"
#include "sw/schedules/kfac_config.h"

namespace weft::schedules {

/// What the time of a step goes to, as SPD-KFAC's figures have it, and what these leave out.
enum class KfacPart : std::uint8_t {
  kForwardBackward,  ///< with the optimiser's update: the published figure is an iteration of SGD on one accelerator
  kGradientComm,     ///< the compute stream stood waiting for gradients
  kFactorComp,
  kFactorComm,  ///< the same for factors, with packing and unpacking triangles
  kInverseComp,
  kInverseComm,  ///< the same for inverses (of dp: preconditioned gradients)
  kPrecondition,
};
constexpr std::size_t kKfacParts = 7;

/// What is sent, each counted by a semaphore of the accelerator.
enum class KfacTraffic : std::uint8_t { kGradients, kFactors, kInverses };
constexpr std::size_t kKfacTraffics = 3;

enum class KfacWork : std::uint8_t {
  kForward,
  kBackward,
  kFactor,         ///< and its running average
  kPackFactor,     ///< its triangle, into the buffer from which it is sent
  kUnpackFactor,   ///< the mean over ranks
  kInvert,         ///< with damping
  kPackInverse,    ///< its triangle
  kUnpackInverse,  ///< at all but the owner
  kPrecondition,
  kUpdate,
};

/// Who computes it: everyone, one rank, or all but that one.
struct Doers {
  int owner = kfac::kEveryone;
  bool others = false;

  [[nodiscard]] bool has(int rank) const { return owner == kfac::kEveryone || (owner == rank) != others; }
};

/// What is computed between two points at which the firmware looks. All ranks have the same stages; those with no part
/// in one pass it.
struct KfacStage {
  KfacWork work;
  KfacPart part;
  int item = 0;  ///< a layer; a factor, A of the first layer that has any being 0, its G 1, A of the second 2, ...
  Doers doers;
  std::vector<PlannedKernel> kernels;
  /// Before it, so many messages of the step must have come; 0: none need have.
  std::array<std::size_t, kKfacTraffics> after{};
};

/// A collective of a step: an AllReduce of neighbours in memory, or a Broadcast.
struct KfacMessage {
  KfacTraffic traffic;
  std::string name;
  std::size_t ready;  ///< begins after this stage
  int root = kfac::kEveryone;
  std::size_t first = 0;  ///< of gradients and factors: in the order of their buffer; of others: which
  std::size_t count = 1;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// A training step as lists.
struct KfacStep {
  std::vector<KfacStage> stages;
  std::vector<KfacMessage> messages;  ///< in the order in which each communicator does them
};

/// Where everything lies in a rank's memory, the same on all ranks. Elements are float32.
struct KfacLayout {
  /// Of a buffer of several tensors, one behind the other: addresses by tensor. Layers without parameters have none.
  using Addresses = std::vector<std::uint64_t>;

  Addresses weights;            ///< by layer: an output's row of inputs, and its bias as one more input
  Addresses momentum;           ///< by layer
  Addresses gradients;          ///< by layer; the last layer first in memory, as they become ready
  Addresses factors;            ///< by factor: the running average, whole squares, columns first
  Addresses inverses;           ///< by factor
  Addresses triangles;          ///< by factor; in memory all A, the first layer first, then all G, the last layer first
  Addresses inverse_triangles;  ///< by factor
  Addresses activations;        ///< by layer, what comes in; then what the last one puts out
  Addresses output_gradients;   ///< by layer with factors, which are computed from them
  std::uint64_t workspace = 0;  ///< gradients of what other layers put out, and patches of inputs

  /// Allocates on all ranks. Throws std::length_error that names what does not fit.
  KfacLayout(const std::vector<firmware::Rank*>& ranks, const models::Network& network, bool second_order);
};

/// What is decided before a step can be planned.
struct KfacDecisions {
  kfac::Placement placement;
  kfac::Groups gradients;
  kfac::Groups factors;  ///< in the order of KfacLayout::triangles; none has both A and G in it
};

/// A network with what follows from it alone: kernels of every piece of work, in the order in which they are done.
/// Steps refer to the plan for their labels.
class KfacPlan {
 public:
  KfacPlan(models::Network network, const KfacConfig& config, const accelerator::ComputeConfig& compute, int ranks,
           const KfacLayout& layout);

  /// Fusion within the threshold, and the placement that needs no measurement.
  [[nodiscard]] KfacDecisions unmeasured() const;
  /// A step that updates the factors or not, and the inverses or not.
  [[nodiscard]] KfacStep step(const KfacDecisions& decisions, bool factors, bool inverses) const;
  /// Forward and backward pass with all factors, nothing sent: whose times are measured.
  [[nodiscard]] KfacStep profile() const;

  KfacPlan(const KfacPlan&) = delete;
  KfacPlan& operator=(const KfacPlan&) = delete;

  [[nodiscard]] const models::Network& network() const { return network_; }
  /// Sides of all factors.
  [[nodiscard]] const std::vector<std::int64_t>& sides() const { return sides_; }
  /// Factors in the order of KfacLayout::triangles.
  [[nodiscard]] const std::vector<std::size_t>& triangle_order() const { return triangle_order_; }
  [[nodiscard]] std::vector<PlannedKernel> inverse(std::int64_t side) const;

 private:
  class Builder;

  [[nodiscard]] std::vector<PlannedKernel> planned(const std::vector<kfac::LayerKernel>& kernels) const;

  models::Network network_;
  KfacConfig config_;
  accelerator::ComputeConfig compute_;
  int ranks_;
  const KfacLayout& layout_;
  std::vector<int> layer_of_;        ///< by pair of factors
  std::vector<int> pair_of_;         ///< by layer; -1 where there is none
  std::vector<std::int64_t> sides_;  ///< by factor
  std::vector<std::size_t> triangle_order_;
  std::vector<std::string> inverse_labels_;  ///< by factor, for pictures
};

/// "conv1.A"
[[nodiscard]] std::string factor_name(const models::Network& network, std::size_t factor);

}  // namespace weft::schedules
