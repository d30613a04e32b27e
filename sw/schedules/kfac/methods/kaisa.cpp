// SPDX-License-Identifier: Apache-2.0
// KAISA: a share of the ranks, the gradient workers of a layer, is sent its inverses and preconditions its gradient;
// each of them broadcasts that to ranks that have no inverses (Pauloski et al., "KAISA: An Adaptive Second-Order
// Optimizer Framework for Deep Neural Networks", SC 2021; grid and assignment as in kfac/assignment.py of
// github.com/gpauloski/kfac-pytorch). Ranks are a grid with as many rows as a layer has workers: workers are a column,
// and what a worker has goes along its row. The fraction 1 over the ranks is MEM-OPT (no inverse is sent), 1 is
// COMM-OPT (no preconditioned gradient is sent).
#include "sw/schedules/kfac/methods/kaisa.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hw/core/number_text.h"
#include "sw/schedules/kfac/methods/second_order.h"

namespace weft::schedules {
namespace {

/// Ranks in rows and columns, row by row.
struct Grid {
  int rows = 1;
  int columns = 1;

  [[nodiscard]] std::vector<int> column(int number) const {
    std::vector<int> ranks;
    for (int row = 0; row < rows; ++row) ranks.push_back(row * columns + number);
    return ranks;
  }
  [[nodiscard]] std::vector<int> row(int number) const {
    std::vector<int> ranks(static_cast<std::size_t>(columns));
    std::iota(ranks.begin(), ranks.end(), number * columns);
    return ranks;
  }
};

class Kaisa final : public SecondOrderTrainer {
 public:
  using SecondOrderTrainer::SecondOrderTrainer;

  /// Layers by their cost, n^3 for a factor of side n, the largest first: to the column with the least to do, and in it
  /// to the rank with the least (KAISAAssignment.greedy_assignment with colocate_factors, AssignmentStrategy.COMPUTE).
  [[nodiscard]] kfac::Placement place(std::span<const std::int64_t> sides, int ranks) const override {
    const Grid grid = grid_of(ranks);
    kfac::Placement placement = kfac::place_everywhere(sides.size(), ranks);
    if (ranks == 1) return placement;
    std::vector<double> costs;
    for (std::size_t f = 0; f + 1 < sides.size(); f += 2) {
      costs.push_back(std::pow(static_cast<double>(sides[f]), 3) + std::pow(static_cast<double>(sides[f + 1]), 3));
    }
    std::vector<std::size_t> order(costs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
    std::vector<double> loads(static_cast<std::size_t>(ranks));
    std::vector<double> of_columns(static_cast<std::size_t>(grid.columns));
    const auto load = [&loads](int rank) { return loads[static_cast<std::size_t>(rank)]; };
    for (const std::size_t layer : order) {
      const auto least = std::min_element(of_columns.begin(), of_columns.end());
      const std::vector<int> column = grid.column(static_cast<int>(least - of_columns.begin()));
      const int owner =
          *std::min_element(column.begin(), column.end(), [&](int a, int b) { return load(a) < load(b); });
      *least += costs[layer];
      loads[static_cast<std::size_t>(owner)] += costs[layer];
      placement.owner[2 * layer] = placement.owner[2 * layer + 1] = owner;
    }
    return placement;
  }

  [[nodiscard]] std::vector<int> keepers(const kfac::Placement& placement) const override {
    const Grid grid = grid_of(placement.ranks);
    std::vector<int> columns;
    for (const int owner : placement.owner) columns.push_back(owner == kfac::kEveryone ? 0 : owner % grid.columns);
    return columns;
  }

  /// Each column by itself, as a layer has one; then all rows, in which all layers go.
  [[nodiscard]] std::vector<Subgroups> subgroups(int ranks) const override {
    const Grid grid = grid_of(ranks);
    if (grid.rows == 1 || grid.columns == 1) return {};
    std::vector<Subgroups> all;
    for (int column = 0; column < grid.columns; ++column) all.push_back({grid.column(column)});
    Subgroups& rows = all.emplace_back();
    for (int row = 0; row < grid.rows; ++row) rows.push_back(grid.row(row));
    return all;
  }

 protected:
  void invert(StepBuilder& step) const override {
    const Grid grid = grid_of(step.ranks());
    if (grid.rows == 1) return step.invert();
    step.invert_and_share([grid](int owner) {
      if (grid.columns == 1) return StepBuilder::Share{.root = owner};
      const int column = owner % grid.columns;
      return StepBuilder::Share{{grid.column(column)}, column, owner / grid.columns};
    });
  }
  KfacGradient precondition(StepBuilder& step) const override {
    const Grid grid = grid_of(step.ranks());
    if (grid.columns == 1) return SecondOrderTrainer::precondition(step);
    step.precondition_and_share([grid](int owner) {
      if (grid.rows == 1) return StepBuilder::Share{.doers = Doers::of(owner), .root = owner};
      const int column = owner % grid.columns;
      return StepBuilder::Share{{grid.column(column)}, grid.columns, column};
    });
    return KfacGradient::kOwners;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw ConfigError("workload.kaisa.gradient_worker_fraction",
                      "expected " + expected + ", got " + to_text(own<KaisaConfig>().gradient_worker_fraction));
  }

  [[nodiscard]] Grid grid_of(int ranks) const {
    const double workers = std::max(1.0, own<KaisaConfig>().gradient_worker_fraction * ranks);
    const auto rows = static_cast<int>(std::lround(workers));
    // A third of three ranks is one, however it is rounded.
    if (std::abs(workers - rows) > 1e-6 * workers || ranks % rows != 0) {
      fail("one by which a layer has a number of gradient workers that divides the " + std::to_string(ranks) +
           " ranks");
    }
    return {rows, ranks / rows};
  }
};

}  // namespace

Schedule kaisa_schedule() {
  return {.name = "kaisa",
          .doc = "a share of the ranks preconditions",
          .config = KaisaConfig(),
          .config_doc = "workload.algorithm kaisa",
          .second_order = SecondOrder{.pipelined = true, .placement = InversePlacement::kInTurn, .places = true},
          .may_be_sparse = true,
          .make = [](const KfacConfig& config) { return std::make_unique<Kaisa>(config); }};
}

}  // namespace weft::schedules
