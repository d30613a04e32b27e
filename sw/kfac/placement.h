// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sw/kfac/cost.h"

/// Which rank inverts which factor. All functions throw std::invalid_argument on fewer than one rank, give the same on
/// every rank, and with one rank send nothing.
namespace weft::kfac {

/// An owner's inverse is broadcast (a communicated tensor); what everyone inverts is not.
constexpr int kEveryone = -1;

struct Placement {
  int ranks = 1;
  std::vector<int> owner;  ///< of each tensor, a rank or kEveryone

  [[nodiscard]] std::size_t communicated() const;
};

/// D-KFAC: everyone inverts everything.
[[nodiscard]] Placement place_everywhere(std::size_t tensors, int ranks);

/// The factors of a network, in the order A, G of the first layer, A, G of the second, ...: one rank after the other,
/// with the factors of a layer on two ranks or on one.
[[nodiscard]] Placement place_in_turn(std::size_t layers, int ranks, bool split_layers);
/// MPD-KFAC: as above, always split, as in SPD-KFAC's authors' code (_generate_eigen_ranks_naive of
/// kfac_preconditioner_inv_mpd.py, github.com/shyhuai/kfac_pytorch).
[[nodiscard]] Placement place_mpd(std::size_t layers, int ranks);
/// DP-KFAC (github.com/lzhangbv/kfac_pytorch): a layer's owner computes both factors from its own samples, inverts them
/// and broadcasts the gradient that it preconditioned, so that neither factors nor inverses are sent.
[[nodiscard]] Placement place_dp(std::size_t layers, int ranks);

/// What balances: the load of a rank is the sum over its tensors of this.
enum class Load { kSide, kSquare, kTime };

/// SPD-KFAC (arXiv 2107.06533): a tensor that everyone inverts sooner than its inverse is sent is not communicated. The
/// others go, largest first, to the rank with the least load, of several the lowest.
/// `inverse`, `sending`: seconds for a side.
[[nodiscard]] Placement place_balanced(std::span<const std::int64_t> sides, int ranks, const Cost& inverse,
                                       const Cost& sending, Load load = Load::kTime);

/// What a placement costs by these models, one broadcast after the other.
struct PlacementCost {
  double repeated = 0;       ///< s that every rank spends on what everyone inverts
  double slowest = 0;        ///< s of the rank with the most inversions of its own
  double communication = 0;  ///< s of all that is sent, overlapped with nothing

  [[nodiscard]] double compute() const { return repeated + slowest; }
};
/// Throws std::invalid_argument unless there are as many sides as owners.
[[nodiscard]] PlacementCost cost_of(const Placement& placement, std::span<const std::int64_t> sides,
                                    const Cost& inverse, const Cost& sending);

}  // namespace weft::kfac
