// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sw/kfac/cost.h"

/// Which tensors travel in one message, when they become ready one after the other while the network computes.
///
/// A tensor is ready `compute` seconds after the one before. A message starts once its last tensor is ready and the
/// message before has ended, and takes as long as `cost` says for all of its elements. Tensors keep their order, so a
/// plan is a list of how many neighbours travel together; the numbers add up to that of the tensors. All functions give
/// an empty plan for no tensors, and the same plan for the same input on every rank.
namespace weft::kfac {

struct Ready {
  double compute = 0;         ///< s from the tensor before, or from the start, until this one is there
  std::int64_t elements = 0;  ///< that travel: for a factor those of its triangle
};

using Groups = std::vector<std::size_t>;

/// Each tensor for itself.
[[nodiscard]] Groups fuse_none(std::size_t tensors);
/// All in one.
[[nodiscard]] Groups fuse_all(std::size_t tensors);
/// Tensors are added to a message as long as it stays within `limit` elements; one that is larger travels alone. So
/// Horovod fuses gradients within 64 MiB (without the timer by which it also closes a buffer).
[[nodiscard]] Groups fuse_within(std::span<const Ready> tensors, std::int64_t limit);

/// The rule of SPD-KFAC (arXiv 2107.06533; in their code, github.com/shyhuai/kfac_pytorch, _generate_groups_spd),
/// after MG-WFBP: from the first tensor on, a message waits for the next tensor if that is ready before the message
/// would have ended, and either before it could start (the network is busy) or so soon after that waiting costs less
/// than the startup that it saves. Never later than fuse_none; not always the best, which is fuse_optimal. Their code
/// estimates messages that are not merged with the square of the side where the triangle is meant; here the triangle.
[[nodiscard]] Groups fuse_dynamic(std::span<const Ready> tensors, const LinearCost& cost);

/// A plan that no other ends before. Looks at all pairs of tensors.
/// `network_free`: the network is taken until then, counted from the start.
[[nodiscard]] Groups fuse_optimal(std::span<const Ready> tensors, const LinearCost& cost, double network_free = 0);

/// When each message of a plan is on the network.
struct Pipeline {
  struct Message {
    double start = 0;
    double end = 0;
    std::int64_t elements = 0;
  };
  std::vector<Message> messages;
  double computed = 0;  ///< when the last tensor is ready
  double end = 0;       ///< when all is sent and computed

  /// What the network adds to computing.
  [[nodiscard]] double exposed() const { return end - computed; }
};

/// `network_free` as above: the end of `computed` gives the naive schedule, which sends after all is computed. Throws
/// std::invalid_argument if the groups have no tensors in them or are not as many tensors as there are.
[[nodiscard]] Pipeline run_pipeline(std::span<const Ready> tensors, const Groups& groups, const LinearCost& cost,
                                    double network_free = 0);

}  // namespace weft::kfac
