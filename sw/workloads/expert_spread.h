// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace weft::workloads {

/// Of a rank's tokens, how many go to each rank that has experts and to each node, where a token counts once however
/// many experts there it goes to. A token's experts are of `limit` nodes at most.
///
/// Each set of experts that a token can go to is as likely as the product of its experts' weights, and these are such
/// that each expert gets the tokens that it should: the distribution that supposes nothing else (of the largest
/// entropy; Chen, Dempster and Liu, "Weighted finite population sampling to maximize entropy", Biometrika 1994). With a
/// limit, first the nodes are drawn, all choices as likely, and then experts of these, as DeepSeek-V3's node-limited
/// routing does in effect (arXiv 2412.19437, section 2.1.2). With equal weights that is, for N nodes, M of them chosen,
/// E experts of a node and e of a rank, k of a token:
///
///     a node gets  M/N (1 - C(E (M - 1), k) / C(E M, k))  of the tokens,
///     a rank gets  M/N (1 - C(E M - e, k) / C(E M, k)),
///
/// rounded to whole tokens.
struct ExpertSpread {
  std::vector<std::int64_t> ranks;
  std::vector<std::int64_t> nodes;

  [[nodiscard]] std::int64_t all_of_nodes() const;
};

struct SpreadProblem {
  std::vector<std::int64_t> experts;  ///< tokens that each gets
  std::int64_t tokens = 0;
  std::int64_t top_k = 1;
  std::int64_t ranks = 1;  ///< with equally many experts each, in their order
  std::int64_t nodes = 1;  ///< likewise of ranks
  std::int64_t limit = 0;  ///< nodes of a token; 0: any
};

/// False where experts cannot get their tokens within the limit.
[[nodiscard]] bool spread_experts(const SpreadProblem& problem, ExpertSpread& result);

}  // namespace weft::workloads
