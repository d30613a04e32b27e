// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sw/firmware/rank.h"

/// What firmware reads and writes of a rank's memory, where data is on.
namespace weft::firmware {

using Floats = std::vector<float>;

template <typename T>
void load_into(const Rank& rank, std::uint64_t address, std::span<T> values) {
  rank.store->read(address, reinterpret_cast<std::byte*>(values.data()), values.size_bytes());
}

template <typename T>
void store_to(const Rank& rank, std::uint64_t address, std::span<const T> values) {
  rank.store->write(address, reinterpret_cast<const std::byte*>(values.data()), values.size_bytes());
}

inline Floats load_from(const Rank& rank, std::uint64_t address, std::int64_t elements) {
  Floats values(static_cast<std::size_t>(elements));
  load_into(rank, address, std::span(values));
  return values;
}

inline void store_to(const Rank& rank, std::uint64_t address, const Floats& values) {
  store_to(rank, address, std::span<const float>(values));
}

}  // namespace weft::firmware
