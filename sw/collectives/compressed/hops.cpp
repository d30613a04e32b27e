// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/compressed/hops.h"

#include <algorithm>
#include <span>

#include "sw/collectives/blocks.h"

namespace weft::collectives {

using compression::Codec;
using firmware::Floats;
using firmware::Rank;
using firmware::Task;

namespace {

/// Before what varies.
using Length = std::uint32_t;

}  // namespace

CompressedRing::CompressedRing(const std::vector<Rank*>& ranks, const compression::Message& message,
                               const compression::Plan& plan, const std::string& name)
    : members_(static_cast<int>(ranks.size())), elements_(message.elements), plan_(plan), mesh_(ranks, name) {
  for (int b = 0; b < members_; ++b) {
    place_ = std::max(place_, plan_.most_block_bytes ? plan_.most_block_bytes(block(b).elements)
                                                     : plan_.block_bytes(block(b).elements));
  }
  if (plan_.varies) place_ += sizeof(Length);
  places_ = firmware::allocate_together(ranks, "compressed blocks", 3 * place_ * static_cast<std::uint64_t>(members_));
}

CompressedRing::Block CompressedRing::block(int number) const {
  const auto bytes = static_cast<std::uint64_t>(elements_) * sizeof(float);
  const Extent extent = split({0, bytes}, static_cast<std::uint64_t>(members_),
                              static_cast<std::uint64_t>((number + members_) % members_), sizeof(float));
  return {extent.offset, static_cast<std::int64_t>(extent.bytes / sizeof(float))};
}

std::uint64_t CompressedRing::put(const End& end, std::uint64_t address, const Block& of, std::uint64_t to) const {
  const std::uint64_t head = plan_.varies ? sizeof(Length) : 0;
  if (end.codec == nullptr) return of.elements == 0 ? 0 : head + plan_.block_bytes(of.elements);
  const Floats values = firmware::load_from(end.rank, address + of.first, of.elements);
  const Codec::Sent sent = end.codec->compress(values, 0, {});
  const auto size = static_cast<Length>(sent.size());
  if (plan_.varies) firmware::store_to(end.rank, to, std::span<const Length>(&size, 1));
  firmware::store_to(end.rank, to + head, std::span<const std::byte>(sent));
  return head + sent.size();
}

std::uint64_t CompressedRing::length(const End& end, std::uint64_t at, const Block& of) const {
  if (!plan_.varies) return plan_.block_bytes(of.elements);
  Length size = 0;
  if (end.codec == nullptr) return of.elements == 0 ? 0 : sizeof size + plan_.block_bytes(of.elements);
  firmware::load_into(end.rank, at, std::span(&size, 1));
  return sizeof size + size;
}

Floats CompressedRing::got(const End& end, std::uint64_t from, const Block& of) const {
  const std::uint64_t head = plan_.varies ? sizeof(Length) : 0;
  Codec::Sent came(length(end, from, of) - head);
  firmware::load_into(end.rank, from + head, std::span(came));
  Floats values(static_cast<std::size_t>(of.elements));
  end.codec->add(came, values);
  return values;
}

Task CompressedRing::all_reduce(End end, std::uint64_t address, std::uint64_t* sent) {
  Mesh::Member& here = mesh_[end.member];
  const int next = (end.member + 1) % members_;
  const int previous = (end.member + members_ - 1) % members_;
  const bool real = end.codec != nullptr;
  Block mine = block(end.member);
  co_await end.kernels.run(plan_.first(mine.elements));
  std::uint64_t from = out(0);
  std::uint64_t bytes = put(end, address, mine, from);
  // The sums: what comes is one further block each time, and the last is all of one.
  for (int step = 0; step + 1 < members_; ++step) {
    here.invite(previous);
    co_await here.invited(next);
    here.write(next, from, in(step), bytes);
    *sent += bytes;
    co_await here.received(1);
    mine = block(end.member - 1 - step);
    co_await end.kernels.run(plan_.hop(mine.elements));
    if (real) {
      Floats sum = firmware::load_from(end.rank, address + mine.first, mine.elements);
      const Floats came = got(end, in(step), mine);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += came[i];
      firmware::store_to(end.rank, address + mine.first, sum);
    }
    const bool is_whole = step + 2 == members_;
    from = is_whole ? last((end.member + 1) % members_) : out(step + 1);
    bytes = put(end, address, mine, from);
  }
  // And these go round as they are.
  for (int step = 0; step + 1 < members_; ++step) {
    const int number = (end.member + 1 - step + members_) % members_;
    here.invite(previous);
    co_await here.invited(next);
    bytes = length(end, last(number), block(number));
    here.write(next, last(number), last(number), bytes);
    *sent += bytes;
    co_await here.received(1);
  }
  compression::Kernels decompressing;
  for (int number = 0; number < members_; ++number) {
    const compression::Kernels more = plan_.last(block(number).elements);
    decompressing.insert(decompressing.end(), more.begin(), more.end());
  }
  co_await end.kernels.run(decompressing);
  for (int number = 0; real && number < members_; ++number) {
    const Block of = block(number);
    firmware::store_to(end.rank, address + of.first, got(end, last(number), of));
  }
  co_await here.acknowledged();
}

}  // namespace weft::collectives
