// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/core/element.h"
#include "sw/collectives/blocks.h"
#include "sw/collectives/compressed/kernels.h"
#include "sw/collectives/mesh.h"
#include "sw/compression/blocks.h"
#include "sw/firmware/contents.h"

namespace weft::collectives {

/// Elements that travel as compressed blocks.
struct BlockFormat {
  const compression::Blocks& blocks;
  ElementType type;

  /// At most, with the length of what varies.
  [[nodiscard]] std::uint64_t room(std::int64_t elements) const;
  /// Of such a block where there are no numbers.
  [[nodiscard]] std::uint64_t aimed(std::int64_t elements) const;
  /// Compresses what lies at `from`: the bytes at `to`.
  [[nodiscard]] std::uint64_t put(firmware::Rank& rank, compression::Codec& codec, std::uint64_t from,
                                  std::int64_t elements, std::uint64_t to) const;
  /// Of what put() left.
  [[nodiscard]] std::uint64_t length(const firmware::Rank& rank, std::uint64_t at, std::int64_t elements) const;
  /// What it stands for.
  [[nodiscard]] firmware::Floats got(const firmware::Rank& rank, const compression::Codec& codec, std::uint64_t from,
                                     std::int64_t elements) const;
};

/// Collectives that send blocks compressed. In rings what is summed is decompressed, added and compressed again at each
/// hop where that can be, and compressed blocks are handed on as they are. Else blocks go straight to where they are
/// added up.
///
/// Rings run side by side, each with its part of every block. A step of all rings is one: a member compresses its parts
/// with one launch of its kernels, sends one message for each ring, and goes on when all have come.
class CompressedBlocks {
 public:
  /// The most rings side by side: what a connection has receives for.
  static constexpr std::size_t kMostRings = 32;

  /// `orders`: for each ring, the numbers of its members in its order. `name` is the group's, for the report of a
  /// deadlock.
  CompressedBlocks(const std::vector<firmware::Rank*>& ranks, std::vector<std::vector<int>> orders,
                   const std::string& name);

  /// One behind the other, each for a block.
  struct Places {
    std::uint64_t first = 0;
    std::uint64_t size = 0;
    [[nodiscard]] std::uint64_t at(int number) const { return first + size * static_cast<std::uint64_t>(number); }
  };
  /// What a member needs. `codec` null: there are no numbers.
  struct End {
    firmware::Rank& rank;
    int member = 0;
    KernelRunner& kernels;
    firmware::CompletionQueue& placed;
    compression::Codec* codec = nullptr;
    std::uint64_t* sent = nullptr;   ///< grows by the bytes of this member
    std::uint64_t* plain = nullptr;  ///< and this by what they would be as they are
    Places places = {};              ///< of the collective
  };
  /// `bytes` are whole elements; of an AllToAll, of whole parts.
  firmware::Task all_reduce(End end, BlockFormat format, std::uint64_t address, std::uint64_t bytes);
  firmware::Task reduce_scatter(End end, BlockFormat format, std::uint64_t input, std::uint64_t output,
                                std::uint64_t bytes);
  /// All members have the same afterwards: the own block is as the others have it.
  firmware::Task allgather(End end, BlockFormat format, std::uint64_t address, std::uint64_t bytes);
  firmware::Task all_to_all(End end, BlockFormat format, std::uint64_t input, std::uint64_t output,
                            std::uint64_t bytes);

 private:
  struct Block {
    std::uint64_t first = 0;
    std::int64_t elements = 0;
  };
  /// One for each ring that a message uses.
  using Blocks = std::vector<Block>;
  using Addresses = std::vector<std::uint64_t>;
  using Sizes = std::vector<std::uint64_t>;  ///< bytes

  [[nodiscard]] Block block(const BlockFormat& format, std::uint64_t bytes, int number) const;
  /// How many rings so many bytes use, as NCCL has it: fewer for a short message, one at the least.
  [[nodiscard]] std::size_t rings(const BlockFormat& format, std::uint64_t bytes) const;
  /// Of the blocks of who is `behind` places behind `member` in each ring, the ring's part.
  [[nodiscard]] Blocks parts(const BlockFormat& format, std::uint64_t bytes, int member, int behind) const;
  [[nodiscard]] static std::int64_t elements(const Blocks& blocks);
  /// Who is so many places behind `member` in a ring, and its position there.
  [[nodiscard]] int position(std::size_t ring, int member, int behind) const;
  [[nodiscard]] int peer(std::size_t ring, int member, int behind) const {
    return orders_[ring][static_cast<std::size_t>(position(ring, member, behind))];
  }

  /// Room for so many blocks of at most that many elements. Members that are still in the collective before have
  /// theirs.
  [[nodiscard]] Places make_room(const BlockFormat& format, std::int64_t elements, int places);
  /// The same for so many blocks of each ring.
  [[nodiscard]] Places make_room_for_parts(const BlockFormat& format, std::uint64_t bytes, int blocks);
  /// Where the compressed block of a step lies at its receiver; at its sender it is the place of the step.
  [[nodiscard]] std::uint64_t in(const End& end, int step) const { return end.places.at(members_ + step); }
  /// Block `place` of each of `rings` rings.
  [[nodiscard]] static Addresses at(const End& end, std::size_t rings, int place);
  /// The same where blocks lie by their positions, from block `from` on.
  [[nodiscard]] Addresses at_position(const End& end, std::size_t rings, int from, int behind) const;

  [[nodiscard]] static std::uint64_t put(const End& end, const BlockFormat& format, std::uint64_t address,
                                         const Block& of, std::uint64_t to);
  [[nodiscard]] static Sizes put(const End& end, const BlockFormat& format, std::uint64_t address, const Blocks& of,
                                 const Addresses& to);
  /// Adds what came to what lies at `address`, and leaves the sum at `to`.
  static void add(const End& end, const BlockFormat& format, std::uint64_t from, std::uint64_t address, const Block& of,
                  std::uint64_t to);
  static void unpack(const End& end, const BlockFormat& format, std::uint64_t from, std::uint64_t address,
                     const Block& of);
  /// Sends one message to the next member of each ring, and gets one from the member before. `plain`: what is sent, as
  /// it is.
  firmware::Task step(End end, Addresses from, Addresses to, Sizes sizes, std::uint64_t plain);
  [[nodiscard]] static std::uint64_t plain(const BlockFormat& format, std::int64_t elements) {
    return static_cast<std::uint64_t>(elements) * size_of(format.type);
  }
  /// Blocks go round as they are, and are decompressed at the end. They lie by their positions, from block `from` on.
  /// The own one is `ahead` places ahead.
  firmware::Task hand_on(End end, BlockFormat format, std::uint64_t address, std::uint64_t bytes, int ahead, int from);
  /// Sends each other member the part that is its own: compressed parts of members lie at in(member) then.
  firmware::Task exchange(End end, BlockFormat format, std::uint64_t input, Blocks parts);
  firmware::Task sum_exchanged(End end, BlockFormat format, std::uint64_t input, std::uint64_t output,
                               std::uint64_t bytes);

  std::vector<firmware::Rank*> ranks_;
  int members_;
  std::vector<std::vector<int>> orders_;     ///< by ring and position
  std::vector<std::vector<int>> positions_;  ///< by ring and member
  std::uint64_t room_at_ = 0;
  std::uint64_t room_ = 0;  ///< bytes
  Mesh mesh_;
};

}  // namespace weft::collectives
