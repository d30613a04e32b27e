// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Sparse gradients: which elements are sent, and what they do where they arrive. Plain arithmetic, with the same
/// result on every rank for the same input.
namespace weft::compression {

/// As it is sent.
struct Pair {
  std::uint32_t index = 0;
  float value = 0;
};
static_assert(sizeof(Pair) == 8);

/// Positions of the `count` elements of largest magnitude, or of all if there are fewer, in ascending order. Of equal
/// magnitudes the first come; what is not a number counts as largest.
[[nodiscard]] std::vector<std::uint32_t> largest(std::span<const float> values, std::size_t count);
/// Positions of the first `limit` elements whose magnitude is above the threshold, in ascending order.
[[nodiscard]] std::vector<std::uint32_t> above(std::span<const float> values, double threshold, std::size_t limit);

/// Takes the elements at these positions out of `values`, which keeps the rest: what is to be added to the next step's
/// gradient (error feedback: Seide et al., Interspeech 2014; Stich et al., NeurIPS 2018).
[[nodiscard]] std::vector<Pair> take(std::span<const std::uint32_t> positions, std::span<float> values);
/// Throws std::out_of_range for an index that `values` has not.
void add(std::span<const Pair> pairs, std::span<float> values);

}  // namespace weft::compression
