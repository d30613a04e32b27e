// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sw/collectives/blocks.h"
#include "sw/collectives/deepep/tokens.h"
#include "sw/collectives/rooted.h"
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

/// The same for the first `count` members; the others have none.
inline BlockMap first_blocks(Extent whole, int count, std::uint64_t granule) {
  return [whole, count, granule](int member) {
    return member < count ? even_blocks(whole, count, granule)(member) : Extent{whole.offset + whole.bytes, 0};
  };
}

/// Of a member in an AllToAll whose parts differ: bytes to each member and from each.
struct Parts {
  std::vector<std::uint64_t> to;
  std::vector<std::uint64_t> from;
};

/// One way of doing the collectives of some ranks. Every member calls the same operations in the same order, each on a
/// thread of its own processor; a group does one at a time. Buffers have the same address on every member.
///
/// A group has the operations that its algorithm says (sw/collectives/algorithm.h), and nobody calls others.
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  [[nodiscard]] virtual int size() const = 0;

  /// Throws ConfigError for a collective that the group, as it is configured, has not; before it is begun.
  virtual void check(dimensions::Operation /*operation*/) const {}
  /// SMs that the kernel of a collective of so many bytes keeps on each member; of an AllToAll, also whether its parts
  /// are equal. The usual ones are one for each copy engine.
  [[nodiscard]] virtual int kernel_cores(dimensions::Operation /*what*/, std::uint64_t /*bytes*/,
                                         bool /*of_equal_parts*/) const {
    return kUsualCores;
  }
  static constexpr int kUsualCores = -1;
  /// Of a group that chooses among several ways: which one a collective of so many bytes goes. Else empty.
  [[nodiscard]] virtual std::string_view way(dimensions::Operation /*what*/, std::uint64_t /*bytes*/,
                                             ElementType /*type*/) const {
    return {};
  }
  [[nodiscard]] virtual std::string_view way(Rooted /*what*/) const { return {}; }
  /// And in which of NCCL's protocols or by which of its kernels, as NCCL writes it: LL, LL128, Simple, AGxLL_R. Empty
  /// where none is chosen.
  [[nodiscard]] virtual std::string_view protocol(dimensions::Operation /*what*/, std::uint64_t /*bytes*/,
                                                  ElementType /*type*/) const {
    return {};
  }
  [[nodiscard]] virtual std::string_view protocol(Rooted /*what*/, std::uint64_t /*bytes*/) const { return {}; }
  /// What is not as the configuration asked for, and why; empty if all is.
  [[nodiscard]] virtual std::string remark() const { return {}; }

  /// Distributes each member's own block, at `buffer` + its extent, to all. Blocks are cut in units of `granule` bytes.
  virtual firmware::Task allgather(
      int /*member*/, std::uint64_t /*buffer*/,
      BlockMap /*blocks*/,  // NOLINT(performance-unnecessary-value-param): coroutines keep it
      std::uint64_t /*granule*/) {
    fail("allgather");
  }
  /// Sums each block over all members and leaves it at `output` of its owner, which may be its place in `input`.
  /// `input` may be left with partial sums.
  virtual firmware::Task reduce_scatter(int /*member*/, std::uint64_t /*input*/, std::uint64_t /*output*/,
                                        BlockMap /*blocks*/,  // NOLINT(performance-unnecessary-value-param): likewise
                                        ElementType /*type*/) {
    fail("reduce_scatter");
  }
  /// Sums `buffer` over all members, in place: by default a ReduceScatter and an Allgather of equal blocks.
  virtual firmware::Task all_reduce(int member, std::uint64_t buffer, std::uint64_t bytes, ElementType type) {
    const BlockMap blocks = even_blocks({0, bytes}, size(), size_of(type));
    co_await reduce_scatter(member, buffer, buffer + blocks(member).offset, blocks, type);
    co_await allgather(member, buffer, blocks, size_of(type));
  }
  /// Sends part i of `bytes` bytes at `input` to member i, whose `output` gets it as part `member`; see check().
  virtual firmware::Task all_to_all(int /*member*/, std::uint64_t /*input*/, std::uint64_t /*output*/,
                                    std::uint64_t /*bytes*/) {
    fail("all_to_all");
  }
  /// The same of parts that differ, where exchanges_parts(). Each part has a place of `place` bytes in both buffers.
  virtual firmware::Task exchange(int /*member*/, std::uint64_t /*input*/, std::uint64_t /*output*/,
                                  std::uint64_t /*place*/,
                                  Parts /*parts*/) {  // NOLINT(performance-unnecessary-value-param): likewise
    fail("exchange");
  }
  [[nodiscard]] virtual bool exchanges_parts() const { return false; }
  /// Of tokens, each of which goes to several members (deepep/tokens.h), where dispatches(). `input` has a place for
  /// each node with what goes there, `output` one for each member with what came from it.
  virtual firmware::Task dispatch(int /*member*/, std::uint64_t /*input*/, std::uint64_t /*output*/,
                                  Tokens /*tokens*/) {  // NOLINT(performance-unnecessary-value-param): likewise
    fail("dispatch");
  }
  /// The way back: of `input`, with a place for each member, what belongs to one token is summed in each node, and
  /// comes to the place of that node in `output`.
  virtual firmware::Task combine(int /*member*/, std::uint64_t /*input*/, std::uint64_t /*output*/,
                                 Tokens /*tokens*/,  // NOLINT(performance-unnecessary-value-param): likewise
                                 ElementType /*type*/) {
    fail("combine");
  }
  [[nodiscard]] virtual bool dispatches() const { return false; }
  /// Copies `buffer` from member `root` to all.
  virtual firmware::Task broadcast(int /*member*/, int /*root*/, std::uint64_t /*buffer*/, std::uint64_t /*bytes*/) {
    fail("broadcast");
  }
  /// Of a buffer of `bytes` bytes at every member: a Broadcast copies `root`'s to all; a Reduce leaves the sums in
  /// root's and may leave partial ones in others'; a Gather brings every member's own block, as even_blocks() has it,
  /// to root's; a Scatter brings to every member its own block of root's.
  virtual firmware::Task rooted(int member, Rooted what, int root, std::uint64_t buffer, std::uint64_t bytes,
                                ElementType /*type*/) {
    if (what != Rooted::kBroadcast) fail("rooted");
    return broadcast(member, root, buffer, bytes);
  }
  /// Returns when all have entered. By default an AllReduce of `token`, 4 bytes for each member: nobody has all the
  /// sums before everybody has sent an addend.
  virtual firmware::Task barrier(int member, std::uint64_t token) {
    return all_reduce(member, token, 4 * static_cast<std::uint64_t>(size()), ElementType::kInt32);
  }

 private:
  /// An algorithm has this operation, and its group has no such function.
  [[noreturn]] static void fail(const char* function) {
    throw std::logic_error(std::string("a collective algorithm has an operation, and its Group has no ") + function +
                           "()");
  }
};

}  // namespace weft::collectives
