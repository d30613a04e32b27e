// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "sw/collectives/blocks.h"
#include "sw/dimensions/plan.h"
#include "sw/firmware/rank.h"

namespace weft::collectives {

/// Which bytes of a buffer member `i` of a group owns.
using BlockMap = std::function<Extent(int)>;

/// Part `i` of `count` equal parts for member i.
inline BlockMap even_blocks(Extent whole, int count, std::uint64_t granule) {
  return [whole, count, granule](int member) {
    return split(whole, static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(member), granule);
  };
}

/// One way of doing the collectives of some ranks. Every member calls the same operations in the same order, each on a
/// thread of its own processor; a group does one at a time. Buffers have the same address on every member.
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  [[nodiscard]] virtual int size() const = 0;

  /// Throws ConfigError for a collective that the group has not, before it is begun.
  virtual void check(dimensions::Operation operation) const {
    if (operation != dimensions::Operation::kAllToAll) return;
    throw ConfigError("collectives.algorithm", "expected dimensions for an AllToAll");
  }
  /// Distributes each member's own block, at `buffer` + its extent, to all. Blocks are cut in units of `granule` bytes.
  virtual firmware::Task allgather(int member, std::uint64_t buffer, BlockMap blocks, std::uint64_t granule) = 0;
  /// Sums each block over all members and leaves it at `output` of its owner, which may be its place in `input`.
  /// `input` may be left with partial sums.
  virtual firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, BlockMap blocks,
                                        ElementType type) = 0;
  /// Sums `buffer` over all members, in place: by default a ReduceScatter and an Allgather of equal blocks.
  virtual firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
    const BlockMap blocks = even_blocks({0, bytes}, size(), size_of(type));
    co_await reduce_scatter(member, buffer, buffer + blocks(member).offset, blocks, type);
    co_await allgather(member, buffer, blocks, size_of(type));
  }
  /// Sends part i of `bytes` bytes at `input` to member i, whose `output` gets it as part `member`; see check().
  virtual firmware::Task all_to_all(int /*member*/, std::uint64_t /*input*/, std::uint64_t /*output*/,
                                    std::uint64_t /*bytes*/) {
    check(dimensions::Operation::kAllToAll);
    co_return;
  }
  /// Copies `buffer` from member `root` to all.
  virtual firmware::Task broadcast(int member, int root, std::uint64_t buffer, std::uint64_t bytes) = 0;
  /// Returns when all have entered. By default an AllReduce of `token`, 4 bytes for each member: nobody has all the
  /// sums before everybody has sent an addend.
  virtual firmware::Task barrier(int member, std::uint64_t token) {
    co_await all_reduce(member, token, 4 * static_cast<std::uint64_t>(size()), ElementType::kInt32);
  }
};

}  // namespace weft::collectives
