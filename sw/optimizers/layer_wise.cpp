// SPDX-License-Identifier: Apache-2.0
#include "sw/optimizers/layer_wise.h"

#include <algorithm>
#include <numeric>

#include "sw/optimizers/elementwise.h"

namespace weft::optimizers {

std::vector<Tensors> owned(const Holding& holding, const std::vector<Tensors>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tensors[a].elements() < tensors[b].elements(); });
  std::vector<Tensors> own;
  std::int64_t next = 0;
  const std::int64_t round = 2 * holding.ranks;
  for (const std::size_t i : order) {
    // Of the places next to next + count, there and back, those that are the rank's.
    const std::int64_t count = tensors[i].count;
    const auto before = [round](std::int64_t end, std::int64_t place) {
      return end / round + (end % round > place ? 1 : 0);
    };
    std::int64_t mine = 0;
    for (const std::int64_t place : {holding.place, round - 1 - holding.place}) {
      mine += before(next + count, place) - before(next, place);
    }
    next += count;
    if (mine == 0) continue;
    own.push_back(tensors[i]);
    own.back().count = mine;
  }
  return own;
}

std::int64_t elements_of(const std::vector<Tensors>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                         [](std::int64_t sum, const Tensors& each) { return sum + each.count * each.elements(); });
}

std::int64_t hidden_elements_of(const std::vector<Tensors>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}, [](std::int64_t sum, const Tensors& each) {
    return sum + (each.is_hidden ? each.count * each.elements() : 0);
  });
}

void add_gather(std::vector<Task>& tasks, const Problem& problem, std::size_t holding, std::int64_t own_elements,
                std::int64_t all_elements, std::int64_t bytes, bool is_of_copies) {
  const std::int64_t ranks = is_of_copies ? problem.holdings[holding].copies : problem.holdings[holding].ranks;
  if (ranks == 1) return;
  const std::int64_t own = own_elements * bytes;
  const std::int64_t all = all_elements * bytes;
  Task task{{}, true};
  task.pieces.push_back({"pack", {{"update.pack", models::Elementwise{own, own, 1}}}, {}});
  task.pieces.back().exchange = Exchange{dimensions::Operation::kAllgather,
                                         share_of(all, ranks * kFp32) * ranks * kFp32, holding, false, is_of_copies};
  task.pieces.push_back({"unpack", {{"update.unpack", models::Elementwise{all, all, 1}}}, {}});
  tasks.push_back(std::move(task));
}

}  // namespace weft::optimizers
