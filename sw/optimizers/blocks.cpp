// SPDX-License-Identifier: Apache-2.0
#include "sw/optimizers/blocks.h"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

#include "hw/core/fields.h"
#include "sw/optimizers/elementwise.h"
#include "sw/optimizers/layer_wise.h"

namespace weft::optimizers {
namespace {

using models::Elementwise;
using models::Kernel;

/// By rows and columns, the largest last.
using Shapes = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;

/// A matrix in blocks: whole ones, and what remains at the ends.
void cut(Shapes& shapes, std::int64_t rows, std::int64_t cols, std::int64_t count, std::int64_t most) {
  for (const auto& [height, down] : {std::pair(most, rows / most), std::pair(rows % most, std::int64_t{1})}) {
    for (const auto& [width, across] : {std::pair(most, cols / most), std::pair(cols % most, std::int64_t{1})}) {
      if (height > 0 && width > 0 && down * across > 0) shapes[{height, width}] += down * across * count;
    }
  }
}

std::vector<Blocks> listed(const Shapes& shapes) {
  std::vector<Blocks> all;
  for (const auto& [shape, count] : shapes) all.push_back({shape.first, shape.second, count});
  return all;
}

/// Of `ranks`, what the one at `place` has: the largest first, each to whoever has the fewest elements.
std::vector<Blocks> shared_out(std::vector<Blocks> all, std::int64_t ranks, std::int64_t place) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Blocks& a, const Blocks& b) { return a.rows * a.cols > b.rows * b.cols; });
  using Load = std::pair<std::int64_t, std::int64_t>;  // elements, rank
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::int64_t rank = 0; rank < ranks; ++rank) loads.emplace(0, rank);
  for (Blocks& blocks : all) {
    std::int64_t mine = 0;
    for (std::int64_t n = 0; n < blocks.count; ++n) {
      auto [elements, rank] = loads.top();
      loads.pop();
      loads.emplace(elements + blocks.rows * blocks.cols, rank);
      if (rank == place) ++mine;
    }
    blocks.count = mine;
  }
  std::erase_if(all, [](const Blocks& blocks) { return blocks.count == 0; });
  return all;
}

/// Of all that the rank has gradients of, whoever computes their updates.
std::vector<Blocks> all_blocks(const Holding& holding, std::int64_t most) {
  Shapes shapes;
  const bool is_given = holding.sharing == Sharing::kGiven;
  for (const Tensors& each : is_given ? owned(holding, holding.tensors) : holding.tensors) {
    if (!each.is_hidden) continue;
    const std::int64_t rows = holding.sharing == Sharing::kShards ? share_of(each.rows, holding.ranks) : each.rows;
    cut(shapes, rows, each.cols, each.count, most);
  }
  return listed(shapes);
}

std::int64_t elements_in(const std::vector<Blocks>& all) {
  std::int64_t sum = 0;
  for (const Blocks& blocks : all) sum += blocks.elements();
  return sum;
}

bool has_copies(const Holding& holding) {
  return holding.sharing == Sharing::kShards && holding.copies > 1;
}

/// Elements that AdamW updates.
std::int64_t others_of(const Holding& holding) {
  if (holding.sharing != Sharing::kGiven) return other_share(holding);
  const std::vector<Tensors> own = owned(holding, holding.tensors);
  return elements_of(own) - hidden_elements_of(own);
}

}  // namespace

std::vector<Blocks> own_blocks(const Holding& holding, std::int64_t most) {
  std::vector<Blocks> all = all_blocks(holding, most);
  if (has_copies(holding)) return shared_out(std::move(all), holding.copies, holding.copy);
  if (holding.sharing != Sharing::kWhole || holding.ranks == 1) return all;
  return shared_out(std::move(all), holding.ranks, holding.place);
}

void BlockOptimizer::check(const Problem& problem) const {
  for (const Holding& holding : problem.holdings) {
    if (holding.sharing != Sharing::kFlat) continue;
    throw ConfigError("workload.flat_parameters", std::string("expected false with workload.optimizer ") + name() +
                                                      ", whose blocks are of rows of matrices");
  }
}

std::vector<Task> BlockOptimizer::update(const Problem& problem, std::int64_t step) const {
  std::vector<Kernel> kernels;
  std::int64_t gradients = 0;
  std::int64_t others = 0;
  for (const Holding& holding : problem.holdings) {
    const std::int64_t rest = others_of(holding);
    gradients += rest + elements_in(all_blocks(holding, most_));
    others += rest;
  }
  add_clipping(kernels, gradients);
  add_adam(kernels, others, problem.fusion);
  std::vector<Task> gathers;
  for (std::size_t i = 0; i < problem.holdings.size(); ++i) {
    const Holding& holding = problem.holdings[i];
    const std::vector<Blocks> own = own_blocks(holding, most_);
    for (const Blocks& blocks : own) add_direction(kernels, blocks, step % interval_ == 0, problem.fusion);
    const std::int64_t all = elements_in(all_blocks(holding, most_));
    const bool gathers_all = has_copies(holding) || (holding.sharing == Sharing::kWhole && holding.ranks > 1);
    if (gathers_all) add_gather(gathers, problem, i, elements_in(own), all, kFp32, has_copies(holding));
    std::vector<Kernel>& last = gathers_all ? gathers.back().pieces.back().kernels : kernels;
    // The update and the parameter, with its decay.
    last.push_back({"update", Elementwise{2 * kFp32 * all, kFp32 * all, 1}});
  }
  std::vector<Task> tasks = {Task{{{"blocks", std::move(kernels), {}}}}};
  for (Task& gather : gathers) tasks.push_back(std::move(gather));
  return tasks;
}

Kept BlockOptimizer::kept(const Problem& problem) const {
  Kept kept;
  std::int64_t others = 0;
  const auto add = [&kept](const std::string& what, std::int64_t bytes) {
    const auto same =
        std::find_if(kept.state.begin(), kept.state.end(), [&what](const auto& each) { return each.first == what; });
    if (same != kept.state.end()) {
      same->second += bytes;
    } else {
      kept.state.emplace_back(what, bytes);
    }
  };
  for (const Holding& holding : problem.holdings) {
    const std::vector<Blocks> own = own_blocks(holding, most_);
    for (const Blocks& blocks : own) {
      for (const auto& [what, bytes] : state(blocks)) add(what, bytes);
    }
    const std::int64_t rest = others_of(holding);
    kept.masters += rest + elements_in(all_blocks(holding, most_));
    others += rest;
  }
  add("two moments of other parameters in 32 bits", 2 * kFp32 * others);
  return kept;
}

}  // namespace weft::optimizers
