// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/in_network/two_level.h"

#include <algorithm>

#include "sw/collectives/followed.h"
#include "sw/firmware/fan_out.h"

namespace weft::collectives {

using firmware::Counter;
using firmware::Rank;
using firmware::Task;

struct TwoLevel::Lanes {
  std::vector<std::unique_ptr<Counter>> done;

  Lanes(firmware::Processor& processor, std::uint64_t lanes) {
    for (std::uint64_t i = 0; i < lanes; ++i) {
      done.push_back(std::make_unique<Counter>(processor, "a piece from the other level"));
    }
  }
  [[nodiscard]] Counter& lane(std::uint64_t piece) { return *done[piece % done.size()]; }
  [[nodiscard]] std::uint64_t count(std::uint64_t piece) const { return piece / done.size() + 1; }
};

Task TwoLevel::run_lane(const Stage& stage, std::uint64_t lane, std::uint64_t pieces, Lanes* before, Lanes& done) {
  for (std::uint64_t i = lane; i < pieces; i += stage.lanes) {
    if (before != nullptr) co_await before->lane(i).reach(before->count(i));
    co_await stage.work(i);
    done.lane(i).increment();
  }
}

TwoLevel::TwoLevel(const std::vector<Rank*>& ranks, Levels levels, PieceCount pieces, const std::string& name)
    : ranks_(ranks), levels_(std::move(levels)), nodes_(ranks), pieces_(std::move(pieces)), name_(name) {}

Task TwoLevel::pipeline(int member, const char* what, std::uint64_t pieces, std::vector<Stage> stages) {
  firmware::Processor& processor = *ranks_[static_cast<std::size_t>(member)]->processor;
  std::vector<std::unique_ptr<Lanes>> done;
  std::vector<Task> tasks;
  for (const Stage& stage : stages) {
    Lanes* const before = done.empty() ? nullptr : done.back().get();
    done.push_back(std::make_unique<Lanes>(processor, stage.lanes));
    for (std::uint64_t lane = 0; lane < std::min(stage.lanes, pieces); ++lane) {
      tasks.push_back(run_lane(stage, lane, pieces, before, *done.back()));
    }
  }
  co_await firmware::fan_out(processor, name_, what, std::move(tasks));
}

std::uint64_t TwoLevel::pieces_of(const BlockMap& blocks) const {
  std::uint64_t bytes = 0;
  for (int i = 0; i < size(); ++i) bytes += blocks(i).bytes;
  return pieces_(bytes);
}

std::function<Extent(int, int)> TwoLevel::cut(BlockMap blocks, std::uint64_t i, std::uint64_t pieces,
                                              std::uint64_t granule) const {
  return [this, blocks = std::move(blocks), i, pieces, granule](int node, int local) {
    return split(blocks(nodes_.row(node)[static_cast<std::size_t>(local)]), pieces, i, granule);
  };
}

Task TwoLevel::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  const auto [node, local] = nodes_.place(member);
  Group& outward = *levels_.outward[static_cast<std::size_t>(node)];
  Group& inward = *levels_.inward[static_cast<std::size_t>(node)];
  const std::uint64_t pieces = pieces_(bytes);
  const std::uint64_t granule = size_of(type);
  const auto parts = [this, bytes, pieces, granule](std::uint64_t i) {
    return even_blocks(split({0, bytes}, pieces, i, granule), nodes_.per_node(), granule);
  };
  std::vector<Stage> stages;
  stages.push_back({[&, parts, local = local](std::uint64_t i) {
    return outward.reduce_scatter(local, buffer, buffer + parts(i)(local).offset, parts(i), type);
  }});
  stages.push_back({[&, parts, node = node, local = local](std::uint64_t i) {
                      const Extent part = parts(i)(local);
                      return across(i, local).all_reduce(node, buffer + part.offset, part.bytes, type);
                    },
                    lanes()});
  stages.push_back(
      {[&, parts, local = local](std::uint64_t i) { return inward.allgather(local, buffer, parts(i), granule); }});
  co_await pipeline(member, "all-reduce", pieces, std::move(stages));
}

Task TwoLevel::reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                              ElementType type) {
  const auto [node, local] = nodes_.place(member);
  Group& outward = *levels_.outward[static_cast<std::size_t>(node)];
  const std::uint64_t pieces = pieces_of(blocks);
  const std::uint64_t granule = size_of(type);
  const Extent own = blocks(member);
  std::vector<Stage> stages;
  stages.push_back({[&, local = local](std::uint64_t i) -> Task {
    const auto part = cut(blocks, i, pieces, granule);
    for (int turn = 0; turn < nodes_.count(); ++turn) {
      co_await outward.reduce_scatter(
          local, input, input + part(turn, local).offset, [&part, turn](int position) { return part(turn, position); },
          type);
    }
  }});
  stages.push_back({[&, node = node, local = local](std::uint64_t i) {
                      const auto part = cut(blocks, i, pieces, granule);
                      const std::uint64_t at = output + part(node, local).offset - own.offset;
                      return across(i, local).reduce_scatter(
                          node, input, at, [part, local](int row) { return part(row, local); }, type);
                    },
                    lanes()});
  co_await pipeline(member, "reduce-scatter", pieces, std::move(stages));
}

Task TwoLevel::allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) {
  const auto [node, local] = nodes_.place(member);
  Group& inward = *levels_.inward[static_cast<std::size_t>(node)];
  const std::uint64_t pieces = pieces_of(blocks);
  std::vector<Stage> stages;
  stages.push_back({[&, node = node, local = local](std::uint64_t i) {
                      const auto part = cut(blocks, i, pieces, granule);
                      return across(i, local).allgather(
                          node, buffer, [part, local](int row) { return part(row, local); }, granule);
                    },
                    lanes()});
  stages.push_back({[&, local = local](std::uint64_t i) -> Task {
    const auto part = cut(blocks, i, pieces, granule);
    for (int turn = 0; turn < nodes_.count(); ++turn) {
      co_await inward.allgather(
          local, buffer, [&part, turn](int position) { return part(turn, position); }, granule);
    }
  }});
  co_await pipeline(member, "allgather", pieces, std::move(stages));
}

Task TwoLevel::broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) {
  const auto [node, local] = nodes_.place(member);
  const auto [root_node, root_local] = nodes_.place(root);
  Group& outward = *levels_.outward[static_cast<std::size_t>(node)];
  Group& inward = *levels_.inward[static_cast<std::size_t>(node)];
  const std::uint64_t pieces = pieces_(bytes);
  const auto piece = [bytes, pieces](std::uint64_t i) { return split({0, bytes}, pieces, i, 1); };
  const auto parts = [this, piece](std::uint64_t i) { return even_blocks(piece(i), nodes_.per_node(), 1); };
  std::vector<Stage> stages;
  if (node == root_node) {
    stages.push_back({[&, piece, local = local, root_local = root_local](std::uint64_t i) {
      return outward.broadcast(local, root_local, buffer + piece(i).offset, piece(i).bytes);
    }});
  }
  stages.push_back({[&, parts, node = node, local = local, root_node = root_node](std::uint64_t i) {
                      const Extent part = parts(i)(local);
                      return across(i, local).broadcast(node, root_node, buffer + part.offset, part.bytes);
                    },
                    lanes()});
  if (node != root_node) {
    stages.push_back(
        {[&, parts, local = local](std::uint64_t i) { return inward.allgather(local, buffer, parts(i), 1); }});
  }
  co_await pipeline(member, "broadcast", pieces, std::move(stages));
}

Task TwoLevel::barrier(int member, std::uint64_t token) {
  const auto [node, local] = nodes_.place(member);
  // All of a node are there before any of them tells the other nodes.
  co_await levels_.outward[static_cast<std::size_t>(node)]->barrier(local, token);
  co_await across(0, local).barrier(node, token);
}

}  // namespace weft::collectives
