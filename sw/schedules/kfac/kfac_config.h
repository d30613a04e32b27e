// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hw/core/config/named.h"
#include "hw/core/element.h"
#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "sw/collectives/config.h"
#include "sw/compression/config.h"
#include "sw/kfac/layer_kernels.h"
#include "sw/kfac/packing.h"

namespace weft::schedules {

/// A schedule by its name, which is one of schedules() (sw/schedules/kfac/schedule.h).
struct Schedule;
[[nodiscard]] const Names& registered(const Schedule* kind);
using ScheduleName = NameOf<Schedule>;

/// A part of an algorithm that can be turned by itself.
enum class KfacSwitch : std::uint8_t { kAlgorithm, kOff, kOn };
inline EnumNames<KfacSwitch> enum_names(KfacSwitch /*tag*/) {
  return {{"algorithm", KfacSwitch::kAlgorithm}, {"off", KfacSwitch::kOff}, {"on", KfacSwitch::kOn}};
}

/// What the network's products are computed in. tf32: in and out in float32, as PyTorch's allow_tf32 has it. bf16: what
/// comes in, goes out and is kept too, weights cast for each step from float32 and their gradients back, as PyTorch's
/// automatic mixed precision does.
enum class NetworkType : std::uint8_t { kFp32, kTf32, kBf16 };
inline EnumNames<NetworkType> enum_names(NetworkType /*tag*/) {
  return {{"fp32", NetworkType::kFp32}, {"tf32", NetworkType::kTf32}, {"bf16", NetworkType::kBf16}};
}

/// The same of the products that make factors and precondition; inversions stay in float32, as those of libraries do.
/// bf16: what is multiplied for a factor is made so, and factors are sent and summed in it; running averages stay in
/// float32, and gradients are preconditioned in tf32.
enum class FactorType : std::uint8_t { kFp32, kTf32, kBf16 };
inline EnumNames<FactorType> enum_names(FactorType /*tag*/) {
  return {{"fp32", FactorType::kFp32}, {"tf32", FactorType::kTf32}, {"bf16", FactorType::kBf16}};
}

/// See sw/kfac/fusion.h.
enum class FactorFusion : std::uint8_t { kAlgorithm, kNone, kThreshold, kAll, kDynamic, kOptimal };
inline EnumNames<FactorFusion> enum_names(FactorFusion /*tag*/) {
  return {{"algorithm", FactorFusion::kAlgorithm}, {"none", FactorFusion::kNone},
          {"threshold", FactorFusion::kThreshold}, {"all", FactorFusion::kAll},
          {"dynamic", FactorFusion::kDynamic},     {"optimal", FactorFusion::kOptimal}};
}

/// See sw/kfac/placement.h.
enum class InversePlacement : std::uint8_t { kAlgorithm, kEverywhere, kInTurn, kBalanced };
inline EnumNames<InversePlacement> enum_names(InversePlacement /*tag*/) {
  return {{"algorithm", InversePlacement::kAlgorithm},
          {"everywhere", InversePlacement::kEverywhere},
          {"in-turn", InversePlacement::kInTurn},
          {"balanced", InversePlacement::kBalanced}};
}

/// By which of the measured costs a balanced placement judges what sending an inverse takes, beside packing it.
enum class SendingCost : std::uint8_t { kBroadcast, kAllReduce };
inline EnumNames<SendingCost> enum_names(SendingCost /*tag*/) {
  return {{"broadcast", SendingCost::kBroadcast}, {"all-reduce", SendingCost::kAllReduce}};
}

/// How activations are kept for the backward pass: as they are, or as JPEG-ACT keeps them (see
/// sw/compression/dct.h).
enum class ActivationCompression : std::uint8_t { kNone, kJpegAct };
inline EnumNames<ActivationCompression> enum_names(ActivationCompression /*tag*/) {
  return {{"none", ActivationCompression::kNone}, {"jpeg-act", ActivationCompression::kJpegAct}};
}

/// What the forward pass keeps of each layer's input, but of the first, which is the batch itself. A layer's input is
/// compressed when its forward pass has ended, and restored before the backward pass of the layer and, unless factors
/// are computed in the forward pass, before its factor A.
struct ActivationsConfig {
  ActivationCompression method = ActivationCompression::kNone;
  double ratio = 0.5;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("method", method,
          "jpeg-act: cosine transforms of blocks of 8 x 8, quantised to 8 bits with a scale each; lossy");
    visit("ratio", ratio, "Share of a block's coefficients that is kept, the lowest frequencies", kShareAboveZero);
  }

  [[nodiscard]] bool on() const { return method != ActivationCompression::kNone; }
};

/// What is added to the diagonal of a factor before it is inverted. plain: `damping`. factored: its root times pi, and
/// by pi (kfac::factored_damping).
enum class DampingForm : std::uint8_t { kAlgorithm, kPlain, kFactored };
inline EnumNames<DampingForm> enum_names(DampingForm /*tag*/) {
  return {{"algorithm", DampingForm::kAlgorithm}, {"plain", DampingForm::kPlain}, {"factored", DampingForm::kFactored}};
}

/// Whether a run with data on computes the contents of training (KfacTraining), and how. The decay is that of
/// SPD-KFAC's experiments. Their damping is 0.003, which their code adds in place (`damping_stays`), so that it comes
/// to 20 times as much, and clips besides (`kl_clip` of 0.001); without both the loss of a small network explodes. The
/// default alone is enough.
struct KfacTrainingConfig {
  bool on = false;
  double rate = 0.1;
  double momentum = 0.9;
  double damping = 0.1;
  DampingForm damping_form = DampingForm::kAlgorithm;
  bool damping_stays = false;
  double decay = 0.95;  ///< of the averages, which begin as the identity
  double most_growth = 100;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("on", on,
          "With data on: the network is trained; false: numbers that identify rank, tensor and step are sent and "
          "compared");
    visit("rate", rate, "Learning rate", kAboveZero);
    visit("momentum", momentum, "Share of the last step's change in the next", kShareBelowOne);
    visit("damping", damping, "Added to the diagonal of a factor before it is inverted");
    visit(
        "damping_form", damping_form,
        "plain: damping itself, as in SPD-KFAC's code; factored: its square root, times pi for A and divided by pi for "
        "G, as in DP-KFAC's code (pi^2 is the ratio of their mean diagonals); algorithm: as its authors have it (dp: "
        "factored)");
    visit("damping_stays", damping_stays,
          "Damping stays in the running average and accumulates from inversion to inversion, as in both codes, which "
          "add it in place");
    visit("decay", decay, "Share of the old in the running average of a factor", kShareBelowOne);
    visit("most_growth", most_growth,
          "The run ends with an error if the loss exceeds so many times that before the first step, or is no number",
          Range{1});
  }
  [[nodiscard]] bool operator==(const KfacTrainingConfig&) const = default;
};

/// The algorithm of one kind of collective: `platform`, which is that of all, or one by its name.
class KfacCollectives : public collectives::AlgorithmName {
 public:
  KfacCollectives() : NameOf(kPlatform) {}
  using NameOf::NameOf;

  [[nodiscard]] bool is_platform() const { return text() == kPlatform; }

  static constexpr std::string_view kPlatform = "platform";
};
inline EnumNames<KfacCollectives> enum_names(const KfacCollectives& /*tag*/) {
  EnumNames<KfacCollectives> names = {{KfacCollectives::kPlatform, {}}};
  for (const auto& [name, value] : enum_names(collectives::AlgorithmName())) names.emplace_back(name, name);
  return names;
}

/// A network trained by one of the schedules. Defaults are SPD-KFAC's experiments (ICDCS 2021, section VI): everything
/// updated in every step.
struct KfacConfig {
  static constexpr int kMostSteps = 10'000;

  std::string network = "resnet50";
  std::int64_t batch = 0;
  ScheduleName algorithm = "spd";
  NetworkType type = NetworkType::kFp32;
  FactorType factor_type = FactorType::kFp32;
  kfac::Inversion inverse = kfac::Inversion::kCholesky;
  KfacSwitch pipelining = KfacSwitch::kAlgorithm;
  FactorFusion fusion = FactorFusion::kAlgorithm;
  InversePlacement placement = InversePlacement::kAlgorithm;
  SendingCost sending = SendingCost::kBroadcast;
  kfac::Packing packing = kfac::Packing::kSquares;
  Bytes fusion_threshold = Bytes(64 << 20);
  bool wait_free = true;
  int metrics = 0;
  Time cycle;
  bool overlap_inverses = false;
  double kl_clip = 0;
  int factor_interval = 1;
  int inverse_interval = 1;
  int delay = 1;
  int averaging_interval = 1;
  compression::CompressionConfig compression;
  ActivationsConfig activations;
  KfacTrainingConfig training;
  KfacCollectives all_reduces;
  KfacCollectives broadcasts;
  int steps = 0;
  bool skip_equal_steps = true;
  double equal_within = 0;
  Time launch;
  Time negotiation;
  Sections own{names_for<Schedule>()};

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("network", network,
          "A network or a transformer (weft models), or a file with one: layers in CSV or JSON (sw/models/network.h), "
          "or a transformer. The path counts from the platform's file, in --set from where the command runs");
    visit("batch", batch, "Samples of one rank; 0: as the network was measured", Range{0, 1 << 20});
    const std::string schedules = names_for<Schedule>().doc();
    visit("algorithm", algorithm, schedules);
    visit(
        "type", type,
        "Operands of the network's products: fp32; tf32 on tensor cores; bf16, activations as well (mixed precision)");
    visit(
        "factor_type", factor_type,
        "Operands of the products of factors and preconditioning; inversions are in fp32. bf16: factors are also sent "
        "and summed in it, and gradients preconditioned in tf32");
    visit("inverse", inverse,
          "What is made of a factor. cholesky: the inverse of the damped factor; eigen: its eigenvectors and "
          "eigenvalues, so that the product of both factors is damped; they are sent as they are, whatever `packing` "
          "says");
    visit("pipelining", pipelining, "Factors are computed and sent while the network computes; off: after it");
    visit("fusion", fusion, "Which factors travel in one message; dynamic and optimal only with pipelining");
    visit("placement", placement, "Which rank inverts which factor");
    visit("sending", sending, "Measured cost of sending an inverse that a balanced placement uses");
    visit("packing", packing,
          "How factors and inverses travel. squares: whole, as K-FAC libraries of today send them; fused: their upper "
          "triangle, packed by one kernel each way; indices: by lists of positions, as in SPD-KFAC's code on PyTorch "
          "1.4");
    visit("fusion_threshold", fusion_threshold, "Most bytes of a message of gradients, and of factors by `threshold`",
          Range{4, 1LL << 40});
    visit("wait_free", wait_free, "Gradients are sent during the backward pass; false: after it");
    visit("metrics", metrics,
          "Numbers, such as loss and accuracy, that ranks average one after the other between the passes. The host "
          "waits for them; with pipelining they queue behind the factors of inputs",
          Range{0, 16});
    visit("cycle", cycle,
          "Period in which the library looks for tensors to average on hosts (Horovod's HOROVOD_CYCLE_TIME). The first "
          "metric waits half a period, each further one a whole period",
          Range{0, 1'000'000'000'000});
    visit("overlap_inverses", overlap_inverses,
          "An inverse is broadcast as soon as it is ready; false: once its owner has inverted all of its own");
    visit("kl_clip", kl_clip,
          "Limit of a step's KL divergence; above it preconditioned gradients are scaled down. The host waits for the "
          "contribution of each layer. 0: none");
    visit("factor_interval", factor_interval, "Steps from one update of the factors to the next", Range{1, 1'000'000});
    visit("inverse_interval", inverse_interval, "Steps from one update of the inverses to the next",
          Range{1, 1'000'000});
    visit("delay", delay, "Steps from the beginning of an averaging of weights to its merging (dasgd)", Range{0, 1000});
    visit("averaging_interval", averaging_interval, "Steps from one averaging of weights to the next (dasgd)",
          Range{1, 1'000'000});
    visit("compression", compression, "Compressed gradients");
    visit("activations", activations, "Compressed activations");
    visit("training", training, "Training with real numbers, with data on");
    visit("all_reduces", all_reduces,
          "Algorithm of AllReduces of gradients and factors; platform: collectives.algorithm");
    visit("broadcasts", broadcasts, "Algorithm of Broadcasts of inverses");
    visit("steps", steps, "Training steps to run; 0: the fewest that include everything that a step can do",
          Range{0, kMostSteps});
    visit("skip_equal_steps", skip_equal_steps,
          "Steps of one kind that would repeat what all ranks have done twice, in cycles of up to 16, are counted and "
          "not simulated. This needs data off, and nothing in the machine that is random or has its own clock");
    visit("equal_within", equal_within,
          "Difference of stages' times up to which steps count as repeating, as a share of a step's time; 0: "
          "not a picosecond",
          Range{0, 1});
    visit("launch", launch, "Time that the host spends on launching a kernel", Range{0, 1'000'000'000});
    visit("negotiation", negotiation,
          "Time that ranks spend on agreeing on each tensor before a message with it begins, as in Horovod without its "
          "cache",
          Range{0, 1'000'000'000});
    own.fields(visit);
  }

  [[nodiscard]] std::uint64_t activation_element() const { return type == NetworkType::kBf16 ? 2 : 4; }
  /// Of what is sent of a factor.
  [[nodiscard]] ElementType sent_factor_type() const {
    return factor_type == FactorType::kBf16 ? ElementType::kBf16 : ElementType::kFp32;
  }
  /// Elements of an inverse of this side that travel.
  [[nodiscard]] std::int64_t sent_inverse_elements(std::int64_t side) const {
    return inverse == kfac::Inversion::kEigen ? kfac::inverse_elements(inverse, side)
                                              : kfac::sent_elements(packing, side);
  }
  /// What metrics take on the mean: the library may be anywhere in its cycle when the first is there.
  [[nodiscard]] Time metrics_wait() const { return metrics == 0 ? Time() : cycle * metrics - cycle / 2; }

  // What the switches come to (kfac_switches.cpp):
  [[nodiscard]] const Schedule& schedule() const;
  [[nodiscard]] bool second_order() const;
  [[nodiscard]] bool clips() const { return second_order() && kl_clip > 0; }
  [[nodiscard]] bool factored_damping() const;
  /// Factors of the owner's samples alone: nothing of them is sent.
  [[nodiscard]] bool local_factors() const;
  [[nodiscard]] bool pipelined() const;
  /// By when factors are there, which means something only while the network computes.
  [[nodiscard]] FactorFusion factor_fusion() const;
  /// The schedule itself makes one tensor of several factors, not the library.
  [[nodiscard]] bool merges_factors() const;
  [[nodiscard]] InversePlacement inverse_placement() const;
  /// Whether anything is decided from measurements.
  [[nodiscard]] bool profiles() const;
};

/// `config` as it can be run, with the number of steps that it asks for. Throws ConfigError.
[[nodiscard]] KfacConfig checked(KfacConfig config);

}  // namespace weft::schedules
