// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/compressed/sends.h"

#include <span>
#include <vector>

#include "sw/collectives/compressed/numbers.h"

namespace weft::collectives {

using firmware::Rank;

CompressedSends::CompressedSends(const compression::CompressionConfig& config, ElementType type)
    : config_(config), type_(type), blocks_(config, static_cast<std::int64_t>(size_of(type))) {}

std::uint64_t CompressedSends::room(std::uint64_t bytes) const {
  return BlockFormat{blocks_, type_}.room(elements(bytes)) + bytes % size_of(type_);
}

compression::Codec& CompressedSends::codec(std::int64_t elements, int rank) {
  std::unique_ptr<compression::Codec>& found = codecs_[{elements, rank}];
  if (found == nullptr) {
    const compression::Message message = {.elements = elements,
                                          .element_bytes = static_cast<std::int64_t>(size_of(type_))};
    found = compression::codec_of({message, config_, static_cast<std::uint64_t>(elements), rank});
  }
  return *found;
}

std::uint64_t CompressedSends::pack(Rank& rank, std::uint64_t from, std::uint64_t bytes, std::uint64_t to) {
  const BlockFormat format{blocks_, type_};
  const std::int64_t count = elements(bytes);
  const std::uint64_t rest = bytes % size_of(type_);
  if (rank.store == nullptr) return format.aimed(count) + rest;
  const std::uint64_t packed = format.put(rank, codec(count, rank.index), from, count, to);
  const std::vector<std::byte> behind = bytes_from(rank, from + bytes - rest, rest);
  firmware::store_to(rank, to + packed, std::span<const std::byte>(behind));
  return packed + rest;
}

void CompressedSends::unpack(const Rank& rank, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  if (rank.store == nullptr) return;
  const BlockFormat format{blocks_, type_};
  const std::int64_t count = elements(bytes);
  const std::uint64_t rest = bytes % size_of(type_);
  std::vector<std::byte> all =
      elements_of(format.got(rank, codec(count, rank.index), from, count), type_, blocks_.exact());
  const std::vector<std::byte> behind = bytes_from(rank, from + format.length(rank, from, count), rest);
  all.insert(all.end(), behind.begin(), behind.end());
  firmware::store_to(rank, to, std::span<const std::byte>(all));
}

std::shared_ptr<CompressedSends> SendScopes::of(compression::Traffic traffic, std::optional<ElementType> type) {
  const compression::CompressionConfig& how = config_.of(traffic);
  if (!how.on() || !type) return nullptr;
  const auto [found, is_new] = known_.try_emplace({traffic, *type});
  if (!is_new || !compression::Blocks::has(how)) return found->second;
  if (type == ElementType::kInt32 && !compression::compressor_of(how).exact) return nullptr;
  return found->second = std::make_shared<CompressedSends>(how, *type);
}

}  // namespace weft::collectives
