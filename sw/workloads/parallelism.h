// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Training steps of transformers as execution graphs, from the layer tables of sw/models and a choice of parallelism.
namespace weft::workloads {

/// Something asked for that cannot be. The text is "OPTION: expected ...", with the option of `weft workload`.
class WorkloadError : public std::invalid_argument {
 public:
  WorkloadError(const std::string& option, const std::string& text) : std::invalid_argument(option + ": " + text) {}
};

/// The ways in which a step is cut, in the order in which ranks are numbered, the first fastest: ranks that talk most
/// are neighbours (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM",
/// SC21, section 3, puts tensor before data before pipeline parallelism, which Megatron keeps with the others in
/// between). kExpert is no way of its own to cut the step: see Parallelism.
enum class Axis : std::uint8_t { kTensor, kContext, kExpert, kShard, kData, kPipeline };
inline constexpr std::size_t kAxes = 6;
/// As --parallel has them: tp, cp, ep, fsdp, dp, pp.
[[nodiscard]] std::string_view name_of(Axis axis);

/// Some of the axes: ranks that differ in these alone form a group.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  template <typename... Axes>
  constexpr explicit AxisSet(Axis first, Axes... more) : bits_((bit(first) | ... | bit(more))) {}

  [[nodiscard]] constexpr bool has(Axis axis) const { return (bits_ & bit(axis)) != 0; }
  constexpr bool operator==(const AxisSet&) const = default;

 private:
  static constexpr unsigned bit(Axis axis) { return 1U << static_cast<unsigned>(axis); }
  unsigned bits_ = 0;
};

/// Ranks that differ in `axes` alone, or, in the numbering of experts, those that do in that one.
struct Members {
  AxisSet axes;
  bool of_experts = false;
};

/// A degree for each axis. The ranks of a pipeline stage, tp x cp x fsdp x dp, hold its experts in a numbering of their
/// own, as in Megatron-Core: etp ranks, the neighbours, each have a part of every expert, ep groups of these have
/// different experts, and what remains are copies, over which experts' gradients are reduced. So ep lies within the
/// ranks of context and data parallelism, and of tensor parallelism where etp is below tp.
class Parallelism {
 public:
  /// Beyond it, ranks have no place in a trace's 32-bit attributes.
  static constexpr std::int64_t kMostRanks = 1 << 20;

  [[nodiscard]] std::int64_t degree(Axis axis) const { return degrees_[static_cast<std::size_t>(axis)]; }
  void set(Axis axis, std::int64_t degree) { degrees_[static_cast<std::size_t>(axis)] = degree; }
  /// Ranks that have a part of an expert: tp if nobody says.
  [[nodiscard]] std::int64_t expert_tensor() const {
    return expert_tensor_ > 0 ? expert_tensor_ : degree(Axis::kTensor);
  }
  void set_expert_tensor(std::int64_t degree) { expert_tensor_ = degree; }
  /// Of a stage, those that share out or copy experts: what etp x ep has to divide. With fsdp experts are shared out
  /// among its ranks, and dp copies all.
  [[nodiscard]] std::int64_t ranks_of_experts() const;

  [[nodiscard]] std::int64_t ranks() const;
  /// kExpert: of the rank's experts among all.
  [[nodiscard]] std::int64_t coordinate(std::int64_t rank, Axis axis) const;
  /// The rank that differs from `rank` in this coordinate alone; not of kExpert.
  [[nodiscard]] std::int64_t with(std::int64_t rank, Axis axis, std::int64_t coordinate) const;

  /// Ranks of a group are those that lie so many apart, for each of these: `count` of them, `stride` apart.
  struct Span {
    std::int64_t stride = 1;
    std::int64_t count = 1;
    bool operator==(const Span&) const = default;
  };
  /// The first the nearest; none where a rank is alone. Equal spans have equal groups.
  [[nodiscard]] std::vector<Span> spans(Members members) const;
  /// Members of a group.
  [[nodiscard]] std::int64_t group_size(Members members) const;

  /// "tp=8,pp=4": the degrees above 1; "1" if there are none.
  [[nodiscard]] std::string text() const;

 private:
  using Degrees = std::array<std::int64_t, kAxes>;
  [[nodiscard]] Degrees grid(bool of_experts) const;

  Degrees degrees_{1, 1, 1, 1, 1, 1};
  std::int64_t expert_tensor_ = 0;
};

/// A rank's number among the members of its group, in the order of their ranks.
[[nodiscard]] std::int64_t place_in_group(std::int64_t rank, const std::vector<Parallelism::Span>& spans);
/// Which of the groups of such spans a rank is in, numbered by their lowest ranks.
[[nodiscard]] std::int64_t group_number(std::int64_t rank, const std::vector<Parallelism::Span>& spans);

/// Reads "tp=8,pp=4,dp=2"; besides the axes etp. Throws WorkloadError of --parallel.
Parallelism parse_parallelism(std::string_view text);

}  // namespace weft::workloads
