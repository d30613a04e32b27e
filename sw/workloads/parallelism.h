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
/// between).
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
  constexpr void remove(Axis axis) { bits_ &= ~bit(axis); }
  constexpr bool operator==(const AxisSet&) const = default;

 private:
  static constexpr unsigned bit(Axis axis) { return 1U << static_cast<unsigned>(axis); }
  unsigned bits_ = 0;
};

/// A degree for each axis.
class Parallelism {
 public:
  /// Beyond it, ranks have no place in a trace's 32-bit attributes.
  static constexpr std::int64_t kMostRanks = 1 << 20;

  [[nodiscard]] std::int64_t degree(Axis axis) const { return degrees_[static_cast<std::size_t>(axis)]; }
  void set(Axis axis, std::int64_t degree) { degrees_[static_cast<std::size_t>(axis)] = degree; }

  [[nodiscard]] std::int64_t ranks() const;
  [[nodiscard]] std::int64_t coordinate(std::int64_t rank, Axis axis) const;
  /// The rank that differs from `rank` in this coordinate alone.
  [[nodiscard]] std::int64_t with(std::int64_t rank, Axis axis, std::int64_t coordinate) const;
  /// Members of a group of ranks that differ in `axes` alone.
  [[nodiscard]] std::int64_t group_size(AxisSet axes) const;
  /// Which of the ranks / group_size groups it is, numbered by their lowest ranks.
  [[nodiscard]] std::int64_t group_number(std::int64_t rank, AxisSet axes) const;
  /// Without the axes whose degree is 1: equal sets have equal groups.
  [[nodiscard]] AxisSet reduced(AxisSet axes) const;

  /// "tp=8,pp=4": the degrees above 1; "1" if there are none.
  [[nodiscard]] std::string text() const;

 private:
  std::array<std::int64_t, kAxes> degrees_{1, 1, 1, 1, 1, 1};
};

/// Reads "tp=8,pp=4,dp=2". Throws WorkloadError of --parallel.
Parallelism parse_parallelism(std::string_view text);

}  // namespace weft::workloads
