// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "hw/memory/dram/device.h"

namespace weft::dram {

/// Where a burst lies.
struct Location {
  std::uint16_t channel = 0;
  std::uint8_t pseudo_channel = 0;
  std::uint8_t bank = 0;  ///< within the pseudo channel: (stack id * bank groups + bank group) * banks + bank
  std::uint16_t column = 0;
  std::uint32_t row = 0;
  bool operator==(const Location&) const = default;
};

/// Which bits of an address choose what. Written from the lowest bit up, as names with their numbers of bits:
///
///     offset:5, pseudo_channel:1, bank_group:2, column:5, bank:2, stack_id:1, row
///
/// A name may come several times, its lower bits first; a name without a number takes what its field still lacks, which
/// may be no bit. Two maps have names, both for any geometry:
/// - `burst`: neighbouring bursts lie in different pseudo channels and bank groups (the line above);
/// - `128B`: 128 bytes of a row stay together, so that reads of a cache line share an activate; with inline ECC less,
///   if the highest bits of the column, which must stay side by side, leave less.
///
/// A hash mixes bits of the row into those that choose a bank, as controllers do lest a stride meets one bank again and
/// again (permutation-based page interleaving: Zhang, Zhu, Zhang, MICRO 2000). It is a list of fields, each of which
/// becomes its exclusive or with as many bits of the row, from a bit on, and may come several times:
///
///     bank_group^row:0, bank^row:2, channel^row:4
///
/// `row` mixes pseudo channel, channel, bank group, bank and stack id with the row's bits one after the other, as far
/// as there are any; `off` mixes nothing. Rows stay what they are, so bursts of a row stay together.
///
/// A memory of several stacks, of which there may be any number, has a stage in front: `interleave` bytes lie in one
/// stack, the next ones in the next, and so round all of them. That is a division by their number, whose remainder is
/// the stack and whose quotient goes on as an address within it. Channels are counted through all stacks.
///
/// With inline ECC the highest columns of each row hold check bits, one burst for `covers` of data, and addresses pass
/// over them by another such division. So the highest bits of the column, as many as `covers` has, must be side by
/// side.
class AddressMap {
 public:
  /// `geometry` is that of a stack, `interleave` a power of two. Throws ConfigError for `path` if the map does not
  /// cover each bit of the geometry exactly once, and for `hash` beside it.
  AddressMap(const Geometry& geometry, std::string_view text, const std::string& path = "mapping", int stacks = 1,
             Bytes interleave = Bytes(256), int covers = 0, std::string_view hash = "off");

  [[nodiscard]] Location locate(std::uint64_t address) const {
    if (stacks_ == 1) return locate_in_stack(address);
    const std::uint64_t piece = address >> interleave_bits_;
    const std::uint64_t round = piece / stacks_;
    const std::uint64_t within = address & ((1ULL << interleave_bits_) - 1);
    Location location = locate_in_stack(round << interleave_bits_ | within);
    location.channel = static_cast<std::uint16_t>(location.channel + (piece - round * stacks_) * channels_);
    return location;
  }
  /// The address of a burst's first byte.
  [[nodiscard]] std::uint64_t address(const Location& location) const;
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  /// The map of a stack in full, as it can be written.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string hash_text() const;

 private:
  [[nodiscard]] Location locate_in_stack(std::uint64_t address) const {
    if (covers_ != 0) [[unlikely]] {
      const std::uint64_t part = address >> covers_shift_;
      const std::uint64_t round = part / covers_;
      address = ((round << covers_bits_ | (part - round * covers_)) << covers_shift_) |
                (address & ((1ULL << covers_shift_) - 1));
    }
    std::array<std::uint32_t, kFields> value{};
    for (int i = 0; i < pieces_; ++i) {
      const Piece& piece = piece_[static_cast<std::size_t>(i)];
      value[piece.field] |= static_cast<std::uint32_t>((address >> piece.shift) & piece.mask) << piece.to;
    }
    mix(value);
    return {
        static_cast<std::uint16_t>(value[kChannel]), static_cast<std::uint8_t>(value[kPseudoChannel]),
        static_cast<std::uint8_t>((value[kStackId] << group_bits_) | (value[kBankGroup] << bank_bits_) | value[kBank]),
        static_cast<std::uint16_t>(value[kColumn]), value[kRow]};
  }
  enum Field : std::uint8_t { kOffset, kChannel, kPseudoChannel, kStackId, kBankGroup, kBank, kColumn, kRow, kFields };
  static constexpr std::size_t kMostPieces = 24;
  struct Piece {
    Field field;
    std::uint8_t shift;  ///< in the address
    std::uint8_t to;     ///< in the field
    std::uint8_t bits;
    std::uint32_t mask;
  };
  /// Exclusive or of a field with bits of the row.
  struct Mix {
    Field field;
    std::uint8_t from;  ///< in the row
    std::uint32_t mask;
  };
  static constexpr std::size_t kMostMixes = 8;

  void add_mixes(std::string_view hash, const std::array<int, kFields>& bits, const std::string& path);
  void add_mix(Field field, int from, int bits, int row_bits, const std::string& path);
  /// There and, since the row stays, back.
  template <typename Value>
  void mix(std::array<Value, kFields>& value) const {
    for (int i = 0; i < mixes_; ++i) {
      const Mix& each = mix_[static_cast<std::size_t>(i)];
      value[each.field] ^= (value[kRow] >> each.from) & each.mask;
    }
  }

  static constexpr std::array<std::string_view, kFields> kNames = {
      "offset", "channel", "pseudo_channel", "stack_id", "bank_group", "bank", "column", "row"};

  std::array<Piece, kMostPieces> piece_{};  // the offset is not among them
  int pieces_ = 0;
  std::array<Mix, kMostMixes> mix_{};
  int mixes_ = 0;
  int offset_bits_ = 0;
  int bank_bits_ = 0;
  int group_bits_ = 0;  ///< of bank and bank group together
  std::uint64_t stacks_ = 1;
  std::uint64_t channels_ = 1;  ///< of a stack
  int interleave_bits_ = 0;
  std::uint64_t covers_ = 0;  ///< 0: all columns are data
  int covers_bits_ = 0;
  int covers_shift_ = 0;  ///< where the highest bits of the column begin
  std::uint64_t capacity_ = 0;
};

}  // namespace weft::dram
