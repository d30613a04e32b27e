// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "hw/core/element.h"
#include "hw/memory/backing_store.h"
#include "sw/collectives/blocks.h"

/// Real contents for a schedule that runs with data on: parameters and gradients in small whole numbers, whose sums
/// over ranks are exact in every element type, and their comparison with what must come out. Comparisons return the
/// elements that differ.
namespace weft::schedules::check {

/// Puts a rank's shard of unit `seed` into the gather buffer and noise everywhere else.
void fill_shard(memory::BackingStore& store, ElementType type, std::uint64_t buffer, std::uint64_t bytes,
                collectives::Extent own, std::uint64_t seed);
std::int64_t compare_gathered(const memory::BackingStore& store, ElementType type, std::uint64_t buffer,
                              std::uint64_t bytes, std::uint64_t seed);

/// Puts rank `rank`'s gradients of unit `seed`, which `ranks` ranks add up, into the buffer.
void fill_gradient(memory::BackingStore& store, ElementType type, std::uint64_t buffer, std::uint64_t bytes,
                   std::uint64_t seed, int rank, int ranks);
std::int64_t compare_scattered(const memory::BackingStore& store, ElementType type, std::uint64_t output,
                               collectives::Extent own, std::uint64_t seed, int ranks);
/// Puts into the buffer what rank `rank` has for each of `ranks` ranks, in equal parts.
void fill_parts(memory::BackingStore& store, ElementType type, std::uint64_t buffer, std::uint64_t bytes,
                std::uint64_t seed, int rank, int ranks);
/// The buffer has what each of them had for `rank`.
std::int64_t compare_parts(const memory::BackingStore& store, ElementType type, std::uint64_t buffer,
                           std::uint64_t bytes, std::uint64_t seed, int rank, int ranks);

/// The sum over these alone.
std::int64_t compare_sum(const memory::BackingStore& store, ElementType type, std::uint64_t buffer, std::uint64_t bytes,
                         std::uint64_t seed, std::span<const int> members, int ranks);

}  // namespace weft::schedules::check
