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

TwoLevel::TwoLevel(const std::vector<Rank*>& ranks, Levels levels, const Options& options, const std::string& name)
    : ranks_(ranks),
      levels_(std::move(levels)),
      nodes_(ranks),
      pieces_(options.pieces),
      heads_(options.heads),
      staging_(options.staging),
      name_(name) {
  if (staging_.channels == 0) return;
  const std::uint64_t slots = firmware::allocate_together(ranks_, "staging of " + name_,
                                                          slot_bytes() * static_cast<std::uint64_t>(staging_.slots));
  for (const Rank* rank : ranks_) {
    const auto queue = [&](const char* what) {
      return &rank->processor->create_completion_queue(std::string("copies ") + what + " staging of " + name_ +
                                                       ", queue");
    };
    buffers_.push_back({slots, queue("into"), queue("out of")});
  }
}

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

void TwoLevel::add_sums(std::vector<Stage>& stages, int member, const Places& places, ElementType type) {
  const auto [node, local] = nodes_.place(member);
  Group& outward = *levels_.outward[static_cast<std::size_t>(node)];
  Group& inward = *levels_.inward[static_cast<std::size_t>(node)];
  const std::uint64_t granule = size_of(type);
  const auto parts = [this, places, granule](std::uint64_t i) {
    return first_blocks(places(i).extent, heads(), granule);
  };
  stages.push_back({[&outward, places, parts, local = local, type](std::uint64_t i) {
    const std::uint64_t base = places(i).base;
    return outward.reduce_scatter(local, base, base + parts(i)(local).offset, parts(i), type);
  }});
  stages.push_back({[this, places, parts, node = node, local = local, type](std::uint64_t i) -> Task {
                      const Extent part = parts(i)(local);
                      if (part.bytes == 0) co_return;
                      co_await across(i, local).all_reduce(node, places(i).base + part.offset, part.bytes, type);
                    },
                    lanes()});
  stages.push_back({[&inward, places, parts, local = local, granule](std::uint64_t i) {
    return inward.allgather(local, places(i).base, parts(i), granule);
  }});
}

Task TwoLevel::all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  if (staging_.channels > 0) {
    co_await staged_all_reduce(member, buffer, bytes, type);
    co_return;
  }
  const std::uint64_t pieces = pieces_(bytes);
  const std::uint64_t granule = size_of(type);
  std::vector<Stage> stages;
  add_sums(
      stages, member,
      [=](std::uint64_t i) {
        return Place{buffer, split({0, bytes}, pieces, i, granule)};
      },
      type);
  co_await pipeline(member, "all-reduce", pieces, std::move(stages));
}

Task TwoLevel::staged_all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
  Rank& rank = *ranks_[static_cast<std::size_t>(member)];
  follow(rank.followed, Followed::kStaging);
  const Buffers& own = buffers_[static_cast<std::size_t>(member)];
  const std::uint64_t pieces = pieces_(bytes);
  const std::uint64_t granule = size_of(type);
  const auto slots = static_cast<std::uint64_t>(staging_.slots);
  const std::uint64_t slot = slot_bytes();
  const auto piece = [=](std::uint64_t i) { return split({0, bytes}, pieces, i, granule); };
  const auto at = [=, &own](std::uint64_t i) { return own.slots + i % slots * slot; };
  firmware::Counter emptied(*rank.processor, "a slot of staging to be empty");
  std::vector<Stage> stages;
  stages.push_back({[&, piece, at, slots](std::uint64_t i) -> Task {
    // No other member multicasts into a slot before this one has sent operands from it again.
    if (i >= slots) co_await emptied.reach(i - slots + 1);
    co_await copy_staged(rank, staging_, Way::kIn, buffer + piece(i).offset, at(i), piece(i).bytes, *own.in);
  }});
  add_sums(
      stages, member,
      [piece, at](std::uint64_t i) {
        return Place{at(i), {0, piece(i).bytes}};
      },
      type);
  stages.push_back({[&, piece, at](std::uint64_t i) -> Task {
    co_await copy_staged(rank, staging_, Way::kOut, at(i), buffer + piece(i).offset, piece(i).bytes, *own.out);
    emptied.set(i + 1);
  }});
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
