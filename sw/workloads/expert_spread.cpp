// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/expert_spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace weft::workloads {
namespace {

/// Coefficients of a polynomial: of x^j, sets of j experts, and of x^j y^u at j * width + u, those of u nodes.
using Coefficients = std::vector<double>;

/// Sums over sets of experts, each as its weights' product.
class Sets {
 public:
  explicit Sets(const SpreadProblem& problem)
      : k_(static_cast<std::size_t>(problem.top_k)),
        nodes_(static_cast<std::size_t>(problem.nodes)),
        limit_(problem.limit > 0 && problem.limit < problem.nodes && problem.limit < problem.top_k
                   ? static_cast<std::size_t>(problem.limit)
                   : 0),
        of_node_(problem.experts.size() / nodes_),
        weights_(problem.experts.size(), 1) {
    // Of the choices of nodes, those that have u given ones among them.
    choices_.assign(width(), 1);
    if (limit_ == 0) return;
    for (std::size_t u = 0; u <= limit_; ++u) choices_[u] = choose(nodes_ - u, limit_ - u);
  }

  std::vector<double>& weights() { return weights_; }

  /// For weights as they are.
  void sum() {
    std::vector<Coefficients> behind(nodes_ + 1, one());
    for (std::size_t n = nodes_; n-- > 0;) behind[n] = times_node(behind[n + 1], n);
    all_ = 0;
    for (std::size_t u = 0; u < width(); ++u) all_ += choices_[u] * behind[0][k_ * width() + u];
    others_.clear();
    Coefficients before = one();
    for (std::size_t n = 0; n < nodes_; ++n) {
      others_.push_back(product(before, behind[n + 1]));
      before = times_node(before, n);
    }
  }

  /// A token goes to at least one of the experts [first, last), which are of one node.
  [[nodiscard]] double goes_to(std::size_t first, std::size_t last) const {
    const std::size_t node = first / of_node_;
    Coefficients rest(k_ + 1, 0);
    rest[0] = 1;
    for (std::size_t e = node * of_node_; e < (node + 1) * of_node_; ++e) {
      if (e < first || e >= last) times_expert(rest, weights_[e]);
    }
    double without = 0;
    for (std::size_t i = 0; i <= k_; ++i) {
      for (std::size_t u = 0; u < width(); ++u) {
        const std::size_t used = limit_ > 0 && i > 0 ? u + 1 : u;
        if (used < width()) without += choices_[used] * rest[i] * others_[node][(k_ - i) * width() + u];
      }
    }
    return std::max(0.0, 1 - without / all_);
  }

 private:
  [[nodiscard]] std::size_t width() const { return limit_ + 1; }
  [[nodiscard]] Coefficients one() const {
    Coefficients result((k_ + 1) * width(), 0);
    result[0] = 1;
    return result;
  }
  static double choose(std::size_t of, std::size_t count) {
    double result = 1;
    for (std::size_t i = 0; i < count; ++i) result *= static_cast<double>(of - i) / static_cast<double>(i + 1);
    return result;
  }
  static void times_expert(Coefficients& sets, double weight) {
    for (std::size_t j = sets.size(); j-- > 1;) sets[j] += sets[j - 1] * weight;
  }
  /// With a node more: none of its experts, or some and one node more.
  [[nodiscard]] Coefficients times_node(const Coefficients& sets, std::size_t node) const {
    Coefficients of_node(k_ + 1, 0);
    of_node[0] = 1;
    for (std::size_t e = node * of_node_; e < (node + 1) * of_node_; ++e) times_expert(of_node, weights_[e]);
    Coefficients result = sets;
    const std::size_t more = limit_ > 0 ? 1 : 0;
    for (std::size_t j = 0; j <= k_; ++j) {
      for (std::size_t i = 1; i <= j; ++i) {
        for (std::size_t u = 0; u + more < width(); ++u) {
          result[j * width() + u + more] += sets[(j - i) * width() + u] * of_node[i];
        }
      }
    }
    return result;
  }
  [[nodiscard]] Coefficients product(const Coefficients& a, const Coefficients& b) const {
    Coefficients result((k_ + 1) * width(), 0);
    for (std::size_t i = 0; i <= k_; ++i) {
      for (std::size_t j = 0; i + j <= k_; ++j) {
        for (std::size_t u = 0; u < width(); ++u) {
          for (std::size_t v = 0; u + v < width(); ++v) {
            result[(i + j) * width() + u + v] += a[i * width() + u] * b[j * width() + v];
          }
        }
      }
    }
    return result;
  }

  std::size_t k_;
  std::size_t nodes_;
  std::size_t limit_;  ///< 0: none
  std::size_t of_node_;
  std::vector<double> weights_;
  std::vector<double> choices_;       ///< by nodes that a set is of
  std::vector<Coefficients> others_;  ///< by node: sets without it
  double all_ = 0;
};

/// Weights with which experts get their tokens, to a hundredth of a token.
bool fit(const SpreadProblem& problem, Sets& sets) {
  constexpr int kMostRounds = 1000;
  // Others get a little more where some are kept from all.
  const auto full = std::count(problem.experts.begin(), problem.experts.end(), problem.tokens);
  const double close = 0.01 + 0.25 * static_cast<double>(full);
  constexpr double kLeast = 1.0 / 64;
  double step = 0.5;  // as a power of what would be right if experts did not depend on each other
  auto before = static_cast<double>(problem.tokens);
  const auto tokens = static_cast<double>(problem.tokens);
  std::vector<double>& weights = sets.weights();
  const auto wanted = [&](std::size_t e) {
    // An expert that gets all would have no finite weight.
    return std::min(static_cast<double>(problem.experts[e]), tokens - 0.125) / tokens;
  };
  for (std::size_t e = 0; e < weights.size(); ++e) weights[e] = wanted(e) / (1 - wanted(e));
  for (int round = 0; round < kMostRounds; ++round) {
    sets.sum();
    double off = 0;
    std::vector<double> next = weights;
    for (std::size_t e = 0; e < weights.size(); ++e) {
      if (problem.experts[e] == 0) continue;
      const double gets = sets.goes_to(e, e + 1);
      off = std::max(off, std::abs(gets - wanted(e)) * tokens);
      const double odds = wanted(e) / (1 - wanted(e)) * std::max(1 - gets, 1e-12) / std::max(gets, 1e-300);
      next[e] *= std::pow(odds, step);
    }
    if (off < close) return true;
    // Those of a node may move together, and too far.
    if (off > 0.9 * before) step = std::max(step * 0.8, kLeast);
    before = off;
    const double sum = std::accumulate(next.begin(), next.end(), 0.0);
    for (double& weight : next) weight *= static_cast<double>(problem.top_k) / sum;
    weights = std::move(next);
  }
  return false;
}

}  // namespace

std::int64_t ExpertSpread::all_of_nodes() const {
  return std::accumulate(nodes.begin(), nodes.end(), std::int64_t{0});
}

bool spread_experts(const SpreadProblem& problem, ExpertSpread& result) {
  Sets sets(problem);
  const auto [least, most] = std::minmax_element(problem.experts.begin(), problem.experts.end());
  if (*most - *least > 1) {
    if (!fit(problem, sets)) return false;
  } else {
    sets.sum();
  }
  const auto whole = [&](double share) { return std::llround(share * static_cast<double>(problem.tokens)); };
  const auto ranks = static_cast<std::size_t>(problem.ranks);
  const auto nodes = static_cast<std::size_t>(problem.nodes);
  const std::size_t of_rank = problem.experts.size() / ranks;
  result = {};
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto first = problem.experts.begin() + static_cast<std::ptrdiff_t>(r * of_rank);
    const std::int64_t routed = std::accumulate(first, first + static_cast<std::ptrdiff_t>(of_rank), std::int64_t{0});
    result.ranks.push_back(std::min<std::int64_t>(whole(sets.goes_to(r * of_rank, (r + 1) * of_rank)), routed));
  }
  const std::size_t of_node = ranks / nodes;
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto first = result.ranks.begin() + static_cast<std::ptrdiff_t>(n * of_node);
    const auto last = first + static_cast<std::ptrdiff_t>(of_node);
    // Rounding leaves what is possible.
    const std::int64_t fewest = *std::max_element(first, last);
    const std::int64_t all = std::accumulate(first, last, std::int64_t{0});
    const std::int64_t tokens = whole(sets.goes_to(n * of_node * of_rank, (n + 1) * of_node * of_rank));
    result.nodes.push_back(std::clamp(tokens, fewest, all));
  }
  return true;
}

}  // namespace weft::workloads
