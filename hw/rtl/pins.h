// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <systemc>
#include <type_traits>
#include <vector>

/// Ports of a SystemC module as `verilator --sc` makes it: an integer for what fits into 64 bits, and an sc_bv for what
/// does not.
namespace weft::rtl::pins {

/// What a port carries.
template <typename Port>
using ValueOf = typename std::remove_reference_t<Port>::data_type;

template <typename T>
struct Width : std::integral_constant<std::size_t, std::numeric_limits<T>::digits> {};
template <int kBits>
struct Width<sc_dt::sc_bv<kBits>> : std::integral_constant<std::size_t, kBits> {};

/// Of an integer, whether there is room for so many bits.
template <typename Port>
constexpr bool has_bits(std::size_t bits) {
  constexpr std::size_t kWidth = Width<ValueOf<Port>>::value;
  return std::is_integral_v<ValueOf<Port>> ? kWidth >= bits : kWidth == bits;
}

template <typename T>
T from_words(const std::vector<std::uint32_t>& words) {
  if constexpr (std::is_integral_v<T>) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < words.size() && i < 2; ++i) value |= static_cast<std::uint64_t>(words[i]) << 32 * i;
    return static_cast<T>(value);
  } else {
    T value;
    for (std::size_t i = 0; i < words.size(); ++i) value.set_word(static_cast<int>(i), words[i]);
    return value;
  }
}

template <typename T>
void to_words(const T& value, std::vector<std::uint32_t>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      words[i] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32 * i);
    } else {
      words[i] = value.get_word(static_cast<int>(i));
    }
  }
}

}  // namespace weft::rtl::pins
