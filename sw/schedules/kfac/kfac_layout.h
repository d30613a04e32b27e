// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sw/collectives/compressed/message.h"
#include "sw/compression/dct.h"
#include "sw/firmware/rank.h"
#include "sw/kfac/fusion.h"
#include "sw/models/network.h"
#include "sw/schedules/kfac/kfac_config.h"

namespace weft::schedules {

/// How the input of a layer is kept when activations are compressed.
[[nodiscard]] compression::DctShape kept_shape(const models::Network& network, const KfacConfig& config,
                                               std::size_t layer);
/// Which gradients travel in one message, the last layer first.
[[nodiscard]] kfac::Groups gradient_groups(const models::Network& network, const KfacConfig& config);

/// Elements are float32, but for activations of a network in bf16 and their gradients.
constexpr std::uint64_t kKfacElement = 4;
constexpr std::uint64_t bytes_of_elements(std::int64_t elements) {
  return kKfacElement * static_cast<std::uint64_t>(elements);
}

/// Where everything lies in a rank's memory, the same on all ranks. Factors of a rank's own samples and their
/// inverses are their owner's alone, and inverses may be those of groups of ranks (Trainer::keepers): owners or groups
/// use one place for what each of them has, as large as the most of any needs.
struct KfacLayout {
  /// Of a buffer of several tensors, one behind the other: addresses by tensor. Layers without parameters have none.
  using Addresses = std::vector<std::uint64_t>;

  /// Weights on their way to a mean, laid out as `weights`.
  struct Average {
    std::uint64_t sum = 0;
    std::uint64_t own = 0;  ///< as they were
  };

  Addresses weights;         ///< by layer: an output's row of inputs, and its bias as one more input
  Addresses momentum;        ///< by layer
  Addresses gradients;       ///< by layer; the last layer first in memory, as they become ready
  Addresses preconditioned;  ///< by layer with factors; of a step that is not clipped they take the gradients' place
  Addresses factors;         ///< by factor: the running average, whole squares, columns first
  Addresses inverses;        ///< by factor; with eigenvectors their eigenvalues behind them
  /// By factor: where it is sent from, packed. Whole squares of 32 bits that nobody merges are `factors` and `inverses`
  /// themselves. In memory all A, the first layer first, then all G, the last layer first. Empty where nothing is sent.
  Addresses sent_factors;
  Addresses sent_inverses;                 ///< by factor
  std::vector<std::size_t> sending_order;  ///< factors as `sent_factors` lie
  /// By layer, what comes in; then what the last one puts out. Compressed, all but the first take turns in two buffers.
  Addresses activations;
  Addresses kept;               ///< by layer: its input compressed; 0 of the first; none without compression
  Addresses output_gradients;   ///< by layer with factors, which are computed from them
  std::uint64_t workspace = 0;  ///< gradients of what other layers put out, and patches of inputs
  std::vector<collectives::CompressedMessage> compressed;  ///< by message of gradients, the last layer first
  std::vector<Average> averages;                           ///< by slot
  std::vector<Addresses> own;                              ///< by Trainer::buffers, and tensor
  std::uint64_t activation_bytes = 0;  ///< of all inputs, and what the last layer puts out, as they are
  std::uint64_t allocated_activation_bytes = 0;

  /// Allocates on all ranks. Throws std::length_error that says what all of it needs, and what needs most.
  KfacLayout(const std::vector<firmware::Rank*>& ranks, const models::Network& network, const KfacConfig& config);

 private:
  /// Gives the address of so many bytes.
  using Allocate = std::function<std::uint64_t(const std::string& what, std::uint64_t bytes)>;

  KfacLayout() = default;
  void lay_out(const Allocate& allocate_bytes, std::size_t ranks, const models::Network& network,
               const KfacConfig& config);
};

}  // namespace weft::schedules
