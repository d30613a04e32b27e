// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/pipeline/cut.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "hw/core/random.h"

namespace weft::schedules {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

bool is_better(const StageLink& one, const StageLink& other) {
  return one.rate != other.rate ? one.rate > other.rate : one.time < other.time;
}

/// Puts `more` behind or ahead of `line`, either of them turned round, so that the ends that meet are joined best.
void append_line(std::vector<int>& line, std::vector<int> more, const LinkBetween& link) {
  const auto seam = [&link](int from, int to) { return link(from, to); };
  StageLink best = seam(line.back(), more.front());
  enum class Turn { kNone, kMore, kLine, kAhead } turn = Turn::kNone;
  const auto look_at = [&](Turn other, const StageLink& meets) {
    if (!is_better(meets, best)) return;
    best = meets;
    turn = other;
  };
  look_at(Turn::kMore, seam(line.back(), more.back()));
  look_at(Turn::kLine, seam(line.front(), more.front()));
  look_at(Turn::kAhead, seam(more.back(), line.front()));
  if (turn == Turn::kMore) std::reverse(more.begin(), more.end());
  if (turn == Turn::kLine) std::reverse(line.begin(), line.end());
  if (turn == Turn::kAhead) std::swap(line, more);
  line.insert(line.end(), more.begin(), more.end());
}

std::vector<int> fenced(int ranks, const LinkBetween& link) {
  struct Edge {
    StageLink link;
    int from;
    int to;
  };
  std::vector<Edge> edges;
  for (int from = 0; from < ranks; ++from) {
    for (int to = from + 1; to < ranks; ++to) edges.push_back({link(from, to), from, to});
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return is_better(a.link, b.link); });
  std::vector<std::vector<int>> lines;
  std::vector<std::size_t> line_of(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    lines.push_back({rank});
    line_of[static_cast<std::size_t>(rank)] = static_cast<std::size_t>(rank);
  }
  for (const Edge& edge : edges) {
    const std::size_t one = line_of[static_cast<std::size_t>(edge.from)];
    const std::size_t other = line_of[static_cast<std::size_t>(edge.to)];
    if (one == other) continue;
    append_line(lines[one], std::move(lines[other]), link);
    lines[other].clear();
    for (const int rank : lines[one]) line_of[static_cast<std::size_t>(rank)] = one;
  }
  return lines[line_of[0]];
}

std::vector<std::size_t> equal_cut(const CutCosts& costs) {
  const auto stages = static_cast<std::size_t>(costs.stages);
  std::vector<std::size_t> first;
  for (std::size_t s = 0; s < stages; ++s) {
    first.push_back(s * (costs.units / stages) + std::min(s, costs.units % stages));
  }
  return first;
}

/// The cuts of a chain by dynamic programming over stages and units.
class Cuts {
 public:
  explicit Cuts(const CutCosts& costs) : costs_(costs), stages_(static_cast<std::size_t>(costs.stages)) {
    for (int s = 0; s < costs.stages; ++s) {
      std::vector<double>& sums = sums_.emplace_back(1, 0.0);
      for (std::size_t u = 0; u < costs.units; ++u) sums.push_back(sums.back() + costs.compute(u, s));
    }
  }

  [[nodiscard]] double compute(std::size_t first, std::size_t end, std::size_t stage) const {
    return sums_[stage][end] - sums_[stage][first];
  }
  [[nodiscard]] double message(std::size_t end, std::size_t stage) const {
    return stage + 1 == stages_ ? 0 : costs_.message(end - 1, static_cast<int>(stage));
  }
  [[nodiscard]] bool fits(std::size_t first, std::size_t end, std::size_t stage) const {
    return !costs_.fits || costs_.fits(first, end, static_cast<int>(stage));
  }

  struct Found {
    double cost = kNoTime;
    std::vector<std::size_t> first;
  };
  /// The cut whose stages' costs come to least: `cost` of a stage, kNoTime where it cannot be; all of them put together
  /// by `join`.
  template <typename Cost, typename Join>
  [[nodiscard]] Found least(Cost&& cost, Join&& join) const {
    const std::size_t units = costs_.units;
    std::vector<std::vector<double>> best(stages_ + 1, std::vector<double>(units + 1, kNoTime));
    std::vector<std::vector<std::size_t>> from(stages_ + 1, std::vector<std::size_t>(units + 1));
    best[0][0] = 0;
    for (std::size_t s = 0; s < stages_; ++s) {
      // As many units must be left as there are stages behind.
      for (std::size_t end = s + 1; end + (stages_ - 1 - s) <= units; ++end) {
        for (std::size_t first = s; first < end; ++first) {
          if (best[s][first] == kNoTime) continue;
          const double sum = join(best[s][first], cost(first, end, s));
          if (sum >= best[s + 1][end]) continue;
          best[s + 1][end] = sum;
          from[s + 1][end] = first;
        }
      }
    }
    Found found{best[stages_][units], std::vector<std::size_t>(stages_)};
    std::size_t end = units;
    for (std::size_t s = stages_; s-- > 0;) end = found.first[s] = from[s + 1][end];
    return found;
  }

 private:
  const CutCosts& costs_;
  std::size_t stages_;
  std::vector<std::vector<double>> sums_;  ///< by stage, of the units before
};

constexpr auto kLonger = [](double one, double other) { return std::max(one, other); };
constexpr auto kSum = [](double one, double other) { return one + other; };

}  // namespace

std::vector<int> place_stages(StagePlacement placement, int ranks, int stages, std::int64_t seed,
                              const LinkBetween& link) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  if (placement == StagePlacement::kFence) order = fenced(ranks, link);
  if (placement == StagePlacement::kRandom) {
    Random random(static_cast<std::uint64_t>(seed), "places of stages");
    for (std::size_t i = order.size(); i-- > 1;) {
      std::swap(order[i], order[static_cast<std::size_t>(random.share() * static_cast<double>(i + 1))]);
    }
  }
  order.resize(static_cast<std::size_t>(stages));
  return order;
}

std::vector<std::size_t> cut_units(StageCut cut, const CutCosts& costs) {
  if (static_cast<std::size_t>(costs.stages) > costs.units) {
    throw ConfigError("workload.stages", "expected at most the " + std::to_string(costs.units) +
                                             " units of the model, got " + std::to_string(costs.stages));
  }
  if (cut == StageCut::kUnits) return equal_cut(costs);
  const Cuts cuts(costs);
  if (cut == StageCut::kCompute) {
    return cuts
        .least([&](std::size_t first, std::size_t end, std::size_t) { return cuts.compute(first, end, 0); }, kLonger)
        .first;
  }
  const auto slower = [&](std::size_t first, std::size_t end, std::size_t s) {
    if (!cuts.fits(first, end, s)) return kNoTime;
    return std::max(cuts.compute(first, end, s), cuts.message(end, s));
  };
  const double bound = cuts.least(slower, kLonger).cost;
  if (bound == kNoTime) {
    throw ConfigError("workload.cut", "expected a model that fits the memories of the stages' accelerators" +
                                          (costs.memory ? ", got " + costs.memory() : std::string()));
  }
  const auto compute = [&](std::size_t first, std::size_t end, std::size_t s) {
    return slower(first, end, s) > bound ? kNoTime : cuts.compute(first, end, s);
  };
  const double longest = cuts.least(compute, kLonger).cost;
  const auto both = [&](std::size_t first, std::size_t end, std::size_t s) {
    const double time = compute(first, end, s);
    return time > longest ? kNoTime : time + cuts.message(end, s);
  };
  return cuts.least(both, kSum).first;
}

double reduction_of(CompressedLinks how, double reduction, double factor, double seconds, double longest) {
  const double share = how == CompressedLinks::kAll || longest <= 0 ? 1 : seconds / longest;
  return std::max(1.0, factor * reduction * share);
}

}  // namespace weft::schedules
