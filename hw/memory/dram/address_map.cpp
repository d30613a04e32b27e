// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/dram/address_map.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <vector>

namespace weft::dram {
namespace {

int bits_of(std::int64_t count) {
  return std::countr_zero(static_cast<std::uint64_t>(count));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t comma = text.find(',');
    words.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

/// The named maps, else the text itself.
std::string expanded(const Geometry& geometry, std::string_view text, int covers) {
  if (text == "burst") return "offset,pseudo_channel,channel,bank_group,column,bank,stack_id,row";
  if (text == "128B") {
    const std::int64_t most = std::max<std::int64_t>(1, geometry.columns / (covers + 1));
    const std::int64_t together = std::clamp<std::int64_t>(128 / geometry.burst.count(), 1, most);
    const std::string low = together > 1 ? "column:" + std::to_string(bits_of(together)) + "," : "";
    return "offset," + low + "pseudo_channel,channel,bank_group,column,bank,stack_id,row";
  }
  return std::string(text);
}

}  // namespace

AddressMap::AddressMap(const Geometry& geometry, std::string_view given, const std::string& path, int stacks,
                       Bytes interleave, int covers, std::string_view hash)
    : bank_bits_(bits_of(geometry.banks)),
      group_bits_(bank_bits_ + bits_of(geometry.bank_groups)),
      stacks_(static_cast<std::uint64_t>(stacks)),
      channels_(static_cast<std::uint64_t>(geometry.channels)),
      interleave_bits_(bits_of(interleave.count())),
      covers_(static_cast<std::uint64_t>(covers)),
      covers_bits_(bits_of(covers + 1)),
      capacity_(static_cast<std::uint64_t>((geometry.capacity() * stacks).count()) / (covers_ + 1) *
                std::max<std::uint64_t>(1, covers_)) {
  std::array<int, kFields> wanted{};
  wanted[kOffset] = bits_of(geometry.burst.count());
  wanted[kChannel] = bits_of(geometry.channels);
  wanted[kPseudoChannel] = bits_of(geometry.pseudo_channels);
  wanted[kStackId] = bits_of(geometry.stack_ids);
  wanted[kBankGroup] = bits_of(geometry.bank_groups);
  wanted[kBank] = bits_of(geometry.banks);
  wanted[kColumn] = bits_of(geometry.columns);
  wanted[kRow] = bits_of(geometry.rows);
  std::array<int, kFields> have{};
  const std::string text = expanded(geometry, given, covers);
  int shift = 0;
  for (const std::string_view word : split(text)) {
    const std::size_t colon = word.find(':');
    const std::string_view name = trimmed(word.substr(0, colon));
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) {
      throw ConfigError(path,
                        "burst, 128B, or a list from the lowest bit of offset, channel, pseudo_channel, "
                        "stack_id, bank_group, bank, column and row, each with :BITS if not all; there is no \"" +
                            std::string(name) + "\"");
    }
    const auto field = static_cast<Field>(found - kNames.begin());
    int bits = wanted[field] - have[field];
    if (colon != std::string_view::npos) {
      const std::string_view number = trimmed(word.substr(colon + 1));
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bits);
      if (error != std::errc() || end != number.data() + number.size() || bits < 0) {
        throw ConfigError(path,
                          "a number of bits after " + std::string(name) + ":, not \"" + std::string(number) + "\"");
      }
    }
    if (bits > wanted[field] - have[field]) {
      throw ConfigError(path, std::to_string(wanted[field]) + " bits of " + std::string(name) +
                                  " in all, as the geometry has, not " +
                                  std::to_string(std::int64_t{have[field]} + bits));
    }
    if (field == kOffset) {
      if (shift != have[kOffset]) throw ConfigError(path, "offset first, for a burst lies in one place");
      offset_bits_ += bits;
    } else if (bits > 0) {
      if (static_cast<std::size_t>(pieces_) == kMostPieces) {
        throw ConfigError(path, "at most " + std::to_string(kMostPieces) + " pieces");
      }
      piece_[static_cast<std::size_t>(pieces_++)] = {
          field, static_cast<std::uint8_t>(shift), static_cast<std::uint8_t>(have[field]),
          static_cast<std::uint8_t>(bits), static_cast<std::uint32_t>((1ULL << bits) - 1)};
    }
    have[field] += bits;
    shift += bits;
  }
  for (std::size_t field = 0; field < kFields; ++field) {
    if (have[field] != wanted[field]) {
      throw ConfigError(path, std::to_string(wanted[field]) + " bits of " + std::string(kNames[field]) +
                                  ", as the geometry has, not " + std::to_string(have[field]));
    }
  }
  add_mixes(hash, wanted, path.substr(0, path.rfind('.') + 1) + "hash");
  if (covers_ == 0) return;
  const auto highest = std::find_if(piece_.begin(), piece_.begin() + pieces_, [&](const Piece& piece) {
    return piece.field == kColumn && piece.to + piece.bits == wanted[kColumn];
  });
  if (highest == piece_.begin() + pieces_ || highest->bits < covers_bits_) {
    throw ConfigError(path, "the " + std::to_string(covers_bits_) +
                                " highest bits of column side by side, for inline ECC that covers " +
                                std::to_string(covers) + " bursts");
  }
  covers_shift_ = highest->shift + highest->bits - covers_bits_;
}

void AddressMap::add_mixes(std::string_view hash, const std::array<int, kFields>& bits, const std::string& path) {
  if (hash == "off") return;
  if (hash == "row") {
    int from = 0;
    for (const Field field : {kPseudoChannel, kChannel, kBankGroup, kBank, kStackId}) {
      const int some = std::min(bits[field], bits[kRow] - from);
      if (some > 0) add_mix(field, from, some, bits[kRow], path);
      from += some;
    }
    return;
  }
  for (const std::string_view word : split(hash)) {
    constexpr std::string_view kWith = "^row";
    const std::size_t with = word.find(kWith);
    const std::string_view name = trimmed(word.substr(0, with));
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    const auto field = static_cast<Field>(found - kNames.begin());
    if (with == std::string_view::npos || field < kChannel || field > kBank) {
      throw ConfigError(path,
                        "off, row, or a list of channel, pseudo_channel, stack_id, bank_group and bank, each with "
                        "^row:BIT, such as bank_group^row:0,bank^row:2; there is \"" +
                            std::string(word) + "\"");
    }
    const std::string_view rest = trimmed(word.substr(with + kWith.size()));
    int from = 0;
    if (!rest.empty()) {
      const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), from);
      if (rest.front() != ':' || error != std::errc() || end != rest.data() + rest.size() || from < 0) {
        throw ConfigError(path,
                          "a bit of the row after " + std::string(name) + "^row:, not \"" + std::string(rest) + "\"");
      }
    }
    if (bits[field] > 0) add_mix(field, from, bits[field], bits[kRow], path);
  }
}

void AddressMap::add_mix(Field field, int from, int bits, int row_bits, const std::string& path) {
  if (from > row_bits - bits) {
    throw ConfigError(path, "bits of the row, which has " + std::to_string(row_bits) + ", for the " +
                                std::to_string(bits) + " of " + std::string(kNames[field]) + " from bit " +
                                std::to_string(from));
  }
  if (static_cast<std::size_t>(mixes_) == kMostMixes) {
    throw ConfigError(path, "at most " + std::to_string(kMostMixes) + " fields");
  }
  mix_[static_cast<std::size_t>(mixes_++)] = {field, static_cast<std::uint8_t>(from),
                                              static_cast<std::uint32_t>((1ULL << bits) - 1)};
}

std::uint64_t AddressMap::address(const Location& location) const {
  std::array<std::uint64_t, kFields> value{};
  value[kChannel] = location.channel % channels_;
  value[kPseudoChannel] = location.pseudo_channel;
  value[kStackId] = location.bank >> group_bits_;
  value[kBankGroup] = (location.bank >> bank_bits_) & ((1U << (group_bits_ - bank_bits_)) - 1);
  value[kBank] = location.bank & ((1U << bank_bits_) - 1);
  value[kColumn] = location.column;
  value[kRow] = location.row;
  mix(value);
  std::uint64_t address = 0;
  for (int i = 0; i < pieces_; ++i) {
    const Piece& piece = piece_[static_cast<std::size_t>(i)];
    address |= ((value[piece.field] >> piece.to) & piece.mask) << piece.shift;
  }
  if (covers_ != 0) {
    const std::uint64_t part = address >> covers_shift_;
    const std::uint64_t top = part & ((1ULL << covers_bits_) - 1);
    address = (((part >> covers_bits_) * covers_ + top) << covers_shift_) | (address & ((1ULL << covers_shift_) - 1));
  }
  if (stacks_ == 1) return address;
  const std::uint64_t within = address & ((1ULL << interleave_bits_) - 1);
  const std::uint64_t piece = (address >> interleave_bits_) * stacks_ + location.channel / channels_;
  return piece << interleave_bits_ | within;
}

std::string AddressMap::text() const {
  std::string text = "offset:" + std::to_string(offset_bits_);
  for (int i = 0; i < pieces_; ++i) {
    const Piece& piece = piece_[static_cast<std::size_t>(i)];
    text += "," + std::string(kNames[piece.field]) + ":" + std::to_string(piece.bits);
  }
  return text;
}

std::string AddressMap::hash_text() const {
  std::string text;
  for (int i = 0; i < mixes_; ++i) {
    const Mix& each = mix_[static_cast<std::size_t>(i)];
    text += (i > 0 ? "," : "") + std::string(kNames[each.field]) + "^row:" + std::to_string(each.from);
  }
  return text.empty() ? "off" : text;
}

}  // namespace weft::dram
