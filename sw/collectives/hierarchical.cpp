// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/hierarchical.h"

#include <numeric>

#include "sw/collectives/ring/ring_algorithm.h"
#include "sw/firmware/fan_out.h"

namespace weft::collectives {

using firmware::Counter;
using firmware::Rank;
using firmware::Task;

namespace {

/// Allgather within a node of each node block as it comes: the first is there, the others are counted by channel.
Task gather_within(RingMember& ring, std::uint64_t buffer, int nodes, std::function<Extent(int, int)> blocks,
                   std::vector<std::unique_ptr<Counter>>& got) {
  for (int turn = 0; turn < nodes; ++turn) {
    for (auto& counter : got) co_await counter->reach(static_cast<std::uint64_t>(turn));
    co_await ring.allgather(
        buffer, [&blocks, turn](int position) { return blocks(turn, position); }, nullptr);
  }
}

/// ReduceScatter within a node of each node block, in place; the last channel to finish a block counts it.
Task reduce_within(RingMember& ring, std::uint64_t input, int nodes, std::function<Extent(int, int)> blocks,
                   ElementType type, std::vector<int>& open, Counter& ready) {
  for (int turn = 0; turn < nodes; ++turn) {
    const std::uint64_t output = input + blocks(turn, ring.position()).offset;
    co_await ring.reduce_scatter(
        input, output, [&blocks, turn](int position) { return blocks(turn, position); }, type, nullptr);
    if (--open[static_cast<std::size_t>(turn)] == 0) ready.increment();
  }
}

std::vector<std::vector<int>> same_order(int members, int channels) {
  std::vector<int> order(static_cast<std::size_t>(members));
  std::iota(order.begin(), order.end(), 0);
  return {static_cast<std::size_t>(channels), order};
}

}  // namespace

Hierarchical::Hierarchical(const std::vector<Rank*>& ranks, int channels, const RingMember::Options& options,
                           const std::string& name)
    : ranks_(ranks), name_(name), nodes_(ranks), channels_(channels) {
  if (!nodes_.even()) {
    throw ConfigError("collectives.algorithm",
                      name + ": hierarchical needs the same number of members in every node; expected ring");
  }
  for (int n = 0; n < nodes_.count(); ++n) {
    up_.push_back(std::make_unique<RingGroup>(pick(ranks, nodes_.row(n)), same_order(nodes_.per_node(), channels),
                                              options, name + " ring within node " + std::to_string(n)));
  }
  for (int l = 0; l < nodes_.per_node(); ++l) {
    out_.push_back(std::make_unique<RingGroup>(pick(ranks, nodes_.column(l)), same_order(nodes_.count(), channels),
                                               options, name + " ring across nodes at position " + std::to_string(l)));
  }
}

Hierarchical::PartMap Hierarchical::parts(const RingGroup& up, BlockMap blocks, std::uint64_t granule) const {
  return [this, &up, blocks = std::move(blocks), granule](int channel, int node, int local) {
    return up.part(blocks(nodes_.row(node)[static_cast<std::size_t>(local)]), channel, granule);
  };
}

Task Hierarchical::allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) {
  const auto [row, column] = nodes_.place(member);
  const RingGroup& up = *up_[static_cast<std::size_t>(row)];
  const RingGroup& out = *out_[static_cast<std::size_t>(column)];
  firmware::Processor& processor = *ranks_[static_cast<std::size_t>(member)]->processor;
  const auto part = parts(up, std::move(blocks), granule);
  std::vector<std::unique_ptr<Counter>> got;
  std::vector<Task> tasks;
  for (int c = 0; c < channels_; ++c) {
    got.push_back(std::make_unique<Counter>(processor, "a node block from across nodes"));
    tasks.push_back(out.ring(c, row).allgather(
        buffer, [part, c, column = column](int node) { return part(c, node, column); }, got.back().get()));
  }
  for (int c = 0; c < channels_; ++c) {
    const auto turns = [this, part, c, row = row](int turn, int local) {
      return part(c, (row + nodes_.count() - turn) % nodes_.count(), local);
    };
    tasks.push_back(gather_within(up.ring(c, column), buffer, nodes_.count(), turns, got));
  }
  co_await firmware::fan_out(processor, name_, "hierarchical allgather", std::move(tasks));
}

Task Hierarchical::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                  ElementType type) {
  const std::uint64_t granule = size_of(type);
  const auto [row, column] = nodes_.place(member);
  const RingGroup& up = *up_[static_cast<std::size_t>(row)];
  const RingGroup& out = *out_[static_cast<std::size_t>(column)];
  firmware::Processor& processor = *ranks_[static_cast<std::size_t>(member)]->processor;
  const auto part = parts(up, blocks, granule);
  Counter ready(processor, "a node block summed within the node");
  std::vector<int> open(static_cast<std::size_t>(nodes_.count()), channels_);
  const Extent own = blocks(member);
  std::vector<Task> tasks;
  for (int c = 0; c < channels_; ++c) {
    // The order in which the ring across nodes sends: the previous node's block first, the own one last.
    const auto turns = [this, part, c, row = row](int turn, int local) {
      return part(c, (row + 2 * nodes_.count() - 1 - turn) % nodes_.count(), local);
    };
    tasks.push_back(reduce_within(up.ring(c, column), input, nodes_.count(), turns, type, open, ready));
  }
  for (int c = 0; c < channels_; ++c) {
    const std::uint64_t at = output + out.part(own, c, granule).offset - own.offset;
    tasks.push_back(out.ring(c, row).reduce_scatter(
        input, at, [part, c, column = column](int node) { return part(c, node, column); }, type, &ready));
  }
  co_await firmware::fan_out(processor, name_, "hierarchical reduce-scatter", std::move(tasks));
}

Algorithm hierarchical_algorithm() {
  return {.name = "hierarchical",
          .doc = "within nodes and across them",
          .rooted = {},
          .lacking = "needs several nodes of several accelerators each",
          .make = [](GroupSite& site) -> std::unique_ptr<Group> {
            const Nodes nodes(site.ranks);
            if (nodes.count() == 1 || nodes.per_node() == 1) return nullptr;
            return std::make_unique<Hierarchical>(site.ranks, site.channels, ring_options(site.config), site.name);
          }};
}

}  // namespace weft::collectives
