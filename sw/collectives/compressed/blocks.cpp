// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/compressed/blocks.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "sw/collectives/compressed/numbers.h"

namespace weft::collectives {

using compression::Codec;
using firmware::Floats;
using firmware::Rank;
using firmware::Task;

namespace {

/// Before what varies.
using Length = std::uint32_t;

std::uint64_t head_of(const BlockFormat& format) {
  return format.blocks.varies() ? sizeof(Length) : 0;
}

}  // namespace

std::uint64_t BlockFormat::room(std::int64_t elements) const {
  return elements == 0 ? 0 : head_of(*this) + blocks.most(elements);
}

std::uint64_t BlockFormat::aimed(std::int64_t elements) const {
  return elements == 0 ? 0 : head_of(*this) + blocks.bytes(elements);
}

std::uint64_t BlockFormat::put(Rank& rank, Codec& codec, std::uint64_t from, std::int64_t elements,
                               std::uint64_t to) const {
  if (elements == 0) return 0;
  const auto bytes = static_cast<std::uint64_t>(elements) * size_of(type);
  const Codec::Sent sent = codec.compress(numbers_of(bytes_from(rank, from, bytes), type, blocks.exact()), 0, {});
  const auto size = static_cast<Length>(sent.size());
  if (blocks.varies()) firmware::store_to(rank, to, std::span<const Length>(&size, 1));
  firmware::store_to(rank, to + head_of(*this), std::span<const std::byte>(sent));
  return head_of(*this) + sent.size();
}

std::uint64_t BlockFormat::length(const Rank& rank, std::uint64_t at, std::int64_t elements) const {
  if (elements == 0 || !blocks.varies()) return aimed(elements);
  Length size = 0;
  firmware::load_into(rank, at, std::span(&size, 1));
  return sizeof size + size;
}

Floats BlockFormat::got(const Rank& rank, const Codec& codec, std::uint64_t from, std::int64_t elements) const {
  Floats values(static_cast<std::size_t>(elements));
  if (elements == 0) return values;
  const std::uint64_t head = head_of(*this);
  codec.read(bytes_from(rank, from + head, length(rank, from, elements) - head), values);
  return values;
}

CompressedBlocks::CompressedBlocks(const std::vector<Rank*>& ranks, std::vector<std::vector<int>> orders,
                                   const std::string& name)
    : ranks_(ranks), members_(static_cast<int>(ranks.size())), orders_(std::move(orders)), mesh_(ranks, name) {
  for (const std::vector<int>& order : orders_) {
    std::vector<int>& positions = positions_.emplace_back(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) positions[static_cast<std::size_t>(order[p])] = static_cast<int>(p);
  }
}

CompressedBlocks::Block CompressedBlocks::block(const BlockFormat& format, std::uint64_t bytes, int number) const {
  const std::uint64_t unit = size_of(format.type);
  const Extent extent =
      split({0, bytes}, static_cast<std::uint64_t>(members_), static_cast<std::uint64_t>(number), unit);
  return {extent.offset, static_cast<std::int64_t>(extent.bytes / unit)};
}

std::size_t CompressedBlocks::rings(const BlockFormat& format, std::uint64_t bytes) const {
  // NCCL gives a channel of its protocol Simple 64 bytes for each of 512 threads at the least
  // (NCCL_SIMPLE_THREAD_THRESHOLD in its src/include/comm.h).
  constexpr std::uint64_t kLeast = 64ULL * 512;
  const std::uint64_t smallest = bytes / size_of(format.type) / static_cast<std::uint64_t>(members_);
  return std::clamp<std::uint64_t>(std::min(bytes / kLeast, smallest), 1, orders_.size());
}

CompressedBlocks::Blocks CompressedBlocks::parts(const BlockFormat& format, std::uint64_t bytes, int member,
                                                 int behind) const {
  const std::uint64_t unit = size_of(format.type);
  const std::size_t count = rings(format, bytes);
  Blocks parts;
  for (std::size_t r = 0; r < count; ++r) {
    const auto owner = static_cast<std::uint64_t>(peer(r, member, behind));
    const Extent extent = split(split({0, bytes}, static_cast<std::uint64_t>(members_), owner, unit), count, r, unit);
    parts.push_back({extent.offset, static_cast<std::int64_t>(extent.bytes / unit)});
  }
  return parts;
}

std::int64_t CompressedBlocks::elements(const Blocks& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0},
                         [](std::int64_t sum, const Block& block) { return sum + block.elements; });
}

int CompressedBlocks::position(std::size_t ring, int member, int behind) const {
  return ((positions_[ring][static_cast<std::size_t>(member)] - behind) % members_ + members_) % members_;
}

CompressedBlocks::Places CompressedBlocks::make_room(const BlockFormat& format, std::int64_t elements, int places) {
  const std::uint64_t size = format.room(elements);
  const std::uint64_t needed = size * static_cast<std::uint64_t>(places);
  if (needed > room_) {
    room_ = needed;
    room_at_ = firmware::allocate_together(ranks_, "compressed blocks", room_);
  }
  return {room_at_, size};
}

CompressedBlocks::Places CompressedBlocks::make_room_for_parts(const BlockFormat& format, std::uint64_t bytes,
                                                               int blocks) {
  // Splits leave the most to the last.
  const std::size_t count = rings(format, bytes);
  const std::int64_t largest = block(format, bytes, members_ - 1).elements;
  const auto most = (largest + static_cast<std::int64_t>(count) - 1) / static_cast<std::int64_t>(count);
  return make_room(format, most, blocks * static_cast<int>(count));
}

CompressedBlocks::Addresses CompressedBlocks::at(const End& end, std::size_t rings, int place) {
  Addresses addresses;
  const int count = static_cast<int>(rings);
  for (int r = 0; r < count; ++r) addresses.push_back(end.places.at(place * count + r));
  return addresses;
}

CompressedBlocks::Addresses CompressedBlocks::at_position(const End& end, std::size_t rings, int from,
                                                          int behind) const {
  Addresses addresses;
  const int count = static_cast<int>(rings);
  for (std::size_t r = 0; r < rings; ++r) {
    addresses.push_back(end.places.at((from + position(r, end.member, behind)) * count + static_cast<int>(r)));
  }
  return addresses;
}

std::uint64_t CompressedBlocks::put(const End& end, const BlockFormat& format, std::uint64_t address, const Block& of,
                                    std::uint64_t to) {
  if (end.codec == nullptr) return format.aimed(of.elements);
  return format.put(end.rank, *end.codec, address + of.first, of.elements, to);
}

CompressedBlocks::Sizes CompressedBlocks::put(const End& end, const BlockFormat& format, std::uint64_t address,
                                              const Blocks& of, const Addresses& to) {
  Sizes sizes;
  for (std::size_t r = 0; r < of.size(); ++r) sizes.push_back(put(end, format, address, of[r], to[r]));
  return sizes;
}

void CompressedBlocks::add(const End& end, const BlockFormat& format, std::uint64_t from, std::uint64_t address,
                           const Block& of, std::uint64_t to) {
  if (end.codec == nullptr || of.elements == 0) return;
  const auto bytes = static_cast<std::uint64_t>(of.elements) * size_of(format.type);
  std::vector<std::byte> sum = bytes_from(end.rank, address + of.first, bytes);
  const Floats came = format.got(end.rank, *end.codec, from, of.elements);
  const std::vector<std::byte> added = elements_of(came, format.type, format.blocks.exact());
  weft::add(format.type, sum.data(), added.data(), sum.data(), bytes);
  firmware::store_to(end.rank, to, std::span<const std::byte>(sum));
}

void CompressedBlocks::unpack(const End& end, const BlockFormat& format, std::uint64_t from, std::uint64_t address,
                              const Block& of) {
  if (end.codec == nullptr || of.elements == 0) return;
  const Floats came = format.got(end.rank, *end.codec, from, of.elements);
  const std::vector<std::byte> elements = elements_of(came, format.type, format.blocks.exact());
  firmware::store_to(end.rank, address + of.first, std::span<const std::byte>(elements));
}

Task CompressedBlocks::step(End end, Addresses from, Addresses to, Sizes sizes, std::uint64_t plain) {
  *end.plain += plain;
  Mesh::Member& here = mesh_[end.member];
  // Rings have neighbours in common: one invitation is for all that comes from one in this step.
  std::vector<int> before;
  std::vector<int> next;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    before.push_back(peer(r, end.member, 1));
    next.push_back(peer(r, end.member, -1));
  }
  for (const int member : std::set<int>(before.begin(), before.end())) here.invite(member);
  std::set<int> invited;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    if (invited.insert(next[r]).second) co_await here.invited(next[r]);
    here.write(next[r], from[r], to[r], sizes[r]);
    *end.sent += sizes[r];
  }
  co_await here.received(static_cast<int>(sizes.size()));
}

Task CompressedBlocks::all_reduce(End end, BlockFormat format, std::uint64_t address, std::uint64_t bytes) {
  end.places = make_room_for_parts(format, bytes, 3 * members_);
  const std::size_t count = rings(format, bytes);
  Blocks mine = parts(format, bytes, end.member, 0);
  co_await end.kernels.run(format.blocks.compress(elements(mine)));
  Addresses from = at(end, count, 0);
  Sizes sizes = put(end, format, address, mine, from);
  // The sums: what comes is one further block each time, and the last is all of one.
  for (int s = 0; s + 1 < members_; ++s) {
    const Addresses came = at(end, count, members_ + s);
    co_await step(end, from, came, sizes, plain(format, elements(mine)));
    mine = parts(format, bytes, end.member, 1 + s);
    co_await end.kernels.run(format.blocks.hop(elements(mine)));
    for (std::size_t r = 0; r < count; ++r) add(end, format, came[r], address, mine[r], address + mine[r].first);
    const bool is_whole = s + 2 == members_;
    from = is_whole ? at_position(end, count, 2 * members_, -1) : at(end, count, s + 1);
    sizes = put(end, format, address, mine, from);
  }
  co_await hand_on(end, format, address, bytes, 1, 2 * members_);
}

Task CompressedBlocks::hand_on(End end, BlockFormat format, std::uint64_t address, std::uint64_t bytes, int ahead,
                               int from) {
  const std::size_t count = rings(format, bytes);
  for (int s = 0; s + 1 < members_; ++s) {
    const Blocks blocks = parts(format, bytes, end.member, s - ahead);
    const Addresses places = at_position(end, count, from, s - ahead);
    Sizes sizes;
    for (std::size_t r = 0; r < count; ++r) {
      sizes.push_back(end.codec == nullptr ? format.aimed(blocks[r].elements)
                                           : format.length(end.rank, places[r], blocks[r].elements));
    }
    co_await step(end, places, places, sizes, plain(format, elements(blocks)));
  }
  compression::Kernels decompressing;
  for (int number = 0; number < members_; ++number) {
    const compression::Kernels more = format.blocks.decompress(block(format, bytes, number).elements);
    decompressing.insert(decompressing.end(), more.begin(), more.end());
  }
  co_await end.kernels.run(decompressing);
  for (int behind = 0; behind < members_; ++behind) {
    const Blocks blocks = parts(format, bytes, end.member, behind);
    const Addresses places = at_position(end, count, from, behind);
    for (std::size_t r = 0; r < count; ++r) unpack(end, format, places[r], address, blocks[r]);
  }
  co_await mesh_[end.member].acknowledged();
}

Task CompressedBlocks::allgather(End end, BlockFormat format, std::uint64_t address, std::uint64_t bytes) {
  end.places = make_room_for_parts(format, bytes, members_);
  const Blocks mine = parts(format, bytes, end.member, 0);
  co_await end.kernels.run(format.blocks.compress(elements(mine)));
  static_cast<void>(put(end, format, address, mine, at_position(end, mine.size(), 0, 0)));
  co_await hand_on(end, format, address, bytes, 0, 0);
}

Task CompressedBlocks::reduce_scatter(End end, BlockFormat format, std::uint64_t input, std::uint64_t output,
                                      std::uint64_t bytes) {
  if (!format.blocks.hops()) {
    end.places = make_room(format, block(format, bytes, members_ - 1).elements, 2 * members_);
    co_await sum_exchanged(end, format, input, output, bytes);
    co_return;
  }
  end.places = make_room_for_parts(format, bytes, 2 * members_);
  const std::size_t count = rings(format, bytes);
  const std::uint64_t own = block(format, bytes, end.member).first;
  Blocks mine = parts(format, bytes, end.member, 1);
  co_await end.kernels.run(format.blocks.compress(elements(mine)));
  Sizes sizes = put(end, format, input, mine, at(end, count, 0));
  // The last that comes is the own one.
  for (int s = 0; s + 1 < members_; ++s) {
    const Addresses came = at(end, count, members_ + s);
    co_await step(end, at(end, count, s), came, sizes, plain(format, elements(mine)));
    mine = parts(format, bytes, end.member, 2 + s);
    const bool is_whole = s + 2 == members_;
    // A temporary of ?: would be destroyed twice (GCC's bug 99576).
    const std::int64_t sum = elements(mine);
    compression::Kernels kernels = is_whole ? format.blocks.add(sum, 1) : format.blocks.hop(sum);
    co_await end.kernels.run(std::move(kernels));
    for (std::size_t r = 0; r < count; ++r) {
      add(end, format, came[r], input, mine[r], is_whole ? output + mine[r].first - own : input + mine[r].first);
    }
    if (!is_whole) sizes = put(end, format, input, mine, at(end, count, s + 1));
  }
  co_await mesh_[end.member].acknowledged();
}

Task CompressedBlocks::exchange(End end, BlockFormat format, std::uint64_t input, Blocks parts) {
  Mesh::Member& here = mesh_[end.member];
  std::int64_t elements = 0;
  for (int peer = 0; peer < members_; ++peer) {
    if (peer != end.member) elements += parts[static_cast<std::size_t>(peer)].elements;
    if (peer != end.member) here.invite(peer);
  }
  co_await end.kernels.run(format.blocks.compress(elements));
  for (int i = 1; i < members_; ++i) {
    const int peer = (end.member + i) % members_;
    const std::uint64_t size = put(end, format, input, parts[static_cast<std::size_t>(peer)], end.places.at(peer));
    co_await here.invited(peer);
    here.write(peer, end.places.at(peer), in(end, end.member), size);
    *end.sent += size;
    *end.plain += plain(format, parts[static_cast<std::size_t>(peer)].elements);
  }
  co_await here.received(members_ - 1);
}

Task CompressedBlocks::sum_exchanged(End end, BlockFormat format, std::uint64_t input, std::uint64_t output,
                                     std::uint64_t bytes) {
  Blocks parts;
  for (int peer = 0; peer < members_; ++peer) parts.push_back(block(format, bytes, peer));
  const Block mine = parts[static_cast<std::size_t>(end.member)];
  co_await exchange(end, format, input, std::move(parts));
  co_await end.kernels.run(format.blocks.add(mine.elements, members_ - 1));
  if (end.codec != nullptr && mine.elements > 0) {
    Floats sum = numbers_of(
        bytes_from(end.rank, input + mine.first, static_cast<std::uint64_t>(mine.elements) * size_of(format.type)),
        format.type, false);
    for (int i = 1; i < members_; ++i) {
      const Floats came = format.got(end.rank, *end.codec, in(end, (end.member + i) % members_), mine.elements);
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += came[e];
    }
    const std::vector<std::byte> elements = elements_of(sum, format.type, false);
    firmware::store_to(end.rank, output, std::span<const std::byte>(elements));
  }
  co_await mesh_[end.member].acknowledged();
}

Task CompressedBlocks::all_to_all(End end, BlockFormat format, std::uint64_t input, std::uint64_t output,
                                  std::uint64_t bytes) {
  const std::uint64_t part = bytes / static_cast<std::uint64_t>(members_);
  const auto elements = static_cast<std::int64_t>(part / size_of(format.type));
  end.places = make_room(format, elements, 2 * members_);
  const auto at = [part](int peer) { return part * static_cast<std::uint64_t>(peer); };
  Blocks parts;
  for (int peer = 0; peer < members_; ++peer) parts.push_back({at(peer), elements});
  end.rank.accelerator.copy(0, input + at(end.member), output + at(end.member), part, end.placed, 0);
  co_await exchange(end, format, input, std::move(parts));
  co_await end.kernels.run(format.blocks.decompress(elements * (members_ - 1)));
  for (int peer = 0; peer < members_; ++peer) {
    if (peer != end.member) unpack(end, format, in(end, peer), output, {at(peer), elements});
  }
  co_await end.placed.next();
  co_await mesh_[end.member].acknowledged();
}

}  // namespace weft::collectives
