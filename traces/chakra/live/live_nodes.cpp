// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/live/live_nodes.h"

#include <bit>

namespace weft::chakra {

std::size_t LiveNodes::place_of(std::uint64_t id) const {
  // Fibonacci hashing: ids mostly count up.
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(id * kFactor >> (64U - static_cast<unsigned>(std::countr_zero(index_.size()))));
}

LiveNodes::Slot LiveNodes::find(std::uint64_t id) const {
  for (std::size_t at = place_of(id);; at = (at + 1) & (index_.size() - 1)) {
    const Slot slot = index_[at];
    if (slot == kNone || entries_[slot].id == id) return slot;
  }
}

LiveNodes::Slot LiveNodes::add(std::uint64_t id) {
  if ((size_ + 1) * 8 > index_.size() * 7) grow();
  Slot slot = free_;
  if (slot == kNone) {
    slot = static_cast<Slot>(entries_.size());
    entries_.emplace_back();
  } else {
    free_ = entries_[slot].first_dependent;
    entries_[slot] = Entry();
  }
  entries_[slot].id = id;
  std::size_t at = place_of(id);
  while (index_[at] != kNone) at = (at + 1) & (index_.size() - 1);
  index_[at] = slot;
  ++size_;
  return slot;
}

void LiveNodes::remove(Slot slot) {
  const std::size_t mask = index_.size() - 1;
  std::size_t hole = place_of(entries_[slot].id);
  while (index_[hole] != slot) hole = (hole + 1) & mask;
  // What follows and would not be found behind the hole moves into it.
  for (std::size_t at = (hole + 1) & mask; index_[at] != kNone; at = (at + 1) & mask) {
    const std::size_t wanted = place_of(entries_[index_[at]].id);
    if (((at - wanted) & mask) < ((at - hole) & mask)) continue;
    index_[hole] = index_[at];
    hole = at;
  }
  index_[hole] = kNone;
  entries_[slot].first_dependent = std::exchange(free_, slot);
  --size_;
}

void LiveNodes::add_dependent(Slot slot, Slot dependent) {
  std::uint32_t edge = free_edge_;
  if (edge == kNone) {
    edge = static_cast<std::uint32_t>(edges_.size());
    edges_.emplace_back();
  } else {
    free_edge_ = edges_[edge].next;
  }
  edges_[edge] = {dependent, std::exchange(entries_[slot].first_dependent, edge)};
}

void LiveNodes::grow() {
  const std::vector<Slot> old = std::exchange(index_, std::vector<Slot>(2 * index_.size(), kNone));
  for (const Slot slot : old) {
    if (slot == kNone) continue;
    std::size_t at = place_of(entries_[slot].id);
    while (index_[at] != kNone) at = (at + 1) & (index_.size() - 1);
    index_[at] = slot;
  }
}

}  // namespace weft::chakra
