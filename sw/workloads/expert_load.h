// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "hw/core/fields.h"

namespace weft::workloads {

/// How tokens are spread over the experts of a block.
enum class LoadKind : std::uint8_t {
  kBalanced,   ///< each expert has as many
  kZipf,       ///< the r-th in an order that is drawn for each block has 1 / r^skew of the first's
  kDirichlet,  ///< shares are drawn for each block, from a Dirichlet distribution whose parameters are all `skew`
};
inline EnumNames<LoadKind> enum_names(LoadKind /*tag*/) {
  return {{"balanced", LoadKind::kBalanced}, {"zipf", LoadKind::kZipf}, {"dirichlet", LoadKind::kDirichlet}};
}

struct ExpertLoad {
  LoadKind kind = LoadKind::kBalanced;
  double skew = 1;  ///< with zipf more is less even, with dirichlet more even
  std::int64_t seed = 1;

  bool operator==(const ExpertLoad&) const = default;
};

/// How often `tokens` tokens, of which each goes to `top_k` different experts, come to each expert of a block: numbers
/// whose sum is tokens x top_k, none above `tokens`. All ranks spread theirs alike.
[[nodiscard]] std::vector<std::int64_t> tokens_of_experts(const ExpertLoad& load, std::int64_t experts,
                                                          std::int64_t top_k, std::int64_t tokens, std::int64_t block);

}  // namespace weft::workloads
