// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hw/core/element.h"
#include "hw/memory/backing_store.h"
#include "sw/collectives/blocks.h"
#include "sw/dimensions/plan.h"

namespace weft::collectives {

/// A collective with contents that are known: element i of member m is pattern(seed, m, i), or addend() of what is
/// summed, whole numbers whose sums are exact in every type. What does not fill an element is carried by an Allgather
/// alone, from the last member.
struct Reference {
  dimensions::Operation operation = dimensions::Operation::kAllReduce;
  int members = 1;
  std::uint64_t bytes = 0;
  ElementType type = ElementType::kFp32;
  std::uint64_t seed = 0;
  /// Of an AllToAll whose parts differ: what of each block comes from that member. Empty: all of it.
  std::vector<std::uint64_t> from = {};

  /// Of an Allgather and a ReduceScatter, and of an AllToAll the part that member m sends to or gets from `index`.
  [[nodiscard]] Extent block(int index) const;
  /// A member's buffer before the collective; of an Allgather its own block, and noise elsewhere.
  void fill(memory::BackingStore& store, std::uint64_t address, int member) const;
  /// Elements that differ from what must be there after it. `address` is that of the whole buffer, of a ReduceScatter
  /// that of the own block, of an AllToAll that of its output.
  [[nodiscard]] std::int64_t wrong(const memory::BackingStore& store, std::uint64_t address, int member) const;

  /// The same of a Broadcast from `root`, whatever the operation.
  void fill_broadcast(memory::BackingStore& store, std::uint64_t address, int member, int root) const;
  /// Elements of `extent` of the buffer at `address` that differ from `source`'s.
  [[nodiscard]] std::int64_t wrong_copy(const memory::BackingStore& store, std::uint64_t address, Extent extent,
                                        int source) const;

 private:
  [[nodiscard]] std::uint32_t element(int member, std::uint64_t index) const;
  void put(std::vector<std::byte>& data, Extent extent, int member, bool with_rest) const;
  template <typename Value>
  [[nodiscard]] std::int64_t differing(const memory::BackingStore& store, std::uint64_t address, Extent extent,
                                       bool with_rest, const Value& value) const;
};

}  // namespace weft::collectives
